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
from .header_timeout import waiting_for_body
from .principal import principal_of

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


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Settings of what requests may ask; sizes in bytes, 0 for no limit where that makes sense.

    Attributes:
        requests_per_minute: of one principal; a minute's worth may come at once. 0: any number.
        body_bytes: of one request.
        request_s: seconds in which the body of a request must be in.
        sessions: transport sessions open at a time, of all principals.
        sessions_each: of one principal.
    """

    requests_per_minute: int
    body_bytes: int
    request_s: float
    sessions: int
    sessions_each: int

    @classmethod
    def of(cls, settings: Settings) -> "HttpLimits":
        """Read them from the server's settings."""
        return cls(
            requests_per_minute=settings.requests_per_minute,
            body_bytes=settings.max_body_bytes,
            request_s=settings.request_timeout_s,
            sessions=settings.max_connections,
            sessions_each=max(1, settings.max_connections // 2),
        )


class Refusal(Exception):  # noqa: N818 - an answer, not a failure
    """A request that goes no further.

    Attributes:
        status: of the HTTP answer.
        limit: name of the limit, as the metrics have it.
        message: one line on what happened and what to do.
        retry_after_s: whole seconds after which it may be sent again; None if it would be refused again.
        closes: whether the connection ends with the answer.
    """

    def __init__(
        self, status: int, limit: str, message: str, retry_after_s: int | None = None, *, closes: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.limit = limit
        self.message = message
        self.retry_after_s = retry_after_s
        self.closes = closes

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
        limits: how many there may be.
        idle_s: seconds without a request after which the transport ends one.
    """

    limits: HttpLimits
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
        if len(self._open) + self._opening.total() >= self.limits.sessions:
            raise Refusal(503, "sessions", "Too many sessions are open on this server; try again in 30 s", 30)
        theirs = sum(session.owner == who for session in self._open.values()) + self._opening[who]
        if theirs >= self.limits.sessions_each:
            words = f"You have {self.limits.sessions_each} sessions open; end one with DELETE, or try again in 60 s"
            raise Refusal(503, "sessions_per_principal", words, 60)
        self._opening[who] += 1
        try:
            yield
        finally:
            self._opening[who] -= 1
            if not self._opening[who]:
                del self._opening[who]

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
        name, status = _header(scope, b"mcp-session-id"), start["status"]
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


class InFlight:
    """Requests that are being answered or whose bodies are awaited: nobody may have more than half the connections."""

    def __init__(self, connections: int) -> None:
        self._each = max(1, connections // 2)
        self._by = Counter[str]()

    @contextmanager
    def request(self, who: str) -> Generator[None]:
        """Count a request while it is answered.

        Raises:
            Refusal: too many are.
        """
        if self._by[who] >= self._each:
            words = f"{self._each} of your requests are being answered, half of all connections; try again in 2 s"
            raise Refusal(503, "connections_per_principal", words, 2, closes=True)
        self._by[who] += 1
        try:
            yield
        finally:
            self._by[who] -= 1
            if not self._by[who]:
                del self._by[who]


class Limits:
    """What the principals of a server have left of their shares; stands behind whatever finds out who is asking."""

    def __init__(self, settings: Settings, sessions: OpenSessions, tally: Tally = lambda _limit: None) -> None:
        """Begin with nothing used.

        Args:
            settings: of the server.
            sessions: who has which open.
            tally: counts the limits that were hit.
        """
        self._limits = sessions.limits
        self._sessions = sessions
        self._tally = tally
        self._rates = Rates(self._limits.requests_per_minute)
        self._in_flight = InFlight(settings.max_connections)
        self._bodies = Counter[str]()

    async def answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass on to an application, or answer it with what is wrong and when to try again."""
        principal = principal_of(scope)
        who = principal or network_of(scope)
        try:
            await self._take_turn(who)
            # Whom nobody told apart can have no share: without a token an address may be everybody's.
            with self._in_flight.request(who) if principal else nullcontext():
                await self._answer(app, scope, receive, send, who)
        except Refusal as refusal:
            self._tally(refusal.limit)
            await refusal.send(send)

    async def _answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, who: str) -> None:
        if scope["method"] == "POST":
            async with _Body(self._limits, self._bodies, who) as body:
                with waiting_for_body(scope, who):
                    receive = await body.read(scope, receive)
        session = _header(scope, b"mcp-session-id")
        opens = scope["method"] == "POST" and not session and opens_session(scope)
        with self._sessions.opening(who) if opens else self._sessions.using(session):
            await app(scope, receive, self._watching(scope, who, send))

    async def _take_turn(self, who: str) -> None:
        wait_s = self._rates.take(who)
        if wait_s > _WAITS_S:
            after_s = math.ceil(wait_s)
            words = f"More than {self._limits.requests_per_minute} requests in a minute; try again in {after_s} s"
            raise Refusal(429, "requests_per_minute", words, after_s)
        if wait_s:
            await anyio.sleep(wait_s)

    def _watching(self, scope: Scope, who: str, send: Send) -> Send:
        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._sessions.answered(scope, who, message)
            await send(message)

        return watch


@dataclass(frozen=True)
class Limited:
    """An application with the limits of its server before it; several may have the same."""

    limits: Limits
    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        await self.limits.answer(self.app, scope, receive, send)


class _Body:
    """Reads one body whole, within its size, its time and its principal's share of memory."""

    def __init__(self, limits: HttpLimits, held: Counter[str], who: str) -> None:
        self._limits = limits
        self._held = held
        self._who = who
        self._size = 0

    async def __aenter__(self) -> "_Body":
        return self

    async def __aexit__(self, *_: object) -> None:
        self._held[self._who] -= self._size
        if not self._held[self._who]:
            del self._held[self._who]

    async def read(self, scope: Scope, receive: Receive) -> Receive:
        """Return a `receive` that gives the body again.

        Raises:
            Refusal: too large, too slow, or too many at a time.
        """
        declared = _header(scope, b"content-length")
        if declared.isdigit() and int(declared) > self._limits.body_bytes:
            raise await self._too_large(receive)
        messages: deque[Message] = deque()
        pieces: list[bytes] = []
        more = True
        with anyio.move_on_after(self._limits.request_s) as waiting:
            while more and self._size <= self._limits.body_bytes:
                message = await receive()
                if message["type"] != "http.request":
                    messages.append(message)
                    break
                pieces.append(message.get("body", b""))
                self._keep(len(pieces[-1]))
                more = message.get("more_body", False)
        if self._size > self._limits.body_bytes:
            raise await self._too_large(receive if more else None)
        if waiting.cancelled_caught:
            words = f"The body did not come within {self._limits.request_s:g} s; send it in one go"
            raise Refusal(408, "slow_body", words, closes=True)
        if not more:
            messages.append({"type": "http.request", "body": b"".join(pieces), "more_body": False})

        async def replay() -> Message:
            return messages.popleft() if messages else await receive()

        return replay

    def _keep(self, size: int) -> None:
        self._size += size
        self._held[self._who] += size
        if self._held[self._who] > _BODIES_EACH * self._limits.body_bytes:
            raise Refusal(
                429, "bodies_in_flight", "You are sending too much at a time; try again in 2 s", 2, closes=True
            )
        if self._held.total() > _BODIES_ALL * self._limits.body_bytes:
            raise Refusal(503, "bodies_in_flight", "Too much is being sent at a time; try again in 2 s", 2, closes=True)

    async def _too_large(self, rest: Receive | None) -> Refusal:
        if rest is not None:
            with anyio.move_on_after(_LINGER_S):
                while (message := await rest())["type"] == "http.request" and message.get("more_body", False):
                    pass
        words = f"The body is larger than {self._limits.body_bytes:,} bytes; pass big content by path or by artifact"
        return Refusal(413, "body_bytes", words, closes=True)


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
