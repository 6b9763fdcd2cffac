"""Reports how far something has come: a file that another process writes, or blocking work in a thread."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread

from .base import Progress

T = TypeVar("T")

Reading = tuple[float, float | None, str]
"""How much is done, of how much (None when unknown), and the unit."""

LOOK_S = 0.4
_REPORT_EVERY_S = 0.5


@dataclass(slots=True)
class Counter:
    """Takes figures from any thread.

    Attributes:
        done: how much.
        total: of how much; None when unknown.
    """

    done: float = 0
    total: float | None = None

    def __call__(self, done: float, total: float | None = None) -> None:
        """Take a figure."""
        self.done, self.total = done, total

    def read(self, unit: str) -> Callable[[], Reading]:
        """Return what tells how far it is, in words that end with `unit`."""
        return lambda: (self.done, self.total, unit)


async def watched(work: Awaitable[T], progress: Progress, read: Callable[[], Reading]) -> T:
    """Await some work, and report what `read` returns of it now and then.

    Args:
        work: what is waited for.
        progress: is reported to.
        read: looks how far it is; called on the event loop, so it must be quick.
    """

    async def look() -> None:
        last: Reading | None = None
        while True:
            await anyio.sleep(LOOK_S)
            if (now := read()) != last:
                await progress(*now)
                last = now

    failed: Exception | None = None
    result: list[T] = []
    async with anyio.create_task_group() as group:
        group.start_soon(look)
        try:
            result.append(await work)
        except Exception as error:  # noqa: BLE001 - raised below: the group would wrap it
            failed = error
        group.cancel_scope.cancel()
    if failed is not None:
        raise failed
    return result[0]


class Pulse:
    """Given to the work, which calls `beat` a few hundred times a second."""

    __slots__ = ("_message", "_next", "_progress")

    def __init__(self, progress: Progress, message: str) -> None:
        self._progress = progress
        self._message = message
        self._next = time.monotonic() + _REPORT_EVERY_S

    def beat(self, done: float, total: float | None = None) -> None:
        """End the work if the call is cancelled; report progress now and then.

        Raises:
            The event loop's cancellation.
        """
        anyio.from_thread.check_cancelled()
        if time.monotonic() >= self._next:
            anyio.from_thread.run(self._progress, done, total, self._message)
            self._next = time.monotonic() + _REPORT_EVERY_S


async def in_thread(work: Callable[[Pulse], T], progress: Progress, message: str) -> T:
    """Run `work` in a thread; it has ended when this returns or raises, so nothing writes behind a call's back."""
    return await anyio.to_thread.run_sync(work, Pulse(progress, message))
