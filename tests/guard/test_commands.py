"""Promises of guard/commands.py, each tried with real processes. Survivors are found by a number in their arguments."""

# ruff: noqa: ASYNC110, ASYNC220, ASYNC240, ASYNC251
# These tests own their event loop: nothing else waits for it.

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from bursar.errors import BursarError
from bursar.guard import environment, helpers
from bursar.guard.command import Command, Exit, Limits
from bursar.guard.commands import Commands
from bursar.guard.environment import command_environment
from bursar.guard.forkserver import processes

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="what is promised here, only Linux can keep"),
]


class Marked:
    """Commands whose processes carry a number that no other process of this machine has."""

    def __init__(self) -> None:
        self.seconds = f"86400.{secrets.randbelow(10**12):012d}"
        self.sleep = f"sleep {self.seconds}"

    def alive(self) -> list[int]:
        """Return the processes that carry the number."""
        found: list[int] = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if self.seconds.encode() in (entry / "cmdline").read_bytes():
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    async def appear(self, number: int) -> None:
        with anyio.fail_after(20):
            while len(self.alive()) < number:
                await anyio.sleep(0.01)

    async def vanish(self) -> None:
        with anyio.fail_after(20):
            while self.alive():
                await anyio.sleep(0.01)


@pytest.fixture
def marked() -> Iterator[Marked]:
    marked = Marked()
    yield marked
    for pid in marked.alive():
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
async def commands():
    commands = Commands(Limits())
    yield commands
    commands.close()


