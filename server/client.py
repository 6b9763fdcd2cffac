"""What a request tells of its client, read from the SDK's context."""

from dataclasses import replace
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from .callers import ANYBODY, Client
from .dispatch import Dispatcher

Context = ServerRequestContext[Any, Any]


def client_of(ctx: Context, dispatcher: Dispatcher) -> Client:
    """Describe the client of a request: its name and ceiling, and over HTTP whose request it is."""
    about = ctx.session.client_params
    name = about.client_info.name if about is not None else ""
    client = replace(dispatcher.client(name), progress=ctx.session.report_progress, meta=dict(ctx.meta or {}))
    if ctx.request is None:
        return client
    return replace(client, principal=_principal(ctx.request), transport_session=_transport_session(ctx))


def _principal(request: Any) -> str:  # noqa: ANN401 - Starlette is imported over HTTP only
    from .http.access import principal_of

    return principal_of(request.scope) or ANYBODY


def _transport_session(ctx: Context) -> str:
    """Return the id under which the SDK found this request's session; empty in the stateless era.

    Requests of handshake versions reach a handler only through the SDK's stateful path, which has looked the header up
    and compared who sends it. With any other version nobody has read it, so it may be anybody's.
    """
    if ctx.request is None or ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        return ""
    return ctx.request.headers.get("mcp-session-id", "")
