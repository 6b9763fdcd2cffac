"""Serves the application over HTTP: listens, says where, and ends when it is told to."""

import asyncio
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

import anyio
import uvicorn

from ...artifacts import Store
from ...budget import tokens
from ...tools import tools
from .. import log
from ..config import Settings
from ..dispatch import Dispatcher
from ..house import house
from ..upkeep import tell_isolation
from .access import check, tell
from .address import Address
from .app import PATH, http_app
from .keys import DIRECTORY, secret
from .relay import Post
from .sessions import HttpCallers
from .timely import MAX_HEADER_BYTES, timely

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
    settings = replace(settings, http=str(address.bound(listening)))
    logging.getLogger().addHandler(log.Libraries(logging.ERROR))
    _allow_descriptors()
    if settings.workers == 1:
        _work(settings, listening, None, lambda: None)
        return
    from .supervisor import supervise

    _share()
    with _counting_together(settings) as finished:
        supervise(partial(_work, settings, listening), settings.workers, finished)


def _share() -> None:
    """Load what every process needs before they part: they share that memory, and a new one starts at once."""
    tokens.warm()
    tools()


def _work(settings: Settings, listening: socket.socket, post: Post | None, tell_ready: Callable[[], None]) -> None:
    """Serve in this process until a signal ends it."""
    with _traced(settings):
        anyio.run(_serve, settings, listening, post, tell_ready)


async def _serve(
    settings: Settings, listening: socket.socket, post: Post | None, tell_ready: Callable[[], None]
) -> None:
    async with house(settings, http_callers) as dispatcher:
        is_first = post is None or post.is_first
        withheld = await withhold(dispatcher)
        if is_first:
            await tell_isolation(dispatcher.commands)
        if withheld and is_first:
            sys.stderr.write(f"bursar: the terminal is not offered: {withheld}\n")
        app = http_app(dispatcher, settings, post=post)
        sockets = [listening] if post is None else [listening, post.listen()]
        if is_first:
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
        server = _Server(config, tell_ready)
        with _signals(server.end):
            await server.serve(sockets=sockets)


async def withhold(dispatcher: Dispatcher) -> str:
    """Take the terminal away where its commands would see other sessions: over HTTP those are other people's.

    Returns:
        Why, and what to do about it; empty if nothing was taken away.
    """
    isolation = await dispatcher.commands.isolation()
    if isolation.level != "off" or "terminal" not in dispatcher.tools:
        return ""
    dispatcher.tools = {name: tool for name, tool in dispatcher.tools.items() if name != "terminal"}
    return f"{isolation.reason}. {isolation.cure}"


def http_callers(store: Store) -> HttpCallers:
    """Make what decides sessions over HTTP; its key lies with the store, so every process of a server has the same."""
    return HttpCallers(store, secret(store.private(DIRECTORY) / "key"))


class _Server(uvicorn.Server):
    """Leaves signals to whoever runs it, and tells him when it can be reached."""

    def __init__(self, config: uvicorn.Config, tell_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell_ready = tell_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        self._tell_ready()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    def end(self) -> None:
        """Answer what is under way and end; at once when told so twice."""
        if self.should_exit:
            os._exit(0)
        self.should_exit = True


@contextmanager
def _traced(settings: Settings) -> Generator[None]:
    if not settings.otel:
        yield
        return
    from . import tracing

    tracing.start()
    try:
        yield
    finally:
        tracing.stop()


def _allow_descriptors() -> None:
    """Use as many descriptors as the system allows: each connection takes one and each session in use two."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextmanager
def _counting_together(settings: Settings) -> Generator[Callable[[int], None]]:
    """Give several processes a place to count in together; yield what is told of each that has ended."""
    if not settings.metrics:
        yield lambda _pid: None
        return
    from .metrics import SHARED_DIRECTORY, forget_process

    with tempfile.TemporaryDirectory(prefix="bursar-metrics-") as place:
        os.environ[SHARED_DIRECTORY] = place
        yield partial(forget_process, place)


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
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
