"""Which calls may run: sessions and principals have shares of what runs at a time, and principals of the disk."""

import math
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

import anyio
import anyio.to_thread

from ...artifacts import Store
from ...errors import BursarError
from ...guard.fair import FairQueue, Limit
from ..callers import Client
from ..config import Settings
from ..dispatch import CallRecord

_WAITS_S = 10.0
"""A call waits at most so long for its turn."""

_WAITS_OF_PATIENCE = 0.2
"""And at most this part of the time its client waits for an answer."""

_WAITING_FOR_EACH = 4
"""Calls of one principal that may wait for each that he may run; further ones are told at once, and only he is."""

_MEMORY = 0.05
"""Weight of the latest call in the mean time that calls take."""

SESSION_PATH = "/session"
"""Where sessions are deleted."""

_MEASURED_EVERY_S = 30.0
"""Each measurement looks at every file of the store."""

_STORES_NOTHING = {"read_artifact", "find_tool", "resource"}
_GIB = 1 << 30

Tally = Callable[[str], None]
"""Is told the name of a limit each time it was hit."""


@dataclass
class StorageQuota:
    """Measures now and then what everybody's sessions take; in between, what is over the quota stays over it.

    Attributes:
        quota_bytes: of one principal; 0: no quota.
        held: bytes of each principal's sessions, as last measured.
    """

    quota_bytes: int
    held: Counter[str] = field(default_factory=Counter[str])

    async def keep_measuring(self, store: Store) -> None:
        """Measure for as long as the server lives."""
        while True:
            began = time.monotonic()
            self.held = await anyio.to_thread.run_sync(store.sizes)
            await anyio.sleep(max(_MEASURED_EVERY_S, 10 * (time.monotonic() - began)))

    def total_bytes(self) -> int:
        """Return the bytes of all sessions together, as last measured."""
        return self.held.total()

    def check(self, tool: str, principal: str) -> None:
        """Refuse a call that would store something for a principal who holds enough.

        Raises:
            BursarError: quota_exceeded.
        """
        if not self.quota_bytes or tool in _STORES_NOTHING or self.held[principal] <= self.quota_bytes:
            return
        what = f"your sessions hold {self.held[principal] / _GIB:.1f} GiB, and may hold {self.quota_bytes / _GIB:.1f}"
        again = f"try again in {_MEASURED_EVERY_S:.0f} s"
        fix = f"Delete sessions that you no longer need (DELETE {SESSION_PATH}), and {again}"
        raise BursarError("quota_exceeded", what, fix)


class Admission:
    """Admits calls: to the principal with the fewest running, within the shares, unless it holds too much storage."""

    def __init__(self, queue: FairQueue, tally: Tally = lambda _limit: None, quota_bytes: int = 0) -> None:
        self.queue = queue
        self.storage = StorageQuota(quota_bytes)
        self._tally = tally
        self._mean_s = 1.0

    @classmethod
    def of(cls, settings: Settings, tally: Tally) -> "Admission":
        """Share as the server's settings say: of all calls half for one principal, a sixteenth for one session."""
        most = settings.max_calls
        return cls(FairQueue(most, max(1, most // 2), max(1, most // 16)), tally, settings.principal_quota_bytes)

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
        if limit and self.queue.waiting(principal) >= _WAITING_FOR_EACH * self.queue.each:
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
            "part": ("calls_per_session", f"{self.queue.part} calls of this session are running already"),
            "each": ("calls_per_principal", f"{self.queue.each} calls of yours are running already"),
        }.get(limit, ("calls", "the server has as many calls to run as it can"))
        self._tally(name)
        return BursarError("busy", what, f"Try again in {after_s} s, with fewer calls at a time")
