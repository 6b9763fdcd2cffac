"""Workers on Linux and macOS: the server's side of the helper process that forks one for each call."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..environment import bytecode_environment, helper_environment
from .wire import BEGUN, ENDING, HEADER, NOT_FORKED
from .worker import MAX_REPLY_BYTES
from .workers import ENVIRONMENT, EndedError, read_answer, shutting_down

if sys.platform == "win32":
    raise ImportError("Windows cannot fork")

_PART_BYTES = 256 * 1024
_STATUS_S = 2.0
"""How long the word is waited for of how a worker ended that gave no answer."""

_GONE = 1 << 17
"""Where the exit status of a worker would stand, if the zygote died before it could say."""


class _Zygote:
    """The server's hold on one helper process, from its start to its end."""

    def __init__(self, packages: Sequence[str], hidden: Sequence[Path]) -> None:
        self.loop = asyncio.get_running_loop()
        self.is_alive = True
        self._number = 0
        self._endings: dict[int, asyncio.Future[int]] = {}
        self._heard = b""
        self._orders, theirs = socket.socketpair()
        with theirs:
            self._process = _start(theirs, packages, hidden)
        self._orders.setblocking(False)
        self.loop.add_reader(self._orders, self._hear)

    def fork(self, module: str, control: socket.socket) -> int:
        """Have it fork a worker; return the number by which both know it.

        Raises:
            OSError: it is gone, or does not keep up.
        """
        return self._order(b"F", module, [control.fileno()])

    def end(self, number: int) -> None:
        """Have it kill the worker if it still runs; nobody will ask for its status any more."""
        self._endings.pop(number, None)
        with suppress(OSError):
            self._orders.send(HEADER.pack(b"K", number, 0))

    async def prepare(self, module: str) -> bool:
        """Have it import a module for all workers to come; tell whether that worked."""
        try:
            number = self._order(b"W", module, [])
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

    def close(self) -> None:
        """End it and every worker; waits up to 0.1 s."""
        self._lose()
        try:
            self._process.wait(0.1)
        except subprocess.TimeoutExpired:
            # It is in the middle of an import. Its workers die with it.
            self._process.kill()
            self._reap()

    def _order(self, kind: bytes, module: str, descriptors: list[int]) -> int:
        self._number += 1
        name = module.encode()
        message = HEADER.pack(kind, self._number, len(name)) + name
        socket.send_fds(self._orders, [message], descriptors)
        self._endings[self._number] = self.loop.create_future()
        return self._number

    def _hear(self) -> None:
        try:
            part = self._orders.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            self._lose()
            self._reap()
            return
        self._heard += part
        whole = len(self._heard) - len(self._heard) % ENDING.size
        for number, status in ENDING.iter_unpack(self._heard[:whole]):
            self._note(number, status)
        self._heard = self._heard[whole:]

    def _note(self, number: int, status: int) -> None:
        ending = self._endings.get(number)
        if ending is not None and not ending.done():
            ending.set_result(status)

    def _reap(self) -> None:
        """See the process gone without waiting here."""
        threading.Thread(target=self._process.wait, name="bursar-reap", daemon=True).start()

    def _lose(self) -> None:
        if not self.is_alive:
            return
        self.is_alive = False
        if not self.loop.is_closed():
            self.loop.remove_reader(self._orders)
            for number in self._endings:
                self._note(number, _GONE)
        self._orders.close()


class Forks:
    """Has a worker forked for each call; starts the helper process when it is needed, and again when it is gone."""

    def __init__(self, packages: Sequence[str], hidden: Sequence[Path]) -> None:
        self._packages = packages
        self._hidden = hidden
        self._zygote: _Zygote | None = None
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
            zygote = self._running()
            answer = await self._asked(zygote, module, request, begun)
            if answer is not None:
                return answer
        raise EndedError("could not be started", "Install bursar anew; `bursar doctor` tells whether it works")

    async def _asked(
        self, zygote: _Zygote, module: str, request: bytes, begun: Callable[[], None]
    ) -> dict[str, Any] | None:
        """Return the answer; None when the zygote went away before the work began."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours:
            with theirs:
                try:
                    number = zygote.fork(module, theirs)
                except BlockingIOError:
                    raise EndedError("could not be started in time", "Try again in a moment") from None
                except OSError:
                    zygote.close()
                    return None
            try:
                has_begun, body = await _talk(ours, request, begun)
                if body is not None:
                    return await read_answer(body)
                status = await zygote.status(number)
            finally:
                zygote.end(number)
        if status == _GONE and not has_begun:
            return None
        if status == NOT_FORKED:
            raise EndedError("could not be started", "Make room: the system has no process or memory for it")
        raise EndedError(_epitaph(status))

    def _running(self) -> _Zygote:
        if self._closed:
            raise shutting_down()
        zygote = self._zygote
        if zygote is not None and zygote.loop is not asyncio.get_running_loop():
            zygote.close()
        if zygote is None or not zygote.is_alive:
            # It costs some 3 ms until the new process runs on its own.
            zygote = self._zygote = _Zygote(self._packages, self._hidden)
        return zygote

    def close(self) -> None:
        """End everything; see `Workers.close`."""
        self._closed = True
        if self._zygote is not None:
            self._zygote.close()


async def _talk(control: socket.socket, request: bytes, begun: Callable[[], None]) -> tuple[bool, bytes | None]:
    """Send the request; return whether the worker began, and its answer if it gave a whole one."""
    loop = asyncio.get_running_loop()
    has_begun = False
    with suppress(OSError):
        await loop.sock_sendall(control, request)
        has_begun = await loop.sock_recv(control, 1) == BEGUN
        if has_begun:
            begun()
        head = await _exactly(control, 4) if has_begun else b""
        length = int.from_bytes(head, "big")
        if length > MAX_REPLY_BYTES:
            raise EndedError("gave too long an answer")
        if len(head) == 4:
            body = await _exactly(control, length)
            return True, body if len(body) == length else None
    return has_begun, None


async def _exactly(control: socket.socket, length: int) -> bytes:
    """Return so many bytes, or those before the end."""
    loop = asyncio.get_running_loop()
    data = bytearray()
    while len(data) < length:
        part = await loop.sock_recv(control, min(length - len(data), _PART_BYTES))
        if not part:
            break
        data += part
    return bytes(data)


def _start(orders: socket.socket, packages: Sequence[str], hidden: Sequence[Path]) -> "subprocess.Popen[bytes]":
    environment = helper_environment(ENVIRONMENT)
    # Fewer heaps, each of which would count 64 MiB of address space against the limit; and a process that forks must
    # have no threads.
    environment |= {"MALLOC_ARENA_MAX": "2", "PYTHONUTF8": "1"} | bytecode_environment()
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    told = (json.dumps(list(packages)), json.dumps([str(path) for path in hidden]))
    return subprocess.Popen(
        # -P: the working directory belongs to the user's project and must not be imported from.
        [sys.executable, "-P", "-m", "bursar.guard.workers.zygote", str(orders.fileno()), str(os.getpid()), *told],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[orders.fileno()],
        env=environment,
        # The user's Ctrl-C is for the server, which ends its workers itself.
        start_new_session=True,
    )


def _epitaph(status: int | None) -> str:
    """Say how a worker ended, in a few words."""
    if status is None or status == _GONE:
        return "was stopped"
    return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
