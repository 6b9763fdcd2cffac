"""Runs shell commands: their output goes into the artifact as it comes, and nothing they start outlives them."""

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

import anyio
from pydantic import Field

from ..artifacts import Artifact, Session, Writer, errors, reader
from ..budget.page import Page
from ..errors import BursarError
from ..guard.command import Command, Exit
from ..guard.sandbox.policy import Level
from .base import Call, Done, Fact, Outcome, Reading, ShownArgs, Tool
from .dialogue import ANSWER_TOKENS, ENVIRONMENT, FIRST_TOKENS, answered, keys, password_refused, seen
from .progress import watched
from .running import (
    GRACE_S,
    Facts,
    Looks,
    Running,
    close_output,
    outcome,
    recorded,
    refused,
    still_running,
)

TIMEOUT_S = 120.0
LONGEST_S = 86_400.0
"""A day: also how long a background command may run unless timeout_s says less."""

ARGUMENT_BYTES = 128 * 1024 - 1
"""The longest single argument that Linux takes (MAX_ARG_STRLEN, its final NUL left out)."""

WINDOWS_COMMAND_CHARACTERS = 32_000
"""What Windows takes as a command line, less the name of the shell."""

_SETTLE_S = 0.5
"""A background command that fails at once is answered so at once."""

_SEND_S = 5.0
"""A command that does not read its input is not waited for any longer."""

_SHARE = 0.45
"""Of the client's patience, for sending input and for waiting for the answer each."""

_ECHO_S = 2.0
"""Waited at most for the answer of a command that was sent input."""

_ANSWER_S = 4.0
"""The same of one on a terminal, of which is known what is no answer yet."""

_ELSEWHERE_POLL_S = 0.2

_STOP_S = 3.5
"""Waited at most for another process to stop a command: it looks every 0.25 s, and grants 0.5 s."""

_DID_CHARACTERS = 250
_PROGRESS_S = 1.0
_UNIT = "bytes of output"
_END_OF_INPUT = "\x04"


class TerminalArgs(ShownArgs):
    """What to run and how, or which running command to attend to."""

    command: str = ""
    cwd: str = ""
    timeout_s: float = Field(0, description="default 120")
    input: str = Field("", description="to stdin")
    background: bool = Field(default=False, description="let it run, stdin open")
    artifact: str = Field("", description="a running command")
    stop: bool = False
    tty: bool = Field(default=False, description="for what asks, as REPLs do")


