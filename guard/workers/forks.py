"""Workers on Linux and macOS: the server's side of the helper process that forks one for each call."""

import asyncio
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..environment import worker_environment
from ..fork_client import CLOSE_S, ForkClient, numbers
from ..forkserver import wire
from .answers import EndedError, read_answer, shutting_down
from .worker import MAX_REPLY_BYTES

if sys.platform == "win32":
    raise ImportError("Windows cannot fork")

_PART_BYTES = 256 * 1024
_STATUS_S = 2.0
"""How long the word is waited for of how a worker ended that gave no answer."""

_NOT_FORKED, _GONE = 1 << 16, 1 << 17
"""Where the exit status of a worker would stand, if the system refused to fork, or the fork server died before it could
say."""


class _Forker(ForkClient):
    """The server's hold on one fork server, from its start to its end."""

    def __init__(self, packages: Sequence[str], hidden: Sequence[Path]) -> None:
        self.loop = asyncio.get_running_loop()
        self.is_alive = True
        self._endings: dict[int, asyncio.Future[int]] = {}
        self._inbox = wire.Inbox()
        super().__init__(
            # -P: the working directory belongs to the user's project and must not be imported from.
            [sys.executable, "-P", "-m", "bursar.guard.workers.forkserver"],
            {"packages": list(packages), "hidden": [str(path) for path in hidden]},
            # Fewer heaps, each of which would count 64 MiB of address space against the limit; and a process that forks
            # must have no threads.
            worker_environment() | {"MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        self.loop.add_reader(self._connection, self._hear)

    def fork(self, module: str, control: socket.socket) -> int:
        """Have it fork a worker; return the number by which both know it.

        Raises:
            OSError: it is gone, or does not keep up.
        """
        return self._order("fork", module, [control.fileno()])

    def end(self, number: int) -> None:
        """Have it kill the worker if it still runs; nobody will ask for its status any more."""
        self._endings.pop(number, None)
        with suppress(OSError):
            self.send({"signal": signal.SIGKILL, "number": number})

    async def prepare(self, module: str) -> bool:
        """Have it import a module for all workers to come; tell whether that worked."""
        try:
            number = self._order("prepare", module)
        except OSError:
            return False
        try:
            return await self._endings[number] == 0
        finally:
            self._endings.pop(number, None)

    async def status(self, number: int) -> int | None:
        """Return how a worker ended, if that is told in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_STATUS_S):
                return await self._endings[number]
        return None

    def end_all(self) -> None:
        """End it and every worker; waits up to 0.1 s."""
        if not self._lose() and self._process.poll() is None:
            # It is in the middle of an import. Its workers die with it.
            self._process.kill()

    def _order(self, kind: str, module: str, files: Sequence[int] = ()) -> int:
        number = next(numbers)
        self.send({kind: number, "module": module}, files)
        self._endings[number] = self.loop.create_future()
        return number

    def _hear(self) -> None:
        try:
            part = self._connection.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            self._lose(0)
        for message in self._inbox.add(part):
            self._note(message["ended"], _NOT_FORKED if message["status"] is None else message["status"])

    def _note(self, number: int, status: int) -> None:
        ending = self._endings.get(number)
        if ending is not None and not ending.done():
            ending.set_result(status)

    def _lose(self, wait_s: float = CLOSE_S) -> bool:
        """Let go of it; tell whether it has ended."""
        if not self.is_alive:
            return True
        self.is_alive = False
        if not self.loop.is_closed():
            self.loop.remove_reader(self._connection)
            for number in self._endings:
                self._note(number, _GONE)
        return self.close(wait_s)


class Forks:
    """Has a worker forked for each call; starts the helper process when it is needed, and again when it is gone."""

    def __init__(self, packages: Sequence[str], hidden: Sequence[Path]) -> None:
        self._packages = packages
        self._hidden = hidden
        self._forker: _Forker | None = None
        self._closed = False

    async def warm(self, module: str) -> None:
        """Load a module for all calls to come."""
        await self._running().prepare(module)

    async def ask(self, module: str, request: bytes, begun: Callable[[], None]) -> dict[str, Any]:
        """Return what a new worker answers; `begun` is called when it begins to work.

        Raises:
            EndedError: it ended instead.
        """
        for _ in range(2):
            forker = self._running()
            answer = await self._asked(forker, module, request, begun)
            if answer is not None:
                return answer
        raise EndedError("could not be started", "Install bursar anew; `bursar doctor` tells whether it works")

    async def _asked(
        self, forker: _Forker, module: str, request: bytes, begun: Callable[[], None]
    ) -> dict[str, Any] | None:
        """Return the answer; None when the fork server went away before the work began."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours:
            with theirs:
                try:
                    number = forker.fork(module, theirs)
                except BlockingIOError:
                    raise EndedError("could not be started in time", "Try again in a moment") from None
                except OSError:
                    forker.end_all()
                    return None
            try:
                has_begun, body = await _talk(ours, request, begun)
                if body is not None:
                    return await read_answer(body)
                status = await forker.status(number)
            finally:
                forker.end(number)
        if status == _GONE and not has_begun:
            return None
        if status == _NOT_FORKED:
            raise EndedError("could not be started", "Make room: the system has no process or memory for it")
        raise EndedError.by(None if status == _GONE else status)

    def _running(self) -> _Forker:
        if self._closed:
            raise shutting_down()
        forker = self._forker
        if forker is not None and forker.loop is not asyncio.get_running_loop():
            forker.end_all()
        if forker is None or not forker.is_alive:
            # It costs some 3 ms until the new process runs on its own.
            forker = self._forker = _Forker(self._packages, self._hidden)
        return forker

    def close(self) -> None:
        """End everything; see `Workers.close`."""
        self._closed = True
        if self._forker is not None:
            self._forker.end_all()


async def _talk(control: socket.socket, request: bytes, begun: Callable[[], None]) -> tuple[bool, bytes | None]:
    """Send the request; return whether the worker began, and its answer if it gave a whole one."""
    has_begun = False
    with suppress(OSError, EOFError):
        await asyncio.get_running_loop().sock_sendall(control, request)
        await _message(control)
        has_begun = True
        begun()
        return True, await _message(control)
    return has_begun, None


async def _message(control: socket.socket) -> bytes:
    """Return the next message.

    Raises:
        EOFError: there is none, or not all of it.
        EndedError: it is too long.
    """
    length = wire.length_of(await _exactly(control, wire.HEAD_BYTES))
    if length > MAX_REPLY_BYTES:
        raise EndedError("gave too long an answer")
    return await _exactly(control, length)


async def _exactly(control: socket.socket, length: int) -> bytes:
    loop = asyncio.get_running_loop()
    data = bytearray()
    while len(data) < length:
        part = await loop.sock_recv(control, min(length - len(data), _PART_BYTES))
        if not part:
            raise EOFError
        data += part
    return bytes(data)
