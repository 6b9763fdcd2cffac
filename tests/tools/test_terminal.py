"""Promises of the terminal tool, with real commands in a real session."""

# ruff: noqa: ASYNC110
# These tests own their event loop: nothing else waits for it.

import base64
import errno
import gc
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event

import anyio
import anyio.lowlevel
import pytest
from bursar.artifacts import Artifact, Session, Store, Writer
from bursar.artifacts import Limits as StoreLimits
from bursar.errors import BursarError
from bursar.guard.command import Limits
from bursar.guard.commands import Commands
from bursar.guard.paths import Workspace
from bursar.tools.base import Call, Done, Reading
from bursar.tools.terminal import ARGUMENT_BYTES, Terminal
from harness import call_of

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="these commands are for bash"),
]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Store(tmp_path / "data", StoreLimits()).create("local:test")
    yield session
    session.close()


class Bench:
    """Calls one terminal the way the choke point does: what is open after a call is stored."""

    def __init__(self, session: Session, root: Path) -> None:
        self.session = session
        self.root = root
        self.commands = Commands(Limits())
        self.terminal = Terminal()
        self.progressed: list[float] = []
        self.calls: list[Call] = []

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        self.progressed.append(done)

    async def __call__(self, command: str = "", patience_s: float = 60, **given) -> Done | Reading:
        args = self.terminal.Args.model_validate({"command": command, **given})
        given = {"commands": self.commands, "progress": self.progress, "patience_s": patience_s}
        workspace = Workspace([self.root], closed=[self.root / "closed"])
        call = call_of(self.terminal, args, self.session, workspace=workspace, **given)
        self.calls.append(call)
        try:
            return await self.terminal.run(args, call)
        except BaseException:
            for writer in call.writers:
                if writer.is_open:
                    writer.commit("partial")
            raise

    async def until(self, reference: str, wanted: bytes) -> Artifact:
        """Wait until a live artifact holds `wanted`."""
        with anyio.fail_after(20):
            while wanted not in content(artifact := self.session.open(reference)):
                await anyio.sleep(0.01)
        return artifact

    async def ended(self, reference: str) -> Artifact:
        with anyio.fail_after(20):
            while (artifact := self.session.open(reference)).state == "live":
                await anyio.sleep(0.01)
        return artifact


@pytest.fixture
async def bench(session: Session, tmp_path: Path):
    root = tmp_path / "root"
    root.mkdir()
    bench = Bench(session, root)
    yield bench
    bench.commands.close()
    await anyio.lowlevel.checkpoint()


@pytest.fixture
def sleep() -> Iterator[str]:
    """A command that sleeps for a day and that no other process looks like."""
    seconds = f"86400.{secrets.randbelow(10**12):012d}"
    yield f"sleep {seconds}"
    for pid in alive(f"sleep {seconds}"):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def alive(sleep: str) -> list[int]:
    marker = sleep.split()[1].encode()
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def content(output: Writer | Artifact | None) -> bytes:
    artifact = output.artifact if isinstance(output, Writer) else output
    assert artifact is not None
    return artifact.read(0, artifact.size)


def live(outcome: Done | Reading) -> str:
    assert isinstance(outcome, Done)
    assert isinstance(outcome.output, Artifact)
    assert outcome.output.state == "live"
    return outcome.output.ref


def shown(outcome: Done | Reading) -> str:
    assert isinstance(outcome, Reading)
    return "".join(piece.text for piece in outcome.page.pieces)


# An ordinary command


async def test_an_exit_status_is_a_result_and_the_output_is_whole(bench: Bench):
    done = await bench("echo out; echo err >&2; exit 3")
    assert isinstance(done, Done)
    assert list(done.facts)[:2] == ["exit_code", "took_s"]
    assert done.facts["exit_code"] == 3
    assert content(done.output) == b"out\nerr\n"
    artifact = bench.session.open("a1")
    assert (artifact.state, artifact.lines, artifact.did) == ("whole", 2, "$ echo out; echo err >&2; exit 3")
    assert artifact.facts["exit_code"] == 3


