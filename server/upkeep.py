"""What a server does while nobody waits for it: load what the first big call needs, and let go of old sessions."""

import os
import time
from collections.abc import Callable

import anyio
import anyio.to_thread

from ..artifacts import Store, locks
from ..budget import tokens
from ..guard.commands import Commands
from . import log
from .dispatch import Dispatcher

_WARM_AFTER_S = 1.0
"""Long enough after the tools were listed that the client has its answer and is busy with it."""

_WARMED = ("bursar.tools.web.extract:run", "bursar.tools.images:inspect")
"""What most calls of workers need: 70 MB, and half a second that the first page need not wait for."""

_SWEEP_EVERY_S = 3600.0


async def keep_up(dispatcher: Dispatcher, listed: anyio.Event) -> None:
    """Warm up once the tools were listed, then sweep for as long as the server lives; no failure of it ends that."""
    await listed.wait()
    await anyio.sleep(_WARM_AFTER_S)
    _attempt("commands.warm", dispatcher.commands.warm)
    await anyio.to_thread.run_sync(_attempt, "tokens.warm", tokens.warm)
    await _warm_workers(dispatcher)
    while True:
        await anyio.to_thread.run_sync(sweep_if_due, dispatcher.store)
        await anyio.to_thread.run_sync(_attempt, "commands.tidy", dispatcher.commands.tidy)
        await anyio.sleep(_SWEEP_EVERY_S)


async def _warm_workers(dispatcher: Dispatcher) -> None:
    try:
        await dispatcher.workers.warm(*_WARMED)
    except Exception:  # noqa: BLE001 - as below
        log.crash("workers.warm")


async def tell_isolation(commands: Commands) -> None:
    """Log how well commands are kept in, as soon as that is known."""
    isolation = await commands.isolation()
    told = {"means": isolation.means, "reason": isolation.reason, "cure": isolation.cure}
    log.event("isolation", level=isolation.level, **{name: text for name, text in told.items() if text})


def sweep_if_due(store: Store) -> None:
    """Sweep the store if no process did within the hour; log what was removed. Blocks."""
    marker = store.root / ".swept"

    def sweep() -> None:
        is_first = not marker.exists()
        descriptor = os.open(marker, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            if not locks.claim(descriptor):
                return  # another process is at it
            if not is_first and 0 <= time.time() - os.fstat(descriptor).st_mtime < _SWEEP_EVERY_S:
                return
            swept = store.sweep()
            os.utime(marker)
            if swept.sessions:
                log.event("swept", sessions=swept.sessions, bytes=swept.bytes)
        finally:
            os.close(descriptor)

    _attempt("sweep", sweep)


def _attempt(what: str, step: Callable[[], None]) -> None:
    try:
        step()
    except Exception:  # noqa: BLE001 - nothing that nobody waits for may end the server
        log.crash(what)
