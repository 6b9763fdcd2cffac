"""The servers that run behind this one: one for each session and entry, ended when idle, never hammered."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field

from ..artifacts import Session
from ..errors import BursarError
from .child import Child, Surroundings
from .upstream import Upstream

MOST = 8
"""That run at a time in one server process, unless all of them are at work."""

_ALL_MOST = 64
_LOOK_S = 5.0
_END_S = 1.2
"""The server itself has two seconds to end."""

_DEATHS = 3
_DEATHS_WITHIN_S = 60.0
_PAUSE_S = 30.0
_LONGEST_PAUSE_S = 600.0
_REMEMBERED = 4096
"""Entries of sessions of which is known that they ran before."""

_Key = tuple[str, str]


@dataclass
class _Past:
    """Whether the server of an entry ran before, how often it ended by itself lately, and how long it is left alone."""

    has_run: bool = False
    at: deque[float] = field(default_factory=lambda: deque(maxlen=_DEATHS))
    pause_s: float = 0.0
    until: float = 0.0

    def count(self) -> None:
        now = time.monotonic()
        self.at.append(now)
        if len(self.at) == _DEATHS and now - self.at[0] < _DEATHS_WITHIN_S:
            self.pause_s = min(max(_PAUSE_S, 2 * self.pause_s), _LONGEST_PAUSE_S)
            self.until = now + self.pause_s
            self.at.clear()


class Children:
    """Those that run, by session and entry."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._running: dict[_Key, Child] = {}
        self._pasts: dict[_Key, _Past] = {}
        self._refused: dict[str, BursarError] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._watch: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._running)

    @asynccontextmanager
    async def child(self, upstream: Upstream, session: Session) -> AsyncGenerator[Child]:
        """Yield the server of an entry for a session, to be asked; it is not ended meanwhile.

        Raises:
            BursarError: upstream_ended, not_isolated or upstream_auth; it is not started just now.
        """
        with self._in_use(upstream, session) as doubtful:
            await doubtful.settle()
        with self._in_use(upstream, session) as child:
            try:
                yield child
            except BursarError as error:
                if error.code == "upstream_auth":
                    self._refused[upstream.name] = error
                raise

    def leave(self, session: Session) -> None:
        """End those of a session."""
        for key in [key for key in self._running if key[0] == session.directory.name]:
            self._end(key)

    async def close(self) -> None:
        """End all of them: each by the end of its input and by signals, as long as there is time, and then at once."""
        if self._watch is not None:
            self._watch.cancel()
        for key in list(self._running):
            self._end(key)
        if self._ending:
            _, late = await asyncio.wait(self._ending, timeout=_END_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    @contextmanager
    def _in_use(self, upstream: Upstream, session: Session) -> Generator[Child]:
        child = self._of(upstream, session)
        child.calls += 1
        try:
            yield child
        finally:
            child.calls -= 1

    def _of(self, upstream: Upstream, session: Session) -> Child:
        key = (session.owner if upstream.share else session.directory.name, upstream.name)
        past = self._pasts.pop(key, None) or _Past()
        self._pasts[key] = past  # the last to be forgotten
        if len(self._pasts) > _REMEMBERED:
            del self._pasts[next(iter(self._pasts))]
        running = self._running.get(key)
        if running is not None and running.has_ended:
            self._end(key)
            past.count()
            running = None
        if running is not None:
            return running
        if refused := self._refused.get(upstream.name):
            raise refused
        if (left_s := past.until - time.monotonic()) > 0:
            what = f"{upstream.name} has ended by itself {_DEATHS} times in a row, and is left alone for {left_s:.0f} s"
            raise BursarError("upstream_ended", what, "See `bursar mcp list` for what it says; call again later")
        self._make_room()
        child = self._running[key] = Child(upstream, self._around, restarted=past.has_run)
        if self._watch is None:
            self._watch = asyncio.get_running_loop().create_task(self._end_idle())
        return child

    def _make_room(self) -> None:
        idle = sorted((child.used_at, key) for key, child in self._running.items() if not child.calls)
        for _, key in idle[: max(0, len(self._running) - MOST + 1)]:
            self._end(key)
        if len(self._running) >= _ALL_MOST:
            raise BursarError("busy", f"{_ALL_MOST} servers are at work behind this one", "Try again in a moment")

    async def _end_idle(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            now = time.monotonic()
            for key, child in list(self._running.items()):
                if not child.calls and (child.has_ended or now - child.used_at > child.idle_s):
                    self._end(key)

    def _end(self, key: _Key) -> None:
        child = self._running.pop(key)
        if child.definitions is not None and key in self._pasts:
            self._pasts[key].has_run = True
        task = asyncio.get_running_loop().create_task(_closed(child))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


async def _closed(child: Child) -> None:
    with suppress(BursarError, OSError):
        await child.close()
