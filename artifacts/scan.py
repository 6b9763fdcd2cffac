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

WATCH_HEAD = 32 << 20
WATCH_TAIL = 16 << 20
"""How much of the beginning and of the end is watched; watching all would take longer than writing it."""


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
        self._watched = 0

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
        if self._watched < WATCH_HEAD:
            self._look(data[: WATCH_HEAD - self._watched])
        start = 0
        while (room := BLOCK - self.size % BLOCK) <= len(data) - start:
            self._breaks += data.count(b"\n", start, start + room)
            self._counts.append(self._breaks)
            self.size += room
            start += room
        self._breaks += data.count(b"\n", start)
        self.size += len(data) - start
        self._last = data[-1:]

    def notable(self, read: Callable[[int, int], bytes]) -> "tuple[Notables | None, int]":
        """Tell what stands out, once all has been fed.

        Args:
            read: reads the content, for its end: (offset, length) -> bytes.

        Returns:
            What stands out, and how many bytes were watched for it; less than all means beginning and end.
        """
        if self._watch is None:
            return None, 0
        found = self._watch.result()
        start = max(WATCH_HEAD, (self.size - WATCH_TAIL) // BLOCK * BLOCK)
        if start >= self.size:
            return found, self.size
        end = _new_watch()
        offset = start
        breaks = self._counts[start // BLOCK - 1]
        while offset < self.size:
            block = read(offset, min(BLOCK, self.size - offset))
            if not block:
                break
            end.feed(block, breaks + 1)
            breaks += block.count(b"\n")
            offset += len(block)
        return found + end.result(), self._watched + offset - start

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
        self._watched += len(data)


def scan_of(descriptor: int) -> Scan:
    """Scan all that an open file holds."""
    scan = Scan()
    while block := read_at(descriptor, scan.size, BLOCK):
        scan.feed(block)
    return scan


def _new_watch() -> "Watch":
    from ..budget.notable import Watch

    return Watch()
