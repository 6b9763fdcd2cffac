"""Whose request it is: the name under which sessions are owned."""

from typing import Any
from urllib.parse import quote

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken, principal_components
from starlette.types import Scope


def principal_of(scope: Scope) -> str:
    """Name the principal of a request's verified token; empty if it has none."""
    user: Any = scope.get("user")
    return principal_named(user.access_token) if isinstance(user, AuthenticatedUser) else ""


def principal_named(token: AccessToken) -> str:
    """Name a token's principal: issuer, client and subject, or the client alone where this server issued the token.

    The three are escaped, so that no choice of one can pass for another's three.
    """
    client, issuer, subject = principal_components(token)
    if issuer is None:
        return client
    return "|".join(quote(part, safe=":/@ ") for part in (issuer, client, subject or ""))
