"""Standard input and output as the SDK's message streams, pumped by the event loop itself.

The SDK's own transport hands every line to a worker thread and back, which is 40 % of the time of a small call.
"""

import asyncio
import json
import os
import stat
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self, cast

import anyio
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from ..budget.clean import utf8
from .express import Express, RequestId, is_id

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

FRAME_MAX_BYTES = 64 * 1024 * 1024
"""A longer line is dropped and answered with a parse error: no tool has a use for arguments of that size."""

_READ_BYTES = 1024 * 1024
_INBOX_MAX_MESSAGES = 256
_DIGITS_MAX = 400

_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600

_LINGER_S = 1.0
"""How long a client that has closed its end may take to read what was being written to it."""


Reject = Callable[[int, str, RequestId | None], None]
"""Answers what cannot be taken: a code, what is wrong with it, and its id if that is known."""


class _Stream:
    """The context-manager half that the SDK's stream protocols ask for."""

    async def aclose(self) -> None:
        """Stop watching the descriptor."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Inbox(_Stream):
    """Messages that arrive on a descriptor, one JSON document a line, and that are left to the SDK."""

    def __init__(self, fd: int, express: Express, reject: Reject, ended: Callable[[], None]) -> None:
        self._fd = fd
        self._express = express
        self._reject = reject
        self._on_end = ended
        self._loop = asyncio.get_running_loop()
        self._messages: deque[object] = deque()
        self._arrived = asyncio.Event()
        self._line: list[bytes] = []
        self._line_bytes = 0
        self._ended = False
        self._watch()

    def _watch(self) -> None:
        self._loop.add_reader(self._fd, self._readable)
        self._is_watching = True

    def _unwatch(self) -> None:
        self._loop.remove_reader(self._fd)
        self._is_watching = False

    def _readable(self) -> None:
        try:
            chunk = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._end()
            return
        first, *lines = chunk.split(b"\n")
        self._grow(first)
        for line in lines:
            self._finish_line()
            self._grow(line)
        if len(self._messages) >= _INBOX_MAX_MESSAGES:
            self._unwatch()

    def _end(self) -> None:
        if self._ended:
            return
        self._unwatch()
        self._ended = True
        self._finish_line()
        self._arrived.set()
        self._on_end()

    def _grow(self, part: bytes) -> None:
        self._line_bytes += len(part)
        if self._line_bytes <= FRAME_MAX_BYTES:
            self._line.append(part)
        else:
            self._line.clear()

    def _finish_line(self) -> None:
        too_long = self._line_bytes > FRAME_MAX_BYTES
        line = b"".join(self._line)
        self._line.clear()
        self._line_bytes = 0
        if too_long:
            self._reject(_PARSE_ERROR, f"message longer than {FRAME_MAX_BYTES} bytes", None)
        elif line.strip():
            self._parse(line)

    def _parse(self, line: bytes) -> None:
        """Read a line; for half a character or a long number in it no call is left unanswered.

        A list is a batch, which protocol 2025-03-26 has; each of its messages is answered on its own.
        """
        try:
            given = from_json(line)
        except ValueError:
            try:
                given = json.loads(line, object_hook=_mend, parse_int=_whole)
            except (ValueError, RecursionError):
                self._reject(_PARSE_ERROR, "not JSON", None)
                return
        for message in cast("list[object]", given) if isinstance(given, list) else [given]:
            if not self._express.takes(message):
                self._messages.append(message)
                self._arrived.set()

    def unread(self, *messages: object) -> None:
        """Have these messages come first."""
        self._messages.extendleft(reversed(messages))

    async def has_any(self) -> bool:
        """Wait for a message; False if the client has closed its end and none is left."""
        while not self._messages:
            if self._ended:
                return False
            self._arrived.clear()
            if not self._is_watching:
                self._watch()
            await self._arrived.wait()
        return True

    async def receive(self) -> "SessionMessage":
        """Return the next message.

        Raises:
            anyio.EndOfStream: the client closed its end.
        """
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        while await self.has_any():
            message = self._messages.popleft()
            if _is_request_without_id(message):
                self._reject(_INVALID_REQUEST, "an id is a text or a whole number", None)
                continue
            try:
                return SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False))
            except ValidationError:
                self._reject(_INVALID_REQUEST, "not a JSON-RPC message", _id_of(message))
        raise anyio.EndOfStream

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> "SessionMessage":
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Stop reading."""
        self._end()