async def test_a_command_that_does_not_exist_is_a_result(bench: Bench):
    done = await bench("no-such-command-here")
    assert done.facts["exit_code"] == 127
    assert b"not found" in content(done.output)


async def test_a_command_runs_in_the_first_root_or_where_it_is_told(bench: Bench):
    (bench.root / "sub").mkdir()
    assert content((await bench("pwd; echo $PWD")).output).split() == [os.fsencode(bench.root)] * 2
    assert content((await bench("pwd", cwd="sub")).output) == os.fsencode(bench.root / "sub") + b"\n"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"command": "pwd", "cwd": ".."}, "path_outside_roots"),
        ({"command": "pwd", "cwd": "none"}, "not_found"),
        ({"command": "pwd", "cwd": "file"}, "not_a_directory"),
        ({"command": ""}, "bad_argument"),
        ({"command": " \n"}, "bad_argument"),
        ({"command": "pwd", "timeout_s": -1}, "bad_argument"),
        ({"command": "pwd", "timeout_s": 86_401}, "bad_argument"),
        ({"command": "pwd", "stop": True}, "bad_argument"),
        ({"command": "pwd", "artifact": "a1"}, "bad_argument"),
        ({"artifact": "a1", "stop": True, "input": "x"}, "bad_argument"),
        ({"artifact": "a77"}, "unknown_artifact"),
        ({"command": "echo a\0b"}, "bad_command"),
        ({"command": "echo \ud800"}, "bad_command"),
    ],
)
async def test_what_cannot_be_done_is_a_clear_error_and_stores_nothing(bench: Bench, given: dict, code: str):
    (bench.root / "file").touch()
    with pytest.raises(BursarError) as error:
        await bench(**given)
    assert error.value.code == code
    assert [artifact.size for artifact in bench.session.artifacts()] in ([], [0])


async def test_nothing_waits_for_input_that_never_comes(bench: Bench):
    done = await bench("read -p 'sure? ' answer; echo status $?; cat; (exec </dev/tty) 2>&1 | wc -l")
    assert content(done.output).splitlines()[0].endswith(b"status 1")


async def test_given_input_is_all_there_is_to_read(bench: Bench):
    done = await bench("cat; echo end", input="één\n双\n")
    assert content(done.output).decode() == "één\n双\nend\n"


async def test_any_bytes_may_be_printed(bench: Bench):
    done = await bench("printf '\\377\\000\\033[31m\\200'")
    assert content(done.output) == b"\xff\x00\x1b[31m\x80"


@pytest.mark.parametrize("size", [ARGUMENT_BYTES, ARGUMENT_BYTES + 1, 10_000_000])
async def test_a_command_line_of_any_length_runs(bench: Bench, size: int):
    begin, end = "wc -c <<'EOF'\n", "\nEOF\necho $LINENO"
    done = await bench(begin + "x" * (size - len(begin) - len(end)) + end)
    assert content(done.output) == b"%d\n4\n" % (size - len(begin) - len(end) + 1)
    assert done.facts["exit_code"] == 0
    assert bench.session.open("a1").did == "$ wc -c <<'EOF' …"


async def test_a_long_command_can_read_its_input_and_hands_on_no_descriptor(bench: Bench):
    padding = "# " + "x" * ARGUMENT_BYTES + "\n"
    done = await bench(padding + "cat; ls /proc/self/fd | wc -l", input="given\n")
    assert content(done.output) == b"given\n4\n"


