"""The one way out to the network: every address judged, every byte and second counted, every failure in words."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from ...errors import BursarError
from ..fair import FairQueue
from .cache import Cache, Entry, fresh_for_s
from .failures import Failure
from .response import Response, media_type
from .settings import Limits, NetSettings, Sink
from .urls import Url, parse

if TYPE_CHECKING:
    from .client import Client
    from .endpoint import Endpoint
    from .exchange import Exchange

_FETCHES = 128
"""At a time."""

_FETCHES_EACH = 64
"""Of one sharer, so that none can keep the others from fetching."""
_FRESHNESS = frozenset({"cache-control", "expires"})

Reuse = Literal["valid", "never"]
"""When a stored answer will do: while it is fresh or the server confirms it, or not at all."""


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
        _check_proxy(self.settings.proxy)
        self._fetching = FairQueue(_FETCHES, _FETCHES_EACH)

    async def fetch(
        self,
        url: str,
        sink: Sink,
        *,
        limits: Limits | None = None,
        cache: Cache | None = None,
        reuse: Reuse = "valid",
        told: Callable[[str], object] | None = None,
    ) -> Response:
        """Fetch `url` into `sink` and say what came of it; failures are results too, and keep what arrived before.

        Args:
            url: an http or https address.
            sink: gets the body, decompressed, in pieces; nothing when the answer comes from the cache.
            limits: instead of those of the settings.
            cache: the session's; without it nothing is looked up.
            reuse: when a stored answer will do.
            told: is given the media type of the final answer ahead of its body.

        Raises:
            BursarError: only what `sink` raises.
        """
        started = time.monotonic()
        try:
            asked = parse(url)
        except BursarError as error:
            return Response(url[:300], url[:300], failure=Failure("url", error.code, error.message, error.fix))
        stored = cache.get(str(asked)) if cache and reuse != "never" else None
        if cache and stored and cache.is_fresh(stored):
            return _from_cache(asked, stored, "cache", took_s=time.monotonic() - started)
        limits = limits or self.settings.limits
        from . import client  # the HTTP client takes long to load, and start-up is a feature

        exchange = await self._client.exchange(asked, sink, limits, cache, stored)
        exchange.told = told
        failure = await client.run(exchange, self._fetching)
        response = _response(asked, exchange, failure, time.monotonic() - started)
        if cache and stored and exchange.not_modified and failure is None:
            cache.keep(_renewed(stored, exchange.headers), stored.artifact)
            return replace(
                _from_cache(asked, stored, "revalidated", took_s=response.took_s), redirects=response.redirects
            )
        return response

    async def endpoint(self, address: str) -> "Endpoint":
        """Return an address that the user named, to post messages to.

        Raises:
            BursarError: bad_url, bad_scheme.
        """
        return await self._client.endpoint(address)

    @cached_property
    def _client(self) -> "Client":
        from .client import Client

        return Client(self.settings)


def _response(asked: Url, exchange: "Exchange", failure: Failure | None, took_s: float) -> Response:
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
    """Take over what a 304 says anew; what it leaves out still holds (RFC 9111 §4.3.4)."""
    now = time.time()
    lasts_s = fresh_for_s(headers) if _FRESHNESS & headers.keys() else stored.fresh_until - stored.fetched_at
    return replace(
        stored,
        etag=headers.get("etag", stored.etag)[:200],
        last_modified=headers.get("last-modified", stored.last_modified)[:60],
        fetched_at=now,
        fresh_until=now + lasts_s,
    )


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


def _check_proxy(address: str | None) -> None:
    if address is None:
        return
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in ("http", "https") or not parts.hostname or port is None:
        raise BursarError("bad_proxy", "--proxy takes an http or https address", "Write http://proxy.example:3128")
