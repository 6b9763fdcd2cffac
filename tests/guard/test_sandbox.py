"""Promises of guard/sandbox: the level that is shown was tried at this start, and nothing weaker runs."""

# ruff: noqa: ASYNC110, ASYNC240
# These tests own their event loop: nothing else waits for it.

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import anyio
import pytest
from bursar.errors import BursarError
from bursar.guard.command import Limits
from bursar.guard.commands import Commands
from bursar.guard.forkserver.limits import tasks_of
from bursar.guard.sandbox import cgroup, private, seatbelt
from bursar.guard.sandbox.policy import Policy, private_environment
from bursar.guard.sandbox.sandbox import Sandbox
from means import LANDLOCK, NAMESPACES, kept_in_by
from sandboxed import MEANS, Ground, ground, python_without

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="these walls are made of what Linux has"),
]


@pytest.fixture
def place():
    with ground() as made:
        yield made


# The level


@pytest.mark.parametrize("means", MEANS)
async def test_where_the_walls_hold_the_level_is_kernel(place: Ground, means: str):
    with kept_in_by(means):
        commands = place.commands()
        isolation = await commands.isolation()
    assert isolation.level == "kernel"
    assert isolation.means.startswith(means.removesuffix(" alone"))
    assert len(isolation.attacks) >= 22
    assert set(isolation.attacks.values()) == {"held"}
    assert ("names, sizes and dates" in isolation.reason) == (means == "Landlock alone")
    assert [entry.name for entry in place.store.iterdir() if entry.name.startswith(".")] == []
    commands.close()


_LEVEL = """
import anyio
from pathlib import Path
from bursar.guard.command import Limits
from bursar.guard.commands import Commands
from bursar.guard.sandbox.policy import Policy
from bursar.guard.sandbox.sandbox import Sandbox
from bursar.guard.forkserver.limits import tasks_of
async def main():
    commands = Commands(Limits(), sandbox=Sandbox(Policy(Path({store!r}), (Path({work!r}),))))
    isolation = await commands.isolation()
    print(isolation.level, isolation.means, isolation.reason, isolation.fix, sep="|")
    try:
        await commands.start(["/bin/true"], cwd=Path({work!r}), output=1, session=Path({own!r}))
    except Exception as error:
        print(error.code)
    commands.close()
anyio.run(main)
"""


