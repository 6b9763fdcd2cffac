"""The server's side of the helper processes that start commands: one for each session that is kept apart."""

import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BursarError
from .command import CommandSpec
from .environment import helper_environment, python
from .fork_client import CLOSE_S, ForkClient, numbers
from .forkserver import wire
from .forkserver.limits import tasks_of

if TYPE_CHECKING:
    from .sandbox.sandbox import Sandbox
    from .sandbox.session_sandbox import Cell

if sys.platform == "win32":
    raise ImportError("Windows has job objects instead")

_IDLE_MAX = 16
"""Helper processes kept for sessions that run nothing just now; each takes some 10 MB."""


class Helper:
    """A helper process, started when it is first needed and again if it was killed.

    Attributes:
        commands: how many it keeps just now.
        used_at: when it was last asked for; monotonic seconds.
        session: directory of the session that it is for; None where it is for all.
    """

    def __init__(self, sandbox: "Sandbox | None" = None, session: Path | None = None, tasks: int = 0) -> None:
        self.commands = 0
        self.used_at = 0.0
        self.session = session
        self._sandbox = sandbox
        self._tasks = tasks
        self._cell: Cell | None = None
        self._client: ForkClient | None = None

    @property
    def is_gone(self) -> bool:
        """Whether it has ended, or is about to, without being asked."""
        return self._client is not None and self._client.is_gone

    def warm(self) -> None:
        """Start it unless it runs.

        Raises:
            BursarError: not_isolated; its walls cannot be prepared.
            OSError: the system refuses a further process or open file.
        """
        self._running()

    def confined(self, order: CommandSpec) -> CommandSpec:
        """Return the order as it is carried out in here."""
        cell = self._cell
        if cell is None:
            return order
        env = {**order.env, **{name: value for name, value in cell.environment.items() if name not in order.keep_env}}
        return replace(order, argv=[*cell.around.command_prefix, *order.argv], env=env)

    def fork(self, files: Sequence[int]) -> int:
        """Have it fork a keeper with these open files; return the number by which both know it.

        Raises:
            BursarError: busy; it does not keep up.
        """
        number = next(numbers)
        self._send({"fork": number}, files)
        return number

    def signal_keeper(self, number: int, signum: signal.Signals) -> None:
        """Have it signal a keeper, to let go on what its command may have stopped, or to kill it and what it kept."""
        self._send({"signal": signum, "number": number})

    def leave(self) -> None:
        """Have it end, and every process below it, without waiting for that."""
        if self._client is not None:
            self._client.leave()

    def close(self, wait_s: float = CLOSE_S) -> None:
        """End it and every process below it; waits up to `wait_s`, and then sees it gone without waiting here."""
        client, self._client = self._client, None
        cell, self._cell = self._cell, None
        if client is not None:
            client.close(wait_s, cell.leave if cell is not None else lambda: None)

    def _running(self) -> ForkClient:
        if self._client is None:
            if self._sandbox is not None and self.session is not None:
                self._cell = self._sandbox.cell(self.session, self._tasks)
            try:
                self._client = _started(self._cell)
            except BaseException:
                if self._cell is not None:
                    self._cell.leave()
                raise
        return self._client

    def _send(self, message: wire.Message, files: Sequence[int] = ()) -> None:
        for _ in range(2):
            try:
                self._running().send(message, files)
            except BlockingIOError:
                raise BursarError(
                    "busy", "too many commands are being started at the same time", "Try again in a second"
                ) from None
            except (BrokenPipeError, ConnectionResetError):
                self.close()
            else:
                return
        raise BursarError(
            "command_not_started", "the helper process that starts commands does not run", "Restart the server"
        )


def _started(cell: "Cell | None") -> ForkClient:
    told = (None if cell is None else cell.around.walls) or {"walls": None}
    if cell is None:
        return ForkClient(python("keepers"), told, helper_environment(), cwd="/")
    return ForkClient(
        [*cell.prefix, *python("keepers")],
        told,
        helper_environment(),
        files=[cell.private.fd],
        sees_server=cell.sees_server,
        cwd="/",
    )


class Helpers:
    """The helper processes of a server: one without walls, or one for each session."""

    def __init__(self, sandbox: "Sandbox | None", processes: int) -> None:
        self._sandbox = sandbox
        self._tasks = tasks_of(processes) if processes else 0
        self._of: dict[Path | None, Helper] = {}
        self._retired: set[Helper] = set()

    def warm(self) -> None:
        """Start the one that needs no session."""
        if self._sandbox is None:
            self._get(None).warm()

    async def of(self, session: Path | None) -> Helper:
        """Return the one of a session.

        Raises:
            BursarError: terminal_off or not_isolated; nothing keeps its commands in.
        """
        if self._sandbox is None:
            return self._get(None)
        await self._sandbox.admit()
        if session is None:
            raise BursarError("not_isolated", "the command belongs to no session", "Start it in a session")
        return self._get(session)

    def close(self) -> None:
        """End all of them and everything below them; waits up to 0.1 s."""
        helpers = [*self._of.values(), *self._retired]
        self._of, self._retired = {}, set()
        for helper in helpers:
            helper.leave()
        until = time.monotonic() + CLOSE_S
        for helper in helpers:
            helper.close(max(0.0, until - time.monotonic()))

    def leave(self, session: Path) -> None:
        """End those of a session and everything below them; waits up to 0.1 s for each."""
        for helper in [helper for helper in (*self._of.values(), *self._retired) if helper.session == session]:
            self._of.pop(session, None)
            self._retired.discard(helper)
            helper.close()

    def retire(self, helper: Helper) -> None:
        """Have a fresh one start what comes; this one ends with the last of its commands."""
        if self._of.get(helper.session) is helper:
            del self._of[helper.session]
            self._retired.add(helper)
            self._end_retired(helper)

    def release(self, helper: Helper) -> None:
        """Note that one of its commands has ended."""
        helper.commands -= 1
        self._end_retired(helper)

    def _end_retired(self, helper: Helper) -> None:
        if helper in self._retired and not helper.commands:
            self._retired.remove(helper)
            helper.close(0)

    def _get(self, key: Path | None) -> Helper:
        helper = self._of.get(key)
        if helper is None:
            self._evict()
            helper = self._of[key] = Helper(self._sandbox, key, self._tasks)
        helper.used_at = time.monotonic()
        return helper

    def _evict(self) -> None:
        """End those that were idle longest, when there are many."""
        idle = [(helper.used_at, key) for key, helper in self._of.items() if not helper.commands]
        idle.sort(key=lambda found: found[0])
        for _, key in idle[: max(0, len(idle) - _IDLE_MAX + 1)]:
            self._of.pop(key).close(0)
