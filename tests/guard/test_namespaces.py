"""Promises of guard/forkserver/namespaces.py, each in a process that gives itself a view, as root and as a user."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bursar.guard.sandbox.policy import Policy
from bursar.guard.sandbox.view import view
from inside import PRELUDE

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="namespaces are a thing of Linux"),
    pytest.mark.needs("namespaces", "user namespaces"),
]

AS_USER = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
"""An ordinary user in all that matters here: no capability, and the owner of his own files."""


@pytest.fixture
def base() -> Iterator[Path]:
    """A store with two sessions in a workspace, and something beside it; not in /tmp, which is private inside."""
    made = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="bursar-test-"))
    for place in ("work/store/other", "work/store/own", "work/deep", "beside", "private"):
        (made / place).mkdir(parents=True)
        (made / place / "file").write_text(f"content of {place}")
    yield made
    shutil.rmtree(made)


@pytest.fixture(params=["root", "user"])
def wrapper(request: pytest.FixtureRequest) -> list[str]:
    return AS_USER if request.param == "user" or os.geteuid() != 0 else []


def inside(base: Path, script: str, wrapper: list[str], before: str = "", **more) -> list[str]:
    """Run Python in a view of its own, in which only the workspace may be written; return what it prints."""
    done = started(base, script, wrapper, before, **more)
    out, err = done.communicate(timeout=60)
    assert done.returncode == 0, err
    return out.splitlines()


def started(base: Path, script: str, wrapper: list[str], before: str = "", **more) -> "subprocess.Popen[str]":
    policy = Policy(base / "work" / "store", (base / "work",), **more)
    seen, _ = view(policy, [str(base / "work" / "store")], base / "work" / "store" / "own", base / "private")
    text = f"""
{PRELUDE}
from forkserver.namespaces import enter
from forkserver.view import View
base = {str(base)!r}
{before}
enter(View.told(json.loads({json.dumps(seen._asdict())!r})))
{script}
"""
    return subprocess.Popen(
        [*wrapper, sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/"
    )


def test_other_sessions_are_absent_and_ones_own_can_be_read(base: Path, wrapper: list[str]):
    assert inside(
        base,
        """
print(os.listdir(f"{base}/work/store"), content(f"{base}/work/store/own/file"), content(f"{base}/beside/file"))
print(tried(lambda: os.stat(f"{base}/work/store/other")), tried(lambda: os.listdir(f"{base}/work/store/never")))
print(tried(lambda: open(f"{base}/work/store/own/file", "w")), tried(lambda: os.rmdir(f"{base}/work/store")))
""",
        wrapper,
    ) == [
        "['own'] content of store/own content of beside".replace("store/own", "work/store/own"),
        "ENOENT ENOENT",
        "EROFS EBUSY",
    ]


def test_only_what_may_be_written_can_be(base: Path, wrapper: list[str]):
    refused = "EROFS" if os.geteuid() == 0 else "EACCES"  # only root may write there to begin with
    assert inside(
        base,
        """
print(open(f"{base}/work/new", "w").write("x"), open("/tmp/new", "w").write("x"), open("/dev/shm/new", "w").write("x"))
print(*(tried(lambda: os.mkdir(f"{place}/new")) for place in (f"{base}/beside", "/", "/dev", "/etc", "/var/tmp")))
for path in ("/proc/sys/kernel/core_pattern", "/sys/kernel/mm/transparent_hugepage/enabled"):
    print(tried(lambda: os.open(path, os.O_WRONLY)), end=" ")
""",
        wrapper,
    ) == ["1 1 1", "EROFS EROFS EROFS EROFS EROFS", f"{refused} {refused} "]
    assert (base / "private" / "new").read_text() == "x"


def test_what_is_mounted_in_the_whole_is_closed_too(base: Path):
    mounted = (
        f"mount -t tmpfs none {base}/beside && mkdir {base}/beside/d && mount --bind {base}/beside/d {base}/work/deep"
    )
    assert inside(
        base,
        """
print(tried(lambda: os.mkdir(f"{base}/beside/new")), tried(lambda: os.mkdir(f"{base}/work/deep/new")))
print([line for line in content("/proc/self/mountinfo").splitlines() if "/dev/" not in line
       and "nosuid,nodev" not in line])
""",
        ["unshare", "--map-root-user", "--mount", "sh", "-c", f'{mounted}; exec "$@"', "sh"],
    ) == ["EROFS None", "[]"]


def test_processes_outside_are_not_to_be_seen_and_the_first_cannot_be_ended_from_inside(base: Path, wrapper: list[str]):
    assert inside(
        base,
        """