def level(place: Ground, numbers: Iterable[int], **options) -> list[str]:
    """Return what a server without these system calls says of its isolation, and why it ran no command."""
    text = _LEVEL.format(store=str(place.store), work=str(place.work), own=str(place.own))
    done = python_without(numbers, text, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


NOT_INSTALLED = {**os.environ, "PATH": "/nowhere"}


@pytest.mark.needs("namespaces")
def test_without_landlock_namespaces_keep_commands_in_and_it_is_told(place: Ground):
    (line,) = level(place, LANDLOCK)
    assert line.startswith("kernel|namespaces + seccomp|Landlock does not take part: the kernel has no Landlock|")


@pytest.mark.needs("namespaces")
def test_namespaces_need_no_program_to_be_installed(place: Ground):
    (line,) = level(place, (), env=NOT_INSTALLED)
    assert line.startswith("kernel|namespaces + Landlock")


@pytest.mark.needs("bwrap")
def test_where_the_server_may_make_no_namespaces_bubblewrap_does(place: Ground):
    (line,) = level(place, NAMESPACES)
    assert line.startswith("kernel|bubblewrap + Landlock")
    (line,) = level(place, (*NAMESPACES, *LANDLOCK))
    assert line.startswith("kernel|bubblewrap + seccomp|Landlock does not take part")


def test_where_nothing_makes_namespaces_landlock_alone_holds_and_what_it_leaves_is_told(place: Ground):
    (line,) = level(place, NAMESPACES, env=NOT_INSTALLED)
    assert line.startswith("kernel|Landlock")
    assert "names, sizes and dates of other sessions' files can be seen" in line
    assert "namespaces: Function not implemented" in line


@pytest.mark.needs("namespaces")
def test_the_doctor_is_not_content_where_namespaces_keep_commands_in_and_nothing_keeps_workers_in(place: Ground):
    options = ["doctor", f"--root={place.work}", f"--data-dir={place.base / 'data'}"]
    done = python_without(LANDLOCK, f"from bursar.server.cli import main; main({options})")
    assert done.returncode == 1, done.stderr
    assert "isolation   kernel" in done.stdout
    assert "wanting: a hostile page or picture" in done.stdout
    assert "all is well" not in done.stdout


def test_without_any_of_them_nothing_is_run_and_the_cure_names_all(place: Ground):
    line, refusal = level(place, (*NAMESPACES, *LANDLOCK), env=NOT_INSTALLED)
    assert line.startswith("off||")
    assert "the kernel has no Landlock" in line
    assert all(fix in line for fix in ("install bubblewrap", "allow user namespaces", "6.12", "--terminal=unsafe"))
    assert refusal == "terminal_off"


async def test_a_store_that_cannot_be_made_means_off(place: Ground):
    (place.base / "file").touch()
    commands = place.commands(store=place.base / "file" / "store")
    isolation = await commands.isolation()
    assert (isolation.level, "--data-dir" in isolation.fix) == ("off", True)
    with pytest.raises(BursarError, match="terminal_off"):
        await place.run(commands, "true")
    commands.close()


def test_a_workspace_in_the_store_is_refused(place: Ground):
    for lying in (place.store / "work", place.store):
        with pytest.raises(BursarError, match="bad_setting"):
            place.commands(roots=(lying,))
    with pytest.raises(BursarError, match="bad_setting"):
        place.commands(writes=(place.other,))


@pytest.mark.parametrize("means", MEANS)
async def test_a_workspace_around_the_store_is_safe(place: Ground, means: str):
    with kept_in_by(means):
        commands = place.commands(roots=(place.base,))
        assert (await commands.isolation()).level == "kernel"
    _, shown = await place.run(
        commands,
        f"echo 1 > {place.work}/new; cat {place.work}/new; cat {place.other}/*; rm -rf {place.other}; "
        f"mv {place.base}/data {place.base}/moved; mv {place.store} {place.work}/; cat {place.base}/moved/*/*/* ; true",
    )
    assert shown.startswith("1\n")
    assert place.secret not in shown
    assert (place.other / "a1-terminal.log").read_text() == place.secret
    made, _ = await place.run(commands, f"touch {place.base}/new")
    assert made.code == (1 if means == "Landlock alone" else 0)
    commands.close()


# What it never does


async def test_a_command_that_cannot_be_confined_is_not_started(place: Ground):
    with kept_in_by("Landlock alone"):
        commands = place.commands()
        await commands.isolation()
    await place.run(commands, "true")
    shutil.rmtree(place.work)
    with pytest.raises(BursarError, match="not_isolated"):
        await place.run(commands, "touch /var/tmp/never-started", cwd=Path("/"))
    assert not Path("/var/tmp/never-started").exists()
    commands.close()


async def test_a_command_of_no_session_is_not_started(place: Ground):
    commands = place.commands()
    with pytest.raises(BursarError, match="not_isolated"):
        await commands.start(["/bin/true"], cwd=place.work, output=1)
    commands.close()


@pytest.mark.parametrize("means", MEANS[:2])
async def test_a_view_that_cannot_be_made_later_means_no_command_not_a_freer_one(place: Ground, means: str):
    with kept_in_by(means):
        commands = place.commands()
        assert (await commands.isolation()).means.startswith(means)
    place.own.rename(place.own.with_name("gone"))
    with pytest.raises(BursarError, match="command_not_started"):
        await place.run(commands, "true")
    commands.close()


# The private directory


@pytest.mark.parametrize("means", MEANS)
async def test_temporary_files_are_private_to_a_session_and_go_with_the_server(place: Ground, means: str):
    with kept_in_by(means):
        commands = place.commands()
        await commands.isolation()
    note = f"note-{os.urandom(4).hex()}"
    await place.run(commands, f"echo mine > $TMPDIR/{note}; mkdir -p $TMPDIR/deep/er; ln -s / $TMPDIR/link")
    _, again = await place.run(commands, f"cat $TMPDIR/{note}; ls -d $XDG_CACHE_HOME $npm_config_cache 2>&1 | wc -l")
    assert again == "mine\n2\n"
    _, others = await place.run(
        commands,
        f"exec 2>/dev/null; cd $TMPDIR; ls -d deep link; find {place.store} /tmp -name {note} -exec cat {{}} +; true",
        session=place.other,
    )
    assert others == ""
    commands.close()
    with anyio.fail_after(10):
        while any((found / note).exists() for found in place.store.glob(".tmp-*")):
            await anyio.sleep(0.01)


def test_what_a_killed_server_left_is_tidied_and_what_is_in_use_is_not(place: Ground):
    left, used = private.Private(place.store), private.Private(place.store)
    (left.path / "a").mkdir()
    (left.path / "a" / "file").touch()
    (left.path / "a").chmod(0)
    os.close(left.fd)
    assert private.tidy(place.store) == 1
    assert [path.name for path in place.store.glob(".tmp-*")] == [used.path.name]
    used.release()
    assert list(place.store.glob(".tmp-*")) == []


def test_caches_stay_where_commands_may_write_them():
    moved = private_environment("/tmp", "/home/me", [Path("/home/me/.cache")])
    assert "XDG_CACHE_HOME" not in moved
    assert moved["npm_config_cache"] == "/tmp/.cache/npm"
    assert moved["TMPDIR"] == "/tmp"


async def test_what_the_user_passes_on_stays_as_it_is(place: Ground, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    commands = place.commands(pass_env=["XDG_CACHE_HOME"])
    _, shown = await place.run(commands, "echo $XDG_CACHE_HOME $CARGO_HOME")
    assert shown.startswith("/elsewhere /")
    commands.close()


# Limits of all that a command starts


@pytest.fixture
async def limited(place: Ground):
    commands = place.commands(Limits(processes=40, memory_bytes=200_000_000, cpu_s=2, timeout_s=50))
    yield commands
    commands.close()


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("for i in $(seq 120); do sleep 86400 & done; wait", "process limit"),
        ("f() { [ $1 = 0 ] || { f $(($1-1)) & f $(($1-1)) & sleep 9; }; }; f 8", "process limit"),
        ("f() { [ $1 = 0 ] || { f $(($1-1)) & f $(($1-1)) & sleep 9; }; }; f 8 & exit 0", "process limit"),
        ("ulimit -v 2000000; python3 -c 'x = bytearray(900_000_000); import time; time.sleep(60)'", "memory limit"),
        ("ulimit -t 30; while :; do :; done & while :; do :; done", "cpu limit"),
    ],
)
async def test_what_uses_too_much_is_ended_and_the_server_goes_on(place: Ground, limited: Commands, text, ended):
    exit_, _ = await place.run(limited, text)
    assert (exit_.ended, exit_.left) == (ended, 0)
    assert (await place.run(limited, "echo on"))[1] == "on\n"


