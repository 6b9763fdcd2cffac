"""JSON-RPC with one other server, in the protocol's old way or its new one: requests, answers, progress, cancelling."""

import asyncio
import itertools
import json
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .. import __version__
from ..budget.clean import clean
from ..errors import BursarError
from ..guard.workers import Workers
from .frames import Frame
from .message import Message, taken_apart, understood
from .untyped import mapping, sequence, text
from .upstream import Upstream

HANDSHAKE = "2025-11-25"
HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MODERN = "2026-07-28"

METHOD_NOT_FOUND = -32601
UNSUPPORTED_VERSION = -32022

DISCOVER_S = 3.0
"""A server of the old way that does not know the question says nothing at worst."""

_META = "io.modelcontextprotocol/"
_CLIENT = {"name": "bursar", "version": __version__}
_NOISE_CHARACTERS = 200
_SNIFFED_BYTES = 256
_SPARE = 4
"""Long messages besides the answers that are awaited, taken apart at a time."""

_TASKS_MAX = 1000
_NUMBER = re.compile(rb'"id"\s{0,8}:\s{0,8}"?(\d{1,15})')
_DIGITS_MAX = 16

Told = Callable[[float, float | None, str], Coroutine[Any, Any, None]]
"""Is told of the progress of a call."""


class Link(Protocol):
    """The way to a server."""

    version: str
    """Of the protocol that was agreed on; empty until then."""

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a message; if it is a request it has a number as its `id`.

        Raises:
            BursarError: upstream_ended and its kin; the server cannot be reached.
        """
        ...

    def forget(self, request: int) -> bool:
        """Give up a request; tell whether the server learns of it so, and needs no message."""
        ...


@dataclass(slots=True)
class _Asked:
    answer: "asyncio.Future[Message]"
    told: Told | None = None
    telling: set["asyncio.Task[None]"] = field(default_factory=set["asyncio.Task[None]"])


class Peer:
    """The other side of a link.

    Attributes:
        modern: whether the protocol's new way is spoken.
        version: of the protocol that is spoken; empty until that is agreed on.
        lists_changed: it has said that its tools are others now.
        noise: lines that were no messages.
        first_noise: the first of them.
    """

    def __init__(self, upstream: Upstream, link: Link, workers: Workers, roots: Sequence[Path]) -> None:
        self.modern = False
        self.version = ""
        self.lists_changed = False
        self.noise = 0
        self.first_noise = ""
        self._name = upstream.name
        self._secrets = upstream.secrets
        self._link = link
        self._workers = workers
        self._roots = roots
        self._numbers = itertools.count(1)
        self._asked: dict[int, _Asked] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._apart: set[asyncio.Task[None]] = set()

    async def agree(self, within_s: float) -> None:
        """Find out which way the server speaks, and shake hands if it is the old one.

        Raises:
            BursarError: upstream_protocol, upstream_start and whatever the link raises.
        """
        try:
            async with asyncio.timeout(min(DISCOVER_S, within_s)):
                found = await self._told("server/discover", self._stamped({}, MODERN))
        except TimeoutError:
            found = {"error": {"code": METHOD_NOT_FOUND}}
        except BursarError as error:
            if error.code not in ("upstream_error", "upstream_protocol"):
                raise
            found = {"error": {"code": METHOD_NOT_FOUND}}  # old servers over HTTP refuse it in ways of their own
        versions, error = sequence(mapping(found.get("result")).get("supportedVersions")), mapping(found.get("error"))
        if error.get("code") == UNSUPPORTED_VERSION:
            versions = sequence(mapping(error.get("data")).get("supported"))
        if MODERN in versions and not error:
            self.modern = True
            self.version = self._link.version = MODERN
            return
        if error.get("code") == UNSUPPORTED_VERSION and not any(version in HANDSHAKES for version in versions):
            spoken = clean(", ".join(map(str, versions)), 100)
            raise BursarError("upstream_protocol", f"{self._name} speaks {spoken} only", f"Use a version for {MODERN}")
        await self._shake_hands(within_s)

    async def _shake_hands(self, within_s: float) -> None:
        wanted: dict[str, Any] = {"protocolVersion": HANDSHAKE, "capabilities": {"roots": {}}, "clientInfo": _CLIENT}
        try:
            async with asyncio.timeout(within_s):
                found = await self._told("initialize", wanted)
        except TimeoutError:
            what = f"{self._name} did not answer the handshake within {within_s:g} s"
            raise BursarError("upstream_start", what, "See `bursar mcp list`; give it a larger timeoutS") from None
        result = mapping(found.get("result"))
        version = result.get("protocolVersion")
        if version not in HANDSHAKES:
            why = self._secrets.blanked(_said(found)) or f"it speaks {clean(str(version), 40)}"
            raise BursarError("upstream_protocol", f"{self._name} refused the handshake: {why}", "Use another version")
        self.version = self._link.version = str(version)
        await self.notify("notifications/initialized", {})

    async def ask(self, method: str, params: Mapping[str, Any], told: Told | None = None) -> Message:
        """Send a request and wait for its answer; cancelled, it cancels there too.

        Raises:
            BursarError: whatever the link raises, and bad_message.
        """
        number = next(self._numbers)
        asked = self._asked[number] = _Asked(asyncio.get_running_loop().create_future(), told)
        stamped = self._stamped(params, self.version) if self.modern else dict(params)
        if told is not None:
            stamped["_meta"] = {**stamped.get("_meta", {}), "progressToken": number}
        try:
            await self._link.send({"jsonrpc": "2.0", "id": number, "method": method, "params": stamped})
            return await asked.answer
        except asyncio.CancelledError:
            if not self._link.forget(number):
                cancelled = {"requestId": number, "reason": "no longer wanted"}
                message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}
                self._later(self._sent(message))
            raise
        finally:
            del self._asked[number]
            for task in asked.telling:
                task.cancel()

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification.

        Raises:
            BursarError: whatever the link raises.
        """
        await self._link.send({"jsonrpc": "2.0", "method": method, "params": params})

    def hear(self, frame: Frame, request: int | None = None) -> None:
        """Take in a message; `request` is what it came as an answer to, where the link knows that."""
        if frame.is_cut:
            what = f"the answer of {self._name} is longer than is taken, or ends before its end"
            self._fail(PartialError(frame, what), request)
        elif frame.path is not None and len(self._apart) >= len(self._asked) + _SPARE:
            self._fail(PartialError(frame, f"{self._name} sends long messages faster than they are read"), request)
        elif frame.path is not None:
            task = self._later(self._hear_long(frame, request))
            self._apart.add(task)
            task.add_done_callback(self._apart.discard)
        elif (message := understood(frame)) is not None:
            self._take(message)
        elif self._request_of(frame) is not None:
            self._fail(PartialError(frame, f"the answer of {self._name} is no JSON"), request)
        elif frame.data.strip():
            self._count_noise(frame)

    def lose(self, error: BursarError, request: int | None = None) -> None:
        """Let a request fail, or all of them, but for those whose long answers are still being taken apart."""
        if self._apart:
            self._later(self._lose_later(error, request, asyncio.gather(*self._apart, return_exceptions=True)))
            return
        for number, asked in list(self._asked.items()):
            if request in (None, number) and not asked.answer.done():
                asked.answer.set_exception(error)

    async def _lose_later(self, error: BursarError, request: int | None, before: "asyncio.Future[Any]") -> None:
        await before
        self.lose(error, request)

    def close(self) -> None:
        """Give up all that goes on."""
        for task in self._tasks:
            task.cancel()

    async def _hear_long(self, frame: Frame, request: int | None) -> None:
        try:
            message = await taken_apart(frame, self._workers)
        except BursarError as error:
            self._fail(PartialError(frame, f"the answer of {self._name} cannot be read: {error.message}"), request)
        else:
            self._take(message)

    def _fail(self, error: "PartialError", request: int | None) -> None:
        """Let the request fail whose answer cannot be understood; if none is known, it was noise."""
        number = request or self._request_of(error.frame)
        asked = None if number is None else self._asked.get(number)
        if asked is None or asked.answer.done():
            self._count_noise(error.frame)
            error.frame.drop()
        else:
            asked.answer.set_exception(error)

    def _request_of(self, frame: Frame) -> int | None:
        """Guess which request a message answers that cannot be understood, by its beginning and its end."""
        head, tail = frame.data[:_SNIFFED_BYTES], frame.data[-_SNIFFED_BYTES:]
        if frame.path is not None:
            with suppress(OSError), frame.path.open("rb") as file:
                head = file.read(_SNIFFED_BYTES)
                file.seek(max(0, file.seek(0, 2) - _SNIFFED_BYTES))
                tail = file.read()
        numbers = (int(found) for found in (*_NUMBER.findall(head), *_NUMBER.findall(tail)))
        return next((number for number in numbers if number in self._asked), None)

    def _count_noise(self, frame: Frame) -> None:
        self.noise += 1
        if not self.first_noise:
            said = frame.data[:_SNIFFED_BYTES].decode("utf-8", "replace")
            self.first_noise = clean(self._secrets.blanked(said), _NOISE_CHARACTERS)

    def _take(self, message: Message) -> None:
        value = message.value
        number, method = value.get("id"), value.get("method")
        if isinstance(method, str):
            self._answer(number, method) if number is not None else self._note(method, value.get("params"))
            message.close()
            return
        asked = self._asked.get(_as_number(number))
        if asked is None or asked.answer.done():
            message.close()
        else:
            asked.answer.set_result(message)

    def _answer(self, number: object, method: str) -> None:
        """Answer a request of the server: what is not offered is refused at once.

        One that asks without end and reads no answers is not answered any more.
        """
        if len(self._tasks) >= _TASKS_MAX:
            return
        if method == "ping":
            answer: dict[str, Any] = {"result": {}}
        elif method == "roots/list":
            answer = {"result": {"roots": [{"uri": root.as_uri(), "name": root.name} for root in self._roots]}}
        else:
            answer = {"error": {"code": METHOD_NOT_FOUND, "message": f"{clean(method, 60)} is not offered here"}}
        self._later(self._sent({"jsonrpc": "2.0", "id": number, **answer}))

    async def _sent(self, message: Mapping[str, Any]) -> None:
        with suppress(BursarError):
            await self._link.send(message)

    def _note(self, method: str, params: object) -> None:
        told = mapping(params)
        if method == "notifications/tools/list_changed":
            self.lists_changed = True
        elif method == "notifications/progress":
            asked = (
                self._asked.get(told.get("progressToken", 0)) if isinstance(told.get("progressToken"), int) else None
            )
            done, total = told.get("progress"), told.get("total")
            if asked is not None and asked.told is not None and isinstance(done, int | float) and not asked.telling:
                of = total if isinstance(total, int | float) else None
                said = clean(self._secrets.blanked(text(told.get("message"))), 200)
                work = asked.told(done, of, said)
                task = asyncio.get_running_loop().create_task(work)
                asked.telling.add(task)
                task.add_done_callback(asked.telling.discard)

    async def _told(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        message = await self.ask(method, params)
        message.close()
        return message.value

    def _stamped(self, params: Mapping[str, Any], version: str) -> dict[str, Any]:
        """Add what each request of the new way tells of its client."""
        meta: dict[str, Any] = {
            f"{_META}protocolVersion": version,
            f"{_META}clientInfo": _CLIENT,
            f"{_META}clientCapabilities": {"roots": {}},
        }
        return {**params, "_meta": meta}

    def _later(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class PartialError(BursarError):
    """An answer that cannot be understood.

    Attributes:
        frame: what was received of it; its file remains to be removed.
    """

    def __init__(self, frame: Frame, message: str) -> None:
        super().__init__("upstream_protocol", message, "Ask it for less at a time")
        self.frame = frame


def _as_number(number: object) -> int:
    """Read the number of a request in an answer; some servers give it back as a text, or with a point."""
    if isinstance(number, float) and number.is_integer():
        return int(number)
    if isinstance(number, str) and number.isascii() and number.isdecimal() and len(number) < _DIGITS_MAX:
        return int(number)
    return number if isinstance(number, int) and not isinstance(number, bool) else 0


def written(message: Mapping[str, Any]) -> bytes:
    """Write a message: lone surrogates stay escaped, and no line break stands in it."""
    return json.dumps(message, separators=(",", ":")).encode()


def _said(answer: Mapping[str, Any]) -> str:
    """Return what an error says."""
    return clean(text(mapping(answer.get("error")).get("message")))
