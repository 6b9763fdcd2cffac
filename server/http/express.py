"""Calls over HTTP that are answered without the SDK, whose way takes most of the time of a small call.

What is taken is what a well-behaved client sends, in exactly the form that the protocol has for it; whatever else
arrives goes on to the SDK as it came. Transport sessions are the SDK's: what is known here of one, its answers told.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, cast

import anyio
from pydantic_core import from_json, to_json
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..callers import ANYBODY, Client
from ..dispatch import Dispatcher
from ..express import (
    CALL_KEYS,
    CONNECTION_CLOSED,
    ENVELOPE,
    HANDSHAKE_VERSIONS,
    MODERN_VERSION,
    REQUEST_KEYS,
    STAMP,
    Flight,
    collects_spans,
    flight_key,
    is_id,
    is_somebody,
)
from .access import principal_of
from .limits import opens_session

_REFRESHED_S = 60.0
"""Calls of a session go by the SDK so often: it ends sessions that it has not heard of for half an hour."""

_BRIEF_S = 0.05
"""A call that takes longer is answered by a stream of events, and whether its client hangs up is watched from then on.
Most are done by then, and what watches costs as much."""

_SILENT_S = 15.0
"""Between pings: proxies hang up where nothing comes for long."""

_WITHDRAWN = {"code": -32800, "message": "Request cancelled"}
_CLOSED = {"code": CONNECTION_CLOSED, "message": "Connection closed"}
"""What the SDK answers a call with that its client has withdrawn, and one whose session has ended."""

_NAME_CHARACTERS = 200
"""Kept of what a client calls itself; those that are known have short names."""

_PING = b": ping\n\n"


@dataclass
class _Session:
    """A transport session: whose it is, what its client calls itself, and when the SDK last heard of it."""

    principal: str
    client: str
    heard: float
    flights: dict[str | int, Flight] = field(default_factory=dict[str | int, Flight])


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that is taken; of a session in the eras that have one."""

    identity: str | int
    tool: str
    arguments: Mapping[str, Any]
    client: Client
    session: _Session | None


