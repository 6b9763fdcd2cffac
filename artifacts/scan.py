"""What is learned of a content while it streams past once: hash, lines, and lines that stand out."""

import hashlib
from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from .folder import read_at
from .index import BLOCK, LineIndex

if TYPE_CHECKING:
    from ..budget.notable import Notables, Watch

WATCH_FROM = 64 << 10
"""Contents up to this size are not watched: whoever shows them can look at all of them."""


class Digest(Protocol):
    """A hash that takes blocks."""

    def update(self, data: "bytes | bytearray | memoryview", /) -> None:
        """Take the next block; it may be kept until the next call."""
        ...

    def hexdigest(self) -> str:
        """Return the hash of all blocks so far."""
        ...


class Scan:
    """Takes a content's bytes in order."""

    def __init__(self, digest: Digest | None = None) -> None:
        self.size = 0
        self._counts = array("Q")
        self._breaks = 0
        self._last = b""
        self._digest: Digest = hashlib.sha256() if digest is None else digest
        self._waiting: list[bytes] = []
        self._watch: Watch | None = None

    @property
    def sha256(self) -> str:
        """Hash of all bytes so far, in hexadecimal."""
        return self._digest.hexdigest()

    @property
    def lines(self) -> int:
        """Lines so far, an unfinished last one included."""
        return self._breaks + (self._last not in {b"", b"\n"})

    def index(self) -> LineIndex:
        """Return the line index of all bytes so far."""
        return LineIndex(self._counts[:])

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the content."""
        if not data:
            return
        self._digest.update(data)
        self._look(data)
        start = 0
        while (room := BLOCK - self.size % BLOCK) <= len(data) - start:
            self._breaks += data.count(b"\n", start, start + room)
            self._counts.append(self._breaks)
            self.size += room
            start += room
        self._breaks += data.count(b"\n", start)
        self.size += len(data) - start
        self._last = data[-1:]

    def rested(self) -> None:
        """Note that all there is so far has been fed, and whoever writes takes time."""
        if self._watch is not None:
            self._watch.rested()

    def notable(self, read: Callable[[int, int], bytes]) -> "tuple[Notables | None, int]":
        """Tell what stands out, once all has been fed.

        Args:
            read: reads the content, for its end: (offset, length) -> bytes.

        Returns:
            What stands out, and how many bytes were looked at whole for it; less than all means beginning and end, with
            samples of what is between.
        """
        watch = self._watch
        if watch is None:
            return None, 0
        if watch.stopped is not None:
            self._look_at_end(watch, *watch.stopped, read)
        return watch.result(), watch.seen_bytes

    def _look_at_end(self, watch: "Watch", offset: int, line: int, read: Callable[[int, int], bytes]) -> None:
        """Look at the end, a quarter as much as the beginning is, or all that is left."""
        start = self.size - offset // 4
        if start > offset:
            blocks = start // BLOCK
            passed = self._counts[blocks - 1] if blocks else 0
            cut, ended, _ = read(start, min(BLOCK, self.size - start)).partition(b"\n")
            line = passed + read(blocks * BLOCK, start % BLOCK).count(b"\n") + 1 + len(ended)
            offset = start + len(cut) + len(ended)
        watch.look_again(offset)
        while block := read(offset, min(BLOCK - offset % BLOCK, self.size - offset)):
            watch.feed(block, line)
            line += block.count(b"\n")
            offset += len(block)

    def _look(self, data: bytes) -> None:
        """Watch the beginning; hold the first bytes back until the content turns out to be large enough for it."""
        if self._watch is None:
            self._waiting.append(data)
            if self.size + len(data) < WATCH_FROM:
                return
            self._watch = _new_watch()
            data = b"".join(self._waiting)
            self._waiting.clear()
            self._watch.feed(data, 1)
        else:
            self._watch.feed(data, self._breaks + 1)


def scan_of(descriptor: int) -> Scan:
    """Scan all that an open file holds."""
    scan = Scan()
    while block := read_at(descriptor, scan.size, BLOCK):
        scan.feed(block)
    return scan


def _new_watch() -> "Watch":
    from ..budget.notable import Watch

    return Watch()
