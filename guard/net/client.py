"""What needs the HTTP client: connections that dial only judged addresses, and its errors in words."""

import ssl
from urllib.parse import unquote, urlsplit

import anyio
import anyio.to_thread
import httpcore2

from ..fair import FairQueue
from .cache import Cache, Entry
from .dial import Dialler, Forwarder, Watch
from .endpoint import Endpoint
from .exchange import Exchange
from .failures import Failure, FetchError, of_status
from .settings import Limits, NetSettings, Sink
from .urls import Url

_CLIENT_ERRORS = (
    httpcore2.ProtocolError,
    httpcore2.NetworkError,
    httpcore2.TimeoutException,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
)
_NAME_LOOKUPS = 32
"""At a time; each takes a thread that nothing but its end can end."""

_NAME_LOOKUPS_EACH = 8
"""Of one sharer."""


class Client:
    """Makes exchanges; each has connections of its own."""

    def __init__(self, settings: NetSettings) -> None:
        self._settings = settings
        self._proxy = _proxy(settings.proxy) if settings.proxy else None
        self._resolving = FairQueue(_NAME_LOOKUPS, _NAME_LOOKUPS_EACH)
        self._trusting = anyio.Lock()
        self._ssl_context: ssl.SSLContext | None = None

    async def exchange(
        self, url: Url, sink: Sink, limits: Limits, cache: Cache | None, stored: Entry | None
    ) -> Exchange:
        """Prepare to fetch one address."""
        watch = Watch(limits.head_bytes)
        settings = self._settings
        backend = Forwarder(watch) if self._proxy else Dialler(settings.allow, settings.resolve, self._resolving, watch)
        pool = httpcore2.AsyncConnectionPool(
            ssl_context=await self._context(), proxy=self._proxy, retries=0, network_backend=backend
        )
        return Exchange(pool, watch, settings, limits, sink, url, stored, cache)

    async def endpoint(self, address: str) -> Endpoint:
        """Prepare to post messages to an address that the user named.

        Raises:
            BursarError: bad_url, bad_scheme.
        """
        return Endpoint(address, self._settings, self._resolving, await self._context(), self._proxy)

    async def _context(self) -> ssl.SSLContext:
        async with self._trusting:
            if self._ssl_context is None:
                self._ssl_context = await anyio.to_thread.run_sync(_ssl_context, self._settings.ca_file)
            return self._ssl_context


async def run(exchange: Exchange, fetching: FairQueue) -> Failure | None:
    """Make an exchange when its turn comes, both within its time; return what went wrong."""
    limits, watch = exchange.limits, exchange.watch
    failure: Failure | None = None
    with anyio.move_on_after(limits.total_s) as deadline:
        try:
            watch.doing = "waiting for other fetches to end"
            async with fetching.place(), exchange.pool:
                await exchange.run()
        except FetchError as failed:
            failure = failed.failure
        except _CLIENT_ERRORS as error:
            failure = _of_client(error, watch.doing)
    if deadline.cancelled_caught:
        told = f"not done after {limits.total_s:.3g} s, still {watch.doing} ({exchange.wire_bytes:,} bytes arrived)"
        failure = Failure("timeout", "too_slow", told, "Try again later, or use another source")
    if failure is None and exchange.status is not None:
        failure = of_status(exchange.status, exchange.headers)
    return failure


def _of_client(error: Exception, doing: str) -> Failure:
    """Put an exception of the HTTP client into words."""
    if isinstance(error, httpcore2.TimeoutException):
        return Failure("timeout", "stalled", f"nothing arrived for too long while {doing}", "Try again later")
    if isinstance(error, httpcore2.ConnectError | httpcore2.ProxyError):
        return Failure(
            "connect", "unreachable", f"the connection failed while {doing}", "Check the proxy and the address"
        )
    said = str(error)
    if "Receive buffer too long" in said or "too many" in said:
        return Failure("size", "headers_too_large", "the headers of the answer are too large", "Use another source")
    if "without sending complete message body" in said or "incomplete chunked read" in said:
        return Failure("size", "cut_short", f"the answer ended before it was complete: {said[:160]}", "Try again")
    if isinstance(error, httpcore2.ProtocolError):
        if "without sending a response" in said:
            return Failure("connect", "hung_up", "the server hung up without an answer", "Try again later")
        return Failure("http_status", "not_http", f"the answer is not valid HTTP: {said[:160]}", "Use another source")
    return Failure("connect", "connection_lost", f"the connection broke while {doing}", "Try again")


def _ssl_context(ca_file: str | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca_file) if ca_file else httpcore2.default_ssl_context()


def _proxy(address: str) -> httpcore2.Proxy:
    parts = urlsplit(address)
    auth = (unquote(parts.username).encode(), unquote(parts.password or "").encode()) if parts.username else None
    url = httpcore2.URL(scheme=parts.scheme, host=parts.hostname or "", port=parts.port, target="/")
    return httpcore2.Proxy(url, auth=auth)
