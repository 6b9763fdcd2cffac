"""What one principal may ask at a time: requests a minute, open sessions, bodies; what is refused, in clear words."""

import ipaddress
import json
import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..config import Settings
from .access import principal_of
from .header_timeout import waiting_for_body

SERVER_ERROR = -32000
"""JSON-RPC's code for what a server defines itself."""

_WAITS_S = 1.0
"""A request whose turn comes within so many seconds is made to wait for it instead of being refused."""

_PRINCIPALS_MAX = 4096
"""Principals whose rate is remembered; beyond it the one that was quiet longest is forgotten, and starts afresh."""

_BODIES_EACH = 8
"""Bodies of the largest size that one principal may have half sent at a time."""

_BODIES_ALL = 32
"""And all principals together: what is held in memory before any of it is looked at."""

_LINGER_S = 1.0
"""How long the rest of a body that is too large is read and dropped, so that the client sees why it was refused."""

Tally = Callable[[str], None]
"""Is told the name of a limit each time it was hit."""


@dataclass(eq=False)
class Refusal(Exception):  # noqa: N818 - an answer, not a failure
    """A request that goes no further.

    Attributes:
        status: of the HTTP answer.
        limit: name of the limit, as the metrics have it.
        message: one line on what happened and what to do.
        retry_after_s: whole seconds after which it may be sent again; None if it would be refused again.
        closes: whether the connection ends with the answer.
    """

    status: int
    limit: str
    message: str
    retry_after_s: int | None = None
    closes: bool = field(default=False, kw_only=True)

    async def send(self, send: Send) -> None:
        """Answer with it, as a JSON-RPC error."""
        again = {} if self.retry_after_s is None else {"retry_after_s": self.retry_after_s}
        error = {"code": SERVER_ERROR, "message": self.message, "data": {"limit": self.limit, **again}}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}, separators=(",", ":")).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if self.retry_after_s is not None:
            headers.append((b"retry-after", str(self.retry_after_s).encode()))
        if self.closes:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class Rates:
    """Token buckets, one for each principal: as many requests as a minute allows, refilled evenly.

    Knows at most `most` principals. Whoever is forgotten starts with a full bucket, so it takes more than that many
    names, each with a token of its own, to get around it.
    """

    def __init__(
        self, per_minute: int, *, most: int = _PRINCIPALS_MAX, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._capacity = float(per_minute)
        self._per_second = per_minute / 60
        self._most = most
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> float:
        """Take a request from somebody's bucket.

        Returns:
            Seconds until its turn: 0 if it may go on, up to 1 if it is to wait and then to go on; above that it is to
            be refused, nothing was taken, and there is room again after so many seconds.
        """
        if not self._per_second:
            return 0.0
        now = self._clock()
        left, when = self._buckets.pop(who, (self._capacity, now))
        left = min(self._capacity, left + (now - when) * self._per_second)
        wait_s = max(0.0, (1 - left) / self._per_second)
        self._buckets[who] = (left - 1 if wait_s <= _WAITS_S else left, now)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        return wait_s


@dataclass
class _Session:
    owner: str
    requests: int = 0
    last_used: float = 0.0


@dataclass
class OpenSessions:
    """Who has which transport sessions open, as told by the answers that pass: opened, ended, unknown or unused.

    Attributes:
        most: that there may be; half of them of one principal.
        idle_s: seconds without a request after which the transport ends one.
    """

    most: int
    idle_s: float
    _open: dict[str, _Session] = field(default_factory=dict[str, _Session])
    _opening: Counter[str] = field(default_factory=Counter[str])

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._open) - len(self._ended())

    @contextmanager
    def opening(self, who: str) -> Generator[None]:
        """Keep a place for a session that somebody may be opening.

        Raises:
            Refusal: too many are open.
        """
        for name in self._ended():
            del self._open[name]
        if len(self._open) + self._opening.total() >= self.most:
            raise Refusal(503, "sessions", "Too many sessions are open on this server; try again in 30 s", 30)
        theirs = sum(session.owner == who for session in self._open.values()) + self._opening[who]
        if theirs >= (each := max(1, self.most // 2)):
            words = f"You have {each} sessions open; end one with DELETE, or try again in 60 s"
            raise Refusal(503, "sessions_per_principal", words, 60)
        with _counted(self._opening, who):
            yield

    @contextmanager
    def using(self, name: str) -> Generator[None]:
        """Know that a session is in use, and for how long."""
        session = self._open.get(name)
        if session is None:
            yield
            return
        session.requests += 1
        try:
            yield
        finally:
            session.requests -= 1
            session.last_used = time.monotonic()

    def answered(self, scope: Scope, who: str, start: Message) -> None:
        """Note what an answer to somebody tells of a session."""
        # Without a handshake the transport has not looked at the header: 404 may mean a method that is none.
        name, status = _header(scope, b"mcp-session-id") if opens_session(scope) else "", start["status"]
        if not name and status < 400:
            for key, value in start["headers"]:
                if key.lower() == b"mcp-session-id":
                    self._open[value.decode("latin-1")] = _Session(who, last_used=time.monotonic())
        elif status == 404 or (scope["method"] == "DELETE" and status < 300):
            session = self._open.get(name)
            if session is not None and session.owner == who:  # to others it is unknown in any case
                del self._open[name]

    def _ended(self) -> list[str]:
        """Name those that the transport has ended by itself."""
        gone = time.monotonic() - self.idle_s
        return [name for name, session in list(self._open.items()) if not session.requests and session.last_used < gone]


class Limits:
    """What the principals of a server have left of their shares; stands behind whatever finds out who is asking."""

    def __init__(self, settings: Settings, sessions: OpenSessions, tally: Tally = lambda _limit: None) -> None:
        """Begin with nothing used.

        Args:
            settings: of the server.
            sessions: who has which open.
            tally: counts the limits that were hit.
        """
        self._settings = settings
        self._sessions = sessions
        self._tally = tally
        self._rates = Rates(settings.requests_per_minute)
        self._answering = Counter[str]()
        self._body_bytes = Counter[str]()

    async def answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass on to an application, or answer it with what is wrong and when to try again."""
        principal = principal_of(scope)
        who = principal or network_of(scope)
        try:
            await self._take_turn(who)
            # Whom nobody told apart can have no share: without a token an address may be everybody's.
            with self._share_of_connections(who) if principal else nullcontext():
                await self._answer(app, scope, receive, send, who)
        except Refusal as refusal:
            self._tally(refusal.limit)
            await refusal.send(send)

    async def _answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, who: str) -> None:
        if scope["method"] == "POST":
            with waiting_for_body(scope, who):
                receive = await self._read(scope, receive, who)
        session = _header(scope, b"mcp-session-id")
        opens = scope["method"] == "POST" and not session and opens_session(scope)

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._sessions.answered(scope, who, message)
            await send(message)

        with self._sessions.opening(who) if opens else self._sessions.using(session):
            await app(scope, receive, watch)

    async def _take_turn(self, who: str) -> None:
        wait_s = self._rates.take(who)
        if wait_s > _WAITS_S:
            after_s = math.ceil(wait_s)
            words = f"More than {self._settings.requests_per_minute} requests in a minute; try again in {after_s} s"
            raise Refusal(429, "requests_per_minute", words, after_s)
        if wait_s:
            await anyio.sleep(wait_s)

    @contextmanager
    def _share_of_connections(self, who: str) -> Generator[None]:
        """Count a request while it is answered or its body awaited: nobody may have more than half the connections."""
        each = max(1, self._settings.max_connections // 2)
        if self._answering[who] >= each:
            words = f"{each} of your requests are being answered, half of all connections; try again in 2 s"
            raise Refusal(503, "connections_per_principal", words, 2, closes=True)
        with _counted(self._answering, who):
            yield

    async def _read(self, scope: Scope, receive: Receive, who: str) -> Receive:
        """Read a body whole, within its size, its time and its sender's share; return a `receive` that gives it again.

        Raises:
            Refusal: too large, too slow, or too many at a time.
        """
        most, declared = self._settings.max_body_bytes, _header(scope, b"content-length")
        if declared.isdigit() and int(declared) > most:
            raise await self._too_large(receive)
        messages: deque[Message] = deque()
        body, more = bytearray(), True
        try:
            with anyio.move_on_after(self._settings.request_timeout_s) as waiting:
                while more and len(body) <= most:
                    message = await receive()
                    if message["type"] != "http.request":
                        messages.append(message)
                        break
                    body += message.get("body", b"")
                    self._keep(who, len(message.get("body", b"")))
                    more = message.get("more_body", False)
            if len(body) > most:
                raise await self._too_large(receive if more else None)
        finally:
            _add(self._body_bytes, who, -len(body))
        if waiting.cancelled_caught:
            words = f"The body did not come within {self._settings.request_timeout_s:g} s; send it in one go"
            raise Refusal(408, "slow_body", words, closes=True)
        if not more:
            messages.append({"type": "http.request", "body": bytes(body), "more_body": False})

        async def replay() -> Message:
            return messages.popleft() if messages else await receive()

        return replay

    def _keep(self, who: str, size: int) -> None:
        """Take note of what is held of somebody's bodies."""
        _add(self._body_bytes, who, size)
        most = self._settings.max_body_bytes
        for held, bodies, status, what in (
            (self._body_bytes[who], _BODIES_EACH, 429, "You are sending too much"),
            (self._body_bytes.total(), _BODIES_ALL, 503, "Too much is being sent"),
        ):
            if held > bodies * most:
                raise Refusal(status, "bodies_in_flight", f"{what} at a time; try again in 2 s", 2, closes=True)

    async def _too_large(self, rest: Receive | None) -> Refusal:
        if rest is not None:
            with anyio.move_on_after(_LINGER_S):
                while (message := await rest())["type"] == "http.request" and message.get("more_body", False):
                    pass
        most = self._settings.max_body_bytes
        words = f"The body is larger than {most:,} bytes; pass big content by path or by artifact"
        return Refusal(413, "body_bytes", words, closes=True)


@dataclass(frozen=True)
class Limited:
    """An application with the limits of its server before it; several may have the same."""

    limits: Limits
    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        await self.limits.answer(self.app, scope, receive, send)


def opens_session(scope: Scope) -> bool:
    """Tell whether a POST without a session id may open a transport session: only handshake protocols have them."""
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

    version = _header(scope, b"mcp-protocol-version")
    return not version or version in HANDSHAKE_PROTOCOL_VERSIONS


def network_of(scope: Scope) -> str:
    """Return the address a request came from; of IPv6 the part that one customer has for himself."""
    client: Any = scope.get("client")
    if not client:
        return "unknown"
    try:
        address = ipaddress.ip_address(client[0])
    except ValueError:
        return str(client[0])
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


@contextmanager
def _counted(counts: Counter[str], who: str) -> Generator[None]:
    """Count somebody for the length of the block."""
    _add(counts, who, 1)
    try:
        yield
    finally:
        _add(counts, who, -1)


def _add(counts: Counter[str], who: str, change: int) -> None:
    """Change a count; whoever has none is forgotten."""
    counts[who] += change
    if not counts[who]:
        del counts[who]
