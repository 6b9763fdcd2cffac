"""Scans a file while a process still writes it, so that nearly all is known when the process ends."""

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256

from .folder import read_at
from .index import BLOCK
from .scan import Scan

_PIPELINE_FROM = 32 * BLOCK
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
        self._wait()
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None

    def _wait(self) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None


class Follower:
    """Reads a growing file in a thread, always a little behind its writer."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._digest = _Pipelined()
        self.scan = Scan(self._digest)
        self._ending = threading.Event()
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="bursar-follow", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def finish(self) -> Scan:
        """Read what is left and stop; the writer must have ended.

        Raises:
            OSError: the file could not be read.
        """
        self._ending.set()
        self._thread.join()
        self._digest.close()
        if self._failure is not None:
            raise self._failure
        return self.scan

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
                    self._ending.wait(rest)
                    rest = min(_REST_MAX_S, rest * 1.5)
        except OSError as error:
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
        return self.scan.size > before