class Shell:
    """Runs bash commands whose output goes to one file."""

    def __init__(self, commands: Commands, directory: Path) -> None:
        self.commands = commands
        self.directory = directory
        self.file = directory / "output"

    async def start(self, text: str, **given) -> Command:
        fd = os.open(self.file, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        try:
            return await self.commands.start(
                ["/bin/bash", "-c", text], **{"cwd": self.directory, "output": fd, **given}
            )
        finally:
            os.close(fd)

    async def run(self, text: str, **given) -> Exit:
        exit_ = await (await self.start(text, **given)).wait(60)
        assert exit_ is not None
        return exit_

    @property
    def output(self) -> bytes:
        return self.file.read_bytes()


@pytest.fixture
def shell(commands: Commands, tmp_path: Path) -> Shell:
    return Shell(commands, tmp_path)


# What comes out


async def test_both_outputs_go_to_one_file_in_the_order_they_were_written(shell: Shell):
    exit_ = await shell.run("for i in 1 2 3; do echo out $i; echo err $i >&2; done; exit 3")
    assert shell.output == b"out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"
    assert (exit_.ended, exit_.code, exit_.signal, exit_.killed, exit_.left) == ("exited", 3, "", 0, 0)


async def test_every_byte_comes_through(shell: Shell):
    data = bytes(range(256)) * 1000
    (shell.directory / "data").write_bytes(data)
    await shell.run("cat data")
    assert shell.output == data


async def test_the_end_by_a_signal_is_named(shell: Shell):
    exit_ = await shell.run("kill -SEGV $$")
    assert (exit_.ended, exit_.code, exit_.signal) == ("exited", None, "SIGSEGV")


# What goes in


async def test_nothing_to_read_means_the_end_of_input(shell: Shell):
    exit_ = await shell.run("read line; echo status $?")
    assert shell.output == b"status 1\n"
    assert exit_.code == 0


async def test_given_input_is_read_to_its_end(shell: Shell):
    data = secrets.token_bytes(3_000_000)
    await shell.run("cat", stdin=data)
    assert shell.output == data


async def test_input_that_nobody_reads_hinders_nobody(shell: Shell):
    exit_ = await shell.run("exit 4", stdin=b"x" * 3_000_000)
    assert exit_.code == 4


async def test_a_running_command_can_be_written_to(shell: Shell):
    command = await shell.start("while read line; do echo got $line; done; echo end", stdin="pipe")
    assert await command.send(b"one\n") == 4
    assert await command.send(b"two\n") == 4
    command.close_stdin()
    command.close_stdin()
    assert (await command.wait(20)) is not None
    assert shell.output == b"got one\ngot two\nend\n"
    with pytest.raises(BursarError, match="input_closed"):
        await command.send(b"three\n")


async def test_writing_to_one_that_does_not_read_gives_up_in_time(shell: Shell, marked: Marked):
    command = await shell.start(marked.sleep, stdin="pipe")
    assert 0 < await command.send(b"x" * 1_000_000, timeout_s=0.2) < 1_000_000
    await command.kill(0)


async def test_writing_ends_when_the_command_does(shell: Shell):
    command = await shell.start("sleep 0.2", stdin="pipe")
    with pytest.raises(BursarError, match="input_closed"):
        await command.send(b"x" * 1_000_000, timeout_s=20)


async def test_a_script_may_be_longer_than_any_argument(shell: Shell):
    script = b"exec 3<&-\necho " + b"x" * 10_000_000 + b" | wc -c\nls /proc/self/fd | wc -l\n"
    fd = os.open(shell.file, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    command = await shell.commands.start(["/bin/bash", "/dev/fd/3"], cwd=shell.directory, output=fd, script=script)
    os.close(fd)
    await command.wait(30)
    assert shell.output == b"10000001\n4\n"


# What a command is given


async def test_a_command_gets_three_descriptors_and_no_more(shell: Shell):
    with (shell.directory / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        await shell.run("ls /proc/self/fd")
    # The fourth is the directory that ls reads.
    assert shell.output.split() == [b"0", b"1", b"2", b"3"]


async def test_a_command_finds_every_signal_at_its_default(shell: Shell):
    await shell.run("exec grep -E 'SigBlk|SigIgn' /proc/self/status")
    threads_own = 0b11 << 31  # 32 and 33 are the C library's own, and no program can set them
    assert {int(line.split()[1], 16) & ~threads_own for line in shell.output.splitlines()} == {0}


async def test_a_command_sees_no_secret_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hush")
    monkeypatch.setenv("MY_TOKEN", "hush")
    monkeypatch.setenv("WANTED", "shown")
    commands = Commands(Limits(), pass_env=["WANTED", "ABSENT"])
    shell = Shell(commands, tmp_path)
    await shell.run("cat /proc/$$/environ /proc/$PPID/environ")
    commands.close()
    assert b"hush" not in shell.output
    assert b"WANTED=shown" in shell.output
    assert b"ABSENT" not in shell.output


def test_a_passed_variable_wins_over_a_fixed_one():
    source = {"TERM": "xterm", "LC_ALL": "C", "LC_SECRET": "x", "HOME": "/h"}
    assert command_environment([], source)["TERM"] == "dumb"
    environment = command_environment(["TERM"], source)
    assert environment["TERM"] == "xterm"
    assert environment["LC_ALL"] == "C"
    assert "LC_SECRET" not in environment
    assert "LANG" not in environment


async def test_a_command_has_no_terminal_no_core_file_and_dies_first(shell: Shell):
    await shell.run("ulimit -c; cat /proc/self/oom_score_adj; (: </dev/tty) 2>/dev/null || echo none; pwd; echo $PWD")
    directory = os.fsencode(shell.directory)
    assert shell.output.split() == [b"0", b"500", b"none", directory, directory]


# What cannot be started


async def test_what_cannot_be_started_is_a_clear_error(shell: Shell):
    fd = os.open(os.devnull, os.O_WRONLY)
    started = shell.commands.start
    with pytest.raises(BursarError, match="no_such_program"):
        await started(["/no/such"], cwd=shell.directory, output=fd)
    with pytest.raises(BursarError, match="bad_directory"):
        await started(["/bin/true"], cwd=shell.directory / "none", output=fd)
    with pytest.raises(BursarError, match="command_too_long"):
        await started(["/bin/echo", "x" * 10_000_000], cwd=shell.directory, output=fd)
    with pytest.raises(BursarError, match="bad_command"):
        await started(["/bin/echo", "a\0b"], cwd=shell.directory, output=fd)
    with pytest.raises(BursarError, match="bad_command"):
        await started(["/bin/echo", "\ud800"], cwd=shell.directory, output=fd)
    os.close(fd)
    assert (await shell.run("true")).code == 0


# What is left


@pytest.mark.parametrize(
    "survivor",
    [
        "{} &",
        "nohup {} >/dev/null 2>&1 &",
        "setsid {} &",
        "setsid -f {}",
        "( ( {} & ) & )",
        "(setsid bash -c 'trap \"\" TERM HUP INT; {} & wait; wait; {}' &)",
        'python3 -c \'import os; os.fork() or (os.setsid(), os.fork() or os.execlp("sleep", *"{}".split()))\'',
    ],
)
async def test_nothing_outlives_the_command(shell: Shell, marked: Marked, survivor: str):
    exit_ = await shell.run(survivor.replace("{}", marked.sleep) + "\necho done")
    assert marked.alive() == []
    assert (exit_.ended, exit_.code, exit_.left) == ("exited", 0, 0)
    assert exit_.killed >= 1
    assert shell.output == b"done\n"


async def test_what_ends_by_itself_a_moment_later_is_not_killed(shell: Shell):
    exit_ = await shell.run("echo kept > >(sleep 0.05; tee log)")
    assert shell.output == b"kept\n"
    assert exit_.killed == 0


async def test_a_timeout_ends_the_whole_tree(shell: Shell, marked: Marked):
    text = f"setsid {marked.sleep} & (trap '' TERM; {marked.sleep}; {marked.sleep}) & {marked.sleep}"
    exit_ = await shell.run(text, limits=Limits(timeout_s=0.5, grace_s=0.2))
    assert marked.alive() == []
    assert (exit_.ended, exit_.code, exit_.signal) == ("timeout", None, "SIGTERM")
    assert exit_.killed >= 3


async def test_a_timeout_lets_a_command_tidy_up_first(shell: Shell, marked: Marked):
    exit_ = await shell.run(f"trap 'echo tidy; exit 7' TERM; {marked.sleep} & wait", limits=Limits(timeout_s=0.3))
    assert shell.output == b"tidy\n"
    assert (exit_.ended, exit_.code) == ("timeout", 7)
    assert marked.alive() == []


async def test_a_stopped_process_is_killed_too(shell: Shell, marked: Marked):
    exit_ = await shell.run(f"{marked.sleep} & kill -STOP $!; kill -STOP $$", limits=Limits(timeout_s=0.3))
    assert exit_.ended == "timeout"
    assert marked.alive() == []


async def test_three_hundred_sleepers_are_killed(shell: Shell, marked: Marked):
    command = await shell.start(f"for i in $(seq 300); do setsid {marked.sleep} & done; wait")
    await marked.appear(300)
    exit_ = await command.kill(0)
    assert marked.alive() == []
    assert exit_.ended == "stopped"
    assert exit_.killed >= 300


async def test_a_fork_bomb_is_ended_by_the_timeout(shell: Shell, marked: Marked):
    # Bounded from outside in case the promise does not hold: at most 400 generations.
    text = f"f() {{ [ $1 -gt 0 ] && {{ {marked.sleep} & f $(($1 - 1)) & }}; wait; }}; f 400"
    exit_ = await shell.run(text, limits=Limits(timeout_s=1, grace_s=0.05))
    assert exit_.ended == "timeout"
    assert marked.alive() == []


async def test_killing_gives_the_grace_it_was_asked_for(shell: Shell, marked: Marked):
    command = await shell.start(f"trap 'echo tidy; exit 7' TERM; echo ready; {marked.sleep} & wait")
    with anyio.fail_after(20):
        while not shell.file.exists() or b"ready" not in shell.output:
            await anyio.sleep(0.01)
    exit_ = await command.kill(5)
    assert (exit_.ended, exit_.code) == ("stopped", 7)
    assert await command.kill(5) == exit_
    assert marked.alive() == []


async def test_waiting_gives_up_without_ending_the_command(shell: Shell, marked: Marked):
    command = await shell.start(marked.sleep)
    assert await command.wait(0.05) is None
    assert command.exit is None
    assert command.pid in marked.alive()
    await command.kill(0)
    assert command.exit is not None


async def test_a_cancelled_start_leaves_nothing(shell: Shell, marked: Marked):
    for delay_s in (0, 0.001, 0.003, 0.006, 0.01):
        with anyio.move_on_after(delay_s):
            await (await shell.start(marked.sleep)).kill(0)
    await anyio.sleep(0.2)
    shell.commands.close()
    await marked.vanish()


async def test_output_beyond_the_limit_ends_the_command(shell: Shell):
    exit_ = await shell.run("yes", limits=Limits(output_bytes=3_000_000))
    assert exit_.ended == "output limit"
    assert shell.output == b"y\n" * 1_500_000


async def test_output_of_exactly_the_limit_is_within_it(shell: Shell):
    exit_ = await shell.run("yes | head -c 3000000", limits=Limits(output_bytes=3_000_000))
    assert (exit_.ended, exit_.code, len(shell.output)) == ("exited", 0, 3_000_000)


async def test_writing_to_the_names_of_the_outputs_empties_nothing(shell: Shell):
    await shell.run("echo one; echo two > /dev/stderr; echo three | tee /dev/stderr > /dev/stdout; echo four")
    assert sorted(shell.output.split()) == [b"four", b"one", b"three", b"three", b"two"]
    assert shell.output.startswith(b"one\ntwo\n")


async def test_what_is_printed_last_is_kept_however_the_command_ends(shell: Shell):
    await shell.run("head -c 200000 /dev/zero; kill -KILL $$")
    assert len(shell.output) == 200_000


async def test_output_is_there_while_the_command_runs(shell: Shell, marked: Marked):
    command = await shell.start(f"echo now; {marked.sleep}")
    with anyio.fail_after(20):
        while shell.output != b"now\n":
            await anyio.sleep(0.01)
    await command.kill(0)


async def test_a_command_may_close_its_output_and_go_on(shell: Shell):
    exit_ = await shell.run("echo said; exec >&- 2>&-; sleep 0.2; exit 9")
    assert (exit_.code, shell.output) == (9, b"said\n")


async def test_output_is_added_to_what_the_file_holds(shell: Shell):
    await shell.run("echo one")
    await shell.run("echo two")
    assert shell.output == b"one\ntwo\n"


async def test_a_full_disk_ends_what_prints_and_nothing_else(shell: Shell):
    no_room = Limits(free_bytes=2**62)
    assert (await shell.run("yes", limits=no_room)).ended == "disk full"
    assert (await shell.run("echo freeing", limits=no_room)).ended == "exited"


# The helpers


async def test_closing_ends_every_command_and_another_can_follow(shell: Shell, marked: Marked):
    running = [await shell.start(f"setsid {marked.sleep} & {marked.sleep}") for _ in range(5)]
    await marked.appear(10)
    shell.commands.close()
    await marked.vanish()
    assert [command.exit.ended for command in running if command.exit] == ["server ended"] * 5
    assert (await shell.run("true")).code == 0


async def test_a_killed_keeper_leaves_nothing_and_is_told(shell: Shell, marked: Marked):
    exit_ = await shell.run(f"setsid {marked.sleep} & sleep 0.1; kill -KILL $PPID; {marked.sleep}")
    assert exit_.ended == "lost"
    await marked.vanish()
    assert (await shell.run("true")).code == 0


async def test_a_keeper_that_was_stopped_can_still_be_killed(
    shell: Shell, marked: Marked, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("bursar.guard.posix_commands._OVERDUE_S", 0.3)
    command = await shell.start(f"sleep 0.3; kill -STOP $PPID; setsid {marked.sleep} & {marked.sleep}")
    await marked.appear(2)
    assert (await command.kill(0)).ended == "stopped"
    await marked.vanish()


async def test_a_keeper_that_is_stopped_at_once_does_not_hang_the_call(
    shell: Shell, marked: Marked, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("bursar.guard.posix_commands._OVERDUE_S", 600)
    for _ in range(5):
        exit_ = await shell.run(f"kill -STOP $PPID; {marked.sleep}", limits=Limits(timeout_s=0.2, grace_s=0))
        assert exit_.ended == "timeout"
    await marked.vanish()


async def test_a_keeper_that_does_not_go_on_is_killed(shell: Shell, marked: Marked, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bursar.guard.posix_commands._OVERDUE_S", 0.3)
    signalled = helpers.Helper.signal_keeper

    def signal_keeper(self, number, signum):
        if signum != signal.SIGCONT:
            signalled(self, number, signum)

    monkeypatch.setattr(helpers.Helper, "signal_keeper", signal_keeper)
    exit_ = await shell.run(f"sleep 0.1; kill -STOP $PPID; {marked.sleep}", limits=Limits(timeout_s=0.2, grace_s=0))
    assert exit_.ended == "lost"
    await marked.vanish()


async def test_a_command_that_kills_its_keeper_at_once_has_still_been_started(shell: Shell, marked: Marked):
    for number in range(30):
        exit_ = await shell.run(f"echo {number} >> did; kill -KILL $PPID; {marked.sleep}")
        assert exit_.ended == "lost"
    await marked.vanish()
    assert (shell.directory / "did").read_text().split() == [str(number) for number in range(30)]


async def test_a_killed_fork_server_is_replaced(shell: Shell):
    await shell.run("echo $PPID")
    fork_server = int(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()[-1])
    assert Path(f"/proc/{fork_server}/comm").read_text() == "bursar-zygote\n"
    os.kill(fork_server, signal.SIGKILL)
    await anyio.sleep(0.1)
    assert (await shell.run("exit 5")).code == 5


def fork_server() -> int:
    children = processes.below_directly(os.getpid())
    (found,) = (pid for pid in children if Path(f"/proc/{pid}/comm").read_text() == "bursar-zygote\n")
    return found


def boot_with(monkeypatch: pytest.MonkeyPatch, boot: str) -> None:
    """Have helper processes begin with another text."""

    def python(_module: str, *arguments: str) -> list[str]:
        return [sys.executable, "-I", "-S", "-c", boot, environment.HERE, *arguments]

    monkeypatch.setattr("bursar.guard.helpers.python", python)


async def open_when_idle(pid: int) -> int:
    """Return how many descriptors a process has open once it waits for something to do."""
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
        await anyio.sleep(0.01)
    return len(os.listdir(f"/proc/{pid}/fd"))


async def test_where_no_process_can_be_forked_only_that_command_fails(
    tmp_path: Path, marked: Marked, monkeypatch: pytest.MonkeyPatch
):
    boot = f"""
import errno, os, sys; sys.path.append(sys.argv.pop(1))
fork, fork_server = os.fork, os.getpid()
def at_times():
    if os.getpid() == fork_server and os.path.exists({str(tmp_path / "full")!r}):
        raise OSError(errno.EAGAIN, "too many processes")
    return fork()
os.fork = at_times
from forkserver.keepers import main; main()"""
    boot_with(monkeypatch, boot)
    commands = Commands(Limits())
    shell = Shell(commands, tmp_path)
    running = await shell.start(marked.sleep)
    helper = fork_server()
    descriptors = await open_when_idle(helper)
    (tmp_path / "full").touch()
    for _ in range(3):
        with pytest.raises(BursarError, match="command_not_started"):
            await shell.run("true")
    (tmp_path / "full").unlink()
    assert (await shell.run("exit 7")).code == 7
    assert (fork_server(), await open_when_idle(helper)) == (helper, descriptors)
    assert running.exit is None
    assert (await running.kill(0)).ended == "stopped"
    assert marked.alive() == []
    commands.close()


async def test_descriptors_that_came_with_no_order_are_closed(shell: Shell):
    await shell.run("true")
    helper = fork_server()
    before = await open_when_idle(helper)
    for message, files in (({"fork": 0}, 3), ({"signal": 9, "number": 0}, 2), ({"other": 0}, 4)):
        shell.commands._starter._helpers._of[None]._send(message, [0] * files)
    await shell.run("true")
    assert await open_when_idle(helper) == before


async def test_what_a_keeper_could_not_end_is_the_fork_servers_to_end(
    tmp_path: Path, marked: Marked, monkeypatch: pytest.MonkeyPatch
):
    boot = "import sys; sys.path.append(sys.argv.pop(1)); from forkserver import keeper; keeper.GIVE_UP_S = -1.0"
    boot_with(monkeypatch, f"{boot}\nfrom forkserver.keepers import main; main()")
    commands = Commands(Limits())
    shell = Shell(commands, tmp_path)
    exit_ = await shell.run(f"setsid {marked.sleep} & {marked.sleep}", limits=Limits(timeout_s=0.3, grace_s=0))
    assert (exit_.ended, exit_.left) == ("timeout", 3)
    await marked.vanish()
    assert (await shell.run("exit 7")).code == 7
    commands.close()


async def test_a_keeper_that_nobody_can_be_asked_to_kill_is_let_go(
    shell: Shell, marked: Marked, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("bursar.guard.posix_commands._OVERDUE_S", 0.3)
    command = await shell.start(f"sleep 0.2; kill -STOP $PPID; {marked.sleep}", limits=Limits(timeout_s=0.3, grace_s=0))
    await marked.appear(1)

    def busy(message, files=()) -> None:
        raise BursarError("busy", "too many commands are being started at the same time", "try again in a second")

    monkeypatch.setattr(shell.commands._starter._helpers._of[None], "_send", busy)
    exit_ = await command.wait(30)
    assert exit_ is not None
    assert exit_.ended == "lost"


async def test_the_helper_gets_what_python_needs_to_start_and_commands_do_not(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere/lib")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hush")
    await shell.run("cat /proc/$PPID/environ; echo; env")
    helper, own = shell.output.split(b"\n", 1)
    assert b"LD_LIBRARY_PATH=/nowhere/lib" in helper.split(b"\0")
    assert b"hush" not in helper
    assert b"LD_LIBRARY_PATH" not in own


async def test_a_hundred_commands_at_a_time_each_get_their_own_end(commands: Commands, tmp_path: Path):
    codes: dict[int, int | None] = {}

    async def one(number: int) -> None:
        directory = tmp_path / str(number)
        directory.mkdir()
        shell = Shell(commands, directory)
        codes[number] = (await shell.run(f"echo {number}; exit {number}")).code
        assert shell.output == b"%d\n" % number

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(one, number)
    assert codes == {number: number for number in range(100)}


async def test_no_descriptor_and_no_process_is_left_in_the_server(shell: Shell, marked: Marked):
    await shell.run("true")
    before = os.listdir("/proc/self/fd")
    for _ in range(5):
        await shell.run("cat", stdin=b"x")
        await (await shell.start(marked.sleep, stdin="pipe")).kill(0)
        with pytest.raises(BursarError):
            await shell.run("true", cwd=Path("/no/such"))
    assert os.listdir("/proc/self/fd") == before
    shell.commands.close()
    assert len(os.listdir("/proc/self/fd")) == len(before) - 1


SERVER = """
import anyio, os, signal, sys
from pathlib import Path
from bursar.guard.command import Limits
from bursar.guard.commands import Commands

async def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells have what runs in the background ignore
    commands = Commands(Limits())
    fd = os.open(os.devnull, os.O_WRONLY)
    for _ in range(3):
        text = os.environ["TEXT"]
        await commands.start(["/bin/bash", "-c", text], cwd=Path("/"), output=fd, stdin="pipe")
    print("ready", flush=True)
    if sys.argv[1:] == ["fork"]:
        os.fork() or signal.pause()
    await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_the_death_of_the_server_ends_everything(marked: Marked, number: signal.Signals):
    text = f"setsid {marked.sleep} & (trap '' TERM INT HUP; nohup {marked.sleep}) & {marked.sleep} & wait"
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        env={**os.environ, "TEXT": text},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        await marked.appear(9)
        server.send_signal(number)
        server.wait(20)
    await marked.vanish()


async def test_a_child_that_holds_the_servers_descriptors_does_not_keep_commands_alive(marked: Marked):
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, "fork"],
        env={**os.environ, "TEXT": marked.sleep},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        await marked.appear(3)
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        server.kill()
        server.wait(20)
        await marked.vanish()
        for pid in children:
            # The helper is gone by now or about to go; the forked child is what has to be ended.
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                continue


def test_descendants_are_found_without_the_kernels_lists_of_children(monkeypatch: pytest.MonkeyPatch, marked: Marked):
    with subprocess.Popen(["/bin/bash", "-c", f"echo; {marked.sleep} & wait"], stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        started.stdout.readline()
        while len(marked.alive()) < 2:
            time.sleep(0.01)
        listed = set(processes.below([started.pid]))
        monkeypatch.setattr(os.path, "exists", lambda _: False)  # a kernel built without them
        assert set(processes.below([started.pid])) == listed
        assert len(listed) == 1
        processes.send_signal([*listed, started.pid], signal.SIGKILL)


@pytest.mark.needs("ps")
async def test_where_no_process_adopts_orphans_the_tree_and_the_group_are_killed(
    tmp_path: Path, marked: Marked, monkeypatch: pytest.MonkeyPatch
):
    # The way of macOS, with this system's ps: what left the group and lost its parent is not found there.
    boot = "import sys; sys.platform = 'darwin'; sys.path.append(sys.argv.pop(1))\n"
    boot += "from forkserver.keepers import main; main()"
    boot_with(monkeypatch, boot)
    commands = Commands(Limits())
    shell = Shell(commands, tmp_path)
    exit_ = await shell.run(f"setsid {marked.sleep} & {marked.sleep} & wait", limits=Limits(timeout_s=0.5))
    assert (exit_.ended, exit_.killed, exit_.left) == ("timeout", 2, 0)
    assert marked.alive() == []
    exit_ = await shell.run(f"nohup {marked.sleep} & echo done")
    assert (exit_.ended, exit_.code, exit_.killed) == ("exited", 0, 1)
    assert marked.alive() == []
    assert shell.output.endswith(b"done\n")
    commands.close()


async def test_a_blocked_event_loop_does_not_prolong_a_command(shell: Shell, marked: Marked):
    command = await shell.start(marked.sleep, limits=Limits(timeout_s=0.2))
    until = time.monotonic() + 30
    while marked.alive() and time.monotonic() < until:
        time.sleep(0.02)  # the point is to block the loop
    assert marked.alive() == []
    exit_ = await command.wait(5)
    assert exit_ is not None
    assert exit_.ended == "timeout"


async def test_what_a_command_says_on_its_standard_error_can_be_kept_apart(commands, tmp_path):
    with (tmp_path / "out").open("wb") as output, (tmp_path / "errors").open("wb") as errors:
        command = await commands.start(
            ["/bin/sh", "-c", "echo said; echo wrong >&2"],
            cwd=tmp_path,
            output=output.fileno(),
            errors=errors.fileno(),
        )
        assert (await command.ended()).code == 0
    assert (tmp_path / "out").read_bytes() == b"said\n"
    assert (tmp_path / "errors").read_bytes() == b"wrong\n"
