"""Places that sharers take turns at: whoever asks for a lot waits for his own work, and the others go on beside him."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeVar

import anyio

Limit = Literal["", "all", "each", "part"]

T = TypeVar("T")

_SHARER: ContextVar[str] = ContextVar("bursar_sharer", default="")


@contextmanager
def shared_by(sharer: str) -> Generator[None]:
    """Say who the work in this block is done for; tasks that are started in it know it too."""
    before = _SHARER.set(sharer)
    try:
        yield
    finally:
        _SHARER.reset(before)


@dataclass(eq=False, slots=True)
class _Waiting:
    sharer: str
    part: str
    may_go: anyio.Event = field(default_factory=anyio.Event)


@dataclass
class FairQueue:
    """Gives places away on one event loop. A free one goes to the sharer who holds the fewest, the first of equals.

    Who leaves the queue, cancelled or out of patience, leaves no trace in it.

    Attributes:
        all: places there are.
        each: that one sharer may hold; the others are always left for the others.
        part: that one part of a sharer's work may hold; 0 for no such limit.
    """

    all: int
    each: int
    part: int = 0
    held: int = 0
    _by_sharer: Counter[str] = field(default_factory=Counter[str])
    _by_part: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    _waiting: list[_Waiting] = field(default_factory=list[_Waiting])

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None]:
        """Hold a place, for the length of the block, for whom this work is done for."""
        sharer = await self.acquire()
        try:
            yield
        finally:
            self.release(sharer)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, or raise what it raises, in a thread that holds a place.

        Nothing can end a thread: it keeps its place until it has ended by itself, awaited or not.

        Raises:
            RuntimeError: the system has no thread to give.
        """
        sharer = await self.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def settle(settled: Callable[[], None]) -> None:
            self.release(sharer)
            if not answer.done():  # else nobody waits for it any more
                settled()

        def run() -> None:
            settled: Callable[[], None]
            try:
                settled = partial(answer.set_result, work())
            except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
                settled = partial(answer.set_exception, error)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(settle, settled)

        try:
            threading.Thread(target=run, name="bursar work", daemon=True).start()
        except BaseException:
            self.release(sharer)
            raise
        return await answer

    async def acquire(self, sharer: str | None = None, part: str = "") -> str:
        """Wait for a place and take it.

        Args:
            sharer: default: whom this work is done for.
            part: of the sharer's work, such as a session.

        Returns:
            The sharer, for `release`.
        """
        who = _SHARER.get() if sharer is None else sharer
        if not self.limit(who, part):
            self._count(who, part, 1)
            return who
        self._waiting.append(waiting := _Waiting(who, part))
        try:
            await waiting.may_go.wait()
        except BaseException:
            if waiting.may_go.is_set():  # cancelled in the instant its turn came
                self.release(who, part)
            else:
                self._waiting.remove(waiting)
            raise
        return who

    def release(self, sharer: str, part: str = "") -> None:
        """Give a place back, and to whose turn it is."""
        self._count(sharer, part, -1)
        while able := [waiting for waiting in self._waiting if not self.limit(waiting.sharer, waiting.part)]:
            next_one = min(able, key=lambda waiting: self._by_sharer[waiting.sharer])
            self._waiting.remove(next_one)
            self._count(next_one.sharer, next_one.part, 1)
            next_one.may_go.set()

    def limit(self, sharer: str, part: str = "") -> Limit:
        """Name the limit that keeps a sharer from a further place; empty if there is one."""
        if self.part and self._by_part[sharer, part] >= self.part:
            return "part"
        if self._by_sharer[sharer] >= self.each:
            return "each"
        return "all" if self.held >= self.all else ""

    def waiting(self, sharer: str) -> int:
        """Return how many places a sharer waits for."""
        return sum(waiting.sharer == sharer for waiting in self._waiting)

    def _count(self, sharer: str, part: str, change: int) -> None:
        self.held += change
        self._by_sharer[sharer] += change
        self._by_part[sharer, part] += change
        if not self._by_sharer[sharer]:
            del self._by_sharer[sharer]
        if not self._by_part[sharer, part]:
            del self._by_part[sharer, part]
