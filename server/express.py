"""What clients mostly ask on standard input and output, answered without the SDK.

Loading the SDK is two thirds of a start, and its way is half of the time of a small call. What is taken here is what a
well-behaved client sends, in exactly the form that the protocol has for it; whatever else arrives is the SDK's, which
is loaded with the first of it. Tests hold the answers of both equal.
"""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeGuard, cast

import anyio
from pydantic_core import to_json

from ..tools.base import Progress
from .callers import Client
from .dispatch import Dispatcher
from .offer import CAPABILITIES, SERVER, Offer

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Of the protocol, which begin with `initialize`; a client that names another is offered the last."""

MODERN_VERSION = "2026-07-28"
"""Of the protocol, in which every request says who sends it."""

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}

_META = "io.modelcontextprotocol/"
ENVELOPE = (f"{_META}protocolVersion", f"{_META}clientInfo", f"{_META}clientCapabilities")
_NOBODY: tuple[object, ...] = (None, None, None)
"""An envelope that tells nothing, as it has to be once there was a handshake."""

STAMP: Mapping[str, Any] = {"resultType": "complete", "_meta": {f"{_META}serverInfo": SERVER}}
_UNCACHED = {"ttlMs": 0, "cacheScope": "private"}

CONNECTION_CLOSED = -32000

REQUEST_KEYS = {"jsonrpc", "id", "method", "params"}
CALL_KEYS = {"name", "arguments", "_meta"}

Message = dict[str, Any]
RequestId = str | int

Send = Callable[[bytes], Awaitable[None]]
"""Writes one message; raises `anyio.BrokenResourceError` if the client is gone."""


def collects_spans() -> bool:
    """Tell whether somebody collects spans of OpenTelemetry in this process."""
    if "opentelemetry.trace" not in sys.modules and "OTEL_PYTHON_TRACER_PROVIDER" not in os.environ:
        return False
    from opentelemetry import trace

    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


@dataclass(eq=False, slots=True)
class Flight:
    """A call that is being answered, and whether its client has withdrawn it."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    is_withdrawn: bool = False


