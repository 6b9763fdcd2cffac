"""Commands on Linux and macOS: the server's side of the helper process that starts and ends them."""

import asyncio
import errno
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from ..errors import BursarError
from .command import Command, CommandSpec, End, Exit, input_closed
from .forkserver import wire
from .forkserver.wire import memory_file
from .helpers import Helper, Helpers

if TYPE_CHECKING:
    from .sandbox.sandbox import Sandbox

if sys.platform == "win32":
    raise ImportError("Windows has job objects instead")

_OVERDUE_S = 6.0
"""Longer than a keeper ever takes, after the grace, to end a command: it must have been stopped or killed itself."""

_WAKE_S = 0.1
"""After a time-out, a keeper that has not said so was perhaps stopped; to let go on one that was not does nothing."""

_LATE_S = 1.0
"""Nearly every command has begun by then, unless it stopped its keeper before that could say so."""

_START_S = 30.0
"""A command that has not begun by then never will: its directory, say, is on a server that does not answer."""


class _OutdatedError(BursarError):
    """Nothing of the command has run, its helper process being gone or out of date: a fresh one may start it."""


class _KeptCommand(Command):
    """A command as the server sees it: the other end of its keeper's socket."""

    def __init__(
        self,
        control: socket.socket,
        stdin: int | None,
        helper: Helper,
        number: int,
        gone: Callable[[Any], None],
        *,
        has_tty: bool,
    ) -> None:
        super().__init__(has_tty=has_tty)
        self.failure: BursarError | None = None
        self._control = control
        self._stdin = stdin
        self.helper = helper
        self._gone = gone
        self._number = number
        self._has_keeper = False
        self._inbox = wire.Inbox()
        self._ending: End = "lost"
        self._loop = asyncio.get_running_loop()
        self._begun = asyncio.Event()
        self._roomy = asyncio.Event()
        self._looked = asyncio.Event()
        self._asks_password = False
        self._timers: list[asyncio.TimerHandle] = []
        self._started_at = self._loop.time()

    async def begin(self, order: CommandSpec) -> None:
        """Tell the keeper what to start, and wait until it runs.

        Raises:
            BursarError: it could not be started.
        """
        self._loop.add_reader(self._control, self._hear)
        limits = order.limits
        self._timers = [
            self._loop.call_later(_LATE_S, self._wake_keeper),
            self._loop.call_later(limits.timeout_s + _WAKE_S, self._wake_keeper),
            self._loop.call_later(limits.timeout_s + limits.grace_s + _OVERDUE_S, self._end_keeper),
        ]
        with suppress(BrokenPipeError, ConnectionResetError):  # `_hear` notes that there is no keeper
            await self._loop.sock_sendall(self._control, _packed(order))
        with anyio.move_on_after(_START_S):
            await self._begun.wait()
        if not self._begun.is_set():
            self.failure = BursarError(
                "command_not_started",
                f"the command did not begin within {_START_S:g} s",
                "See whether its directory can be reached",
            )
            self._end_keeper()
            self._lose()
        if self.failure is not None:
            raise self.failure

    async def kill(self, grace_s: float = 0.5) -> Exit:
        self._ending = "stopped"
        if self.exit is None:
            with suppress(OSError):
                self._control.send(wire.packed({"stop": grace_s}))
            self._wake_keeper()
        if await self.wait(grace_s + _OVERDUE_S) is None:
            self._end_keeper()
        return await self.wait(_OVERDUE_S) or self._lose()

    def cut_off(self) -> None:
        with suppress(OSError):
            self._control.send(wire.packed({"full": True}))

    async def send(self, data: bytes, timeout_s: float = 5.0) -> int:
        sent = 0
        with anyio.move_on_after(timeout_s):
            while sent < len(data):
                if self._stdin is None or self.exit is not None:
                    raise input_closed()
                try:
                    sent += os.write(self._stdin, data[sent : sent + 65536])
                except BlockingIOError:
                    await self._room(self._stdin)
                except BrokenPipeError:
                    self.close_stdin()
                    raise input_closed() from None
        return sent

    async def asks_password(self) -> bool:
        if self.has_tty and self.exit is None:
            self._looked.clear()
            with suppress(OSError):
                self._control.send(wire.packed({"look": True}))
            with anyio.move_on_after(_LATE_S):
                await self._looked.wait()
        return self._asks_password and self.exit is None

    def close_stdin(self) -> None:
        fd, self._stdin = self._stdin, None
        if fd is not None:
            if not self._loop.is_closed():
                self._loop.remove_writer(fd)
            self._roomy.set()
            os.close(fd)

    async def _room(self, fd: int) -> None:
        """Wait until the pipe `fd` takes more, or is closed meanwhile."""
        self._roomy.clear()
        self._loop.add_writer(fd, self._roomy.set)
        try:
            await self._roomy.wait()
        finally:
            if self._stdin == fd:
                self._loop.remove_writer(fd)

    def abandon(self) -> Exit:
        """Let go of the keeper, which thereupon kills everything at once."""
        self._ending = "server ended"
        return self._lose()

    def _hear(self) -> None:
        try:
            part = self._control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        for message in self._inbox.add(part):
            self._learn(message)
        if not part and self.exit is None:
            self._lose()

    def _learn(self, told: dict[str, Any]) -> None:
        if "keeper" in told:
            self._has_keeper = True
        elif "started" in told:
            self.pid = told["started"]
            self._begun.set()
        elif "password" in told:
            self._asks_password = told["password"]
            self._looked.set()
        elif "failed" in told:
            self.failure = _failure(told["failed"], told["errno"])
        else:
            number = told.pop("signal")
            self._finish(Exit(**told, signal=_signal_name(number)))

    def _wake_keeper(self) -> None:
        """Have the keeper go on if its command stopped it."""
        if self.exit is None:
            with suppress(BursarError, OSError):
                self.helper.signal_keeper(self._number, signal.SIGCONT)

    def _end_keeper(self) -> None:
        """Have the keeper killed; where that cannot be asked for, let go of it, so that it ends by itself."""
        if self.exit is not None:
            return
        try:
            self.helper.signal_keeper(self._number, signal.SIGKILL)
        except (BursarError, OSError):
            self._lose()

    def _lose(self) -> Exit:
        """Note that the keeper is gone without a word; what it kept is the fork server's to kill.

        Once there was a keeper, the command may have run: it can end its keeper before that says that it has started.
        """
        took_s = self._loop.time() - self._started_at
        if not self._has_keeper and self.failure is None:
            kind = _OutdatedError if self.helper.is_gone else BursarError
            self.failure = kind(
                "command_not_started", "the helper process that was to start the command has gone", "Call again"
            )
        return self._finish(Exit(self._ending, None, "SIGKILL", 0, 0, took_s))

    def _finish(self, outcome: Exit) -> Exit:
        if self.exit is not None:
            return self.exit
        self.exit = outcome
        for timer in self._timers:
            timer.cancel()
        if not self._loop.is_closed():
            self._loop.remove_reader(self._control)
        self.close_stdin()
        self._control.close()
        self._begun.set()
        self._ended.set()
        self._gone(self)
        return outcome