_FORKER = """
import os, signal, sys, time
count = 0
try:
    while count < 1000:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        count += 1
except BlockingIOError:
    pass
print(count)
os.killpg(0, signal.SIGKILL)
"""


@pytest.mark.needs("root")
@pytest.mark.parametrize("means", MEANS)
async def test_what_forks_faster_than_it_is_watched_is_held_by_the_kernel(place: Ground, means: str):
    with kept_in_by(means):
        commands = place.commands(Limits(processes=40))
        await commands.isolation()
    (place.work / "forker.py").write_text(_FORKER)
    _, said = await place.run(commands, "exec python3 -u forker.py", limits=Limits(timeout_s=30))
    assert 200 < int(said) < tasks_of(40)
    exit_, said = await place.run(commands, "cat /proc/self/cgroup")
    assert exit_.code == 0
    (group,) = {line.rpartition("/")[2] for line in said.splitlines() if f"/bursar-{os.getpid()}-" in line}
    assert list(Path("/sys/fs/cgroup").rglob(group))
    commands.close()
    until = time.monotonic() + 10
    while list(Path("/sys/fs/cgroup").rglob(group)) and time.monotonic() < until:
        await anyio.sleep(0.05)
    assert list(Path("/sys/fs/cgroup").rglob(group)) == []


