"""The way to a server that runs here: a command behind the same walls as any, spoken to through pipes."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..budget.clean import clean
from ..errors import BursarError
from ..guard.command import Command, Exit
from ..guard.commands import Commands
from .frames import Frame, Frames
from .peer import written
from .secrets import Blanking, Secrets
from .upstream import Upstream

_READ_BYTES = 64 * 1024
_AT_A_TIME_BYTES = 256 * 1024
"""Taken in before others get their turn, if that takes no time."""

_BUSY_S = 0.005
_PAUSES = 3
"""A server whose messages take longer to look at waits three times as long for its next turn: others have theirs."""

_SEND_S = 30.0
_EOF_S = 1.0
_TERM_S = 1.0

ERRORS_BYTES = 1 << 20
"""Kept of what a server says on its standard error; as much again of what it said before."""

_LAST_BYTES = 4096


class StdioLink:
    """A server that is spoken to through its standard input and output.

    Attributes:
        hear: takes each message as it arrives.
        ended: is told, once, that the server has ended, in words.
        version: see `Link`.
    """

    def __init__(self, upstream: Upstream, commands: Commands, frames: Frames, errors: Path) -> None:
        """Start nothing yet.

        Args:
            upstream: the server.
            commands: starts it; its alone, and ended with it.
            frames: cut what it sends.
            errors: file for what it says on its standard error.
        """
        self.version = ""
        self.hear: Callable[[Frame], None] = Frame.drop
        self.ended: Callable[[BursarError], None] = lambda _: None
        self._name = upstream.name
        self._commands = commands
        self._frames = frames
        self._errors = _Errors(errors, upstream.secrets)
        self._command: Command | None = None
        self._output: int | None = None
        self._sending = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None

    async def start(self, argv: list[str], *, cwd: Path, env: Mapping[str, str], session: Path) -> None:
        """Start it.

        Args:
            argv: the program, as an absolute path, and its arguments.
            cwd: where it starts.
            env: variables of its own.
            session: an empty directory, which stands for the session that it does not see.

        Raises:
            BursarError: as `Commands.start`.
        """
        output, output_end = os.pipe()
        errors, errors_end = os.pipe()
        try:
            self._command = await self._commands.start(
                argv, cwd=cwd, output=output_end, stdin="pipe", env=env, session=session, errors=errors_end
            )
        except BaseException:
            os.close(output)
            os.close(errors)
            raise
        finally:
            os.close(output_end)
            os.close(errors_end)
        self._output = output
        loop = asyncio.get_running_loop()
        for descriptor, ready in ((output, self._take_in), (errors, self._errors.read)):
            os.set_blocking(descriptor, False)
            loop.add_reader(descriptor, ready, descriptor)
        self._watch = asyncio.ensure_future(self._watched(self._command))

    @property
    def last_words(self) -> str:
        """The last line on its standard error."""
        return self._errors.last

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a message.

        Raises:
            BursarError: upstream_ended; it reads no more, or not in time.
        """
        command = self._command
        if command is None:
            raise self._gone()
        line = written(message) + b"\n"
        async with self._sending:
            try:
                sent = await command.send(line, _SEND_S)
            except BursarError as error:
                raise self._gone() from error
            except asyncio.CancelledError:
                command.cut_off()  # half a message may have gone: nothing that follows would be understood
                raise
        if sent < len(line):
            await command.kill(0)
            what = f"{self._name} did not read its input for {_SEND_S:g} s, and was ended"
            raise BursarError("upstream_ended", what, "Call again: it is started anew")

    def forget(self, request: int) -> bool:
        """Leave it to a message to cancel."""
        return False

    async def close(self) -> None:
        """End it: by the end of its input, then by signals; cancelled, at once."""
        command = self._command
        try:
            if command is not None and command.exit is None:
                command.close_stdin()
                if await command.wait(_EOF_S) is None:
                    await command.kill(_TERM_S)
            if self._watch is not None:
                await asyncio.wait([self._watch])
        finally:
            await asyncio.to_thread(self._commands.close)
            if self._watch is not None:
                self._watch.cancel()
            self._stop_reading()
            self._errors.close()

    def _take_in(self, descriptor: int) -> None:
        """Take in what it has sent, as long as others need not wait for that."""
        began = time.monotonic()
        self._read(descriptor)
        took_s = time.monotonic() - began
        if took_s > _BUSY_S and self._output is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(descriptor)
            loop.call_later(_PAUSES * took_s, self._go_on, descriptor)

    def _go_on(self, descriptor: int) -> None:
        if self._output == descriptor:
            asyncio.get_running_loop().add_reader(descriptor, self._take_in, descriptor)

    def _read(self, descriptor: int) -> int:
        """Take in some of what it has sent, and return how much that was."""
        taken, began = 0, time.monotonic()
        while taken < _AT_A_TIME_BYTES and time.monotonic() - began < _BUSY_S:
            try:
                block = os.read(descriptor, _READ_BYTES)
            except BlockingIOError:
                break
            if not block:
                self._stop_reading()
                break
            taken += len(block)
            try:
                for frame in self._frames.feed(block):
                    self.hear(frame)
            except OSError as error:
                self._stop_reading()
                what = f"what {self._name} answers cannot be kept: {error.strerror}"
                self.ended(BursarError("disk_full", what, "Make room on the disk of the artifacts"))
                break
        return taken

    def _stop_reading(self) -> None:
        descriptor, self._output = self._output, None
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)

    async def _watched(self, command: Command) -> None:
        """Wait for its end, and take in what is left."""
        how = await command.ended()
        while (output := self._output) is not None:
            if not self._read(output):
                break
            await asyncio.sleep(_BUSY_S)  # others have their turn
        self._stop_reading()
        if self._frames.size:
            self.hear(self._frames.end(is_cut=True))
        self._errors.close()
        self.ended(self._ended(how))

    def _ended(self, how: Exit) -> BursarError:
        said = f"; it said last: {self.last_words}" if self.last_words else ""
        code = how.ended if how.ended != "exited" else how.signal or f"exit status {how.code}"
        return BursarError("upstream_ended", f"{self._name} has ended ({code}){said}", "Call again: it is started anew")

    def _gone(self) -> BursarError:
        command = self._command
        if command is not None and command.exit is not None:
            return self._ended(command.exit)
        return BursarError("upstream_ended", f"{self._name} reads no input any more", "Call again: it is started anew")


class _Errors:
    """What a server says on its standard error: the last of it here, and more in a file."""

    def __init__(self, path: Path, secrets: Secrets) -> None:
        self._path = path
        self._secrets = secrets
        self._blanking = Blanking(secrets)
        self._tail = b""
        self._descriptor: int | None = None

    @property
    def last(self) -> str:
        """The last line that is not empty."""
        lines = [line for line in self._tail.splitlines() if line.strip()]
        return clean(self._secrets.blanked(lines[-1].decode("utf-8", "replace"))) if lines else ""

    def read(self, descriptor: int) -> None:
        self._descriptor = descriptor
        try:
            block = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return
        if not block:
            self.close()
            return
        self._tail = (self._tail + block)[-_LAST_BYTES:]
        self._keep(self._blanking.feed(block))

    def _keep(self, block: bytes) -> None:
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._path.exists() and self._path.stat().st_size > ERRORS_BYTES:
                self._path.replace(self._path.with_suffix(".before.log"))
            with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "wb") as file:
                file.write(block)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._keep(self._blanking.end())
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