@dataclass
class Express:
    """Stands before the SDK's application.

    Attributes:
        app: the SDK's.
        dispatcher: the choke point.
        most: transport sessions that are known at a time; calls of others go by the SDK.
        idle_s: seconds without a request after which the SDK ends one.
    """

    app: ASGIApp
    dispatcher: Dispatcher
    most: int
    idle_s: float
    _sessions: OrderedDict[str, _Session] = field(default_factory=OrderedDict[str, _Session])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if collects_spans():
            await self.app(scope, receive, send)
            return
        message, receive = await _read(scope, receive)
        headers = _headers(scope)
        principal = principal_of(scope) or ANYBODY
        if (call := self._call(message, headers, principal)) is not None:
            await self._answer(call, receive, send)
        elif self._withdraws(message, headers, principal):
            await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body"})
        else:
            await self.app(scope, receive, self._learning(scope, message, headers, principal, send))

    def _call(self, message: Mapping[str, Any], headers: Mapping[bytes, str], principal: str) -> _Call | None:
        """Understand a message as a call; None if it is none of those that are answered here."""
        params = message.get("params")
        if message.get("method") != "tools/call" or set(message) != REQUEST_KEYS or not isinstance(params, dict):
            return None
        given = cast("dict[str, Any]", params)
        tool, arguments, meta = given.get("name"), given.get("arguments", {}), given.get("_meta", {})
        is_plain = message["jsonrpc"] == "2.0" and is_id(message["id"]) and given.keys() <= CALL_KEYS
        if not (is_plain and isinstance(arguments, dict) and isinstance(meta, dict) and "progressToken" not in meta):
            return None
        if not isinstance(tool, str) or tool not in self.dispatcher.tools or not _takes_both(headers):
            return None
        told = cast("dict[str, Any]", meta)
        session, version = self._session(headers, principal), headers.get(b"mcp-protocol-version")
        if version == MODERN_VERSION:
            name = _named_in(told)
            is_routed = headers.get(b"mcp-method") == "tools/call" and headers.get(b"mcp-name") == tool
            if not name or not is_routed or b"mcp-session-id" in headers or _has_parameters(headers):
                return None
            client = replace(self.dispatcher.client(name), meta=told, principal=principal)
            return _Call(message["id"], tool, cast("dict[str, Any]", arguments), client, None)
        is_known = version in HANDSHAKE_VERSIONS and not set(told) & set(ENVELOPE)
        if session is None or not is_known or time.monotonic() - session.heard > _REFRESHED_S:
            return None
        if flight_key(message["id"]) in session.flights:
            return None
        client = replace(
            self.dispatcher.client(session.client),
            meta=told,
            principal=principal,
            transport_session=headers[b"mcp-session-id"],
        )
        return _Call(message["id"], tool, cast("dict[str, Any]", arguments), client, session)

    def _session(self, headers: Mapping[bytes, str], principal: str) -> _Session | None:
        session = self._sessions.get(headers.get(b"mcp-session-id", ""))
        return session if session is not None and session.principal == principal else None

    def _withdraws(self, message: Mapping[str, Any], headers: Mapping[bytes, str], principal: str) -> bool:
        """End a call that its client does not want any more; False if it is none of those that are answered here."""
        session, params = self._session(headers, principal), message.get("params")
        if session is None or message.get("method") != "notifications/cancelled" or not isinstance(params, dict):
            return False
        is_plain = set(message) == {"jsonrpc", "method", "params"} and message["jsonrpc"] == "2.0"
        if not (is_plain and _takes_both(headers) and headers.get(b"mcp-protocol-version") in HANDSHAKE_VERSIONS):
            return False
        identity = cast("dict[str, Any]", params).get("requestId")
        flight = session.flights.get(flight_key(identity)) if is_id(identity) else None
        if flight is None:
            return False
        flight.is_withdrawn = True
        flight.scope.cancel()
        return True

    async def _answer(self, call: _Call, receive: Receive, send: Send) -> None:
        """Answer a call with JSON, or with a stream of events if it is not done at once.

        Without a session hanging up withdraws the call, as the protocol has it; else a notification does.
        """
        reply, told, flight = _Reply(send), dict[str, Any](), Flight()
        with flight.scope:
            async with anyio.create_task_group() as beside:

                def attend() -> None:
                    beside.start_soon(reply.begin)
                    if call.session is None:
                        beside.start_soon(_hung_up, receive, flight.scope)

                not_at_once = asyncio.get_running_loop().call_later(_BRIEF_S, attend)
                if call.session is not None:
                    call.session.flights[flight_key(call.identity)] = flight
                try:
                    answer = await self.dispatcher.answer(call.tool, call.arguments, call.client)
                    stamp: Mapping[str, Any] = STAMP if call.session is None else {}
                    told = {"result": {"content": answer.blocks(), "isError": answer.is_error, **stamp}}
                finally:
                    not_at_once.cancel()
                    if call.session is not None:
                        call.session.flights.pop(flight_key(call.identity), None)
                    beside.cancel_scope.cancel()
        if not told:
            told = {"error": _WITHDRAWN if flight.is_withdrawn else _CLOSED}
        with suppress(OSError):  # the client is gone
            await reply.end({"jsonrpc": "2.0", "id": call.identity, **told})

    def _learning(
        self, scope: Scope, message: Mapping[str, Any], headers: Mapping[bytes, str], principal: str, send: Send
    ) -> Send:
        """Return a `send` that takes note of what the SDK's answer tells of a session: opened, used, unknown, ended."""
        named = headers.get(b"mcp-session-id", "")

        async def learn(part: Message) -> None:
            if part["type"] == "http.response.start":
                self._learn(scope, message, named, principal, part)
            await send(part)

        return learn

    def _learn(
        self, scope: Scope, message: Mapping[str, Any], named: str, principal: str, start: Mapping[str, Any]
    ) -> None:
        status, session = start["status"], self._sessions.get(named)
        if not opens_session(scope):
            return  # without a handshake the SDK has not looked at the header
        if session is not None and session.principal == principal:
            if status == 404 or (scope["method"] == "DELETE" and status < 300):
                self._forget(named)
            else:
                session.heard = time.monotonic()
                self._sessions.move_to_end(named)
        about = _client_info(message)
        opened = next((value for name, value in start["headers"] if name.lower() == b"mcp-session-id"), b"")
        if not named and opened and status < 300 and is_somebody(about):
            name = cast("dict[str, str]", about)["name"]
            self._sessions[opened.decode("latin-1")] = _Session(principal, name[:_NAME_CHARACTERS], time.monotonic())
            self._let_go()

    def _let_go(self) -> None:
        """Forget sessions that the SDK has ended by now, and of too many those that were heard of longest ago."""
        ended, over = time.monotonic() - self.idle_s, len(self._sessions) - self.most
        for named, session in list(self._sessions.items()):
            if session.heard > ended and over <= 0:
                return
            if not session.flights:  # else its calls could not be withdrawn any more
                del self._sessions[named]
                over -= 1

    def _forget(self, named: str) -> None:
        """End the calls of a session that has ended."""
        for flight in self._sessions.pop(named).flights.values():
            flight.scope.cancel()


