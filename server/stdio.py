"""The server for one client on standard input and output."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.to_thread

from . import log
from .app import build
from .config import Settings
from .dispatch import Dispatcher
from .house import house
from .pump import stdio_streams
from .upkeep import keep_up, sweep_if_due, tell_isolation

_TRIAL_S = 0.2
"""Longer the trial of the walls does not hold up the start; the model is then told of it with its first command."""


def serve_stdio(settings: Settings) -> None:
    """Serve one client on standard input and output until it closes them."""
    logging.getLogger().addHandler(log.Libraries(logging.WARNING))
    anyio.run(_serve_stdio, settings)


async def _serve_stdio(settings: Settings) -> None:
    async with house(settings) as dispatcher, _leaving(dispatcher), anyio.create_task_group() as background:
        listed = anyio.Event()
        background.start_soon(keep_up, dispatcher, listed)
        background.start_soon(tell_isolation, dispatcher.commands)
        # The trial began before the libraries were loaded, so it has mostly ended.
        with anyio.move_on_after(_TRIAL_S):
            await dispatcher.commands.isolation()
        server = build(dispatcher, listed)
        async with stdio_streams() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
        # A client that starts a server for every call leaves no other time for it.
        await anyio.to_thread.run_sync(sweep_if_due, dispatcher.store)
        background.cancel_scope.cancel()


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
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, leave)
    yield
