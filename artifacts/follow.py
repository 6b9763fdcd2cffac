"""Scans a file while a process still writes it, so that nearly all is known when the process ends."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256

from .folder import read_at
from .index import BLOCK
from .scan import Scan, scan_of

_PIPELINE_FROM = 4 * BLOCK
_REST_MIN_S, _REST_MAX_S = 0.01, 0.5


class _Pipelined:
    """A hash computed in a thread of its own: hashing is what takes longest, and it lets other threads run."""

    def __init__(self) -> None:
        self._hash = sha256()
        self._pool: ThreadPoolExecutor | None = None
        self._pending: Future[None] | None = None
        self._size = 0

    def update(self, data: bytes | bytearray | memoryview, /) -> None:
        """Take the next block; returns when the one before is done."""
        self._size += len(data)
        if self._size < _PIPELINE_FROM:
            self._hash.update(data)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "bursar-hash")
        self._wait()
        self._pending = self._pool.submit(self._hash.update, data)

    def hexdigest(self) -> str:
        """Return the hash of all blocks so far."""
        self._wait()
        return self._hash.hexdigest()

    def close(self) -> None:
        """End the thread."""
        try:
            self._wait()
        finally:
            if self._pool is not None:
                self._pool.shutdown(wait=False)
                self._pool = None

    def _wait(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()


class Follower:
    """Reads a growing file in a thread, always a little behind its writer; calls `grown` there with every MiB."""

    def __init__(self, descriptor: int, grown: Callable[[], None]) -> None:
        self._grown = grown
        self._descriptor = descriptor
        self._digest = _Pipelined()
        self.scan = Scan(self._digest)
        self._ending = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="bursar-follow", daemon=True)

    @property
    def size(self) -> int:
        """How many bytes the file has by now."""
        try:
            return os.fstat(self._descriptor).st_size
        except OSError:  # it was closed meanwhile
            return self.scan.size

    def start(self) -> None:
        """Begin to follow; where the system gives no thread, `finish` reads it all."""
        try:
            self._thread.start()
        except RuntimeError as error:
            self._failure = error

    def finish(self) -> Scan:
        """Read what is left and stop; the writer must have ended.

        If following broke off for want of memory or threads, all of it is read anew: half a scan is never returned.

        Raises:
            OSError: the file could not be read.
        """
        self._ending.set()
        if self._thread.ident is not None:
            self._thread.join()
        try:
            self._digest.close()
        except Exception as error:  # noqa: BLE001 - the last block may not have been hashed
            self._failure = self._failure or error
        if isinstance(self._failure, OSError):
            raise self._failure
        return self.scan if self._failure is None else scan_of(self._descriptor)

    def _run(self) -> None:
        rest = _REST_MIN_S
        try:
            while True:
                ending = self._ending.is_set()
                if self._catch_up():
                    rest = _REST_MIN_S
                elif ending:
                    return
                else:
                    self.scan.rested()
                    self._ending.wait(rest)
                    rest = min(_REST_MAX_S, rest * 1.5)
        except Exception as error:  # noqa: BLE001 - whatever it is, `finish` has to know
            self._failure = error

    def _catch_up(self) -> bool:
        """Scan what was added; what the process took back is scanned anew from the start."""
        if os.fstat(self._descriptor).st_size < self.scan.size:
            self._digest.close()
            self._digest = _Pipelined()
            self.scan = Scan(self._digest)
        before = self.scan.size
        while block := read_at(self._descriptor, self.scan.size, BLOCK - self.scan.size % BLOCK):
            self.scan.feed(block)
            self._grown()
        return self.scan.size > before
