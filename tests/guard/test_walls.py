"""Promises of guard/forkserver/walls.py, each tried in a process of its own that confines itself."""

import json
import os
import platform
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from bursar.guard.forkserver import landlock, seccomp
from bursar.guard.forkserver.syscalls import NUMBERS
from inside import PRELUDE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these walls are made of what Linux has")


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    """A store with two sessions, a workspace and something beside them."""
    for place in ("base/store/other", "base/store/own", "base/work", "base/beside"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "file").write_text(f"content of {place}")
    return tmp_path / "base"


def confined(ground: Path, script: str, before: str = "", wrapper=(), **more):
    """Run Python within walls and return what it prints, one line each."""
    walls = {
        "reads": ["/", f"{ground}/store/own"],
        "writes": [f"{ground}/work"],
        "hidden": [f"{ground}/store"],
    } | more
    text = f"""
{PRELUDE}
from forkserver.walls import Walls, raise_walls
base = {str(ground)!r}
{before}
raise_walls(Walls(**json.loads({json.dumps(walls)!r})))
{script}
"""
    done = subprocess.run(
        [*wrapper, sys.executable, "-c", text], check=False, capture_output=True, text=True, timeout=60, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_what_is_hidden_cannot_be_read_and_all_else_can(ground: Path):
    assert confined(
        ground,
        """
for place in ("store/other", "store/own", "work", "beside"):
    print(tried(lambda: content(f"{base}/{place}/file")))
""",
    ) == ["EACCES", "content of base/store/own", "content of base/work", "content of base/beside"]


def test_only_what_is_to_be_written_can_be(ground: Path):
    assert (
        confined(
            ground,
            """
for place in ("store/other", "store/own", "work", "beside"):
    print(tried(lambda: open(f"{base}/{place}/new", "w").write("x")))
    print(tried(lambda: os.unlink(f"{base}/{place}/file")))
print(tried(lambda: os.rename(f"{base}/store", f"{base}/elsewhere")))
""",
        )
        == ["EACCES"] * 4 + ["1", "None"] + ["EACCES"] * 3
    )


def test_no_second_name_leads_to_what_is_hidden(ground: Path):
    (ground / "work" / "planted").symlink_to(ground / "store" / "other" / "file")
    assert confined(
        ground,
        """
os.symlink(f"{base}/store/other", f"{base}/work/link")
print(tried(lambda: content(f"{base}/work/link/file")))
print(tried(lambda: content(f"{base}/work/planted")))
print(tried(lambda: os.link(f"{base}/store/other/file", f"{base}/work/hard")))
print(tried(lambda: content(f"/proc/self/root{base}/store/other/file")))
""",
    ) == ["EACCES", "EACCES", "EXDEV", "EACCES"]


@pytest.mark.needs("mounts")
def test_what_is_hidden_stays_so_under_another_mount(ground: Path):
    (ground.parent / "mounted").mkdir()
    script = f'mount --bind {ground} {ground.parent}/mounted && exec "$@"'
    assert confined(
        ground,
        f"""
print(tried(lambda: content("{ground.parent}/mounted/store/other/file")))
print(tried(lambda: content("{ground.parent}/mounted/beside/file")))
""",
        wrapper=("unshare", "-m", "sh", "-c", script, "sh"),
    ) == ["EACCES", "content of base/beside"]


def test_a_workspace_around_what_is_hidden_is_carved(ground: Path):
    assert confined(
        ground,
        """
print(tried(lambda: content(f"{base}/store/other/file")))
print(tried(lambda: open(f"{base}/store/other/new", "w")))
print(tried(lambda: open(f"{base}/beside/new", "w").write("x")))
print(tried(lambda: os.rename(f"{base}/store", f"{base}/beside/store")))
""",
        writes=[str(ground)],
    ) == ["EACCES", "EACCES", "1", "EACCES"]


def test_to_grant_what_is_to_be_hidden_is_an_error(ground: Path):
    with pytest.raises(AssertionError, match="is to be hidden"):
        confined(ground, "", writes=[f"{ground}/store"])


def test_of_the_devices_only_the_harmless_ones_can_be_used(ground: Path):
    kept = [f"/dev/{name}" for name in sorted(os.listdir("/dev")) if Path("/dev", name).is_block_device()]
    assert confined(
        ground,
        f"""
print(open("/dev/null", "w").write("x"), len(open("/dev/urandom", "rb").read(4)), open("/dev/zero", "rb").read(1))
print([tried(lambda: os.open(path, os.O_RDONLY)) for path in ("/dev/kmsg", *{kept})])
print(tried(lambda: os.listdir("/dev/pts") and None))
""",
    ) == ["1 4 b'\\x00'", str(["EACCES"] * (1 + len(kept))), "None"]


def test_the_terminals_of_others_cannot_be_opened_and_ones_own_can(ground: Path):
    ours, theirs = os.openpty()
    script = f"""
print(tried(lambda: os.open({os.ttyname(theirs)!r}, os.O_RDWR | os.O_NOCTTY) and "opened"))
print(tried(lambda: len(os.openpty())))
"""
    assert confined(ground, script) == ["EACCES", "EACCES"]
    assert confined(ground, script, terminals=True) == ["opened", "2"]
    for fd in (ours, theirs):
        os.close(fd)


def test_files_of_the_kernel_cannot_be_written_even_where_all_else_can(ground: Path):
    assert confined(
        ground,
        """
for path in ("/proc/sys/kernel/core_pattern", "/proc/self/comm", "/sys/kernel/mm/transparent_hugepage/enabled"):
    print(tried(lambda: os.open(path, os.O_WRONLY)))
print(tried(lambda: os.open(f"{base}/beside/file", os.O_WRONLY) > 0), len(content("/proc/self/comm")) > 0)
""",
        writes=["/"],
    ) == ["EACCES", "EACCES", "EACCES", "True True"]


def test_nothing_can_be_mounted_and_no_namespace_made(ground: Path):
    assert (
        confined(
            ground,
            """
print(libc.mount(b"none", f"{base}/work".encode(), b"tmpfs", 0, None), errno.errorcode[ctypes.get_errno()])
print(libc.unshare(0x10000000), errno.errorcode[ctypes.get_errno()])
print(libc.unshare(0x20000), errno.errorcode[ctypes.get_errno()])
print(libc.umount2(b"/proc", 2), errno.errorcode[ctypes.get_errno()])
""",
        )
        == ["-1 EPERM"] * 4
    )


def test_there_are_no_capabilities_and_none_comes_back(ground: Path):
    shown = confined(
        ground, """print(subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout)"""
    )
    told = dict(line.split(":\t") for line in shown if ":\t" in line)
    # What was never root's to drop bounds nothing: where no privileges can be gained, none comes of it.
    held = ("CapInh", "CapPrm", "CapEff", "CapAmb", *(["CapBnd"] if os.geteuid() == 0 else []))
    assert {name: int(told[name], 16) for name in held} == dict.fromkeys(held, 0)
    assert (told["NoNewPrivs"], told["Seccomp"]) == ("1", "2")


def test_a_process_outside_cannot_be_signalled_and_a_child_can(ground: Path):
    assert confined(
        ground,
        """
print(tried(lambda: os.kill(os.getppid(), 0)), tried(lambda: os.kill(outside.pid, signal.SIGKILL)))
child = subprocess.Popen(["sleep", "60"])
child.kill()
print(child.wait())
""",
        before="""outside = subprocess.Popen(["sleep", "2"])""",
    ) == ["EPERM EPERM", "-9"]


def test_limits_of_a_process_outside_cannot_be_set(ground: Path):
    victim = subprocess.Popen(["sleep", "60"])
    assert confined(
        ground,
        f"""
import resource
now = resource.prlimit({victim.pid}, resource.RLIMIT_CPU)
print(tried(lambda: resource.prlimit({victim.pid}, resource.RLIMIT_CPU, now)))
resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))
print(resource.prlimit(0, resource.RLIMIT_NOFILE))
""",
    ) == ["EPERM", "(99, 99)"]
    victim.kill()
    victim.wait()


def test_memory_and_environment_of_a_process_outside_cannot_be_read(ground: Path):
    assert confined(
        ground,
        """
for name in ("environ", "mem", "root/etc/passwd", "cwd/etc/passwd", "fd/0"):
    print(tried(lambda: open(f"/proc/{os.getppid()}/{name}", "rb")))
print(tried(lambda: libc.ptrace(16, os.getppid(), 0, 0)))
""",
    ) == ["EACCES"] * 5 + ["-1"]


def test_local_sockets_lead_nowhere_and_pairs_work(ground: Path):
    assert confined(
        ground,
        """
print(tried(lambda: socket.socket(socket.AF_UNIX)), tried(lambda: socket.socket(40, socket.SOCK_STREAM)))
one, other = socket.socketpair()
one.send(b"x")
print(other.recv(1), socket.socket().family.name, socket.socket(socket.AF_INET6).family.name)
print(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).family.name)
""",
    ) == ["EACCES EACCES", "b'x' AF_INET AF_INET6", "AF_NETLINK"]


def test_a_pair_that_could_reach_a_local_socket_by_its_path_cannot_be_made(ground: Path):
    script = """
kinds = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM, socket.SOCK_RAW)
print(*(tried(lambda: len(socket.socketpair(1, kind | flags))) for kind in kinds for flags in (0, 0x80800)))
print(tried(lambda: len(socket.socketpair(30, socket.SOCK_STREAM))))
"""
    assert confined(ground, script) == ["2 2 2 2 EACCES EACCES EACCES EACCES", "EACCES"]
    assert confined(ground, script, unix_sockets=True)[0] == "2 2 2 2 2 2 2 2"


def test_no_file_gets_the_rights_of_its_owner_for_whoever_runs_it(ground: Path):
    column = seccomp._ARCHITECTURES[platform.machine()][0]
    assert confined(
        ground,
        f"""
os.chdir(f"{{base}}/work"); os.umask(0); new = os.O_CREAT | os.O_WRONLY
for mode in (0o4755, 0o6755):
    print(*(tried(way) for way in (
        lambda: os.chmod("file", mode), lambda: os.fchmod(os.open("file", os.O_RDONLY), mode),
        lambda: asked({NUMBERS["fchmodat2"][column]}, -100, 0, mode, 0))))
for mode in (0o4755, 0o2755):
    print(*(tried(way) for way in (
        lambda: os.open("a", new, mode), lambda: os.open(".", os.O_TMPFILE | os.O_WRONLY, mode),
        lambda: os.mknod("c", 0o100000 | mode), lambda: asked(437, -100, 0, 0, 24))))
os.mkdir("b", 0o6755); print(oct(os.stat("b").st_mode)); os.rmdir("b")
print([hex(os.stat(name).st_mode) for name in os.listdir(".")])
os.chmod("file", 0o1755); os.mkdir("b", 0o1777); os.close(os.open("a", new, 0o755))
# Where nothing is made there is no mode, whatever stands in its place.
print(os.open("file", os.O_RDONLY, 0o6755) > 0)
""",
    ) == [*["EPERM EPERM EPERM"] * 2, *["EPERM EPERM EPERM ENOSYS"] * 2, "0o40755", "['0x81a4']", "True"]


def test_setgid_is_given_only_where_nothing_outside_could_get_it(ground: Path):
    column = seccomp._ARCHITECTURES[platform.machine()][0]
    script = f"""
for path in (f"{{base}}/beside/file", f"{{base}}/work/file"):
    print(*(tried(way) for way in (
        lambda: os.chmod(path, 0o2755), lambda: os.fchmod(os.open(path, os.O_RDONLY), 0o2755),
        lambda: asked({NUMBERS["fchmodat2"][column]}, os.open(path, os.O_RDONLY), 0, 0o2755, 0))))
print(hex(os.stat(f"{{base}}/beside/file").st_mode))
"""
    assert confined(ground, script) == [*["EPERM EPERM EPERM"] * 2, "0x81a4"]
    allowed = confined(ground, 'print(tried(lambda: os.chmod(f"{base}/work/file", 0o2755)))', setgid=True)
    assert allowed == ["None"]


@pytest.mark.needs("user namespaces")
def test_memory_that_is_shared_by_a_number_is_used_in_a_namespace_of_ones_own_only(ground: Path):
    script = """
for call, arguments in (("shmget", (0, 4096, 0o1600)), ("semget", (0, 1, 0o1600)), ("msgget", (0, 0o1600))):
    print(getattr(libc, call)(*arguments) >= 0, end=" ")
print(tried(lambda: libc.mq_open(b"/bursar", os.O_CREAT | os.O_RDWR, 0o600, None) >= 0))
"""
    assert confined(ground, script) == ["False False False False"]
    own = ("unshare", "--ipc", "--map-root-user")
    assert confined(ground, script, own_ipc=True, landlock=False, wrapper=own) == ["True True True True"]


def test_where_local_sockets_are_allowed_abstract_ones_of_others_stay_out_of_reach(ground: Path):
    assert confined(
        ground,
        r"""
client = socket.socket(socket.AF_UNIX)
print(tried(lambda: client.connect(outside.getsockname())))
own = socket.socket(socket.AF_UNIX); own.bind(f"{base}/work/socket"); own.listen()
client.connect(f"{base}/work/socket"); print("connected")
""",
        before="outside = socket.socket(socket.AF_UNIX); outside.bind(''); outside.listen()",
        unix_sockets=True,
    ) == ["EPERM", "connected"]


def test_without_a_network_no_socket_of_it_can_be_made(ground: Path):
    assert confined(
        ground,
        """
print(tried(socket.socket), tried(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)))
print(len(socket.socketpair()))
""",
        network=False,
    ) == ["EACCES EACCES", "2"]


def test_threads_and_programs_run_as_ever(ground: Path):
    assert confined(
        ground,
        """
seen = []; threads = [threading.Thread(target=seen.append, args=["thread"]) for _ in range(2)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]; print(*seen)
print(subprocess.run("echo one | cat; exit 3", shell=True, capture_output=True, text=True))
""",
    ) == [
        "thread thread",
        "CompletedProcess(args='echo one | cat; exit 3', returncode=3, stdout='one\\n', stderr='')",
    ]


def test_what_programs_do_without_is_missing_and_what_harms_is_refused(ground: Path):
    column = seccomp._ARCHITECTURES[platform.machine()][0]
    refused = [NUMBERS[name][column] for name in ("bpf", "keyctl", "setns")]
    found = confined(
        ground,
        f"""
print(*(asked(number, 0, 0, 0) for number in (425, 426, 427, 435)))
print(*(asked(number, 0, 0, 0) for number in {refused}))
""",
    )
    assert found == ["ENOSYS " * 3 + "ENOSYS", "EPERM EPERM EPERM"]


def test_what_may_not_be_run_is_not_run(ground: Path):
    assert confined(ground, "print(tried(lambda: os.execv('/bin/true', ['true'])))", execute=False) == ["EACCES"]


def test_limits_are_lowered_and_never_raised(ground: Path):
    import resource

    assert confined(
        ground,
        "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE))",
        before="import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))",
        limits=[[resource.RLIMIT_NOFILE, 500], [resource.RLIMIT_CORE, 0]],
    ) == ["(100, 100) (0, 0)"]


# The filter, as the kernel would run it, also for a machine that this is not


def judged(machine: str, architecture: int, number: int, *arguments: int, **more: bool) -> str:
    code = seccomp.program(network=True, unix_sockets=False, machine=machine, **more)
    program = [struct.unpack_from("=HBBI", code, at) for at in range(0, len(code), 8)]
    memory = struct.pack("=IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    at, value = 0, 0
    while True:
        kind, true, false, constant = program[at]
        at += 1
        if kind == 0x20:
            (value,) = struct.unpack_from("=I", memory, constant)
        elif kind == 0x06:
            return {0x7FFF0000: "allowed", 0x80000000: "killed", 0x50000 | 1: "EPERM", 0x50000 | 13: "EACCES"}.get(
                constant, "ENOSYS"
            )
        else:
            holds = {0x15: value == constant, 0x35: value >= constant, 0x45: bool(value & constant)}[kind]
            at += true if holds else false


X86, ARM = ("x86_64", 0xC000003E), ("aarch64", 0xC00000B7)


@pytest.mark.parametrize(
    ("machine", "calls"),
    [
        (
            X86,
            {"openat": 257, "clone": 56, "mount": 165, "socket": 41, "socketpair": 53, "ioctl": 16, "unshare": 272}
            | {"prlimit64": 302, "fchmod": 91, "shmget": 29},
        ),
        (
            ARM,
            {"openat": 56, "clone": 220, "mount": 40, "socket": 198, "socketpair": 199, "ioctl": 29, "unshare": 97}
            | {"prlimit64": 261, "fchmod": 52, "shmget": 194},
        ),
    ],
)
def test_the_filter_judges_alike_on_both_architectures(machine, calls):
    def ask(call, *arguments):
        return judged(*machine, calls[call], *arguments)

    assert ask("openat") == ask("socketpair", 1, 1) == ask("socketpair", 1, 0x80005) == "allowed"
    assert ask("socketpair", 1, 2) == ask("socketpair", 1, 0x80803) == ask("socketpair", 2, 1) == "EACCES"
    assert ask("openat", 0, 0, 0o100, 0o4755) == ask("openat", 0, 0, 0o20200001, 0o2755) == "EPERM"
    assert ask("openat", 0, 0, 0o100, 0o1777) == ask("openat", 0, 0, 1, 0o6755) == "allowed"
    assert ask("fchmod", 3, 0o4755) == ask("shmget") == "EPERM"
    assert ask("fchmod", 3, 0o2775) == "EPERM"
    assert judged(*machine, calls["fchmod"], 3, 0o2775, setgid=True) == "allowed"
    assert ask("mount") == "EPERM"
    assert [ask("socket", family) for family in (1, 2, 10, 17, 38, 40)] == [
        *("EACCES", "allowed", "allowed", "EACCES", "EACCES", "EACCES")
    ]
    assert [ask("socket", 16, 3, protocol) for protocol in (0, 4, 9, 15)] == [
        *("allowed", "allowed", "EACCES", "EACCES")
    ]
    assert [ask("clone", flags) for flags in (17, 0x3D0F00, 0x10000011, 0x20011)] == [
        *("allowed", "allowed", "EPERM", "EPERM")
    ]
    assert [ask("ioctl", 1, request) for request in (0x5401, 0x5412, 0x541C)] == ["allowed", "EPERM", "EPERM"]
    assert ask("ioctl", 1, 0xF00000000 | 0x5412) == "EPERM"
    assert [
        ask("prlimit64", *given) for given in ((0, 0, 5), (9, 0, 0), (9, 0, 5), (9, 0, 1 << 32), (1 << 32, 0, 5))
    ] == [*("allowed", "allowed", "EPERM", "EPERM", "allowed")]
    assert [ask("unshare", flags) for flags in (0x400, 0x10000000)] == ["allowed", "EPERM"]


def test_calls_of_another_architecture_end_the_process():
    assert judged("x86_64", 0x40000003, 5) == judged("aarch64", 0xC000003E, 257) == "killed"
    assert judged(*X86, 0x40000000 | 39) == "ENOSYS"


def test_an_unknown_machine_has_no_filter():
    with pytest.raises(OSError, match="riscv64"):
        seccomp.program(network=True, unix_sockets=False, machine="riscv64")


@pytest.mark.parametrize(("version", "bits"), [(1, 13), (2, 14), (3, 15), (4, 15), (5, 16), (7, 16), (9, 16)])
def test_each_version_of_landlock_is_asked_for_what_it_knows(version, bits):
    assert landlock.handled(version) == (1 << bits) - 1
