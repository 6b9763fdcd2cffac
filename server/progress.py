"""Tells a client how far its call has come: once a second, rising, in words, whatever the tool reports or does not."""

import asyncio
import math
import time
from collections.abc import Generator
from contextlib import contextmanager

from ..budget.clean import clean
from ..tools.base import Progress
from . import log

EVERY_S = 1.0
"""Between two notifications, and before the first: a call that is answered sooner needs none."""

_UNIT_MAX_CHARACTERS = 120

_STEP = 0.001
"""By how much the figure rises when nothing has moved: it has to rise with each notification."""


class Meter:
    """What a tool reports to: keeps the latest report, so that reporting costs nothing and never waits for a client."""

    def __init__(self) -> None:
        self.done = 0.0
        self.total: float | None = None
        self.unit = ""

    async def __call__(self, done: float, total: float | None = None, message: str = "") -> None:
        """Keep a report; `message` names the unit."""
        self.done, self.total, self.unit = done, total, clean(message, _UNIT_MAX_CHARACTERS)


@contextmanager
def reported(tell: Progress) -> Generator[Meter]:
    """Yield what a call reports to, and tell the client of it for as long as the call lasts."""
    teller = _Teller(tell)
    timer = asyncio.get_running_loop().call_later(EVERY_S, teller.begin)
    try:
        yield teller.meter
    finally:
        timer.cancel()
        teller.end()


class _Teller:
    """Tells one client of one call."""

    def __init__(self, tell: Progress) -> None:
        self.meter = Meter()
        self._tell = tell
        self._began = time.monotonic()
        self._told = -1.0
        self._base = 0.0
        self._unit = ""
        self._task: asyncio.Task[None] | None = None
        self._is_telling = False
        self._is_over = False

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    def end(self) -> None:
        """Tell nothing more. A notification that is being written is finished: half of one would spoil the next."""
        self._is_over = True
        if self._task is not None and not self._is_telling:
            self._task.cancel()

    async def _run(self) -> None:
        while not self._is_over:
            figure, total, words = self._next()
            self._is_telling = True
            try:
                await self._tell(figure, total, words)
            except Exception:  # noqa: BLE001 - whoever does not listen any more does not need it
                log.crash("progress")
                return
            finally:
                self._is_telling = False
            await asyncio.sleep(0 if self._is_over else EVERY_S)

    def _next(self) -> tuple[float, float | None, str]:
        """Return the figure, its total and both in words; a new unit is counted on from where the one before ended."""
        took_s = time.monotonic() - self._began
        done, total, unit = self.meter.done, self.meter.total, self.meter.unit
        if not unit:
            done, total = round(took_s, 1), None
        if unit != self._unit:
            self._unit, self._base = unit, max(0.0, math.ceil(self._told))
        figure = max(self._base + done, self._told + _STEP)
        self._told = figure
        whole = None if total is None else max(self._base + total, figure)
        of = "" if total is None else f" of {total:,.0f}"
        return figure, whole, f"{done:,.0f}{of} {unit}, {took_s:.0f} s" if unit else f"{took_s:.0f} s"
