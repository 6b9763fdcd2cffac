"""The server as a web application: what answers at which address, and the doors that a request passes before."""

from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import (
    DEFAULT_SESSION_IDLE_TIMEOUT,
    StreamableHTTPASGIApp,
    StreamableHTTPSessionManager,
)
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from ... import __version__
from ..app import build
from ..background import keep_up
from ..config import Settings
from ..dispatch import Dispatcher
from . import delete_session
from .access import access_for
from .address import Address
from .delete_session import DeleteSession
from .host_origin_guard import HostOriginGuard
from .limits import Limited
from .middleware import Middleware

PATH = "/mcp"
"""Where MCP clients connect."""

Offer = Callable[[Dispatcher, anyio.Event], Server[Any]]
"""Makes an MCP server of a dispatcher, and sets the event when a client has asked for the tools."""


def http_app(dispatcher: Dispatcher, settings: Settings, offer: Offer = build) -> ASGIApp:
    """Make the application of a server.

    Args:
        dispatcher: the choke point, with `HttpSessions`.
        settings: `http` names the address that is really listened on, its port included.
        offer: makes the server that the dispatcher's tools are offered by.

    Raises:
        BursarError: a setting that cannot be followed.
    """
    address = Address.parse(settings.http)
    hosts = address.hosts | {host.lower() for host in settings.allow_host}
    if settings.auth_audience:
        hosts |= {urlsplit(settings.auth_audience).netloc.lower()}
    # A page of this very address cannot come from elsewhere: rebinding changes what a name leads to, not the name.
    origins = frozenset(settings.allow_origin) | {f"http://{host}" for host in address.hosts}
    listed = anyio.Event()
    manager = StreamableHTTPSessionManager(
        app=offer(dispatcher, listed),
        security_settings=TransportSecuritySettings(allowed_hosts=sorted(hosts), allowed_origins=sorted(origins)),
        max_request_body_size=settings.max_body_bytes,
        max_sessions=settings.max_sessions,
        session_idle_timeout=DEFAULT_SESSION_IDLE_TIMEOUT,
    )
    operations = Middleware(settings, dispatcher, DEFAULT_SESSION_IDLE_TIMEOUT)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        listed.set()  # nobody is waiting for a first answer here
        async with manager.run(), anyio.create_task_group() as background:
            background.start_soon(keep_up, dispatcher, listed)
            background.start_soon(operations.keep_watch)
            yield
            background.cancel_scope.cancel()

    access = access_for(settings, dispatcher.store)

    def guarded(app: ASGIApp) -> ASGIApp:
        return access.guarded(Limited(operations.limits, app))

    routes = [
        Route(PATH, endpoint=guarded(StreamableHTTPASGIApp(manager))),
        Route(delete_session.PATH, endpoint=guarded(DeleteSession(dispatcher))),
        Route("/healthz", endpoint=_healthy, methods=["GET"]),
        *access.routes(),
        *operations.routes(guarded),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.router.redirect_slashes = False
    return operations.entered(HostOriginGuard(_readable_by_pages(app, settings.allow_origin), hosts, origins))


def _readable_by_pages(app: ASGIApp, origins: Collection[str]) -> ASGIApp:
    """Let browsers show the answers to pages from elsewhere that may call; there are none by default."""
    if not origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=list(origins),
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=["mcp-session-id", "www-authenticate", "retry-after"],
    )


async def _healthy(request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok", "version": __version__}, headers={"cache-control": "no-store"})
