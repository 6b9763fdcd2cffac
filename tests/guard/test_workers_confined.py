"""Workers on Linux hold nothing: what took one over by its content can read, write, reach or start nothing."""

# ruff: noqa: ASYNC110

import os
import platform
import signal
import socket
import struct
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from bursar.artifacts import Limits, Store
from bursar.errors import BursarError
from bursar.guard.forkserver import seccomp
from bursar.guard.workers import Workers, calls

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these walls"),
]

SECRET = "the other session's secret"


@pytest.fixture
async def workers(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    async with Workers(4, packages=("hostile",), hidden=[tmp_path / "state"]) as started:
        yield started


@pytest.fixture
async def place(tmp_path, monkeypatch):
    """Two sessions, a home, a workspace, and what listens on this machine."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text(SECRET)
    monkeypatch.setenv("HOME", str(home))
    store = Store(tmp_path / "state", Limits())
    with closing(store), closing(store.create("local:other")) as theirs, closing(store.create("local:own")) as own:
        other = theirs.directory / "a1.txt"
        other.write_text(SECRET)
        mine = own.directory / "a1.txt"
        mine.write_text("mine")
        written = own.directory / "new"
        written.touch()
        workspace = tmp_path / "project"
        workspace.mkdir()
        (workspace / "main.py").write_text(SECRET)
        with socket.create_server(("127.0.0.1", 0)) as tcp, listening(str(tmp_path / "socket")) as local:
            yield SimpleNamespace(
                other=other,
                mine=mine,
                written=written,
                home=home,
                workspace=workspace,
                state=store.root,
                port=tcp.getsockname()[1],
                local=local.getsockname(),
            )


def listening(path):
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    return server


@pytest.fixture
def attack(workers, place):
    """Run an attack in a worker that may read `mine` and write `written`."""

    async def attack(name, **given):
        call = {
            "attack": name,
            **{key: str(value) if isinstance(value, Path) else value for key, value in given.items()},
        }
        return await workers.call("hostile.attacks:run", call, reads=[place.mine], writes=[place.written])

    return attack


def paths_of(place):
    return [
        place.other,
        place.home / ".ssh" / "id_ed25519",
        place.workspace / "main.py",
        place.mine.parent / "session.json",
        "/etc/passwd",
        "/etc/shadow",
        "/proc/self/environ",
        "/proc/self/mem",
        "/proc/1/environ",
        f"/proc/{os.getpid()}/environ",
        f"/proc/{os.getpid()}/mem",
        f"/proc/{os.getpid()}/maps",
        f"/proc/{os.getpid()}/root/etc/passwd",
        f"/proc/{os.getpid()}/cwd/pyproject.toml",
        "/dev/mem",
        "/dev/tty",
    ]


async def test_no_other_file_can_be_read(attack, place):
    (place.mine.parent / "session.json").touch()
    for path in paths_of(place):
        for name in ("read", "in_a_thread"):
            told = await attack(name, path=path)
            assert told.get("refused") in ("EACCES", "EPERM", "ENOENT"), (path, told)


async def test_what_was_given_can_be_read_and_no_more(attack, place):
    assert (await attack("read", path=place.mine))["got"] == "mine"
    for name in ("change", "empty", "remove"):
        assert (await attack(name, path=place.mine))["refused"] == "EACCES"
    assert place.mine.read_text() == "mine"


async def test_a_directory_that_was_given_can_be_read(workers, place):
    call = {"attack": "read", "path": str(place.workspace / "main.py")}
    told = await workers.call("hostile.attacks:run", call, reads=[place.workspace])
    assert told["got"] == SECRET


async def test_no_directory_can_be_listed(attack, place):
    for path in (place.state, place.other.parent, place.mine.parent, place.home, place.workspace, "/", "/tmp", "/proc"):
        assert (await attack("list_directory", path=path))["refused"] == "EACCES", path


async def test_what_was_given_to_write_can_be_written(attack, place):
    await attack("change", path=place.written)
    assert place.written.read_text() == "changed"


async def test_nothing_else_can_be_written(attack, place, tmp_path):
    beside = place.written.parent / "beside"
    for path in (
        beside,
        tmp_path / "made",
        place.home / ".bashrc",
        place.workspace / "made",
        Path("/tmp/made-by-worker"),
    ):
        assert (await attack("make", path=path))["refused"] == "EACCES", path
        assert not path.exists()
    for name in ("change", "empty", "remove"):
        assert (await attack(name, path=place.other))["refused"] == "EACCES"
    for name in ("link_and_read", "hard_link", "rename"):
        assert "refused" in await attack(name, path=place.other, into=beside)
        assert "refused" in await attack(name, path=place.written, into=beside)
    assert place.other.read_text() == SECRET
    assert not beside.is_symlink()
    assert not beside.exists()


async def test_no_attribute_of_a_file_can_be_changed(attack, place):
    before = place.other.stat(), place.written.stat()
    for path in (place.other, place.written):
        for name in ("change_mode", "change_times", "change_attribute", "watch"):
            assert (await attack(name, path=path))["refused"] in ("EPERM", "EACCES"), (path, name)
    assert (place.other.stat(), place.written.stat()) == before


@pytest.mark.parametrize(
    "name", ["memory", "look_into", "trace", "links_of", "descriptors_of", "send_signal", "queue_signal", "hold"]
)
async def test_no_other_process_is_within_reach(attack, workers, name):
    fork_server = (await workers.call("hostile.jobs:ancestry", {}))["parent"]
    for pid in (os.getpid(), fork_server, 1):
        assert (await attack(name, pid=pid))["refused"] in ("EPERM", "EACCES", "ESRCH"), pid


async def test_a_worker_cannot_reach_another_one(attack, workers, tmp_path):
    told = tmp_path / "told"
    told.touch()
    async with anyio.create_task_group() as group:
        group.start_soon(partial(workers.call, "hostile.jobs:sleep_while_told", {"path": str(told)}, writes=[told]))
        while not told.read_text():
            await anyio.sleep(0.01)
        for name in ("memory", "look_into", "trace", "send_signal", "queue_signal", "hold"):
            assert "refused" in await attack(name, pid=int(told.read_text().split()[0])), name
        assert "refused" in await attack("send_signal_to_all")
        group.cancel_scope.cancel()


async def test_nothing_can_be_reached_through_a_socket(attack, place):
    assert "refused" in await attack("connect", port=place.port)
    assert "refused" in await attack("connect_locally", path=place.local)
    with listening("\0bursar-abstract-test"):
        assert "refused" in await attack("connect_locally", path="bursar-abstract-test")
    for name in ("make_pair", "ask_netlink", "share_memory"):
        assert "refused" in await attack(name), name


async def test_no_program_and_no_process_can_be_started(attack):
    assert (await attack("fork"))["refused"] == "EPERM"
    for name in ("start", "become", "spawn"):
        for program in ("/bin/sh", sys.executable, "/bin/true"):
            assert (await attack(name, program=program))["refused"] in ("EPERM", "EACCES"), name


async def test_it_cannot_outlive_its_time_or_the_server(attack):
    for name in ("outlive", "raise_limit"):
        assert (await attack(name))["refused"] == "EPERM", name


async def test_it_holds_no_descriptor_but_its_own(attack):
    assert (await attack("held_descriptors"))["got"] == [0, 1, 2, 3]


async def test_what_libraries_need_is_there(attack):
    assert (await attack("import_much"))["got"][0] == "Europe/Berlin"


async def test_a_hidden_directory_stays_so_even_if_python_looks_there(monkeypatch, place):
    """A store inside the project whose directory is on Python's path."""
    inside = place.state.parent / "package"
    inside.mkdir()
    (inside / "store").mkdir()
    secret, public = inside / "store" / "secret", inside / "module.py"
    secret.write_text(SECRET)
    public.write_text("public")
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parent}{os.pathsep}{inside}")
    async with Workers(packages=("hostile",), hidden=[inside / "store"]) as workers:
        for path, outcome in ((secret, {"refused"}), (public, {"got"})):
            told = await workers.call("hostile.attacks:run", {"attack": "read", "path": str(path)})
            assert outcome <= set(told)


