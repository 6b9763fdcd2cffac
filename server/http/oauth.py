"""Tokens of an OAuth 2.1 authorization server: JWTs, made out by one issuer for this server alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import jwt
from mcp.server.auth.provider import AccessToken

from .jwks import ALGORITHMS, JwkSet

_TOKEN_MAX_CHARACTERS = 16_384
_CLOCKS_MAY_DIFFER_S = 30


@dataclass(frozen=True)
class IssuedTokens:
    """Accepts what the issuer signed for this server and what has not expired.

    Attributes:
        issuer: as it must stand in the token, character by character.
        audience: the public address of this server, one of those that the token is made out for.
        keyring: the issuer's keys.
    """

    issuer: str
    audience: str
    keyring: JwkSet

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return what the token gives access to; None if anything about it is wrong."""
        if len(token) > _TOKEN_MAX_CHARACTERS or not token.isascii() or token.count(".") != 2:
            return None
        try:
            header = jwt.get_unverified_header(token)
            # A header's own keys and addresses of keys (jwk, jku, x5u) are the sender's word, and never looked at.
            if header.get("alg") not in ALGORITHMS or "crit" in header:
                return None
            key = await self.keyring.key(str(header.get("kid", "")))
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key,
                algorithms=sorted(ALGORITHMS),
                issuer=self.issuer,
                audience=self.audience,
                leeway=_CLOCKS_MAY_DIFFER_S,
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):
            return None
        return self._access(token, claims)

    def _access(self, token: str, claims: Mapping[str, Any]) -> AccessToken | None:
        subject = _text(claims.get("sub"))
        client = _text(claims.get("client_id")) or _text(claims.get("azp"))
        if not subject and not client:
            return None  # nobody could own a session
        return AccessToken(
            token=token,
            client_id=client,
            subject=subject or None,
            scopes=_scopes(claims),
            resource=self.audience,
            claims={"iss": self.issuer},
        )


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    given = claims.get("scope", claims.get("scp", []))
    if isinstance(given, str):
        return given.split()
    return [name for name in cast("list[object]", given) if isinstance(name, str)] if isinstance(given, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