@dataclass
class _Reply:
    """The answer to one request on its way."""

    send: Send
    _is_stream: bool = False

    async def begin(self) -> None:
        """Begin a stream, and keep the connection alive."""
        kept = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]
        kept.append((b"x-accel-buffering", b"no"))  # else nginx holds back what comes
        with anyio.CancelScope(shield=True):
            self._is_stream = True
            await self.send({"type": "http.response.start", "status": 200, "headers": kept})
        while True:
            await anyio.sleep(_SILENT_S)
            await self.send({"type": "http.response.body", "body": _PING, "more_body": True})

    async def end(self, message: Mapping[str, Any]) -> None:
        """Send what the request is answered with."""
        body = to_json(message)
        if self._is_stream:
            body = b"event: message\ndata: " + body + b"\n\n"
        else:
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await self.send({"type": "http.response.start", "status": 200, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


async def _read(scope: Scope, receive: Receive) -> tuple[Mapping[str, Any], Receive]:
    """Return a request's message, empty if it has none, and a `receive` that gives its body again."""
    if scope["method"] != "POST":
        return {}, receive
    first = await receive()
    parts = [first]

    async def replay() -> Message:
        return parts.pop() if parts else await receive()

    if first["type"] != "http.request" or first.get("more_body", False):
        return {}, replay
    try:
        message = from_json(first.get("body", b""), allow_inf_nan=False)
    except ValueError:
        return {}, replay
    return cast("Mapping[str, Any]", message) if isinstance(message, dict) else {}, replay


def _headers(scope: Scope) -> Mapping[bytes, str]:
    """Return the headers by their names; one that stands twice has what no single one can have."""
    headers: dict[bytes, str] = {}
    for name, value in scope["headers"]:
        headers[name] = "\n" if name in headers else value.decode("latin-1")
    return headers


def _takes_both(headers: Mapping[bytes, str]) -> bool:
    """Tell whether a request sends JSON and takes either form of answer, as the protocol wants it."""
    kinds = {kind.partition(";")[0].strip().lower() for kind in headers.get(b"accept", "").split(",")}
    content = headers.get(b"content-type", "").partition(";")[0].strip().lower()
    return content == "application/json" and {"application/json", "text/event-stream"} <= kinds


def _has_parameters(headers: Mapping[bytes, str]) -> bool:
    return any(name.startswith(b"mcp-param-") for name in headers)


def _named_in(meta: Mapping[str, Any]) -> str:
    """Return what the client of a request calls itself in its envelope; empty if that is not whole."""
    version, about, capabilities = (meta.get(key) for key in ENVELOPE)
    if version != MODERN_VERSION or not is_somebody(about) or not isinstance(capabilities, dict):
        return ""
    return cast("dict[str, str]", about)["name"]


def _client_info(message: Mapping[str, Any]) -> object:
    params = message.get("params")
    if message.get("method") != "initialize" or not isinstance(params, dict):
        return None
    given = cast("dict[str, Any]", params)
    is_proper = isinstance(given.get("protocolVersion"), str) and isinstance(given.get("capabilities"), dict)
    return given.get("clientInfo") if is_proper else None


async def _hung_up(receive: Receive, flight: anyio.CancelScope) -> None:
    """Withdraw a call whose client hangs up; the body, which is read already, comes first."""
    while (await receive())["type"] != "http.disconnect":
        pass
    flight.cancel()
