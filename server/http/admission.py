"""Calls take turns: each session and each principal has a share of what runs at a time, and the rest waits a little."""

import math
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import anyio

from ...errors import BursarError
from ...guard.fair import FairQueue, Limit
from ..callers import Client
from ..config import Settings
from ..dispatch import CallRecord
from .storage_quota import StorageQuota

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
        principal: of one principal.
        session: of one session.
    """

    all: int
    principal: int
    session: int

    @classmethod
    def of(cls, settings: Settings) -> "Shares":
        """Read them from the server's settings."""
        most = settings.max_calls
        return cls(most, max(1, most // 2), max(1, most // 16))


class Admission:
    """Admits calls: to the principal with the fewest running, within the shares, unless it holds too much storage."""

    def __init__(self, shares: Shares, tally: Tally = lambda _limit: None, quota_bytes: int = 0) -> None:
        self.shares = shares
        self.queue = FairQueue(shares.all, shares.principal, shares.session)
        self.storage = StorageQuota(quota_bytes)
        self._tally = tally
        self._mean_s = 1.0

    def admit(self, record: CallRecord, client: Client, sharer: str) -> AbstractAsyncContextManager[None]:
        """Keep a place for a call, as the choke point asks for one.

        Raises:
            BursarError: `quota_exceeded`; when the place is waited for, `busy`.
        """
        try:
            self.storage.check(record.tool, client.principal)
        except BursarError:
            self._tally("principal_quota_bytes")
            raise
        return self.turn(sharer, record.session, client.ceiling.patience_s)

    @asynccontextmanager
    async def turn(self, principal: str, session: str, patience_s: float) -> AsyncGenerator[None]:
        """Wait for a place among the running calls, and keep it for the length of the block.

        Args:
            principal: who calls.
            session: the session the call works in.
            patience_s: how long the client waits for its answer.

        Raises:
            BursarError: `busy`, with the seconds after which to try again.
        """
        limit = self.queue.limit(principal, session)
        if limit and self.queue.waiting(principal) >= _WAITING_FOR_EACH * self.shares.principal:
            raise self._busy("each")
        with anyio.move_on_after(min(_WAITS_S, patience_s * _WAITS_OF_PATIENCE)) as waiting:
            await self.queue.acquire(principal, session)
        if waiting.cancelled_caught:
            raise self._busy(self.queue.limit(principal, session) or "all")
        began = anyio.current_time()
        try:
            yield
        finally:
            self._mean_s += _MEMORY * (anyio.current_time() - began - self._mean_s)
            self.queue.release(principal, session)

    def _busy(self, limit: Limit) -> BursarError:
        after_s = min(30, max(1, math.ceil(self._mean_s)))
        name, what = {
            "part": ("calls_per_session", f"{self.shares.session} calls of this session are running already"),
            "each": ("calls_per_principal", f"{self.shares.principal} calls of yours are running already"),
        }.get(limit, ("calls", "the server has as many calls to run as it can"))
        self._tally(name)
        return BursarError("busy", what, f"Try again in {after_s} s, with fewer calls at a time")
