"""One server behind this one, for one session: started when it is needed, asked, and ended."""

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from ..budget.clean import clean
from ..errors import BursarError
from ..guard.commands import Commands
from ..guard.net import Net
from ..guard.workers import Workers
from .definition import Definition
from .frames import Frames
from .http_link import HttpLink
from .message import Message
from .peer import Peer, Told
from .pins import TOOLS_MAX
from .stdio_link import StdioLink
from .untyped import mapping, sequence, text
from .upstream import DEPTH, Upstream

START_S = 120.0
"""A server may be fetched from a registry first."""

_PAGES_MAX = 256
_TOOLS_MAX_BYTES = 4 * 1024**2
_IN_FLIGHT = 16
_ALIVE_S = 1.0
"""Whoever did not answer a call in time, and does not list its tools within so much, is stuck."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What servers behind this one run in.

    Attributes:
        commands: makes the gate through which one of them is started, its alone.
        net: the way to those that are elsewhere.
        workers: take long answers apart.
        roots: directories that they are told of, and whose files they may change.
        directory: where pins, long answers and what they say on their standard error are kept.
    """

    commands: Callable[[Upstream], Commands]
    net: Net
    workers: Workers
    roots: Sequence[Path]
    directory: Path

    @property
    def nothing(self) -> Path:
        """An empty directory, in the place of the session that no server sees."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.directory / "nothing"
        path.mkdir(mode=0o700, exist_ok=True)
        return path


class Child:
    """A server that is running, or about to.

    Attributes:
        used_at: when it was last asked, on the monotonic clock.
        calls: how many are going on.
        restarted: it has taken the place of another, so that what that remembered is gone.
        definitions: of its tools, by their names, as it gave them last; None if it was not asked yet.
    """

    def __init__(self, upstream: Upstream, around: Surroundings, *, restarted: bool = False) -> None:
        self.used_at = time.monotonic()
        self.calls = 0
        self.restarted = restarted
        self.definitions: Mapping[str, Definition] | None = None
        self._upstream = upstream
        self._around = around
        self._link: StdioLink | HttpLink | None = None
        self._peer: Peer | None = None
        self._turns = asyncio.Semaphore(1 if upstream.serial else _IN_FLIGHT)
        self._started: asyncio.Task[None] | None = None
        self._asking = 0
        self._trial: asyncio.Task[None] | None = None
        self._end: BursarError | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it ended by itself, or could not be started."""
        return self._end is not None

    async def settle(self) -> None:
        """Wait until it is known whether it still answers, if that is in doubt."""
        if self._trial is not None:
            await asyncio.wait([self._trial])

    @property
    def idle_s(self) -> float:
        """Seconds without a call after which it is ended."""
        return self._upstream.idle_s

    def has_new_lists(self) -> bool:
        """Tell whether it has said, since this was asked last, that its tools are others now."""
        peer = self._peer
        if peer is None or not peer.lists_changed:
            return False
        peer.lists_changed = False
        return True

    @property
    def noise(self) -> tuple[int, str]:
        """How many lines it sent that were no messages, and the first of them."""
        return (0, "") if self._peer is None else (self._peer.noise, self._peer.first_noise)

    async def started(self) -> Peer:
        """Return the other side once it can be asked.

        Raises:
            BursarError: upstream_start and its kin.
        """
        if self._started is None:
            self._started = asyncio.ensure_future(self._start())
        await asyncio.shield(self._started)
        if self._end is not None:
            raise self._end
        return cast("Peer", self._peer)

    async def tools(self) -> list[Mapping[str, Any]]:
        """Return the definitions of its tools as it sends them; it is ended if it does not do so in time.

        Raises:
            BursarError: upstream_start, upstream_protocol, and whatever it takes to ask.
        """
        peer = await self.started()
        within_s = min(self._upstream.timeout_s, START_S)
        try:
            async with asyncio.timeout(within_s):
                return await self._listed(peer)
        except TimeoutError:
            what = f"{self._upstream.name} did not list its tools within {within_s:g} s"
            self._lose(BursarError("upstream_start", what, "See `bursar mcp list`; give it a larger timeoutS"))
            raise cast("BursarError", self._end) from None

    async def _listed(self, peer: Peer) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        cursor, seen, size = "", set[str](), 0
        for _ in range(_PAGES_MAX):
            message = await peer.ask("tools/list", {"cursor": cursor} if cursor else {})
            try:
                result = self._result(message)
                size += message.size
                found += [mapping(tool) for tool in sequence(result.get("tools"))]
                following = text(result.get("nextCursor"))
            finally:
                message.close()
            if not following or following in seen:
                return found[:TOOLS_MAX]
            if len(found) > TOOLS_MAX or size > _TOOLS_MAX_BYTES:
                break
            cursor = following
            seen.add(cursor)
        what = f"{self._upstream.name} lists more tools than can be looked at"
        raise BursarError("upstream_protocol", what, "Use another server")

    async def ask(self, method: str, params: Mapping[str, Any], told: Told | None) -> Message:
        """Ask something of it when its turn comes, within the time that its entry gives.

        Raises:
            BursarError: upstream_timeout, upstream_ended, busy and whatever it takes to start it.
        """
        peer = await self.started()
        self._asking += 1
        try:
            async with asyncio.timeout(self._upstream.timeout_s):
                async with self._turns:
                    return await peer.ask(method, params, told)
        except TimeoutError:
            self._trial = self._trial or asyncio.ensure_future(self._tried())
            what = f"{self._upstream.name} did not answer within {self._upstream.timeout_s:g} s, and was told so"
            raise BursarError("upstream_timeout", what, "Ask it for less, or raise timeoutS in its entry") from None
        finally:
            self._asking -= 1
            self.used_at = time.monotonic()

    async def _tried(self) -> None:
        """See whether a server that did not answer in time answers anything; end one that does not, if it may go."""
        try:
            async with asyncio.timeout(_ALIVE_S):
                message = await cast("Peer", self._peer).ask("tools/list", {})
                message.close()
        except TimeoutError:
            if not self._asking:
                name = self._upstream.name
                self._lose(BursarError("upstream_ended", f"{name} answers nothing any more", "Call again"))
        except BursarError:
            pass  # it has ended
        finally:
            self._trial = None

    async def close(self) -> None:
        """End it."""
        if self._trial is not None:
            self._trial.cancel()
        if self._started is not None and not self._started.done():
            self._started.cancel()
            with suppress(asyncio.CancelledError, BursarError):
                await self._started
        if self._peer is not None:
            self._peer.close()
            self._peer.lose(BursarError("upstream_ended", f"{self._upstream.name} was ended", "Call again"))
        if self._link is not None:
            await self._link.close()

    async def _start(self) -> None:
        try:
            await self._begin()
        except BursarError as error:
            if error.code == "terminal_off":
                what = f"{self._upstream.name} is not started, for nothing keeps it in: {error.message}"
                fix = f'{error.fix}, or let it do whatever you can by "sandbox": "off" in its entry'
                error = BursarError("not_isolated", what, fix)
            self._lose(error)
        except OSError as error:
            what = f"{self._upstream.name} could not be started: {error.strerror}"
            self._lose(BursarError("upstream_start", what, "See `bursar mcp list`"))

    async def _begin(self) -> None:
        upstream, around = self._upstream, self._around
        if upstream.fault:
            raise BursarError("upstream_start", f"{upstream.name}: {upstream.fault}", "Set it where bursar is started")
        if sys.platform == "win32" and not upstream.url:
            what = f"{upstream.name} cannot be started: servers behind this one are not run on Windows"
            raise BursarError("upstream_start", what, "Run it elsewhere, and give its url")
        frames = partial(Frames, around.directory / "frames")
        link: StdioLink | HttpLink
        if upstream.url:
            link = HttpLink(upstream, around.net, frames)
        else:
            errors = around.directory / f"{upstream.name}.log"
            link = StdioLink(upstream, around.commands(upstream), frames(), errors)
        peer = Peer(upstream, link, around.workers, around.roots)
        self._link, self._peer = link, peer
        link.hear, link.ended = peer.hear, self._lose
        if isinstance(link, HttpLink):
            link.failed, link.schemas = peer.lose, self._schema
        else:
            cwd = Path(upstream.cwd) if upstream.cwd else around.roots[0]
            env = {**upstream.env, DEPTH: "1"}
            argv = [_program(upstream, env), *upstream.command[1:]]
            await link.start(argv, cwd=cwd, env=env, session=around.nothing)
        await peer.agree(START_S)

    def _schema(self, tool: str) -> Mapping[str, Any]:
        found = (self.definitions or {}).get(tool)
        return {} if found is None else found.schema

    def _result(self, message: Message) -> Mapping[str, Any]:
        """Return the result in an answer.

        Raises:
            BursarError: upstream_error; it is an error.
        """
        if result := mapping(message.value.get("result")):
            return result
        said = text(mapping(message.value.get("error")).get("message"))
        shown = clean(self._upstream.secrets.blanked(said)) or "nothing"
        raise BursarError("upstream_error", f"{self._upstream.name} says: {shown}", "See its documentation")

    def _lose(self, error: BursarError) -> None:
        self._end = self._end or error
        if self._peer is not None:
            self._peer.lose(error)


def _program(upstream: Upstream, env: Mapping[str, str]) -> str:
    """Return the absolute path of its program.

    Raises:
        BursarError: upstream_start; there is none.
    """
    program = upstream.command[0]
    found = shutil.which(program, path=env.get("PATH") or os.environ.get("PATH"))
    if found is None:
        what = f"{upstream.name} cannot be started: there is no program {program[:80]!r}"
        raise BursarError("upstream_start", what, "Install it, or name it by its whole path")
    return os.path.abspath(found)  # noqa: PTH100 - links are not to be resolved: some programs are one by their name