class PosixCommands:
    """Starts commands through helper processes, one for each session, and knows those that run."""

    def __init__(self, sandbox: "Sandbox | None", processes: int) -> None:
        self._helpers = Helpers(sandbox, processes)
        self._running: set[_KeptCommand] = set()

    @property
    def running(self) -> int:
        """How many commands are running."""
        return len(self._running)

    def warm(self) -> None:
        """Start the helper process, where it is the same for all sessions."""
        self._helpers.warm()

    def leave(self, session: Path) -> None:
        """End the helper process of a session, and everything below it."""
        self._helpers.leave(session)

    async def start(self, order: CommandSpec) -> _KeptCommand:
        """Start a command; see `Commands.start`."""
        helper = await self._helpers.of(order.session)
        try:
            return await self._start(helper, order)
        except _OutdatedError:
            self._helpers.retire(helper)
            return await self._start(await self._helpers.of(order.session), order)

    async def _start(self, helper: Helper, order: CommandSpec) -> _KeptCommand:
        try:
            helper.warm()
            command = self._forked(helper, order)
        except OSError as error:
            message = f"no command can be started just now: {error.strerror}"
            raise BursarError("busy", message, "Try again in a moment") from error
        self._running.add(command)
        helper.commands += 1
        try:
            await command.begin(helper.confined(order))
        except BaseException:
            command.abandon()
            raise
        return command

    def _forked(self, helper: Helper, order: CommandSpec) -> _KeptCommand:
        """Have a keeper forked, which waits for the order.

        Raises:
            OSError: the server has too many files open, or no memory.
        """
        with ExitStack() as theirs:
            ours, control = socket.socketpair()
            theirs.callback(control.close)
            ours.setblocking(False)
            writer: int | None = None
            try:
                stdin, writer = _open_stdin(order.stdin, theirs)
                script = _spool(order.script or b"", theirs)
                errors = [] if order.errors is None else [order.errors]
                number = helper.fork([control.fileno(), order.output, stdin, script, *errors])
                return _KeptCommand(ours, writer, helper, number, self._forget, has_tty=order.stdin == "tty")
            except BaseException:
                ours.close()
                if writer is not None:
                    os.close(writer)
                raise

    def close(self) -> None:
        """End everything; see `Commands.close`."""
        self._helpers.close()
        for command in list(self._running):
            command.abandon()

    def _forget(self, command: _KeptCommand) -> None:
        if command in self._running:
            self._running.remove(command)
            self._helpers.release(command.helper)