@pytest.mark.needs("root")
def test_a_group_that_a_killed_server_left_is_removed_and_one_in_use_is_not():
    made = [cgroup.group(5), cgroup.group(5)]
    assert None not in made
    left, used = (group for group in made if group is not None)
    with subprocess.Popen([*used.prefix, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(b"begun")
        running.stdin.flush()
        assert running.stdout.read(5) == b"begun"
        for group in (left, used):
            os.utime(group._directory, (0, 0))
        another = cgroup.group(5)
        assert another is not None
        assert [group._directory.exists() for group in (left, used)] == [False, True]
        running.stdin.close()
        running.wait()
    for group in (used, another):
        group.remove()
        assert not group._directory.exists()


async def test_a_user_may_have_so_many_tasks_more_than_there_are(place: Ground):
    commands = place.commands(Limits(processes=1000))
    exit_, said = await place.run(commands, "ulimit -u")
    assert exit_.code == 0
    assert 4000 < int(said) < 40_000
    commands.close()


async def test_a_file_that_grows_too_large_is_cut(place: Ground):
    commands = place.commands(Limits(file_bytes=1_000_000))
    exit_, _ = await place.run(commands, "exec head -c 3000000 /dev/zero > big")
    assert exit_.signal == "SIGXFSZ"
    assert (place.work / "big").stat().st_size == 1_000_000
    commands.close()


# Nothing outlives the server


def test_nothing_outlives_a_killed_server(place: Ground):
    marker = f"86400.{os.getpid()}{int(time.time())}"
    text = f"""
import anyio, os
from pathlib import Path
from bursar.guard.command import Limits
from bursar.guard.commands import Commands
from bursar.guard.sandbox.policy import Policy
from bursar.guard.sandbox.sandbox import Sandbox
from bursar.guard.forkserver.limits import tasks_of
async def main():
    commands = Commands(Limits(), sandbox=Sandbox(Policy(Path({str(place.store)!r}), (Path({str(place.work)!r}),))))
    argv = ["/bin/bash", "-c", "setsid sleep {marker} & nohup sleep {marker} & sleep {marker}"]
    output, own = os.open("/dev/null", 1), Path({str(place.own)!r})
    await commands.start(argv, cwd=Path({str(place.work)!r}), output=output, session=own)
    print("started", flush=True)
    await anyio.sleep(60)
anyio.run(main)
"""

    def alive() -> int:
        found = 0
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    found += marker.encode() in (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
        return found

    server = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE)
    assert server.stdout is not None
    with server.stdout:
        assert server.stdout.readline() == b"started\n"
        until = time.monotonic() + 20
        while alive() < 3 and time.monotonic() < until:
            time.sleep(0.01)
        assert alive() == 3
        server.send_signal(signal.SIGKILL)
        server.wait()
    until = time.monotonic() + 20
    while alive() and time.monotonic() < until:
        time.sleep(0.01)
    assert alive() == 0


async def test_helpers_of_idle_sessions_are_ended_when_there_are_many(place: Ground, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bursar.guard.helpers._IDLE_MAX", 1)
    commands = place.commands()
    busy = await commands.start(
        ["/bin/sleep", "60"], cwd=place.work, output=os.open("/dev/null", os.O_WRONLY), session=place.own
    )
    third = place.store / "cccccccccccc"
    third.mkdir()
    for session in (place.other, third, place.other):
        assert (await place.run(commands, "echo here", session=session))[1] == "here\n"
    assert len(commands._starter._helpers._of) == 2
    assert busy.exit is None
    await busy.kill(0)
    commands.close()


# What runs outside the walls


@pytest.mark.needs("bwrap")
async def test_a_bubblewrap_that_commands_could_have_put_there_is_not_used(
    place: Ground, monkeypatch: pytest.MonkeyPatch
):
    planted = place.work / "bin" / "bwrap"
    planted.parent.mkdir()
    planted.write_text(f"#!/bin/sh\ntouch {place.base}/escaped\n")
    planted.chmod(0o755)
    (place.base / "link").symlink_to(planted.parent)
    monkeypatch.setenv("PATH", f"{planted.parent}:{place.base}/link:{os.environ['PATH']}")
    with kept_in_by("bubblewrap + Landlock"):
        commands = place.commands()
        assert "bubblewrap" in (await commands.isolation()).means
    commands.close()
    assert not (place.base / "escaped").exists()


async def test_where_commands_could_change_the_server_itself_it_is_told(place: Ground):
    commands = place.commands(writes=(Path(sys.prefix),))
    isolation = await commands.isolation()
    commands.close()
    assert isolation.level == "kernel"
    assert sys.prefix in isolation.reason
    assert "outside the roots" in isolation.fix


@pytest.mark.needs("root")
@pytest.mark.parametrize("means", MEANS)
async def test_root_writes_no_file_of_the_kernel_even_where_all_may_be_written(place: Ground, means: str):
    with kept_in_by(means):
        commands = place.commands(roots=(Path("/"),))
        await commands.isolation()
    files = "/proc/sys/kernel/core_pattern /sys/kernel/mm/transparent_hugepage/enabled"
    _, said = await place.run(commands, f"for f in {files}; do (: >> $f) 2> /dev/null && echo $f; done; echo end")
    commands.close()
    assert said == "end\n"


# macOS, as text


def test_the_profile_for_macos_hides_the_store_and_opens_the_own_session(tmp_path: Path):
    policy = Policy(tmp_path / "store", (tmp_path / 'wo"rk',), network=False)
    profile = seatbelt.profile(
        policy, [str(tmp_path / "store")], tmp_path / "store" / "own", tmp_path / "store" / ".tmp-1"
    )
    rules = profile.splitlines()
    assert rules[:3] == ["(version 1)", "(allow default)", "(deny file-write*)"]
    hidden = rules.index(f'(deny file-read* file-write* process-exec* (subpath "{tmp_path}/store"))')
    assert hidden < rules.index(f'(allow file-read* (subpath "{tmp_path}/store/own"))')
    assert f'(allow file-write* (subpath "{tmp_path}/wo\\"rk"))' in rules[:hidden]
    assert "(deny network*)" in rules
    assert {"(deny signal)", "(deny lsopen)", "(deny appleevent-send)", "(deny job-creation)"} <= set(rules)
    assert json.dumps(seatbelt.prefix("/usr/bin/sandbox-exec", policy, [], tmp_path, tmp_path)[:2]) == (
        '["/usr/bin/sandbox-exec", "-p"]'
    )


def test_the_same_policy_is_proved_once(place: Ground):
    first, second = Sandbox(place.policy()), Sandbox(place.policy())
    assert first._proof is second._proof
    first.close()
