"""The server as a web application: what answers at which address, and the doors that a request passes before."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sized
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
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
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, request_response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ... import __version__
from ...errors import BursarError
from ..app import build
from ..background import keep_up
from ..callers import ANYBODY
from ..config import Settings
from ..constant_time import ConstantTimeRefusals
from ..dispatch import Dispatcher
from ..telemetry import Telemetry
from .access import access_for, principal_of
from .address import Address
from .admission import SESSION_PATH, Admission
from .express import Express
from .host_origin_guard import HostOriginGuard
from .limits import Limited, Limits, OpenSessions

PATH = "/mcp"
"""Where MCP clients connect."""

SESSION_HEADER = "bursar-session"

METRICS_PATH = "/metrics"
"""Where Prometheus reads, with a token like everybody else."""

MakeServer = Callable[[Dispatcher, anyio.Event], Server[Any]]
"""Makes an MCP server of a dispatcher, and sets the event when a client has asked for the tools."""


def http_app(
    dispatcher: Dispatcher,
    settings: Settings,
    admission: Admission,
    telemetry: Telemetry,
    make_server: MakeServer = build,
) -> ASGIApp:
    """Make the application of a server.

    Args:
        dispatcher: the choke point, with `HttpSessions`.
        settings: `http` names the address that is really listened on, its port included.
        admission: gives the dispatcher's calls their turns.
        telemetry: is told of requests, and asked at `/metrics`.
        make_server: makes the server that the dispatcher's tools are offered by.

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
        app=make_server(dispatcher, listed),
        security_settings=TransportSecuritySettings(allowed_hosts=sorted(hosts), allowed_origins=sorted(origins)),
        max_request_body_size=settings.max_body_bytes,
        max_sessions=settings.max_connections,
        session_idle_timeout=DEFAULT_SESSION_IDLE_TIMEOUT,
    )
    sessions = OpenSessions(settings.max_connections, DEFAULT_SESSION_IDLE_TIMEOUT)
    limits = Limits(settings, sessions, telemetry.hit)
    watch_all(telemetry, dispatcher, admission, sessions)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        listed.set()  # nobody is waiting for a first answer here
        async with manager.run(), anyio.create_task_group() as background:
            background.start_soon(keep_up, dispatcher, listed)
            if settings.telemetry or settings.principal_quota_bytes:
                background.start_soon(admission.storage.keep_measuring, dispatcher.store)
            yield
            background.cancel_scope.cancel()

    access = access_for(settings, dispatcher.store)
    sdk = StreamableHTTPASGIApp(manager)
    # A server of another make may do more with a call than the dispatcher does.
    is_ours = make_server is build
    express = Express(sdk, dispatcher, settings.max_connections, DEFAULT_SESSION_IDLE_TIMEOUT) if is_ours else sdk

    def guarded(app: ASGIApp) -> ASGIApp:
        return access.guarded(Limited(limits, app))

    routes = [
        Route(PATH, endpoint=guarded(express)),
        Route(SESSION_PATH, endpoint=guarded(request_response(_deleting(dispatcher)))),
        Route("/healthz", endpoint=_healthy, methods=["GET"]),
        *access.routes(),
    ]
    if telemetry.registry is not None:
        routes.append(Route(METRICS_PATH, endpoint=guarded(request_response(_metrics_of(telemetry)))))
    app = Starlette(routes=routes, lifespan=lifespan)
    app.router.redirect_slashes = False
    return _counted(HostOriginGuard(_readable_by_pages(app, settings.allow_origin), hosts, origins), telemetry)


def watch_all(telemetry: Telemetry, dispatcher: Dispatcher, admission: Admission, sessions: Sized) -> None:
    """Have what there is at the moment told: calls, sessions, commands, parsers and what the store holds."""
    for name, words, look in (
        ("calls.in.flight", "Calls that are running", lambda: admission.queue.held),
        ("open.sessions", "Open transport sessions", lambda: len(sessions)),
        ("commands", "Commands that are running", lambda: dispatcher.commands.running),
        (
            "parser.processes",
            "Processes for parsing",
            lambda: dispatcher.workers.running + dispatcher.fitter.workers.running,
        ),
        ("store.bytes", "Bytes of all artifacts of all sessions", admission.storage.total_bytes),
    ):
        telemetry.watch(f"bursar.{name}", words, look)


def _deleting(dispatcher: Dispatcher) -> Callable[[Request], Awaitable[Response]]:
    """Remove a session with all its artifacts for whom it belongs to, named in a header: addresses end up in logs.

    The answer is 204, 404 for every handle that is not one of the caller's, or 400 if none was given.
    """

    async def respond(request: Request) -> Response:
        if request.method != "DELETE":
            return Response(status_code=405, headers={"allow": "DELETE"})
        if SESSION_HEADER not in request.headers:
            return PlainTextResponse(f"name the session in the header {SESSION_HEADER}\n", 400)
        handle = request.headers[SESSION_HEADER].strip()
        try:
            async with ConstantTimeRefusals():
                await dispatcher.remove_session(handle, principal_of(request.scope) or ANYBODY)
        except BursarError as error:
            return PlainTextResponse(f"{error}\n", 404 if error.code == "unknown_session" else 503)
        return Response(status_code=204)

    return respond


def _metrics_of(telemetry: Telemetry) -> Callable[[Request], Awaitable[Response]]:
    async def respond(_request: Request) -> Response:
        text = await anyio.to_thread.run_sync(telemetry.exposition)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    return respond


def _counted(app: ASGIApp, telemetry: Telemetry) -> ASGIApp:
    """Count the answers of an application by their status."""

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                telemetry.answered(message["status"])
            await send(message)

        await app(scope, receive, watch)

    return counted


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