class Terminal(Tool[TerminalArgs]):
    """Run a bash command. What it started is killed when it ends."""

    name: ClassVar[str] = "terminal"
    destructive: ClassVar[bool] = True
    open_world: ClassVar[bool] = True
    Args = TerminalArgs

    def __init__(self, looks: Looks | None = None) -> None:
        """Take what is known of earlier looks at running commands."""
        self._running = Running()
        self._looks = looks or Looks()

    @property
    def is_running(self) -> bool:
        """Whether commands of this process go on after their calls."""
        return len(self._running) > 0

    async def see_out(self, within_s: float) -> None:
        """Wait for the end of the commands that go on; what is left after `within_s` is stopped."""
        await self._running.see_out(within_s)

    def did(self, args: TerminalArgs) -> str:
        """Describe the action, such as `$ npm test`."""
        if not args.artifact:
            return f"$ {_in_short(args.command)}"
        if args.stop:
            return f"stop {args.artifact}"
        return f"{_in_short(args.input)!r} to {args.artifact}" if args.input else f"wait for {args.artifact}"

    async def leave(self, session: Session) -> None:
        """End the commands that outlasted their calls."""
        await self._running.end(session.handle, GRACE_S)

    async def run(self, args: TerminalArgs, call: Call) -> Outcome:
        """Run a command, or attend to one that runs.

        Raises:
            BursarError: arguments that do not go together, a directory outside the roots, a command that could not be
                started, an artifact that is no running command. An exit status is none of these.
        """
        _check(args)
        began = time.monotonic()
        level = (await call.commands.admit()).level
        kept: Facts = {"isolation": level}
        if args.artifact:
            return await self._attend(args, call, level)
        writer = call.output("terminal.log")
        command, sent = await _start(args, call, writer)
        try:
            if args.tty:
                return await self._opened(command, writer, call, sent, level, args.max_tokens)
            until = began + call.patience_s
            settled = min(until, time.monotonic() + _SETTLE_S)
            ended = await _watch(command, writer, call, settled if args.background else until)
            if ended is not None:
                output = await close_output(writer, ended)
                return Done(sent | outcome(ended) | refused(ended, output, level) | kept, writer)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await command.kill(GRACE_S)
            raise
        call.writers.remove(writer)
        running = still_running(time.monotonic() - began)
        artifact = self._running.adopt(command, writer, call.session)
        self._looks.keep(artifact)
        return Done(sent | running | kept, artifact)

    async def _opened(
        self, command: Command, writer: Writer, call: Call, sent: Facts, level: Level, max_tokens: int
    ) -> Done:
        """Show what a command on a terminal begins with; it waits for its input from now on, unless it has ended."""
        await answered(command, lambda: _live(writer), 0, "", _share_s(_ECHO_S, call))
        refusal = await password_refused(command)
        kept: Facts = {"isolation": level}
        if (ended := command.exit) is not None:
            output = await close_output(writer, ended)
            page, _ = await seen(output, 0, call, call.room)
            facts = sent | outcome(ended) | refused(ended, output, level) | refusal | kept
            return Done(facts, writer, view=page)
        page, told = await seen(_live(writer), 0, call, max_tokens or FIRST_TOKENS)
        call.writers.remove(writer)
        artifact = self._running.adopt(command, writer, call.session)
        self._looks.keep(artifact)
        note: Facts = {"state": "running", "note": "terminal(artifact=…, input=…) answers it, stop=true ends it"}
        return Done(sent | note | told | kept, artifact, view=page)

    async def _attend(self, args: TerminalArgs, call: Call, level: Level) -> Outcome:
        kept: Facts = {"isolation": level}
        artifact = call.session.open(args.artifact)
        live = self._running.find(artifact)
        if live is None:
            return await _attend_elsewhere(args, call, artifact, kept)
        shown_bytes = self._looks.last(artifact)
        if args.stop:
            ended = await live.command.kill(GRACE_S)
            output = await live.final()
            self._looks.keep(output)
            return await _news(output, shown_bytes or 0, outcome(ended) | kept, live.command, call, args.max_tokens)
        if live.command.has_tty and args.max_tokens and not (args.input or args.timeout_s):
            shown_bytes = 0  # more of what it shows is asked for
        elif shown_bytes is None:
            shown_bytes = artifact.size
        facts: Facts = {}
        if args.input:
            facts = await _send(live.command, args.input, call)
            most_s = _share_s(_ANSWER_S if live.command.has_tty else _ECHO_S, call)
            await answered(live.command, lambda: call.session.open(args.artifact), artifact.size, args.input, most_s)
        elif live.command.has_tty:
            most_s = min(args.timeout_s or LONGEST_S, call.patience_s)
            await answered(live.command, lambda: call.session.open(args.artifact), shown_bytes, "", most_s)
        else:
            waiting = live.command.wait(min(args.timeout_s or LONGEST_S, call.patience_s))
            await watched(waiting, call.progress, lambda: (call.session.open(args.artifact).size, None, _UNIT))
        refusal = await password_refused(live.command)
        if (ended := live.command.exit) is not None:
            output = await live.final()
            self._looks.keep(output)
            facts |= outcome(ended) | refused(ended, output, level) | refusal | kept
            return await _news(output, shown_bytes, facts, live.command, call, args.max_tokens)
        now = call.session.open(args.artifact)
        self._looks.keep(now)
        is_short = args.input or live.command.has_tty
        going_on: Facts = {"state": "running"} if is_short else still_running(time.time() - now.created)
        return await _news(now, shown_bytes, facts | going_on | kept, live.command, call, args.max_tokens)


async def _attend_elsewhere(args: TerminalArgs, call: Call, artifact: Artifact, kept: Facts) -> Reading:
    """Wait for a command that another server process keeps, or have it stopped there."""
    if args.input:
        fix = "Give the whole input when it is started, or use a client that keeps its server running"
        raise BursarError("input_closed", f"{artifact.id} runs in another server process", fix)
    if args.stop:
        artifact.ask_to_stop()
    until = time.monotonic() + min(_STOP_S if args.stop else args.timeout_s or LONGEST_S, call.patience_s)
    now = artifact
    while now.state == "live" and time.monotonic() < until:
        await call.progress(now.size, None, _UNIT)
        await anyio.sleep(_ELSEWHERE_POLL_S)
        now = call.session.open(args.artifact)
    if now.state != "live":
        return _since(now, artifact.size, {**recorded(now), **kept})
    if args.stop and artifact.is_asked_to_stop():
        what = f"{artifact.id} runs in another server process, which does not let it be stopped from here"
        raise BursarError("not_running", what, "Stop it where it was started, or wait for its end with read_artifact")
    return _since(now, artifact.size, still_running(time.time() - now.created) | kept)


def _in_short(text: str) -> str:
    """Return the first line, and an ellipsis for what is left out."""
    line, _, more = text.strip()[:_DID_CHARACTERS].partition("\n")
    return f"{line} …" if more or len(text.strip()) > _DID_CHARACTERS else line


def _check(args: TerminalArgs) -> None:
    if args.artifact:
        if args.command or args.cwd or args.background or args.tty:
            fix = "Give artifact alone or with input or stop=true; give command without artifact to run another"
            raise BursarError("bad_argument", "artifact means a command that runs already", fix)
        if args.stop and args.input:
            raise BursarError("bad_argument", "stop and input do not go together", "Send the input first")
    elif not args.command.strip():
        raise BursarError("bad_argument", "terminal needs a command", 'Give one, such as terminal(command="ls -la")')
    elif args.stop:
        raise BursarError("bad_argument", "stop needs the artifact of a running command", "Give artifact")
    if not 0 <= args.timeout_s <= LONGEST_S:
        fix = f"Use 0.1 to {LONGEST_S:.0f} seconds, or leave it out"
        raise BursarError("bad_argument", f"timeout_s must not be {args.timeout_s:g}", fix)


