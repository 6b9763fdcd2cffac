"""What a server does while nobody waits for it: load what the first big call needs, and let go of old sessions."""

from collections.abc import Awaitable, Callable

import anyio
import anyio.to_thread

from ..artifacts import Store
from ..budget import tokens
from ..guard.commands import Commands
from . import log
from .dispatch import Dispatcher

_WARM_AFTER_S = 1.0
"""Long enough after the tools were listed that the client has its answer and is busy with it."""

_WARMED = ("bursar.content.page.extract:run", "bursar.content.pictures:inspect")
"""What most calls of workers need: half a second that the first page need not wait for."""

_SWEEP_EVERY_S = 3600.0

UNSEEN_LOCKS = "it is on a network or FUSE file system, whose locks other machines may not see"
UNSEEN_LOCKS_CURE = "Name a directory of a local disk with --data-dir, or delete old sessions yourself"
"""Why nothing is swept there, and what to do about it."""


async def keep_up(dispatcher: Dispatcher, listed: anyio.Event) -> None:
    """Warm up once the tools were listed, then sweep for as long as the server lives; no failure of it ends that."""
    await listed.wait()
    await anyio.sleep(_WARM_AFTER_S)
    _attempt("commands.warm", dispatcher.commands.warm)
    await _prepare("workers.warm", dispatcher.workers.warm(*_WARMED))
    async with anyio.create_task_group() as beside:
        beside.start_soon(_warm_for_replies, dispatcher)
        while True:
            dispatcher.sessions.let_go()
            await anyio.to_thread.run_sync(sweep_if_due, dispatcher.store)
            await anyio.to_thread.run_sync(_attempt, "commands.tidy", dispatcher.commands.tidy)
            await anyio.sleep(_SWEEP_EVERY_S)


async def _warm_for_replies(dispatcher: Dispatcher) -> None:
    """Load what replies are fitted with, over 100 MB, once a content was not small: many servers never see one."""
    await dispatcher.fitter.wanted.wait()
    await anyio.to_thread.run_sync(_attempt, "tokens.warm", tokens.warm)
    await _prepare("fitter.warm", dispatcher.fitter.warm())


async def _prepare(what: str, work: Awaitable[None]) -> None:
    try:
        await work
    except Exception:  # noqa: BLE001 - as below
        log.crash(what)


async def tell_isolation(commands: Commands) -> None:
    """Log how well commands are kept in, as soon as that is known."""
    isolation = await commands.isolation()
    told = {"means": isolation.means, "reason": isolation.reason, "fix": isolation.fix}
    log.event("isolation", level=isolation.level, **{name: text for name, text in told.items() if text})


def sweep_if_due(store: Store) -> None:
    """Sweep the store if no process did within the hour; log what was removed, or why nothing ever is. Blocks."""

    def sweep() -> None:
        swept = store.sweep(every_s=_SWEEP_EVERY_S)
        if swept.sessions:
            log.event("swept", sessions=swept.sessions, bytes=swept.bytes)
        if not store.is_local:
            log.event("never_swept", directory=str(store.root), reason=UNSEEN_LOCKS, fix=UNSEEN_LOCKS_CURE)

    _attempt("sweep", sweep)


def _attempt(what: str, step: Callable[[], None]) -> None:
    try:
        step()
    except Exception:  # noqa: BLE001 - nothing that nobody waits for may end the server
        log.crash(what)
