"""Serves the application over HTTP: listens, says where, and ends when it is told to."""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import replace

import anyio
import anyio.to_thread
import uvicorn

from .. import log
from ..background import tell_isolation
from ..bootstrap import open_dispatcher
from ..config import Settings
from ..hard_exit import HardExit, heed
from ..session_resolver import HttpSessions
from ..telemetry import Telemetry
from .access import check, tell
from .address import Address
from .admission import Admission
from .app import PATH, http_app
from .header_timeout import timely
from .host_origin_guard import MAX_HEADER_BYTES

_THREADS_EACH = 2
"""Threads that one call has at work at a time, at most, but for moments."""

_END_S = 1
"""How long answers that are under way may take to leave when the server is told to end, in whole seconds."""


def serve_http(settings: Settings) -> None:
    """Serve MCP clients over HTTP until a signal ends the server.

    Raises:
        BursarError: a setting that cannot be followed, or an address that cannot be listened on.
    """
    check(settings)
    address = Address.parse(settings.http)
    listening = address.listen()
    settings = replace(settings, http=str(address.bound(listening[0])))
    logging.getLogger().addHandler(log.Libraries(logging.ERROR))
    _allow_descriptors()
    telemetry = Telemetry(settings)
    try:
        anyio.run(_serve, settings, listening, telemetry)
    finally:
        telemetry.close()


async def _serve(settings: Settings, listening: list[socket.socket], telemetry: Telemetry) -> None:
    # Threads are shared by all: as many as never to be what calls wait for, whose turns are given away fairly.
    threads = anyio.to_thread.current_default_thread_limiter()
    threads.total_tokens = max(threads.total_tokens, _THREADS_EACH * settings.max_calls)
    admission = Admission.of(settings, telemetry.hit)
    async with open_dispatcher(settings, HttpSessions, turn=admission.admit, observers=[telemetry.call]) as dispatcher:
        await tell_isolation(dispatcher.commands)
        app = http_app(dispatcher, settings, admission, telemetry)
        tell(settings, dispatcher.store)
        sys.stderr.write(f"bursar: serving MCP on http://{settings.http}{PATH}\n")
        config = uvicorn.Config(
            app,
            http=timely(settings.request_timeout_s),
            limit_concurrency=settings.max_connections,
            h11_max_incomplete_event_size=MAX_HEADER_BYTES,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_END_S,
        )
        server = _Server(config)
        with _signals(server.end):
            await server.serve(sockets=listening)


class _Server(uvicorn.Server):
    """Leaves signals to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    def end(self) -> None:
        """Answer what is under way and end; at once when told so twice."""
        if self.should_exit:
            os._exit(0)
        self.should_exit = True
        HardExit().begin()


def _allow_descriptors() -> None:
    """Use as many descriptors as the system allows: each connection takes one and each session in use two."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextmanager
def _signals(end: Callable[[], None]) -> Generator[None]:
    if sys.platform == "win32":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: end())
        yield
        return
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        heed(number, end)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