async def _start(args: TerminalArgs, call: Call, writer: Writer) -> tuple[Command, Facts]:
    """Start a command, and send a background one its first input; tells what it did not take."""
    argv, script = _spoken(args.command, call.commands.env.get("PATH", ""))
    stdin = args.input.encode("utf-8", "surrogatepass")
    usual = call.commands.limits
    with call.workspace.directory(args.cwd or ".") as directory:
        output = writer.descriptor()
        command = await call.commands.start(
            argv,
            cwd=directory.path,
            output=output,
            stdin="tty" if args.tty else "pipe" if args.background else stdin or "null",
            script=script,
            limits=replace(
                usual,
                timeout_s=args.timeout_s or (LONGEST_S if args.background or args.tty else TIMEOUT_S),
                output_bytes=min(usual.output_bytes, writer.room),
            ),
            session=call.session.directory,
            env={"ARTIFACTS": str(call.session.directory), **(ENVIRONMENT if args.tty else {})},
        )
    writer.when_full = command.cut_off
    if (args.background or args.tty) and stdin:
        try:
            return command, await _send(command, args.input, call)
        except BursarError:
            return command, {}  # it did not wait for its input, and how it ended says more
        except BaseException:
            with anyio.CancelScope(shield=True):
                await command.kill(GRACE_S)
            raise
    return command, {}


def _spoken(command: str, path: str) -> tuple[list[str | bytes], bytes | None]:
    """Return the arguments that have a shell run `command`, and the script for one that is too long to be one."""
    if sys.platform == "win32":
        if len(command) > WINDOWS_COMMAND_CHARACTERS:
            raise BursarError(
                "command_too_long",
                f"Windows takes no command over {WINDOWS_COMMAND_CHARACTERS:,} characters",
                "Write it to a file and run that",
            )
        return [_shell(path), "-NoProfile", "-NonInteractive", "-Command", command], None
    if "\0" in command:
        raise BursarError("bad_command", "the command holds a NUL character", r"Write it as $'\0' or with printf")
    try:
        encoded = os.fsencode(command)
    except UnicodeEncodeError:
        raise BursarError(
            "bad_command", "the command holds half a character (a lone surrogate)", "Leave it out"
        ) from None
    if len(encoded) <= ARGUMENT_BYTES:
        return [_shell(path), "-c", encoded], None
    return [_shell(path), "/dev/fd/3"], b"exec 3<&-; " + encoded


@lru_cache(maxsize=4)
def _shell(path: str) -> str:
    from shutil import which

    if sys.platform == "win32":
        # Not bash: what is called so there is a gate into another system, with another file tree.
        return which("pwsh", path=path) or which("powershell", path=path) or "powershell.exe"
    return which("bash", path=path) or "/bin/sh"


async def _watch(command: Command, writer: Writer, call: Call, until: float) -> Exit | None:
    """Wait for the end of a command until a point in monotonic time.

    Raises:
        BursarError: unknown_session; the session was deleted meanwhile.
    """
    while (left_s := until - time.monotonic()) > 0:
        ended = await command.wait(min(left_s, _PROGRESS_S))
        if ended is not None:
            return ended
        if call.session.is_gone:
            raise errors.unknown_session()
        await call.progress(writer.size, None, _UNIT)
    return command.exit


async def _send(command: Command, text: str, call: Call) -> Facts:
    """Write to a command's stdin, and close it after a Ctrl-D; tells what it did not take."""
    closing = text.endswith(_END_OF_INPUT) and not command.has_tty
    written = keys(text) if command.has_tty else text.removesuffix(_END_OF_INPUT)
    data = written.encode("utf-8", "surrogatepass")
    sent = await command.send(data, _share_s(_SEND_S, call))
    if sent < len(data):
        return {"unsent": f"{len(data) - sent:,} of {len(data):,} bytes; it does not read its input"}
    if closing:
        command.close_stdin()
    return {}


def _share_s(most_s: float, call: Call) -> float:
    return min(most_s, _SHARE * call.patience_s)


def _live(writer: Writer) -> Artifact:
    """Return what a command wrote until now; it exists from when the command was given its place."""
    artifact = writer.artifact
    if artifact is None:
        raise ValueError("the command does not write into this writer")
    return artifact


async def _news(
    artifact: Artifact, before: int, facts: Mapping[str, Fact], command: Command, call: Call, max_tokens: int
) -> Reading:
    """Show what came since the artifact had `before` bytes: of a terminal what is seen."""
    if not command.has_tty:
        return _since(artifact, before, facts)
    page, told = await seen(artifact, before, call, max_tokens or ANSWER_TOKENS)
    return Reading(page, artifact, {**facts, **told})


def _since(artifact: Artifact, before: int, facts: Mapping[str, Fact]) -> Reading:
    """Show what came since the artifact had `before` bytes; of much only the end."""
    if artifact.size <= before:
        return Reading(Page(()), artifact, facts)
    excerpt = reader.since(artifact, before)
    return Reading(excerpt.page, artifact, {**facts, **excerpt.facts()})