async def test_the_home_directory_is_not_readable_even_if_python_looks_there(monkeypatch, place):
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parent}{os.pathsep}{place.home}")
    async with Workers(packages=("hostile",)) as workers:
        told = await workers.call(
            "hostile.attacks:run", {"attack": "read", "path": str(place.home / ".ssh/id_ed25519")}
        )
        assert told["refused"] == "EACCES"


async def test_a_path_that_is_gone_is_an_error(workers, tmp_path):
    with pytest.raises(BursarError, match="worker_failed"):
        await workers.call("hostile.jobs:echo", {}, reads=[tmp_path / "gone"])


async def test_what_holds_is_told_after_trying_it(workers):
    told = await workers.confinement()
    assert told.holds, told.attacks
    assert "confined by the kernel" in told.line()


LANDLOCK = (444, 445, 446)
SECCOMP = (317, 157) if platform.machine() == "x86_64" else (277, 167)

WITHOUT = """
import anyio, ctypes, os, struct, sys
from bursar.guard.workers import Workers
from bursar.guard.forkserver import seccomp
from bursar.guard.forkserver.capabilities import gain_nothing
async def main():
    async with Workers(packages=("hostile",)) as workers:
        told = await workers.confinement()
        print(told.holds, told.attacks["read a file"], told.attacks["open a socket"], told.attacks["start a program"])
        print(told.line())
        print(await workers.call("hostile.jobs:echo", {"still": "works"}))
gain_nothing()
seccomp.enforce(bytes.fromhex(sys.argv[1]))
anyio.run(main)
"""


def refusing(*numbers):
    """Return a filter that makes system calls look as if the kernel did not have them."""
    code = [(0x20, 0, 0, 0)]
    for number in numbers:
        code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | 38)]
    code.append((0x06, 0, 0, 0x7FFF0000))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


@pytest.mark.parametrize(("without", "socket_is"), [(LANDLOCK, "held"), ((*LANDLOCK, *SECCOMP), "succeeded")])
def test_without_the_kernels_means_workers_run_and_say_so(without, socket_is):
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-P", "-c", WITHOUT, refusing(*without).hex()]
    told = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True)
    first, line, answer = told.stdout.splitlines()
    assert first.startswith(f"False succeeded {socket_is}")
    assert "not confined well: these attacks succeed: read a file" in line
    assert answer == "{'still': 'works'}"


@pytest.mark.parametrize(("machine", "numbers"), [("x86_64", (59, 41, 101)), ("aarch64", (221, 198, 117))])
def test_the_filter_is_made_for_either_machine(machine, numbers):
    code = calls.program(machine=machine, pid=1)
    compared = {value for kind, _, _, value in struct.iter_unpack("=HBBI", code) if kind == 0x15}
    assert {*numbers} <= compared
    assert seccomp.program(network=False, unix_sockets=False, machine=machine)


def test_a_machine_whose_calls_are_unknown_has_no_filter():
    with pytest.raises(OSError, match="no filter"):
        calls.program(machine="riscv64")


async def test_a_signal_to_itself_is_its_own_affair(workers):
    with pytest.raises(BursarError, match=f"signal {int(signal.SIGKILL)}"):
        await workers.call("hostile.jobs:die", {})
