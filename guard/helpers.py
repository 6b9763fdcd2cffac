"""The server's side of the helper processes that start commands: one for each session that is kept apart."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BursarError
from .command import CommandSpec
from .environment import helper_environment
from .helper import python
from .zygote.limits import tasks_of
from .zygote.memory_file import memory_file

if TYPE_CHECKING:
    from .sandbox.sandbox import Sandbox
    from .sandbox.session_sandbox import Cell

if sys.platform == "win32":
    raise ImportError("Windows has job objects instead")

_IDLE_MAX = 16
"""Helper processes kept for sessions that run nothing just now; each takes some 10 MB."""

_CLOSE_S = 0.1


class Zygote:
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
        self._orders: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_gone(self) -> bool:
        """Whether it has ended, or is about to, without being asked."""
        try:
            return self._orders is not None and not self._orders.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def warm(self) -> None:
        """Start it unless it runs.

        Raises:
            BursarError: not_isolated; its walls cannot be prepared.
            OSError: the system refuses a further process or open file.
        """
        if self._orders is not None:
            return
        with ExitStack() as undo:
            if self._sandbox is not None and self.session is not None:
                self._cell = self._sandbox.cell(self.session, self._tasks)
                undo.callback(self._cell.leave)
            ours, theirs = socket.socketpair()
            undo.callback(ours.close)
            with theirs:
                self._process = self._start(theirs.fileno())
            undo.pop_all()
        ours.setblocking(False)
        self._orders = ours

    def confined(self, order: CommandSpec) -> CommandSpec:
        """Return the order as it is carried out in here."""
        cell = self._cell
        if cell is None:
            return order
        env = {**order.env, **{name: value for name, value in cell.environment.items() if name not in order.keep_env}}
        return replace(order, argv=[*cell.command_prefix, *order.argv], env=env)

    def fork(self, descriptors: list[int]) -> None:
        """Have it fork a keeper with these descriptors.

        Raises:
            BursarError: busy; it does not keep up.
        """
        self._send(b"F00000000", descriptors)

    def wake_keeper(self, pid: int) -> None:
        """Have it let a keeper go on that its command may have stopped."""
        self._send(b"C%08d" % pid, [])

    def end_keeper(self, pid: int) -> None:
        """Have it kill a keeper that does not answer, and what that one kept."""
        self._send(b"K%08d" % pid, [])

    def leave(self) -> None:
        """Have it end, and every process below it, without waiting for that."""
        orders, self._orders = self._orders, None
        if orders is not None:
            orders.close()

    def close(self, wait_s: float = _CLOSE_S) -> None:
        """End it and every process below it; waits up to `wait_s`, and then sees it gone without waiting here."""
        self.leave()
        process, self._process = self._process, None
        cell, self._cell = self._cell, None
        if process is None:
            return
        try:
            process.wait(wait_s)
        except subprocess.TimeoutExpired:
            threading.Thread(target=_see_out, args=[process, cell], name="bursar-helper", daemon=True).start()
        else:
            _leave(cell)

    def _start(self, orders: int) -> "subprocess.Popen[bytes]":
        cell = self._cell
        server = os.getpid() if cell is None or cell.sees_server else 0
        # Not among its arguments, which its commands can see.
        told = memory_file(json.dumps(None if cell is None else cell.walls).encode())
        try:
            return subprocess.Popen(
                [*([] if cell is None else cell.prefix), *python("zygote", str(orders), str(server))],
                stdin=told,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # whoever reads the server's to its end does not wait for a command
                pass_fds=[orders, *([] if cell is None else [cell.private.fd])],
                cwd="/",
                env=helper_environment(),
                start_new_session=True,
            )
        finally:
            os.close(told)

    def _send(self, message: bytes, descriptors: list[int]) -> None:
        for _ in range(2):
            self.warm()
            assert self._orders is not None  # noqa: S101 - warm() has just made it
            try:
                socket.send_fds(self._orders, [message], descriptors)
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


def _see_out(process: "subprocess.Popen[bytes]", cell: "Cell | None") -> None:
    process.wait()
    _leave(cell)


def _leave(cell: "Cell | None") -> None:
    if cell is not None:
        cell.leave()


class Helpers:
    """The helper processes of a server: one without walls, or one for each session."""

    def __init__(self, sandbox: "Sandbox | None", processes: int) -> None:
        self._sandbox = sandbox
        self._tasks = tasks_of(processes) if processes else 0
        self._of: dict[Path | None, Zygote] = {}
        self._retired: set[Zygote] = set()

    def warm(self) -> None:
        """Start the one that needs no session."""
        if self._sandbox is None:
            self._get(None).warm()

    async def of(self, session: Path | None) -> Zygote:
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
        zygotes = [*self._of.values(), *self._retired]
        self._of, self._retired = {}, set()
        for zygote in zygotes:
            zygote.leave()
        until = time.monotonic() + _CLOSE_S
        for zygote in zygotes:
            zygote.close(max(0.0, until - time.monotonic()))

    def leave(self, session: Path) -> None:
        """End those of a session and everything below them; waits up to 0.1 s for each."""
        for zygote in [zygote for zygote in (*self._of.values(), *self._retired) if zygote.session == session]:
            self._of.pop(session, None)
            self._retired.discard(zygote)
            zygote.close()

    def retire(self, zygote: Zygote) -> None:
        """Have a fresh one start what comes; this one ends with the last of its commands."""
        if self._of.get(zygote.session) is zygote:
            del self._of[zygote.session]
            self._retired.add(zygote)
            self._end_retired(zygote)

    def release(self, zygote: Zygote) -> None:
        """Note that one of its commands has ended."""
        zygote.commands -= 1
        self._end_retired(zygote)

    def _end_retired(self, zygote: Zygote) -> None:
        if zygote in self._retired and not zygote.commands:
            self._retired.remove(zygote)
            zygote.close(0)

    def _get(self, key: Path | None) -> Zygote:
        zygote = self._of.get(key)
        if zygote is None:
            self._evict()
            zygote = self._of[key] = Zygote(self._sandbox, key, self._tasks)
        zygote.used_at = time.monotonic()
        return zygote

    def _evict(self) -> None:
        """End those that were idle longest, when there are many."""
        idle = [(zygote.used_at, key) for key, zygote in self._of.items() if not zygote.commands]
        idle.sort(key=lambda found: found[0])
        for _, key in idle[: max(0, len(idle) - _IDLE_MAX + 1)]:
            self._of.pop(key).close(0)