print(os.getpid(), [name for name in os.listdir("/proc") if name.isdigit()], os.getppid())
print(subprocess.call(["sh", "-c", "kill -9 1; kill -STOP 1; kill -9 -1; exit 7"]))
""",
        wrapper,
    ) == ["1 ['1'] 0", "7"]


def test_ids_stay_and_no_capability_and_no_way_out_is_left(base: Path, wrapper: list[str]):
    uid = 1000 if wrapper else os.getuid()
    said = inside(
        base,
        """
print(os.getuid(), os.getgid(), os.stat(f"{base}/work").st_uid)
told = dict(line.split(":\\t") for line in content("/proc/self/status").splitlines())
print([int(told[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")], told["NoNewPrivs"])
print(libc.umount2(base.encode() + b"/work/store", 2), libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
print([os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if int(name) > 2
       and tried(lambda: stat.S_ISDIR(os.fstat(int(name)).st_mode)) is True])
""",
        wrapper,
    )
    assert said == [f"{uid} {uid} {uid}", "[0, 0, 0, 0, 0] 1", "-1 -1", "[]"]


def test_devices_are_the_harmless_ones_and_terminals_ones_own(base: Path, wrapper: list[str]):
    said = inside(
        base,
        """
print(*sorted(os.listdir("/dev")), os.listdir("/dev/pts"))
ours, theirs = os.openpty()
print(os.ttyname(theirs), open("/dev/null", "w").write("x"), len(open("/dev/urandom", "rb").read(3)))
""",
        wrapper,
    )
    kept = "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero ['ptmx']"
    assert said == [kept, "/dev/pts/0 1 3"]


def test_shared_memory_and_hosts_name_are_ones_own_and_the_network_on_demand(base: Path):
    key = int.from_bytes(os.urandom(3), "big") + 1
    script = f"print(libc.shmget({key}, 4096, 0o1600) >= 0, len(content('/proc/net/dev').splitlines()) > 3)"
    assert inside(base, script, [], network=False) == ["True False"]
    ours = [line.split()[0] for line in Path("/proc/sysvipc/shm").read_text().splitlines()]
    assert str(key) not in ours


def test_a_user_gets_a_share_of_what_watches_files_and_leaves_the_others_theirs(base: Path):
    script = "print(sum(libc.inotify_init() >= 0 for _ in range(200)))"
    assert inside(base, script, AS_USER) == ["32"]


def test_all_of_it_ends_with_the_process_that_began_it(base: Path, wrapper: list[str]):
    marker = f"86400.{os.getpid()}{time.time_ns()}"
    script = f'subprocess.Popen(["setsid", "sleep", "{marker}"]); print("begun", flush=True); time.sleep(60)'
    process = started(base, script, wrapper)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.kill()
    process.communicate()
    until = time.monotonic() + 10
    while _runs(marker) and time.monotonic() < until:
        time.sleep(0.01)
    assert not _runs(marker)


def test_its_end_is_told_as_ones_own(base: Path, wrapper: list[str]):
    process = started(base, "os._exit(7)", wrapper)
    process.communicate(timeout=60)
    assert process.returncode == 7


def test_a_link_that_was_put_in_the_way_meanwhile_means_no_view(base: Path, wrapper: list[str]):
    swap = """
os.rename(f"{base}/work/store", f"{base}/work/moved")
os.symlink(f"{base}/work/moved", f"{base}/work/store")
"""
    process = started(base, "print('inside')", wrapper, swap)
    out, err = process.communicate(timeout=60)
    assert (out, process.returncode) == ("", 1)
    assert "OSError: [Errno 40]" in err


def test_where_the_machine_allows_no_namespaces_it_is_an_error(base: Path):
    masked = ["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /proc/acpi; exec "$@"', "sh"]
    exhausted = [
        "unshare",
        "--map-root-user",
        "sh",
        "-c",
        'echo 0 > /proc/sys/user/max_mnt_namespaces; exec "$@"',
        "sh",
    ]
    for wrapper in ([*masked, *AS_USER], exhausted):
        process = started(base, "print('inside')", wrapper)
        out, err = process.communicate(timeout=60)
        assert (out, process.returncode) == ("", 1)
        assert "Operation not permitted" in err or "No space left" in err


def _runs(marker: str) -> bool:
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in place.read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False
