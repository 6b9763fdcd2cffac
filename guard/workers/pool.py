"""Workers on Windows, which cannot fork: a few processes that go on from call to call, unconfined."""

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

import anyio
import anyio.to_thread

from ..environment import worker_environment
from ..forkserver import wire
from .answers import EndedError, read_answer, shutting_down
from .worker import MAX_REPLY_BYTES

_MAX_CALLS_PER_PROCESS = 500


class Pool:
    """Keeps processes warm; one that is too slow, is cancelled or crashes is killed, and replaced by the next call."""

    def __init__(self, packages: Sequence[str], size: int) -> None:
        self._packages = packages
        self._threads = anyio.CapacityLimiter(size + 2)
        self._idle: list[_Process] = []
        self._busy: set[_Process] = set()
        self._closed = False

    async def warm(self, module: str) -> None:
        """Load a module into one of the processes."""
        wanted = {"call": "bursar.guard.workers.worker:prepare", "args": {"modules": [module]}}
        await self.ask(module, wire.packed(wanted), lambda: None)

    async def ask(self, module: str, request: bytes, begun: Callable[[], None]) -> dict[str, Any]:
        """Return what a process answers; `begun` is called when it is asked.

        Raises:
            EndedError: it ended instead.
        """
        process = self._take()
        body: bytes | None = None
        begun()
        try:
            body = await anyio.to_thread.run_sync(process.ask, request, abandon_on_cancel=True, limiter=self._threads)
            if body is None:
                raise EndedError.by(process.popen.returncode)
            return await read_answer(body)
        finally:
            self._busy.discard(process)
            if body is None or self._closed or process.calls >= _MAX_CALLS_PER_PROCESS:
                process.retire()
            else:
                self._idle.append(process)

    def close(self) -> None:
        """Kill every process; see `Workers.close`."""
        self._closed = True
        for process in [*self._idle, *self._busy]:
            process.kill()
        for process in self._idle:
            process.reap()
        self._idle.clear()

    def _take(self) -> "_Process":
        if self._closed:
            raise shutting_down()
        while self._idle:
            process = self._idle.pop()
            if process.alive():
                break
            process.reap()
        else:
            process = _start(self._packages)
        self._busy.add(process)
        return process


@dataclass(slots=True, eq=False)
class _Process:
    """One worker process and its two pipes; asked by one thread at a time, killed by any."""

    popen: "subprocess.Popen[bytes]"
    requests: BinaryIO
    replies: BinaryIO
    calls: int = 0
    reaping: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, request: bytes) -> bytes | None:
        """Send a request and wait for its answer; None when the process ended instead. Blocks."""
        self.calls += 1
        try:
            self.requests.write(request)
            self.requests.flush()
            body = wire.read(self.replies, MAX_REPLY_BYTES)
        except (OSError, ValueError):
            body = None
        if body is None:
            self.kill()
            self.reap()
        return body

    def alive(self) -> bool:
        return self.popen.poll() is None

    def kill(self) -> None:
        """End the process at once; a thread that waits for its answer sees the end of the pipe, and reaps it."""
        self.popen.kill()

    def retire(self) -> None:
        """End the process, and see it gone without waiting here."""
        self.kill()
        threading.Thread(target=self.reap, name="bursar-reap", daemon=True).start()

    def reap(self) -> None:
        """Wait for the end of the process and close the pipes. Blocks for as long as the kernel needs."""
        with self.reaping:
            self.popen.wait()
            for pipe in (self.requests, self.replies):
                # A broken pipe still held a request that nobody will read.
                with suppress(OSError):
                    pipe.close()


def _start(packages: Sequence[str]) -> _Process:
    popen = subprocess.Popen(
        # -P: the working directory belongs to the user's project and must not be imported from.
        [sys.executable, "-P", "-m", "bursar.guard.workers.worker", "bursar", *packages],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=worker_environment(),
        # The user's Ctrl-C is for the server, which ends its workers itself.
        creationflags=subprocess.CREATE_NEW_PROCESS_GROUP if sys.platform == "win32" else 0,
    )
    return _Process(popen, cast("BinaryIO", popen.stdin), cast("BinaryIO", popen.stdout))
