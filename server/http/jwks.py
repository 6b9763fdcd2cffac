"""The public keys of an OAuth issuer: fetched when first needed, and again when a token names an unknown one."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

import anyio
import httpx2
import jwt

from .. import log

_KEPT_S = 3600.0
"""Keys older than this are fetched again at the next token."""

_STALE_S = 86_400.0
"""Keys older than this are no longer believed, if the issuer cannot be reached to confirm them."""

_PAUSE_S = 30.0
"""Least time between two fetches, whoever asks: an invented key id must not make this server a load for the issuer."""

_ANSWER_MAX_BYTES = 1024 * 1024
_FETCH_MAX_S = 10.0

ALGORITHMS = frozenset({"RS256", "ES256", "EdDSA"})
"""Signatures that are accepted: with public keys only, so that no key can be used as a shared secret."""

Fetched = dict[str, jwt.PyJWK]


@dataclass
class JwkSet:
    """The keys of one issuer, by their ids.

    Attributes:
        issuer: its address, whose metadata name where the keys are.
    """

    issuer: str
    _keys: Fetched = field(default_factory=Fetched)
    _fetched: float = float("-inf")
    _tried: float = float("-inf")
    _turn: anyio.Lock = field(default_factory=anyio.Lock)

    async def key(self, identity: str) -> jwt.PyJWK | None:
        """Return the key with this id; None if the issuer has none, or cannot be asked."""
        is_known = identity in self._keys and self._age_s <= _STALE_S
        # While one fetches, those whose key is at hand do not wait for an issuer that may not answer.
        if not (is_known and (self._age_s <= _KEPT_S or self._turn.locked())):
            async with self._turn:
                await self._refresh(identity)
        return self._keys.get(identity) if self._age_s <= _STALE_S else None

    @property
    def _age_s(self) -> float:
        return time.monotonic() - self._fetched

    async def _refresh(self, identity: str) -> None:
        now = time.monotonic()
        is_fresh = identity in self._keys and self._age_s <= _KEPT_S
        if is_fresh or now - self._tried < _PAUSE_S:
            return
        self._tried = now
        try:
            with anyio.fail_after(_FETCH_MAX_S):
                self._keys = await self._fetch()
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TimeoutError, RecursionError) as error:
            log.event("issuer_keys_failed", issuer=self.issuer, why=f"{type(error).__name__}: {error}")
        else:
            self._fetched = time.monotonic()

    async def _fetch(self) -> Fetched:
        async with httpx2.AsyncClient(follow_redirects=False) as client:
            address = await self._named(client)
            check_address(address)
            listed = (await _document(client, address)).get("keys")
            if not isinstance(listed, list):
                raise ValueError(f"{address} lists no keys")  # noqa: TRY004 - as below
            return dict(filter(None, map(_usable, cast("list[object]", listed))))

    async def _named(self, client: httpx2.AsyncClient) -> str:
        """Return where the issuer's metadata say that the keys are."""
        for place in metadata_addresses(self.issuer):
            try:
                metadata = await _document(client, place)
            except httpx2.HTTPStatusError:
                continue
            if metadata.get("issuer") != self.issuer:
                raise ValueError(f"{place} is of another issuer")
            address = metadata.get("jwks_uri")
            if isinstance(address, str):
                return address
        raise ValueError("no metadata of the issuer name a jwks_uri")


def metadata_addresses(issuer: str) -> list[str]:
    """Return where an issuer's metadata may be, by RFC 8414 and by OpenID Connect Discovery."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    return [
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}/.well-known/openid-configuration{path}",
        f"{origin}{path}/.well-known/openid-configuration",
    ]


def check_address(address: str) -> None:
    """Refuse an address that others on the way could answer for.

    Raises:
        ValueError: it is not HTTPS, nor on this machine.
    """
    parts = urlsplit(address)
    is_local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and is_local)):
        raise ValueError(f"{address} is not https")


async def _document(client: httpx2.AsyncClient, address: str) -> Mapping[str, Any]:
    """Fetch a JSON object of bounded size."""
    async with client.stream("GET", address, headers={"accept": "application/json"}) as response:
        response.raise_for_status()
        data = bytearray()
        async for part in response.aiter_bytes():
            data += part
            if len(data) > _ANSWER_MAX_BYTES:
                raise ValueError(f"{address} answers with too much")
    found = json.loads(data)
    if not isinstance(found, dict):
        raise ValueError(f"{address} answers with no JSON object")  # noqa: TRY004 - the answer is wrong, not our type
    return cast("dict[str, Any]", found)


def _usable(listed: object) -> tuple[str, jwt.PyJWK] | None:
    """Return a key of a set with its id; None if it is not one that may sign tokens."""
    if not isinstance(listed, dict):
        return None
    described = cast("dict[str, Any]", listed)
    identity = described.get("kid", "")
    if not isinstance(identity, str) or described.get("use", "sig") != "sig":
        return None
    try:
        key = jwt.PyJWK(described)
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    return (identity, key) if key.algorithm_name in ALGORITHMS else None
