"""Calls take turns: each session and each principal has a share of what runs at a time, and the rest waits a little."""

import math
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from ...errors import BursarError
from ..config import Settings

_WAITS_S = 10.0
"""A call waits at most so long for its turn."""

_WAITS_OF_PATIENCE = 0.2
"""And at most this part of the time its client waits for an answer."""

_WAITING_FOR_EACH = 4
"""Calls of one principal that may wait for each that he may run; further ones are told at once, and only he is."""

_MEMORY = 0.05
"""Weight of the latest call in the mean time that calls take."""

Tally = Callable[[str], None]
"""Is told the name of a limit each time it was hit."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How many calls may run at a time.

    Attributes:
        all: of everybody.
        principal: of one principal; those nobody told apart have no share of their own.
        session: of one session.
    """

    all: int
    principal: int
    session: int

    @classmethod
    def of(cls, settings: Settings) -> "Shares":
        """Read them from the server's settings."""
        return cls(settings.max_calls, settings.max_calls_per_principal, settings.max_calls_per_session)


@dataclass(eq=False, slots=True)
class _Waiting:
    principal: str
    session: str
    may_go: anyio.Event = field(default_factory=anyio.Event)


@dataclass
class Turns:
    """Admits calls on one event loop. A free place goes to the principal with the fewest calls running.

    So whoever asks for a lot waits for his own calls, and the others go on beside him.
    """

    shares: Shares
    tally: Tally = lambda _limit: None
    _running: int = 0
    _by_principal: Counter[str] = field(default_factory=Counter[str])
    _by_session: Counter[str] = field(default_factory=Counter[str])
    _waiting: list[_Waiting] = field(default_factory=list[_Waiting])
    _mean_s: float = 1.0

    @property
    def running(self) -> int:
        """Calls that run now."""
        return self._running

    @asynccontextmanager
    async def turn(self, principal: str, session: str, patience_s: float) -> AsyncGenerator[None]:
        """Wait for a place among the running calls, and keep it for the length of the block.

        Args:
            principal: who calls; empty if nobody was told apart.
            session: the session the call works in.
            patience_s: how long the client waits for its answer.

        Raises:
            BursarError: `busy`, with the seconds after which to try again.
        """
        if self._waiting or self._limit(principal, session):
            await self._wait(principal, session, min(_WAITS_S, patience_s * _WAITS_OF_PATIENCE))
        else:
            self._count(principal, session, 1)
        began = anyio.current_time()
        try:
            yield
        finally:
            self._mean_s += _MEMORY * (anyio.current_time() - began - self._mean_s)
            self._count(principal, session, -1)
            self._admit()

    async def _wait(self, principal: str, session: str, wait_s: float) -> None:
        share = self.shares.principal if principal else self.shares.all
        if sum(waiting.principal == principal for waiting in self._waiting) >= _WAITING_FOR_EACH * share:
            raise self._busy("calls_per_principal" if principal else "calls")
        self._waiting.append(waiting := _Waiting(principal, session))
        self._admit()
        try:
            with anyio.move_on_after(wait_s):
                await waiting.may_go.wait()
            if not waiting.may_go.is_set():
                raise self._busy(self._limit(principal, session) or "calls")
        except BaseException:
            if waiting.may_go.is_set():  # cancelled in the instant its turn came
                self._count(principal, session, -1)
            else:
                self._waiting.remove(waiting)
            self._admit()
            raise

    def _admit(self) -> None:
        """Give free places away."""
        while self._running < self.shares.all:
            able = [waiting for waiting in self._waiting if not self._limit(waiting.principal, waiting.session)]
            if not able:
                return
            next_one = min(able, key=lambda waiting: self._by_principal[waiting.principal])  # the first of equals
            self._waiting.remove(next_one)
            self._count(next_one.principal, next_one.session, 1)
            next_one.may_go.set()

    def _limit(self, principal: str, session: str) -> str:
        """Name the limit that a further call would break; empty if it may run."""
        if self._by_session[session] >= self.shares.session:
            return "calls_per_session"
        if principal and self._by_principal[principal] >= self.shares.principal:
            return "calls_per_principal"
        return "calls" if self._running >= self.shares.all else ""

    def _count(self, principal: str, session: str, change: int) -> None:
        self._running += change
        for counter, key in ((self._by_principal, principal), (self._by_session, session)):
            counter[key] += change
            if not counter[key]:
                del counter[key]

    def _busy(self, limit: str) -> BursarError:
        self.tally(limit)
        after_s = min(30, max(1, math.ceil(self._mean_s)))
        what = {
            "calls_per_session": f"{self.shares.session} calls of this session are running already",
            "calls_per_principal": f"{self.shares.principal} calls of yours are running already",
            "calls": "the server has as many calls to run as it can",
        }[limit]
        return BursarError("busy", what, f"Try again in {after_s} s, with fewer calls at a time")
