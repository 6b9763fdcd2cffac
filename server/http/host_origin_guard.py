"""The first door of every request: it must be meant for this server, and may not carry a secret in its address."""

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

MAX_HEADER_BYTES = 32 * 1024
"""Of one request: longer than any token or trace that clients send."""

MAX_HEADERS = 100
"""Of one request; clients and proxies together send some 20."""

_SECRETS = {"access_token", "token", "bearer", "authorization", "api_key", "apikey", "session"}
"""Names in a query that tokens and handles are sent under; addresses end up in logs and histories."""


@dataclass(frozen=True)
class HostOriginGuard:
    """Refuses requests for other hosts, from web pages that were not allowed, with secrets in the query or huge heads.

    Hosts and origins are compared whole and exactly, port included: a prefix or a pattern is what DNS rebinding is
    made to match.

    Attributes:
        app: what lies behind it.
        hosts: what the one Host header may say.
        origins: web origins whose pages may call; a request without Origin comes from no page.
    """

    app: ASGIApp
    hosts: Collection[str]
    origins: Collection[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass or answer it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self.app(scope, receive, send)
        else:
            await refusal(scope, receive, send)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers: Collection[tuple[bytes, bytes]] = scope["headers"]
        size = (
            len(scope["raw_path"]) + len(scope["query_string"]) + sum(len(name) + len(value) for name, value in headers)
        )
        if size > MAX_HEADER_BYTES or len(headers) > MAX_HEADERS:
            return _said(400, f"more than {MAX_HEADER_BYTES:,} bytes of headers, or {MAX_HEADERS} headers")
        hosts = [value.decode("latin-1").lower() for name, value in headers if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return _said(421, "this server does not answer to that Host; see --allow-host")
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        if any(origin not in self.origins for origin in origins):
            return _said(403, "pages of that Origin may not call this server; see --allow-origin")
        if sum(name in _SINGLE for name, _ in headers) != len({name for name, _ in headers if name in _SINGLE}):
            return _said(400, "a header that may stand once stands twice")
        query = scope["query_string"].decode("latin-1")
        if query and any(name.lower() in _SECRETS for name, _ in parse_qsl(query, keep_blank_values=True)):
            return _said(400, "secrets are not accepted in the address: send Authorization: Bearer instead")
        return None


_SINGLE = {b"authorization", b"mcp-session-id", b"mcp-protocol-version"}
"""Headers that decide who is calling: two of them could be read differently by two readers."""


def _said(status: int, text: str) -> PlainTextResponse:
    return PlainTextResponse(text + "\n", status)
