"""The one way out to the network: every address judged, every byte and second counted, every failure in words."""

import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import unquote, urlsplit

import anyio
import anyio.to_thread
import httpcore2

from ..errors import BursarError
from ._dial import Dialler, Forwarder, Resolve, Watch, system_resolve
from ._exchange import Exchange, Limits, Sink, media_type
from .addresses import AllowNet
from .cache import Cache, Entry, fresh_for_s
from .failures import Failure, FetchError, Stage, of_status
from .response import Response
from .urls import Url, parse

__all__ = ["Cache", "Entry", "Failure", "Limits", "Net", "NetSettings", "Response", "Sink", "Stage"]

_CLIENT_ERRORS = (
    httpcore2.ProtocolError,
    httpcore2.NetworkError,
    httpcore2.TimeoutException,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
)
_NAME_LOOKUPS = 8
_FETCHES = 64

Reuse = Literal["fresh", "confirmed", "never"]
"""When a stored answer will do."""


@dataclass(frozen=True, slots=True)
class NetSettings:
    """How the user wants the network to be used.

    Attributes:
        allow: what `--allow-net` opens beside public addresses.
        proxy: `http://[user:password@]host:port`; resolves names and so owns the address rule. The environment's
            proxies are not used.
        obeys_robots: ask robots.txt before a page.
        user_agent: what sites are told.
        limits: what a fetch may cost unless its caller sets other limits.
        resolve: finds the addresses of a name.
        ca_file: certificates to trust instead of the system's.
    """

    allow: AllowNet = field(default_factory=AllowNet)
    proxy: str | None = None
    obeys_robots: bool = True
    user_agent: str = "bursar/0.1 (MCP server; reads single pages on request)"
    limits: Limits = field(default_factory=Limits)
    resolve: Resolve = system_resolve
    ca_file: str | None = None


class Net:
    """Fetches public web pages; one per server, shared by all sessions, remembering nothing of any.

    Built on httpcore2, the transport of the httpx2 that comes with mcp, and not on httpx: the rule about addresses must
    sit where connections are made, redirects and limits are ours, and content is decoded by our own bounded decoders
    (httpx 0.28 expands a 3.5 KB answer to gigabytes before a caller sees a byte), so that nothing of a client above
    the transport would be left in use. It keeps no cookies and reads no environment. Each fetch has its own
    connections: nothing of one session can reach another's.
    """

    def __init__(self, settings: NetSettings | None = None) -> None:
        """Prepare, without touching the network.

        Raises:
            BursarError: `bad_proxy`.
        """
        self.settings = settings or NetSettings()
        self._proxy = _proxy(self.settings.proxy) if self.settings.proxy else None
        self._fetching = anyio.CapacityLimiter(_FETCHES)
        self._resolving = anyio.CapacityLimiter(_NAME_LOOKUPS)
        self._trusting = anyio.Lock()
        self._ssl_context: ssl.SSLContext | None = None

    async def fetch(
        self,
        url: str,
        sink: Sink,
        *,
        headers: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        cache: Cache | None = None,
        reuse: Reuse = "fresh",
    ) -> Response:
        """Fetch `url` into `sink` and say what came of it; failures are results too, and keep what arrived before.

        Args:
            url: an http or https address.
            sink: gets the body, decompressed, in pieces; nothing when the answer comes from the cache.
            headers: to send along; such as `Authorization` they never leave the first origin. Answers are not cached.
            limits: instead of those of the settings.
            cache: the session's; without it nothing is looked up.
            reuse: when a stored answer will do: while it is fresh, only when the server confirms it, or never.

        Raises:
            BursarError: only what `sink` raises.
        """
        started = time.monotonic()
        try:
            asked = parse(url)
        except BursarError as error:
            return Response(url[:300], url[:300], failure=Failure("url", error.code, error.message, error.fix))
        shared = cache if not headers else None
        stored = shared.get(str(asked)) if shared and reuse != "never" else None
        if shared and stored and reuse == "fresh" and shared.is_fresh(stored):
            return _from_cache(asked, stored, "cache", took_s=time.monotonic() - started)
        limits = limits or self.settings.limits
        async with self._fetching:
            exchange = await self._exchange(asked, sink, dict(headers or {}), limits, cache, stored)
            failure = await _run(exchange)
        response = _response(asked, exchange, failure, time.monotonic() - started)
        if shared and stored and exchange.not_modified and failure is None:
            shared.keep(_renewed(stored, exchange.headers), stored.artifact)
            return replace(
                _from_cache(asked, stored, "revalidated", took_s=response.took_s), redirects=response.redirects
            )
        return response if shared is cache else replace(response, entry=None)

    async def _exchange(
        self, url: Url, sink: Sink, headers: dict[str, str], limits: Limits, cache: Cache | None, stored: Entry | None
    ) -> Exchange:
        watch = Watch(limits.head_bytes)
        settings = self.settings
        backend = Forwarder(watch) if self._proxy else Dialler(settings.allow, settings.resolve, self._resolving, watch)
        async with self._trusting:
            if self._ssl_context is None:
                self._ssl_context = await anyio.to_thread.run_sync(_ssl_context, settings.ca_file)
        pool = httpcore2.AsyncConnectionPool(
            ssl_context=self._ssl_context, proxy=self._proxy, retries=0, network_backend=backend
        )
        return Exchange(
            pool=pool,
            watch=watch,
            limits=limits,
            sink=sink,
            url=url,
            user_agent=settings.user_agent,
            allow=settings.allow,
            own_headers=headers,
            stored=stored,
            cache=cache,
            obeys_robots=settings.obeys_robots,
            judges_literally=self._proxy is not None,
        )