class Express:
    """Takes messages of one connection, before the SDK does."""

    def __init__(self, dispatcher: Dispatcher, offer: Offer, listed: anyio.Event) -> None:
        """Answer by a dispatcher.

        Args:
            dispatcher: the choke point.
            offer: what clients are told of it.
            listed: set when the client has asked for the tools.
        """
        self._dispatcher = dispatcher
        self._offer = offer
        self._listed = listed
        self._era: Literal["unknown", "handshake", "modern", "other"] = "other" if collects_spans() else "unknown"
        self._is_alone = True
        self._handshake: Message | None = None
        self._client: Client | None = None
        self._envelope = _NOBODY
        self._send: Send | None = None
        self._flights: dict[RequestId, Flight] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def handshake(self) -> Message | None:
        """The client's `initialize`, if it was answered here: the SDK has to hear of it before anything else."""
        return self._handshake

    def begin(self, send: Send) -> None:
        """Answer through `send` from now on."""
        self._send = send

    def takes(self, message: object) -> bool:
        """Begin to answer a message, or do what a notification asks for; False if that is left to the SDK."""
        is_taken = isinstance(message, dict) and self._takes(cast("Message", message))
        self._is_alone = self._is_alone and is_taken
        return is_taken

    async def close(self) -> None:
        """End what is being answered: whoever waits for it is told that the connection has ended."""
        for flight in self._flights.values():
            flight.scope.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _takes(self, message: Message) -> bool:
        method, params = message.get("method"), message.get("params", {})
        if self._era == "other" or message.get("jsonrpc") != "2.0" or not isinstance(method, str):
            return False
        if not isinstance(params, dict):
            return False
        given = cast("Message", params)
        if "id" not in message:
            # The SDK, which answers nothing yet, has nothing to be notified of.
            return (method == "notifications/cancelled" and self._withdraws(given.get("requestId"))) or self._is_alone
        is_plain = message.keys() <= REQUEST_KEYS and is_id(message["id"]) and isinstance(given.get("_meta", {}), dict)
        is_taken = is_plain and (self._meets if method == "initialize" else self._answers)(message, method, given)
        if self._era == "unknown":
            self._era = "other"  # the first request decides
        return is_taken

    def _withdraws(self, identity: object) -> bool:
        flight = self._flights.get(flight_key(identity)) if is_id(identity) else None
        if flight is None:
            return False
        flight.is_withdrawn = True
        flight.scope.cancel()
        return True

    def _meets(self, message: Message, _method: str, params: Message) -> bool:
        """Take a client's handshake if it has the form of one; the SDK is told of a second one by the client itself."""
        about, version = params.get("clientInfo"), params.get("protocolVersion")
        is_proper = isinstance(version, str) and is_somebody(about) and isinstance(params.get("capabilities"), dict)
        if not is_proper or self._era == "modern":
            return False
        self._client = self._dispatcher.client(cast("Message", about)["name"])
        if self._era == "handshake":
            return False
        self._era, self._handshake = "handshake", message
        result = {
            "protocolVersion": version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
            "capabilities": CAPABILITIES,
            "serverInfo": SERVER,
            "instructions": self._offer.instructions,
        }
        self._tell(message["id"], result)
        return True

    def _answers(self, message: Message, method: str, params: Message) -> bool:
        client = self._caller(params.get("_meta", {}))
        if client is None:
            return False
        if method == "tools/call":
            return self._calls(message["id"], params, client)
        is_modern = self._era == "modern"
        result: Mapping[str, Any] | None = self._offer.lists.get(method)
        if method == "server/discover" and is_modern:
            told = {"capabilities": CAPABILITIES, "instructions": self._offer.instructions}
            result = {"supportedVersions": [MODERN_VERSION], **told}
        elif method == "ping" and not is_modern:
            result = {}
        if result is None or params.keys() - {"_meta"}:
            return False
        if method == "tools/list":
            self._listed.set()
        self._tell(message["id"], {**result, **_UNCACHED, **STAMP} if is_modern else result)
        return True

    def _caller(self, meta: Message) -> Client | None:
        """Return who sends a request, which without a handshake each of them tells; None if that is for the SDK."""
        envelope, token = tuple(meta.get(key) for key in ENVELOPE), meta.get("progressToken")
        if not (token is None or is_id(token)):
            return None
        if self._client is None or envelope != self._envelope:
            version, about, capabilities = envelope
            is_proper = version == MODERN_VERSION and is_somebody(about) and isinstance(capabilities, dict)
            if self._era == "handshake" or not is_proper:
                return None
            self._era, self._envelope = "modern", envelope
            self._client = self._dispatcher.client(cast("Message", about)["name"])
        if not meta or self._send is None:
            return self._client
        progress = self._client.progress if token is None else _telling(token, self._send)
        return replace(self._client, meta=meta, progress=progress)

    def _calls(self, identity: RequestId, params: Message, client: Client) -> bool:
        tool, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(arguments, dict) or not params.keys() <= CALL_KEYS:
            return False
        if not isinstance(tool, str) or tool not in self._dispatcher.tools:
            return False
        key = flight_key(identity)
        flight = self._flights[key] = Flight()
        stamp: Mapping[str, Any] = STAMP if self._era == "modern" else {}

        async def fly() -> None:
            told: Message = {"error": {"code": CONNECTION_CLOSED, "message": "Connection closed"}}
            with flight.scope:
                answer = await self._dispatcher.answer(tool, cast("Message", arguments), client)
                told = {"result": {"content": answer.blocks(), "isError": answer.is_error, **stamp}}
            if self._flights.get(key) is flight:
                del self._flights[key]
            if not flight.is_withdrawn:
                await self._put(identity, told)

        self._begin(fly())
        return True

    def _tell(self, identity: RequestId, result: Mapping[str, Any]) -> None:
        self._begin(self._put(identity, {"result": result}))

    async def _put(self, identity: RequestId, told: Message) -> None:
        if self._send is not None:
            with suppress(anyio.BrokenResourceError):
                await self._send(to_json({"jsonrpc": "2.0", "id": identity, **told}))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def is_id(value: object) -> TypeGuard[RequestId]:
    """Tell whether a value can be the id of a request."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def flight_key(identity: RequestId) -> RequestId:
    """Return what a request is known by: clients may withdraw by a text what they asked by a number."""
    with suppress(ValueError):
        if str(number := int(identity)) == str(identity):
            return number
    return identity


def is_somebody(about: object) -> bool:
    """Tell whether a client has introduced itself."""
    told = cast("Message", about) if isinstance(about, dict) else {}
    return isinstance(told.get("name"), str) and isinstance(told.get("version"), str)


def _telling(token: RequestId, send: Send) -> Progress:
    """Return what tells the client how far the call has come for which it gave the token."""

    async def tell(done: float, total: float | None = None, message: str = "") -> None:
        figures = {"progress": done} if total is None else {"progress": done, "total": total}
        params = {"progressToken": token, **figures, **({"message": message} if message else {})}
        await send(to_json({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))

    return tell