async def test_a_command_sees_no_secret(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("API_KEY", "hush")
    bench.commands.close()
    bench.commands = Commands(Limits())
    assert b"hush" not in content((await bench("env")).output)


# Ends


async def test_the_end_by_a_signal_is_told(bench: Bench):
    done = await bench("kill -SEGV $$")
    assert done.facts["ended"] == "signal SIGSEGV"
    assert "exit_code" not in done.facts


async def test_a_timeout_kills_all_and_keeps_what_was_printed(bench: Bench, sleep: str):
    done = await bench(f"echo before; setsid {sleep} & {sleep}", timeout_s=0.4)
    assert done.facts["ended"] == "timeout"
    assert "timeout_s" in str(done.facts["fix"])
    assert content(done.output) == b"before\n"
    assert alive(sleep) == []


async def test_a_job_in_the_background_that_holds_the_output_open_does_not_hold_up_the_call(bench: Bench, sleep: str):
    done = await bench(f"setsid {sleep} & echo done")
    assert done.facts["exit_code"] == 0
    assert done.facts["killed"] == 1
    assert "background=true" in str(done.facts["note"])
    assert alive(sleep) == []


async def test_a_cancelled_call_leaves_no_process_and_keeps_what_was_printed(bench: Bench, sleep: str):
    async with anyio.create_task_group() as group:
        group.start_soon(bench, f"echo before; setsid {sleep} & {sleep}")
        await _appeared(bench)
        await bench.until("a1", b"before")
        group.cancel_scope.cancel()
    assert alive(sleep) == []
    artifact = bench.session.open("a1")
    assert (artifact.state, artifact.read(0, 100)) == ("partial", b"before\n")


async def _appeared(bench: Bench) -> None:
    with anyio.fail_after(20):
        while not bench.session.artifacts():
            await anyio.sleep(0.01)


async def test_output_beyond_the_limit_ends_the_command_and_its_head_and_tail_stay(bench: Bench):
    bench.commands.limits = Limits(output_bytes=2_000_000)
    done = await bench("echo first; yes")
    assert done.facts["ended"] == "output limit"
    artifact = bench.session.open("a1")
    assert artifact.state == "partial"
    assert artifact.size == 2_000_000
    assert artifact.read(0, 8) == b"first\ny\n"


async def test_a_disk_that_fills_up_ends_the_command(bench: Bench):
    bench.commands.limits = replace(bench.commands.limits, free_bytes=2**62)
    assert (await bench("yes")).facts["ended"] == "disk full"


async def test_progress_counts_the_bytes(bench: Bench):
    await bench("echo 12345; sleep 1.3")
    assert bench.progressed == [6]


# What goes on after its call


async def test_a_command_that_outlasts_the_client_goes_on_as_a_live_artifact(bench: Bench):
    outcome = await bench("echo early; sleep 0.5; echo late; exit 4", patience_s=0.2)
    assert outcome.facts["state"] == "running"
    reference = live(outcome)
    await bench.until(reference, b"early")
    artifact = await bench.ended(reference)
    assert (artifact.state, content(artifact), artifact.lines) == ("whole", b"early\nlate\n", 2)
    assert artifact.facts["exit_code"] == 4
    assert bench.calls[0].writers == []


async def test_a_command_that_its_client_left_is_stopped_when_its_time_is_over(bench: Bench, sleep: str):
    reference = live(await bench(f"echo x; {sleep}", patience_s=0.1))
    await bench.until(reference, b"x")
    await bench.terminal.see_out(0.5)
    assert alive(sleep) == []
    artifact = bench.session.open(reference)
    assert (artifact.state, content(artifact), artifact.facts["ended"]) == ("whole", b"x\n", "stopped")


async def test_an_outlasting_command_still_has_its_timeout(bench: Bench, sleep: str):
    reference = live(await bench(f"echo x; {sleep}", patience_s=0.1, timeout_s=0.5))
    assert (await bench.ended(reference)).facts["ended"] == "timeout"
    assert alive(sleep) == []


async def test_a_background_command_that_fails_at_once_is_told_so(bench: Bench):
    done = await bench("echo in use; exit 1", background=True)
    assert done.facts["exit_code"] == 1
    assert content(done.output) == b"in use\n"


async def test_a_background_command_can_be_talked_to_and_stopped(bench: Bench, sleep: str):
    reference = live(await bench(f"while read line; do echo got $line; done; echo closed; {sleep}", background=True))
    first = await bench(artifact=reference, input="one\n")
    assert (shown(first), first.facts) == (
        "got one\n",
        {"state": "running", "isolation": "unsafe", "bytes": "0-7 of 8"},
    )
    assert shown(await bench(artifact=reference.partition("/")[2], input="two\nthree\n")) == "got two\ngot three\n"
    assert shown(await bench(artifact=reference, input="four\n\x04")) == "got four\nclosed\n"
    with pytest.raises(BursarError, match="input_closed"):
        await bench(artifact=reference, input="five\n")
    done = await bench(artifact=reference, stop=True)
    assert done.facts["ended"] == "stopped"
    assert shown(done) == ""
    artifact = bench.session.open(reference)
    assert (artifact.state, content(artifact)) == ("whole", b"got one\ngot two\ngot three\ngot four\nclosed\n")
    assert alive(sleep) == []
    with pytest.raises(BursarError, match="not_running"):
        await bench(artifact=reference, stop=True)


async def test_each_look_at_a_running_command_shows_what_came_since_the_last(bench: Bench, sleep: str):
    wait = "until [ -e {0} ]; do sleep 0.05; done; echo {0}".format
    started = await bench(f"echo one; {wait('two')}; {wait('three')}; {sleep}", background=True)
    reference = live(started)
    (bench.root / "two").touch()
    await bench.until(reference, b"two")
    waited = await bench(artifact=reference, timeout_s=0.1)
    assert content(started.output) + shown(waited).encode() == b"one\ntwo\n"
    assert shown(await bench(artifact=reference, timeout_s=0.1)) == ""
    (bench.root / "three").touch()
    await bench.until(reference, b"three")
    stopped = await bench(artifact=reference, stop=True)
    assert (stopped.facts["ended"], shown(stopped)) == ("stopped", "three\n")


async def test_first_input_goes_to_a_background_command_that_then_waits_for_more(bench: Bench):
    reference = live(await bench("cat", background=True, input="first\n"))
    assert shown(await bench(artifact=reference, input="second\n")) == "second\n"
    ended = await bench(artifact=reference, input="\x04")
    assert (ended.facts["exit_code"], shown(ended)) == (0, "")


async def test_the_end_of_a_running_command_can_be_waited_for(bench: Bench):
    reference = live(await bench("read line; echo bye; exit 6", background=True))
    waiting = await bench(artifact=reference, timeout_s=0.1)
    assert (waiting.facts["state"], shown(waiting)) == ("running", "")

    async def answer() -> None:
        await anyio.sleep(0.2)
        await bench(artifact=reference, input="go\n")

    async with anyio.create_task_group() as group:
        group.start_soon(answer)
        ended = await bench(artifact=reference)
    assert (ended.facts["exit_code"], shown(ended)) == (6, "bye\n")


async def test_a_command_without_open_input_says_how_to_get_one(bench: Bench, sleep: str):
    reference = live(await bench(sleep, patience_s=0.1))
    with pytest.raises(BursarError, match="background=true"):
        await bench(artifact=reference, input="x")


async def test_what_still_runs_when_the_server_closes_is_killed_and_stored_as_partial(tmp_path: Path, sleep: str):
    store = Store(tmp_path / "data", StoreLimits())
    session = store.create("local:test")

    async def serve() -> str:
        bench = Bench(session, tmp_path)
        reference = live(await bench(f"echo begun; setsid {sleep} & {sleep}", background=True))
        await bench.until(reference, b"begun")
        bench.commands.close()
        return reference

    reference = await anyio.to_thread.run_sync(lambda: anyio.run(serve))
    assert alive(sleep) == []
    artifact = session.open(reference)
    assert (artifact.state, artifact.read(0, 100)) in [("partial", b"begun\n"), ("whole", b"begun\n")]
    session.close()


async def test_parallel_commands_do_not_mix(bench: Bench):
    async def one(number: int) -> None:
        done = await bench(f"for i in $(seq 50); do echo {number}; done; exit {number}")
        assert done.facts["exit_code"] == number
        assert content(done.output) == b"%d\n" % number * 50

    async with anyio.create_task_group() as group:
        for number in range(30):
            group.start_soon(one, number)
    assert len(bench.session.artifacts()) == 30


async def test_an_answer_that_is_no_text_says_how_it_is_shown(bench: Bench):
    reference = live(await bench(r"read line; printf '\377\376\0\1\n'; sleep 60", background=True))
    answer = await bench(artifact=reference, input="go\n")
    assert answer.facts["shown_as"] == "base64"
    assert base64.b64decode(shown(answer)) == b"\xff\xfe\0\1\n"
    await bench(artifact=reference, stop=True)


async def test_commands_at_a_time_share_what_their_session_may_hold(bench: Bench, tmp_path: Path):
    limit = 24 << 20
    bench.session = Store(tmp_path / "small", StoreLimits(session_bytes=limit)).create("local:test")
    ended: list[object] = []

    async def flood() -> None:
        ended.append((await bench("for i in $(seq 2000); do head -c 64K /dev/zero; done")).facts.get("ended"))

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(flood)
    assert ended == ["output limit"] * 4
    # Each alone would take all of it, and they are looked at now and then while they print on.
    assert sum(artifact.size for artifact in bench.session.artifacts()) < 2 * limit


async def test_a_command_prints_no_more_than_its_session_may_hold(bench: Bench, tmp_path: Path):
    bench.session = Store(tmp_path / "small", StoreLimits(session_bytes=100_000)).create("local:test")
    done = await bench("yes | head -c 60000")
    assert content(done.output) == b"y\n" * 30_000
    done = await bench("yes | head -c 60000")
    assert done.facts["ended"] == "output limit"
    assert "--session-quota-bytes" in done.facts["fix"]
    assert sum(artifact.size for artifact in bench.session.artifacts()) < 100_000
    with bench.session.writer(tool="t", did="d") as writer:
        writer.write(b"x" * bench.session.room.left(anew=True))
    with pytest.raises(BursarError) as refused:
        await bench("touch was-here")
    assert refused.value.code == "quota"
    assert not (bench.root / "was-here").exists()
    bench.session.close()


# Clients that do not wait


async def test_what_a_command_does_not_read_is_told_before_the_client_gives_up(bench: Bench, sleep: str):
    reference = live(await bench(sleep, background=True))
    with anyio.fail_after(1):
        told = await bench(artifact=reference, input="x" * 200_000, patience_s=1)
    assert "of 200,000 bytes; it does not read its input" in str(told.facts["unsent"])
    await bench(artifact=reference, stop=True)


async def test_first_input_that_a_background_command_does_not_read_is_told_too(bench: Bench, sleep: str):
    done = await bench(sleep, background=True, input="x" * 200_000, patience_s=1)
    assert "of 200,000 bytes" in str(done.facts["unsent"])
    await bench(artifact=live(done), stop=True)


# What commands do to those who watch over them


async def test_a_command_that_stops_its_keeper_ends_in_time(bench: Bench, sleep: str):
    done = await bench(f"kill -STOP $PPID; {sleep}", timeout_s=0.5)
    assert done.facts["ended"] == "timeout"
    assert alive(sleep) == []


async def test_a_command_that_kills_its_keeper_was_lost_and_not_just_not_started(bench: Bench, sleep: str):
    for _ in range(10):
        done = await bench(f"echo begun; kill -KILL $PPID; {sleep}")
        assert done.facts["ended"] == "lost"
        assert "See what it did before" in str(done.facts["fix"])


async def test_a_command_that_deletes_its_session_ends_with_it(bench: Bench):
    await bench("echo one")
    for command in (f"echo before; rm -rf {bench.session.directory}; echo after", "echo next"):
        with pytest.raises(BursarError, match="unknown_session"):
            await bench(command)
    assert not bench.session.directory.exists()


@pytest.mark.parametrize("given", [{"background": True}, {"patience_s": 0.2}])
async def test_a_running_command_whose_session_another_process_deletes_ends_with_all_it_started(
    bench: Bench, sleep: str, given: dict, caplog: pytest.LogCaptureFixture
):
    live(await bench(f"{sleep} & {sleep}", **given))
    shutil.rmtree(bench.session.directory)
    with anyio.fail_after(20):
        while alive(sleep) or bench.terminal.is_running:
            await anyio.sleep(0.05)
    gc.collect()  # a failure that nobody took would be told now
    assert caplog.records == []


async def test_a_call_whose_session_another_process_deletes_ends_with_its_command(bench: Bench, sleep: str):
    async def delete() -> None:
        while not alive(sleep):
            await anyio.sleep(0.01)
        shutil.rmtree(bench.session.directory)

    with anyio.move_on_after(20) as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(delete)
            with pytest.raises(BursarError, match="unknown_session"):
                await bench(f"{sleep} & {sleep}")
    assert not scope.cancel_called
    assert alive(sleep) == []


async def test_output_that_cannot_be_kept_and_that_nobody_waits_for_is_told_in_the_log(
    bench: Bench, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    gc.collect()  # tasks that earlier tests left unfinished are logged when they are collected
    caplog.clear()
    reference = live(await bench("read line; echo $line", background=True))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(bench.session.catalog, "replace", full)
    monkeypatch.setattr(Writer, "_give_back", lambda _: False)
    bench.terminal._running.find(bench.session.open(reference)).command.close_stdin()
    with anyio.fail_after(20):
        while bench.terminal.is_running or not caplog.records:
            await anyio.sleep(0.01)
    gc.collect()
    assert [record.getMessage() for record in caplog.records] == ["the output of a command could not be made final"]


async def test_another_process_stops_a_command_at_any_time(bench: Bench, sleep: str):
    reference = live(await bench(sleep, background=True))
    bench.session.open(reference).ask_to_stop()
    assert (await bench.ended(reference)).state == "whole"
    assert alive(sleep) == []


async def test_a_stop_goes_to_the_session_that_the_artifact_lies_in(bench: Bench, sleep: str, tmp_path: Path):
    elsewhere = Bench(Store(tmp_path / "data", StoreLimits()).create("local:test"), bench.root)
    there, here = live(await elsewhere(sleep, background=True)), live(await bench("read line", background=True))
    assert there.rpartition("/")[2] == here.rpartition("/")[2]
    waited = await bench(artifact=there, timeout_s=0.3)
    assert (waited.artifact.ref, waited.facts["state"]) == (there, "running")
    stopped = await bench(artifact=there, stop=True)
    assert (stopped.artifact.ref, stopped.facts["ended"]) == (there, "stopped")
    assert bench.session.open(here).state == "live"
    assert list(bench.session.directory.glob("*.stop")) == []
    elsewhere.commands.close()


async def test_a_disk_that_does_not_answer_does_not_hold_up_the_server(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    asked, answers = Event(), Event()
    answered: list[bool] = []

    def look(_: Artifact) -> bool:
        asked.set()
        answered.append(answers.wait(20))
        return False

    monkeypatch.setattr(Artifact, "is_asked_to_stop", look)
    reference = live(await bench("read line", background=True))
    while not asked.is_set():
        await anyio.sleep(0.01)
    answers.set()
    await bench(artifact=reference, stop=True)
    assert answered[0]


@pytest.mark.parametrize("command", ["{}", "{}; true"])
async def test_processes_of_a_command_that_was_itself_ended_are_not_counted(bench: Bench, sleep: str, command: str):
    done = await bench(command.format(sleep), timeout_s=0.3)
    assert done.facts["ended"] == "timeout"
    assert "killed" not in done.facts
