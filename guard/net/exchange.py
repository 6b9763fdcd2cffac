"""One fetch on its way: redirects by hand, robots.txt, and the body streamed through its limits into the sink."""

import contextlib
import ipaddress
import socket
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import anyio
import anyio.lowlevel
import anyio.to_thread
import httpcore2

from ...errors import BursarError
from . import addresses, robots
from .cache import Cache, Entry
from .decode import ACCEPTED, DecodeError, Decoder, decoder
from .dial import Watch, refusal
from .failures import FetchError
from .response import media_type
from .settings import Limits, NetSettings, Sink
from .urls import Url, parse

_REDIRECTS = (301, 302, 303, 307, 308)
_ROBOTS_REDIRECTS = 5
_ROBOTS_S = 5.0


@dataclass(slots=True)
class Exchange:
    """The state of one fetch; after a failure it still says how far that came.

    Attributes:
        url: where the fetch is at the moment, in the end the final address.
        limits: of this fetch, whatever the settings say.
        stored: what the session has of this address; asks for a newer one only.
        told: is given the media type of the final answer ahead of its body.
    """

    pool: httpcore2.AsyncConnectionPool
    watch: Watch
    settings: NetSettings
    limits: Limits
    sink: Sink
    url: Url
    stored: Entry | None = None
    cache: Cache | None = None
    told: Callable[[str], object] | None = None
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    passed: list[str] = field(default_factory=list[str])
    wire_bytes: int = 0
    body_bytes: int = 0
    not_modified: bool = False

    async def run(self) -> None:
        """Follow the address to its final answer and stream that into the sink.

        Raises:
            FetchError: at any stage; what arrived before is in the sink.
        """
        while True:
            if (
                self.settings.proxy
            ):  # which resolves names, so that only addresses written as numbers can be judged here
                _judge_literal(self.url, self.settings.allow)
            if self.settings.obeys_robots:
                await self._ask_robots()
            onward = await self._hop()
            if onward is None:
                return
            self.passed.append(str(self.url))
            if len(self.passed) > self.limits.redirects:
                raise _redirect("too_many_redirects", f"more than {self.limits.redirects} redirects, now to {onward}")
            if str(onward) in self.passed:
                # Without cookies the next round would be the same.
                raise _redirect("redirect_circle", f"the redirects lead in a circle, back to {onward}")
            self.url = onward

    async def _hop(self) -> Url | None:
        """Make one request; the address to go on to, or None when its answer was the final one."""
        waiting = bool(self.pool.connections)
        try:
            return await self._request()
        except (httpcore2.RemoteProtocolError, httpcore2.ReadError):
            # A server may close a kept connection just when it is used again; a fresh one is tried, once.
            if not waiting or self.watch.head_bytes or self.watch.in_body:
                raise
        return await self._request()

    async def _request(self) -> Url | None:
        url, limits = self.url, self.limits
        self.watch.next_answer(f"waiting for the answer of {url.host}")
        timeout = {"connect": limits.connect_s, "read": limits.between_s, "write": limits.between_s, "pool": None}
        async with self.pool.stream(
            "GET",
            httpcore2.URL(scheme=url.scheme, host=url.host, port=url.own_port, target=url.target),
            headers=self._request_headers(),
            extensions={"timeout": timeout, "sni_hostname": url.host.rstrip(".")},
        ) as response:
            self.watch.in_body = True
            self.watch.doing = f"receiving from {url.host}"
            self.status, self.headers = response.status, _headers(response.headers)
            if self.status in _REDIRECTS and (location := self.headers.get("location")):
                return self._onward(location)
            self.not_modified = self.status == 304 and self._asks_whether_modified()
            if not self.not_modified:
                if self.told is not None:
                    self.told(media_type(self.headers)[0])
                await self._receive(response)
            return None

    def _request_headers(self) -> list[tuple[str, str]]:
        headers = {
            "Host": self.url.authority,
            "User-Agent": self.settings.user_agent,
            "Accept": "*/*",
            "Accept-Encoding": ACCEPTED,
        }
        if self.stored is not None and self._asks_whether_modified():
            headers |= self.stored.validators()
        return list(headers.items())

    def _asks_whether_modified(self) -> bool:
        """Tell whether this request is for the very address that the stored answer came from."""
        return self.stored is not None and self.stored.final_url == str(self.url)

    def _onward(self, location: str) -> Url:
        try:
            onward = parse(location, self.url)
        except BursarError as error:
            raise _redirect(error.code, f"{self.url} redirects, but {error.message}") from None
        if self.url.scheme == "https" and onward.scheme == "http":
            told = f"{self.url} redirects to {onward}, which is not encrypted"
            raise _redirect("redirect_to_http", told, "Fetch that http address itself, if it may be public")
        return onward

    async def _receive(self, response: httpcore2.Response) -> None:
        unknown: FetchError | None = None
        unpack: Decoder | None = None
        try:
            unpack = decoder(self.headers.get("content-encoding", ""))
        except DecodeError as error:
            # Kept as it is sent: better than nothing, and said.
            unknown = FetchError("decode", "unknown_encoding", str(error), "Use another source")
        async with contextlib.aclosing(response.aiter_stream()) as chunks:
            async for chunk in chunks:
                room = self.limits.wire_bytes - self.wire_bytes
                self.wire_bytes += len(chunk)
                if unpack is None:
                    self._store(chunk[:room])
                else:
                    await self._unpack(unpack, chunk[:room])
                if len(chunk) > room:
                    raise _too_large(self.limits.wire_bytes, self.headers.get("content-length", ""))
        if unpack is not None and self.wire_bytes and not unpack.finished:
            raise FetchError("decode", "cut_short", "the packed content ends before it is complete", "Try again")
        if unknown is not None:
            raise unknown

    async def _unpack(self, unpack: Decoder, chunk: bytes) -> None:
        try:
            for piece in unpack.feed(chunk):
                self._store(piece)
                if self.body_bytes > max(self.limits.ratio_from_bytes, self.limits.ratio * self.wire_bytes):
                    told = f"{self.wire_bytes:,} bytes unpack to more than {self.body_bytes:,}: a decompression bomb"
                    raise FetchError("decode", "decompression_bomb", told, "Use another source")
                # Other calls, and the deadline, get their turn between two steps.
                await anyio.lowlevel.checkpoint()
        except DecodeError as error:
            raise FetchError("decode", "damaged", str(error), "Try again, or use another source") from error

    def _store(self, piece: bytes) -> None:
        room = self.limits.body_bytes - self.body_bytes
        if piece and room > 0:
            self.sink.write(piece[:room])
            self.body_bytes += min(len(piece), room)
        if len(piece) > room:
            raise _too_large(self.limits.body_bytes, "")

    async def _ask_robots(self) -> None:
        rules = self.cache.robots.get(self.url.origin) if self.cache else None
        if rules is None:
            rules = await self._fetch_robots()
            if self.cache:
                self.cache.keep_robots(self.url.origin, rules)
        target = self.url.target
        if rules.steps(target) <= robots.QUICK_STEPS:
            allowed = rules.allow(target)
        else:
            allowed = await anyio.to_thread.run_sync(rules.allow, target)
        if not allowed:
            told = f"the robots.txt of {self.url.host} asks automatic readers to leave {self.url.target[:100]} alone"
            fix = "Use another source; the user can start with --ignore-robots"
            raise FetchError("robots", "robots_refused", told, fix)

    async def _fetch_robots(self) -> robots.Rules:
        """Fetch the site's rules. A robots.txt that cannot be had forbids nothing.

        RFC 9309 asks crawlers to stay away while the file cannot be reached; here single pages are read for somebody
        who asked for them, and the page's own answer says best what is wrong.
        """
        content = _Memory()
        limits = replace(
            self.limits, redirects=_ROBOTS_REDIRECTS, wire_bytes=robots.MAX_BYTES, body_bytes=robots.MAX_BYTES
        )
        settings = replace(self.settings, obeys_robots=False)
        asked = Exchange(self.pool, self.watch, settings, limits, content, parse("/robots.txt", self.url))
        with anyio.move_on_after(min(_ROBOTS_S, self.limits.total_s / 2)):
            try:
                await asked.run()
            except FetchError as failed:
                if failed.failure.stage in ("name", "address_refused", "connect", "tls") and not asked.passed:
                    # The page lives at the same place and would fail the same way.
                    raise
            except (httpcore2.ProtocolError, httpcore2.NetworkError, httpcore2.TimeoutException):
                return robots.Rules()
        found = asked.status is not None and 200 <= asked.status < 300
        return await anyio.to_thread.run_sync(robots.parse, bytes(content.data)) if found else robots.Rules()