async def _run(exchange: Exchange) -> Failure | None:
    limits, watch = exchange.limits, exchange.watch
    failure: Failure | None = None
    with anyio.move_on_after(limits.total_s) as deadline:
        try:
            async with exchange.pool:
                await exchange.run()
        except FetchError as failed:
            failure = failed.failure
        except _CLIENT_ERRORS as error:
            failure = _of_client(error, watch.doing)
    if deadline.cancelled_caught:
        told = f"not done after {limits.total_s:g} s, still {watch.doing} ({exchange.wire_bytes:,} bytes arrived)"
        failure = Failure("timeout", "too_slow", told, "try again later, or use another source")
    if failure is None and exchange.status is not None:
        failure = of_status(exchange.status, exchange.headers)
    return failure


def _of_client(error: Exception, doing: str) -> Failure:
    """Put an exception of the HTTP client into words."""
    if isinstance(error, httpcore2.TimeoutException):
        return Failure("timeout", "stalled", f"nothing arrived for too long while {doing}", "try again later")
    if isinstance(error, httpcore2.ConnectError | httpcore2.ProxyError):
        return Failure(
            "connect", "unreachable", f"the connection failed while {doing}", "check the proxy and the address"
        )
    said = str(error)
    if "Receive buffer too long" in said or "too many" in said:
        return Failure("size", "headers_too_large", "the headers of the answer are too large", "use another source")
    if "without sending complete message body" in said or "incomplete chunked read" in said:
        return Failure("size", "cut_short", f"the answer ended before it was complete: {said[:160]}", "try again")
    if isinstance(error, httpcore2.ProtocolError):
        if "without sending a response" in said:
            return Failure("connect", "hung_up", "the server hung up without an answer", "try again later")
        return Failure("http_status", "not_http", f"the answer is not valid HTTP: {said[:160]}", "use another source")
    return Failure("connect", "connection_lost", f"the connection broke while {doing}", "try again")


def _response(asked: Url, exchange: Exchange, failure: Failure | None, took_s: float) -> Response:
    kind, charset = media_type(exchange.headers)
    # A redirect that failed is not what the page said.
    answered = failure is None or failure.stage in ("http_status", "size", "timeout", "decode")
    response = Response(
        url=str(asked),
        final_url=str(exchange.url),
        status=exchange.status,
        content_type=kind if answered else "",
        charset=charset if answered else "",
        headers=exchange.headers,
        redirects=tuple(exchange.passed),
        wire_bytes=exchange.wire_bytes,
        body_bytes=exchange.body_bytes,
        took_s=round(took_s, 3),
        failure=failure,
    )
    return replace(response, entry=_entry(response)) if failure is None and exchange.status == 200 else response


def _entry(response: Response) -> Entry:
    now = time.time()
    return Entry(
        url=response.url,
        final_url=response.final_url,
        content_type=response.content_type,
        charset=response.charset,
        etag=response.headers.get("etag", "")[:200],
        last_modified=response.headers.get("last-modified", "")[:60],
        fetched_at=now,
        fresh_until=now + fresh_for_s(response.headers),
    )


def _renewed(stored: Entry, headers: Mapping[str, str]) -> Entry:
    now = time.time()
    return replace(stored, fetched_at=now, fresh_until=now + fresh_for_s(headers))


def _from_cache(asked: Url, stored: Entry, source: Literal["cache", "revalidated"], took_s: float) -> Response:
    return Response(
        url=str(asked),
        final_url=stored.final_url,
        status=200,
        content_type=stored.content_type,
        charset=stored.charset,
        took_s=round(took_s, 3),
        source=source,
        artifact=stored.artifact,
    )


def _ssl_context(ca_file: str | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca_file) if ca_file else httpcore2.default_ssl_context()


def _proxy(address: str) -> httpcore2.Proxy:
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in ("http", "https") or not parts.hostname or port is None:
        raise BursarError("bad_proxy", "--proxy takes an http or https address", "write http://proxy.example:3128")
    auth = (unquote(parts.username).encode(), unquote(parts.password or "").encode()) if parts.username else None
    url = httpcore2.URL(scheme=parts.scheme, host=parts.hostname, port=port, target="/")
    return httpcore2.Proxy(url, auth=auth)