class Outbox(_Stream):
    """Messages to a descriptor, one JSON document a line, never torn by one another."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._turn = asyncio.Lock()
        self._writable = asyncio.Event()
        self._given_up = False
        self._answered: RequestId | None = None

    def withhold(self, answered: RequestId) -> None:
        """Leave out the next answer to a request that the client has an answer to."""
        self._answered = answered

    async def send(self, item: "SessionMessage", /) -> None:
        """Write one message.

        Raises:
            anyio.BrokenResourceError: the client is gone.
        """
        if self._answered is not None and getattr(item.message, "id", None) == self._answered:
            self._answered = None
            return
        await self.put(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode())

    async def put(self, message: bytes) -> None:
        """Write one message that is JSON already.

        Raises:
            anyio.BrokenResourceError: the client is gone.
        """
        frame = memoryview(message + b"\n")
        async with self._turn:
            # A frame that has begun is finished even if its sender is cancelled: half a frame would spoil the next.
            if rest := self._write(frame):
                with anyio.CancelScope(shield=True):
                    await self._write_rest(rest)

    def _write(self, frame: memoryview) -> memoryview:
        try:
            return frame[os.write(self._fd, frame) :]
        except BlockingIOError:
            return frame
        except OSError as error:
            raise anyio.BrokenResourceError from error

    async def _write_rest(self, rest: memoryview) -> None:
        loop = asyncio.get_running_loop()
        loop.add_writer(self._fd, self._writable.set)
        try:
            while rest:
                if self._given_up:
                    raise anyio.BrokenResourceError
                self._writable.clear()
                await self._writable.wait()
                rest = self._write(rest)
        finally:
            loop.remove_writer(self._fd)

    def give_up(self) -> None:
        """Wait no longer for a client that does not read."""
        self._given_up = True
        self._writable.set()

    def put_soon(self, message: bytes) -> None:
        """Write one message without waiting for it."""
        task = asyncio.get_running_loop().create_task(self.put(message))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


def _is_request_without_id(message: object) -> bool:
    """Tell whether a message asks under something that is no id: the SDK takes it for a notification."""
    return isinstance(message, dict) and message.keys() >= {"id", "method"} and _id_of(cast("object", message)) is None


def _id_of(message: object) -> RequestId | None:
    identity = cast("dict[str, object]", message).get("id") if isinstance(message, dict) else None
    return identity if is_id(identity) else None


def _whole(digits: str) -> int | float:
    """Read a whole number; one that Python would refuse for its length is as good as infinite."""
    return int(digits) if len(digits) <= _DIGITS_MAX else float(digits)


def _mend(mapping: dict[str, object]) -> dict[str, object]:
    return {utf8(key): _mended(value) for key, value in mapping.items()}


def _mended(value: object) -> object:
    if isinstance(value, str):
        return utf8(value)
    if isinstance(value, list):
        return [_mended(item) for item in cast("list[object]", value)]
    return value


def can_be_watched() -> bool:
    """Tell whether the event loop can wait for standard input and output without changing a terminal under its user."""
    return sys.platform != "win32" and all(_is_channel(fd) for fd in (0, 1))


def _is_channel(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _take(fd: int, replacement: int) -> int:
    """Move a standard stream to a private descriptor, so that nothing else can read from it or print into it."""
    private = os.dup(fd)
    os.dup2(replacement, fd)
    return private


@asynccontextmanager
async def stdio_streams(on_end: Callable[[], None], express: Express) -> AsyncGenerator[tuple[Inbox, Outbox], None]:
    """Claim standard input and output and yield them as the SDK's read and write streams.

    While they are claimed, stray reads get end of file and stray prints go to standard error.

    Args:
        on_end: is called when the client has closed its end, or at last when the streams are left.
        express: is offered each message first.
    """
    nothing = os.open(os.devnull, os.O_RDONLY)
    incoming, outgoing = _take(0, nothing), _take(1, 2)
    os.close(nothing)
    os.set_blocking(incoming, False)
    os.set_blocking(outgoing, False)
    outbox = Outbox(outgoing)

    def reject(code: int, reason: str, request: RequestId | None) -> None:
        outbox.put_soon(to_json({"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": reason}}))

    def ended() -> None:
        on_end()
        asyncio.get_running_loop().call_later(_LINGER_S, outbox.give_up)

    express.begin(outbox.put)
    inbox = Inbox(incoming, express, reject, ended)
    try:
        yield inbox, outbox
    finally:
        await inbox.aclose()
        await express.close()
        os.set_blocking(incoming, True)
        os.set_blocking(outgoing, True)
