"""Finds lines in contents of any size: one running count of line breaks per MiB, and a look into a single block."""

import sys
import threading
from array import array
from bisect import bisect_left
from collections.abc import Callable
from zlib import crc32

from ..budget.content import Content

BLOCK = 1 << 20
INDEX_MAX_BYTES = 64 << 20
"""What the index of a content of 8 TB takes."""

Progress = Callable[[int, int], None]
"""Called with (bytes done, bytes in all) while something long goes on, from the thread that does it."""

_MAGIC = int.from_bytes(b"lines-02", "little")
_UNSIGNED = 2**64 - 1  # a time before 1970 is negative


class LineIndex:
    """Line breaks in the first i + 1 blocks of a content, for each whole block seen so far.

    Lines are numbered from 1 and end with a line feed; what follows the last line feed is a line too, unless empty.

    Attributes:
        counts: line breaks up to the end of each block.
        is_kept: it is on disk.
    """

    def __init__(self, counts: "array[int] | None" = None) -> None:
        self.counts = array("Q") if counts is None else counts
        self.is_kept = False
        self._lock = threading.Lock()  # two calls may read the same artifact at a time

    def start_of(
        self, content: Content, line: int, progress: Progress | None = None, *, until_block: int | None = None
    ) -> int | None:
        """Return the offset at which a line starts; None if the content, or its part before a block, has none such."""
        before = line - 1
        if before <= 0:
            return 0 if content.size else None
        self.extend(content, before, progress, until_block=until_block)
        block = bisect_left(self.counts, before)
        passed = self.counts[block - 1] if block else 0
        position = _nth_break(content.read(block * BLOCK, BLOCK), before - passed)
        if position is None or (start := block * BLOCK + position + 1) >= content.size:
            return None
        return start

    def line_at(self, content: Content, offset: int, progress: Progress | None = None) -> int:
        """Return the number of the line that the byte at `offset` belongs to."""
        block = offset // BLOCK
        self.extend(content, None, progress, until_block=block)
        passed = self.counts[block - 1] if block else 0
        return passed + content.read(block * BLOCK, offset - block * BLOCK).count(b"\n") + 1

    def lines(self, content: Content, progress: Progress | None = None) -> int:
        """Count all lines."""
        self.extend(content, None, progress)
        done = len(self.counts) * BLOCK
        rest = content.read(done, max(0, content.size - done))
        breaks = (self.counts[-1] if self.counts else 0) + rest.count(b"\n")
        last = rest[-1:] or content.read(max(0, content.size - 1), 1)
        return breaks + (last not in {b"", b"\n"})

    def is_complete(self, size: int) -> bool:
        """Tell whether every whole block of a content of `size` bytes has been seen."""
        return len(self.counts) >= size // BLOCK

    def extend(
        self, content: Content, until: int | None, progress: Progress | None = None, *, until_block: int | None = None
    ) -> None:
        """Read on until `until` line breaks, or blocks, or all whole blocks have been seen."""
        blocks = content.size // BLOCK
        stop = blocks if until_block is None else min(blocks, until_block)
        with self._lock:
            breaks = self.counts[-1] if self.counts else 0
            while len(self.counts) < stop and (until is None or breaks < until):
                done = len(self.counts)
                breaks += content.read(done * BLOCK, BLOCK).count(b"\n")
                self.counts.append(breaks)
                if progress is not None and done % 4 == 0:
                    progress(done * BLOCK, content.size)

    def dumps(self, size: int, mtime_ns: int) -> bytes:
        """Write as little-endian 64-bit numbers: the state of the content it belongs to, the counts, a checksum."""
        numbers = array("Q", [_MAGIC, size, mtime_ns & _UNSIGNED]) + self.counts
        if sys.byteorder == "big":
            numbers.byteswap()
        data = numbers.tobytes()
        return data + crc32(data).to_bytes(8, "little")


def loads(data: bytes, size: int, mtime_ns: int) -> LineIndex | None:
    """Read an index; None if it is not whole or belongs to another state of the content."""
    data, checksum = data[:-8], data[-8:]
    if len(data) % 8 or checksum != crc32(data).to_bytes(8, "little"):
        return None
    numbers = array("Q")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    if numbers[:3].tolist() != [_MAGIC, size, mtime_ns & _UNSIGNED] or len(numbers) - 3 != size // BLOCK:
        return None
    return LineIndex(numbers[3:])


def _nth_break(block: bytes, nth: int) -> int | None:
    """Return the position of the nth line feed (from 1), by halving: fast also in a block of nothing but line feeds."""
    low, high = 0, len(block)
    while high - low > 1:
        middle = (low + high) // 2
        left = block.count(b"\n", low, middle)
        if nth <= left:
            high = middle
        else:
            nth -= left
            low = middle
    return low if nth == 1 and block[low:high] == b"\n" else None
