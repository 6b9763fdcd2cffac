"""What a server does while nobody waits for it: load what the first big call needs, and let go of old sessions."""

import time
from collections.abc import Callable

import anyio
import anyio.to_thread

from ..artifacts import Store
from ..budget import tokens
from . import log
from .dispatch import Dispatcher

_WARM_AFTER_S = 1.0
"""Long enough after the tools were listed that the client has its answer and is busy with it."""

_SWEEP_EVERY_S = 3600.0


async def keep_up(dispatcher: Dispatcher, listed: anyio.Event) -> None:
    """Warm up once the tools were listed, then sweep for as long as the server lives; no failure of it ends that."""
    await listed.wait()
    await anyio.sleep(_WARM_AFTER_S)
    _attempt("commands.warm", dispatcher.commands.warm)
    await anyio.to_thread.run_sync(_attempt, "tokens.warm", tokens.warm)
    while True:
        await anyio.to_thread.run_sync(sweep_if_due, dispatcher.store)
        await anyio.sleep(_SWEEP_EVERY_S)


def sweep_if_due(store: Store) -> None:
    """Sweep the store if no process did within the hour; log what was removed. Blocks."""
    marker = store.root / ".swept"

    def sweep() -> None:
        if marker.exists() and 0 <= time.time() - marker.stat().st_mtime < _SWEEP_EVERY_S:
            return
        swept = store.sweep()
        marker.touch(0o600)
        if swept.sessions:
            log.event("swept", sessions=swept.sessions, bytes=swept.bytes)

    _attempt("sweep", sweep)


def _attempt(what: str, step: Callable[[], None]) -> None:
    try:
        step()
    except Exception:  # noqa: BLE001 - nothing that nobody waits for may end the server
        log.crash(what)
