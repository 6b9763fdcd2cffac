"""An address that the user named, to which messages are posted: under the same rule for addresses as any fetch."""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from ipaddress import ip_address

import httpcore2

from ...errors import BursarError
from ..fair import FairQueue
from .addresses import AllowNet
from .dial import Dialler, Forwarder, Watch
from .failures import FetchError
from .settings import NetSettings
from .urls import Url, parse

_CONNECT_S = 10.0
_HEAD_BYTES = 256 * 1024
_CONNECTIONS = 32


@dataclass(frozen=True, slots=True)
class Posted:
    """The answer to a message, while it arrives.

    Attributes:
        headers: by their names in lower case.
        chunks: the body as it is sent.
    """

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]


class Endpoint:
    """An address with connections of its own, kept open between messages; no redirect is followed, no cookie kept."""

    def __init__(
        self,
        address: str,
        settings: NetSettings,
        resolving: FairQueue,
        context: ssl.SSLContext,
        proxy: httpcore2.Proxy | None,
    ) -> None:
        """Connect to nothing yet.

        Args:
            address: as the user wrote it: a number or `localhost` in it is allowed by that.
            settings: of the network.
            resolving: turns for looking up names.
            context: for TLS.
            proxy: the way to addresses that are not this machine or written as numbers; None for none.

        Raises:
            BursarError: bad_url, bad_scheme.
        """
        self.url: Url = parse(address)
        allowed = replace(settings.allow, openings=(*settings.allow.openings, *_named(self.url).openings))
        # The limit on what comes ahead of a body is for one answer; here many come over one connection.
        self._watch = Watch(_HEAD_BYTES, in_body=True)
        proxy = proxy if _named(self.url) == AllowNet() else None
        backend = Forwarder(self._watch) if proxy else Dialler(allowed, settings.resolve, resolving, self._watch)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            proxy=proxy,
            max_connections=_CONNECTIONS,
            retries=0,
            network_backend=backend,
        )

    @asynccontextmanager
    async def post(self, body: bytes, headers: Mapping[str, str], method: str = "POST") -> AsyncGenerator[Posted]:
        """Send a message, and yield its answer; left early, it closes the connection.

        Raises:
            BursarError: why there is none.
        """
        url = self.url
        try:
            async with self._pool.stream(
                method,
                httpcore2.URL(scheme=url.scheme, host=url.host, port=url.own_port, target=url.target),
                headers={"Host": url.authority, "Content-Length": str(len(body)), **headers},
                content=body,
                extensions={
                    "timeout": {"connect": _CONNECT_S, "read": None, "write": _CONNECT_S, "pool": None},
                    "sni_hostname": url.host.rstrip("."),
                },
            ) as response:
                found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
                async with aclosing(response.aiter_stream()) as chunks:
                    yield Posted(response.status, found, chunks)
        except FetchError as error:
            failure = error.failure
            raise BursarError(failure.code, failure.message, failure.fix) from error
        except (
            httpcore2.NetworkError,
            httpcore2.ProtocolError,
            httpcore2.TimeoutException,
            httpcore2.ProxyError,
        ) as error:
            what = f"the connection to {url.host} failed: {str(error)[:160] or type(error).__name__}"
            raise BursarError("connection_lost", what, "See that it runs, and call again") from error

    async def aclose(self) -> None:
        """Close its connections."""
        with suppress(Exception):  # what they still had to say is of no use to anybody
            await self._pool.aclose()


def _named(url: Url) -> AllowNet:
    """Return what naming an address allows: that address, if it is written as a number, or this machine."""
    host = url.host.rstrip(".")
    try:
        ip_address(host)
    except ValueError:
        if host != "localhost":
            return AllowNet()
    shown = f"[{host}]" if ":" in host else host
    return AllowNet.parse([f"{shown}:{url.port}"])
