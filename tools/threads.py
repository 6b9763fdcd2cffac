"""Blocking work in a thread that a cancelled call ends at once, and that tells how far it has come."""

import time
from collections.abc import Callable
from typing import TypeVar

import anyio.from_thread
import anyio.to_thread

from .base import Progress

T = TypeVar("T")

_REPORT_EVERY_S = 0.5


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
