"""Who may use the server: nobody without a token, unless it was said so and nobody but this machine can reach it."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken, TokenVerifier, principal_components
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from ...artifacts import Store
from ...errors import BursarError
from ..config import Settings
from .address import Address
from .jwks import JwkSet, check_address
from .oauth import IssuedTokens
from .secret_files import DIRECTORY, secret
from .tokens import LocalToken, TokenFile

ROOT_METADATA = "/.well-known/oauth-protected-resource"


@dataclass(frozen=True)
class AnyOf:
    """Accepts what one of several verifiers accepts."""

    verifiers: Sequence[TokenVerifier]

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return what the token gives access to; None if no verifier knows it."""
        for verifier in self.verifiers:
            access = await verifier.verify_token(token)
            if access is not None:
                return access
        return None


@dataclass(frozen=True)
class Access:
    """The door for tokens.

    Attributes:
        verifier: tells what a token gives access to; None if no token is asked for.
        oauth: how this server presents itself to OAuth clients; None without an issuer.
    """

    verifier: TokenVerifier | None
    oauth: AuthSettings | None = None

    def guarded(self, app: ASGIApp) -> ASGIApp:
        """Put an application behind the door: without a valid token nothing of it answers."""
        if self.verifier is None:
            return app
        resource = self.oauth.resource_server_url if self.oauth else None
        scopes = (self.oauth.required_scopes or []) if self.oauth else []
        metadata = build_resource_metadata_url(resource) if resource else None
        return AuthenticationMiddleware(
            AuthContextMiddleware(RequireAuthMiddleware(app, scopes, metadata)),
            backend=BearerAuthBackend(self.verifier, resource_server_url=resource),
        )

    def routes(self) -> list[Route]:
        """Return what tells OAuth clients where to get a token (RFC 9728): at the resource's place and at the root."""
        if self.oauth is None or self.oauth.resource_server_url is None:
            return []
        described = create_protected_resource_routes(
            self.oauth.resource_server_url, [self.oauth.issuer_url], self.oauth.required_scopes, "Bursar"
        )
        return described + [
            Route(ROOT_METADATA, endpoint=route.endpoint, methods=["GET", "OPTIONS"])
            for route in described
            if route.path != ROOT_METADATA
        ]


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


def check(settings: Settings) -> None:
    """Refuse to serve where others could come in unasked.

    Raises:
        BursarError: auth_needed, or bad_setting for settings that contradict each other.
    """
    address = Address.parse(settings.http)
    has_auth = bool(settings.auth_tokens or settings.auth_issuer)
    if settings.no_auth and has_auth:
        raise BursarError("bad_setting", "--no-auth contradicts --auth-tokens and --auth-issuer", "Leave one out")
    if bool(settings.auth_issuer) != bool(settings.auth_audience):
        what = "--auth-issuer and --auth-audience need each other"
        raise BursarError("bad_setting", what, "Give the authorization server's URL and this server's own")
    if settings.auth_scopes and not settings.auth_issuer:
        raise BursarError("bad_setting", "--auth-scopes needs --auth-issuer", "Give it, or leave them out")
    others = [host for host in settings.allow_host if not _named(host).is_loopback]
    for origin in settings.allow_origin:
        _check_origin(origin)
    if has_auth or (address.is_loopback and not (settings.no_auth and others)):
        _check_urls(settings)
        return
    reached = str(address) if not address.is_loopback else others[0]
    why = f"others than this machine can reach {reached}, and anybody could run this server's tools"
    fix = (
        "Ask for tokens with --auth-tokens FILE (see `bursar token NAME`) or --auth-issuer URL, or listen on 127.0.0.1"
    )
    raise BursarError("auth_needed", why, fix)


def access_for(settings: Settings, store: Store) -> Access:
    """Return the door that the settings ask for; the default is a token that only the server's user can read.

    Raises:
        BursarError: unsafe_secret, unsafe_tokens, bad_tokens.
    """
    if settings.no_auth:
        return Access(None)
    verifiers: list[TokenVerifier] = []
    if settings.auth_tokens:
        # Scopes are the issuer's affair: whoever is in the file may do everything.
        remembered = store.private(DIRECTORY) / "tokens-relied-on"
        place = Path(settings.auth_tokens).expanduser()
        verifiers.append(TokenFile(place, settings.auth_audience, settings.auth_scopes, remembered))
    if settings.auth_issuer:
        keyring = JwkSet(settings.auth_issuer)
        verifiers.append(IssuedTokens(settings.auth_issuer, settings.auth_audience, keyring))
    if not verifiers:
        return Access(LocalToken.of(secret(local_token(store))))
    return Access(AnyOf(verifiers), _oauth(settings) if settings.auth_issuer else None)


def local_token(store: Store) -> Path:
    """Return the file that holds the token which the server mints for its own user."""
    return store.private(DIRECTORY) / "token"


def tell(settings: Settings, store: Store) -> None:
    """Say on standard error what clients need."""
    if settings.no_auth:
        sys.stderr.write("bursar: no token is asked for: every program of this machine may use this server\n")
    elif not settings.auth_tokens and not settings.auth_issuer:
        sys.stderr.write(f"bursar: clients need the token in {local_token(store)}\n")
    if settings.terminal == "unsafe":
        sys.stderr.write("bursar: commands are not sandboxed: they can read every session and every token here\n")
    address = Address.parse(settings.http)
    if address.is_everywhere and not settings.allow_host and not settings.auth_audience:
        said = " or ".join(sorted(address.hosts))
        sys.stderr.write(f"bursar: only requests to {said} are answered: name others with --allow-host\n")


def _oauth(settings: Settings) -> AuthSettings:
    return AuthSettings.model_validate(
        {
            "issuer_url": settings.auth_issuer,
            "resource_server_url": settings.auth_audience,
            "required_scopes": list(settings.auth_scopes) or None,
            "validate_token_resource": True,
        }
    )


def _check_urls(settings: Settings) -> None:
    for option, address in (("--auth-issuer", settings.auth_issuer), ("--auth-audience", settings.auth_audience)):
        parts = urlsplit(address)
        try:
            if address:
                check_address(address)
            is_plain = not parts.query and not parts.fragment and "@" not in parts.netloc
        except ValueError:
            is_plain = False
        if not is_plain:
            raise BursarError("bad_setting", f"{option} cannot be {address!r}", "Give an https address without a query")


def _named(host: str) -> Address:
    try:
        return Address.parse(host if host.rpartition(":")[2].isdigit() else f"{host}:80")
    except BursarError:
        fix = "Write NAME or NAME:PORT, as it stands in the addresses that clients use"
        raise BursarError("bad_setting", f"--allow-host cannot be {host!r}", fix) from None


def _check_origin(origin: str) -> None:
    parts = urlsplit(origin)
    if not parts.netloc or origin != f"{parts.scheme}://{parts.netloc}":
        fix = "Write SCHEME://NAME or SCHEME://NAME:PORT, with nothing behind it"
        raise BursarError("bad_setting", f"--allow-origin cannot be {origin!r}", fix)