def _packed(order: CommandSpec) -> bytes:
    return wire.packed(
        {
            "argv": [_text(argument) for argument in order.argv],
            "env": {_text(name): _text(value) for name, value in order.env.items()},
            "cwd": _text(str(order.cwd)),
            "script": order.script is not None,
            "tty": order.stdin == "tty",
            "limits": asdict(order.limits),
        }
    )


def _text(value: str | bytes) -> str:
    """Give each byte one character: JSON has no bytes, and arguments need not be UTF-8."""
    try:
        raw = value if isinstance(value, bytes) else os.fsencode(value)
    except UnicodeEncodeError:
        raise _bad_command("contains half a character (a lone surrogate)") from None
    if b"\0" in raw:
        raise _bad_command("contains a NUL character")
    return raw.decode("latin-1")


def _bad_command(what: str) -> BursarError:
    return BursarError(
        "bad_command", f"the command {what}, which no program can be given", "Write it to a file, or leave it out"
    )


def _open_stdin(wanted: str | bytes, theirs: ExitStack) -> tuple[int, int | None]:
    """Return the descriptor to read from, closed with `theirs`, and the one to write to if it is a pipe."""
    if isinstance(wanted, bytes):
        return _spool(wanted, theirs), None
    if wanted != "null":
        read, write = os.pipe()
        theirs.callback(os.close, read)
        os.set_blocking(write, False)
        return read, write
    null = os.open(os.devnull, os.O_RDONLY)
    theirs.callback(os.close, null)
    return null, None


def _spool(data: bytes, theirs: ExitStack) -> int:
    """Put bytes into a nameless file, so that nobody has to feed them to a command that may not want them."""
    if not data:
        return _open_stdin("null", theirs)[0]
    fd = memory_file(data)
    theirs.callback(os.close, fd)
    return fd


def _failure(step: str, number: int) -> BursarError:
    why = os.strerror(number)
    if step == "cwd":
        return BursarError("bad_directory", f"the command could not start in its directory: {why}", "Check `cwd`")
    if step == "walls":
        message = f"the command could not be confined, and so was not started: {why}"
        return BursarError("not_isolated", message, "See that every root exists; `bursar doctor` tells more")
    if step == "view":
        message = "what commands see was replaced outside while the command was to begin, so it was not started"
        return _OutdatedError("not_isolated", message, "Call again")
    if number == errno.ENOENT:
        return BursarError("no_such_program", "the program to run does not exist", "Check its path")
    if number == errno.E2BIG:
        message = "the arguments and the environment are longer than the system takes"
        return BursarError("command_too_long", message, "Put them into a file")
    return BursarError("command_not_started", f"the system did not start the command: {why}", "Check the command")


def _signal_name(number: int) -> str:
    if number == 0:
        return ""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
