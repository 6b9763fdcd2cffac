"""Answers calls on standard input and output without the SDK, whose way is half of the time of a small call.

The SDK judges the first call of a connection: who calls, and by which version of the protocol. Later ones that are like
it are answered as that one was; whatever is not stays with the SDK.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, cast

import anyio
from mcp.shared.dispatcher import coerce_request_id
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    CONNECTION_CLOSED,
    PROTOCOL_VERSION_META_KEY,
    ContentBlock,
    RequestId,
)
from pydantic_core import to_json

from ..tools.base import Progress
from .app import blocks
from .callers import Client
from .dispatch import Answer, Dispatcher

_ENVELOPE = (PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY)
"""What every request of a protocol without a handshake says of its client; in one with a handshake none does."""

_MESSAGE = {"jsonrpc", "id", "method", "params"}
_PARAMS = {"name", "arguments", "_meta"}

Send = Callable[[bytes], Awaitable[None]]
"""Writes one message; raises `anyio.BrokenResourceError` if the client is gone."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What the SDK found out with the first call.

    Attributes:
        client: who calls.
        envelope: what later calls must say of their client as the first one did.
        stamp: what stands in each result beside the answer.
    """

    client: Client
    envelope: tuple[object, ...]
    stamp: Mapping[str, Any]


@dataclass(eq=False, slots=True)
class _Flight:
    """A call that is being answered; one that its client has withdrawn gets no answer."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    is_withdrawn: bool = False


class Express:
    """Takes messages of one connection, before the SDK does."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._send: Send | None = None
        self._known: _Known | None = None
        self._flights: dict[RequestId, _Flight] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, send: Send) -> None:
        """Answer through `send` from now on."""
        self._send = send

    def know(self, client: Client, stamp: Mapping[str, Any]) -> None:
        """Take note of who calls, by a call that the SDK has accepted.

        Args:
            client: as the call came from it.
            stamp: what the SDK puts into the results of this version of the protocol.
        """
        caller = Client(client.name, client.ceiling, shows_pictures=client.shows_pictures)
        self._known = _Known(caller, _envelope(client.meta), stamp)

    @property
    def is_open(self) -> bool:
        """Whether there is any use in offering it a message."""
        return self._known is not None

    def takes(self, message: object) -> bool:
        """Begin to answer a message if it is a call like the first, or withdraw one that is being answered."""
        if self._known is None or self._send is None or not isinstance(message, dict):
            return False
        given = cast("dict[str, Any]", message)
        method, params = given.get("method"), given.get("params")
        if method == "initialize":
            self._known = None
            return False
        if not isinstance(params, dict):
            return False
        if method == "notifications/cancelled":
            return self._withdraw(cast("dict[str, Any]", params).get("requestId"))
        if method != "tools/call" or given.keys() != _MESSAGE or given["jsonrpc"] != "2.0":
            return False
        return _is_id(given["id"]) and self._call(given["id"], cast("dict[str, Any]", params), self._known, self._send)

    async def close(self) -> None:
        """End what is being answered: whoever waits for it is told that the connection has ended."""
        for flight in self._flights.values():
            flight.scope.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _withdraw(self, identity: object) -> bool:
        flight = self._flights.get(coerce_request_id(cast("RequestId", identity))) if _is_id(identity) else None
        if flight is None:
            return False
        flight.is_withdrawn = True
        flight.scope.cancel()
        return True

    def _call(self, identity: RequestId, params: dict[str, Any], known: _Known, send: Send) -> bool:
        tool, arguments, meta = params.get("name", ""), params.get("arguments", {}), params.get("_meta", {})
        if not isinstance(arguments, dict) or not isinstance(meta, dict) or not params.keys() <= _PARAMS:
            return False
        if not isinstance(tool, str) or tool not in self._dispatcher.tools:
            return False
        client = _client(known, cast("dict[str, Any]", meta), send)
        if client is None:
            return False
        self._begin(identity, self._dispatcher.answer(tool, cast("dict[str, Any]", arguments), client), known, send)
        return True

    def _begin(self, identity: RequestId, answer: Coroutine[Any, Any, Answer], known: _Known, send: Send) -> None:
        key = coerce_request_id(identity)
        flight = self._flights[key] = _Flight()

        async def fly() -> None:
            told: dict[str, Any] = {"error": {"code": CONNECTION_CLOSED, "message": "Connection closed"}}
            with flight.scope:
                told = {"result": _result(await answer, known.stamp)}
            if self._flights.get(key) is flight:
                del self._flights[key]
            if not flight.is_withdrawn:
                with suppress(anyio.BrokenResourceError):
                    await send(to_json({"jsonrpc": "2.0", "id": identity, **told}))

        task = asyncio.get_running_loop().create_task(fly())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _envelope(meta: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(meta.get(key) for key in _ENVELOPE)


def _client(known: _Known, meta: Mapping[str, Any], send: Send) -> Client | None:
    """Describe the client of a call by what that says of itself; None if it says something else than the first."""
    token = meta.get("progressToken")
    if _envelope(meta) != known.envelope or not (token is None or _is_id(token)):
        return None
    if not meta:
        return known.client
    return replace(known.client, meta=meta, progress=known.client.progress if token is None else _telling(token, send))


def _result(answer: Answer, stamp: Mapping[str, Any]) -> dict[str, Any]:
    content = [{"type": "text", "text": answer.text}] if answer.picture is None else _dumped(blocks(answer))
    return {"content": content, "isError": answer.is_error, **stamp}


def _dumped(blocks: Sequence[ContentBlock]) -> list[dict[str, Any]]:
    return [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in blocks]


def _telling(token: str | int, send: Send) -> Progress:
    """Return what tells the client how far the call has come for which it gave the token."""

    async def tell(done: float, total: float | None = None, message: str = "") -> None:
        figures = {"progress": done} if total is None else {"progress": done, "total": total}
        params = {"progressToken": token, **figures, **({"message": message} if message else {})}
        await send(to_json({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))

    return tell