@dataclass(slots=True)
class _Memory:
    data: bytearray = field(default_factory=bytearray)

    def write(self, data: bytes) -> None:
        self.data += data


def _headers(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, list[str]] = {}
    for name, value in raw:
        headers.setdefault(name.decode("latin-1").lower(), []).append(_text(value))
    return {name: ", ".join(values) for name, values in headers.items()}


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _judge_literal(url: Url, allow: addresses.AllowNet) -> None:
    try:
        # Numbers as the C library reads them: short, octal and hexadecimal forms too.
        address = (
            str(ipaddress.IPv6Address(url.host)) if ":" in url.host else socket.inet_ntoa(socket.inet_aton(url.host))
        )
    except OSError:
        if url.host.rstrip(".") != "localhost" and not url.host.rstrip(".").endswith(".localhost"):
            return
        address = "127.0.0.1"
    reason = addresses.judge(address, url.port, allow)
    if reason is not None:
        raise refusal(url.host, address, url.port, reason)


def _redirect(code: str, message: str, fix: str = "Use another source, or the final address itself") -> FetchError:
    return FetchError("redirect", code, message, fix)


def _too_large(limit: int, declared: str) -> FetchError:
    whole = f" of {int(declared):,}" if declared.isascii() and declared.isdigit() and len(declared) < 19 else ""
    told = f"the content is larger than the limit: {limit:,} bytes{whole} were taken"
    return FetchError("size", "too_large", told, "Read what was kept, or find a smaller source")
