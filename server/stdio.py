"""The server for one client on standard input and output."""

import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from ..budget.ceilings import starts_per_call
from ..tools.terminal import Terminal
from . import log
from .background import keep_up, sweep_if_due, tell_isolation
from .bootstrap import open_dispatcher
from .config import Settings
from .dispatch import CallRecord, Dispatcher
from .express import INITIALIZED, Express
from .hard_exit import HardExit, heed
from .launcher import Launcher
from .offer import Offer
from .stdio_transport import can_be_watched, stdio_streams

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

_TRIAL_S = 0.2
"""Longer the trial of the walls does not hold up the start; the model is then told of it with its first command."""


_GOES_ON_S = 3600.0
"""How long at most a command goes on that a client left behind which starts a server for every call."""


def serve_stdio(settings: Settings, front: Launcher | None = None) -> None:
    """Serve one client on standard input and output until it closes them.

    Args:
        settings: how the server behaves.
        front: the process that the client started, if that is another one.
    """
    logging.getLogger().addHandler(log.Libraries(logging.WARNING))
    anyio.run(_serve_stdio, settings, front)


async def _serve_stdio(settings: Settings, front: Launcher | None) -> None:
    served = _Served()
    async with (
        open_dispatcher(settings, observers=[served]) as dispatcher,
        _leaving(dispatcher),
        anyio.create_task_group() as background,
    ):
        listed = anyio.Event()
        background.start_soon(keep_up, dispatcher, listed)
        background.start_soon(tell_isolation, dispatcher.commands)
        # The trial began before the libraries were loaded, so it has mostly ended.
        with anyio.move_on_after(_TRIAL_S):
            await dispatcher.commands.isolation()
        leaving = HardExit()
        await _serve(dispatcher, listed, leaving.begin)
        terminal = dispatcher.tools.get(Terminal.name)
        if front is not None and isinstance(terminal, Terminal) and terminal.is_running and served.was_for_one_call:
            leaving.put_off()
            front.let_go()
            dispatcher.workers.close()
            dispatcher.fitter.close()
            await terminal.see_out(_GOES_ON_S)
            leaving.begin()
        # A client that starts a server for every call leaves no other time for it.
        await anyio.to_thread.run_sync(sweep_if_due, dispatcher.store)
        background.cancel_scope.cancel()


async def _serve(dispatcher: Dispatcher, listed: anyio.Event, on_end: Callable[[], None]) -> None:
    """Answer the client until it closes its end; the SDK is loaded when something is asked that is left to it."""
    offer = Offer.of(dispatcher)

    def sdk() -> "Server[Any]":
        from .app import build

        return build(dispatcher, listed, offer)

    if not can_be_watched():
        from mcp.server.stdio import stdio_server

        async with stdio_server() as (incoming, outgoing):
            server = sdk()
            await server.run(incoming, outgoing, server.create_initialization_options())
        on_end()
        return
    express = Express(dispatcher, offer, listed)
    async with stdio_streams(on_end, express) as (incoming, outgoing):
        if await incoming.has_any():
            server = await anyio.to_thread.run_sync(sdk)
            if express.handshake is not None:
                outgoing.withhold(express.handshake["id"])
                incoming.unread(express.handshake, INITIALIZED)
            streams: tuple[Any, Any] = incoming, outgoing
            await server.run(*streams, server.create_initialization_options())


class _Served:
    """Which calls were served, and for whom."""

    def __init__(self) -> None:
        self._calls = 0
        self._client = ""

    def __call__(self, account: CallRecord, took_s: float) -> None:
        """Count a call."""
        self._calls += 1
        self._client = account.client

    @property
    def was_for_one_call(self) -> bool:
        """Whether the server was perhaps started for the one call that it has served."""
        return self._calls == 1 and starts_per_call(self._client)


@asynccontextmanager
async def _leaving(dispatcher: Dispatcher) -> AsyncGenerator[None]:
    """End at once on a signal, and whatever commands are running with it.

    Clients allow some 100 ms between a signal and the next; artifacts are safe at any time.
    """

    def leave() -> None:
        dispatcher.commands.close()
        os._exit(0)

    if sys.platform == "win32":
        signal.signal(signal.SIGINT, lambda *_: leave())
    else:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            heed(number, leave)
    yield
