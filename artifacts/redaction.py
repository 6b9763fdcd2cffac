"""Takes credentials out of what is stored: in place, so that sizes, lines and offsets stay what they were."""

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from .folder import APPEND, read_at
from .index import BLOCK
from .records import Fact

if TYPE_CHECKING:
    from ..budget.notable import Notables

_HEAD_BYTES = 8 << 10
"""What has a NUL here and begins as a known format is binary: a picture whose bytes were changed would be a broken one.
A log with a NUL in it is none."""


class _File:
    """An open file as a content."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self.size = size

    def read(self, offset: int, length: int) -> bytes:
        length = min(length, self.size - offset)
        return read_at(self._descriptor, offset, length) if length > 0 else b""


def in_place(descriptor: int, size: int) -> bool:
    """Blank the credentials in the first `size` bytes of a file; tell whether there were any.

    Raises:
        OSError: the file cannot be written.
    """
    from ..budget.formats import recognise
    from ..budget.redact import Redacted

    original = _File(descriptor, size)
    head = original.read(0, _HEAD_BYTES)
    if b"\0" in head and recognise(head):
        return False
    redacted = Redacted(original)
    waiting: tuple[int, bytes] | None = None
    found = False
    for offset in range(0, size + BLOCK, BLOCK):
        block = redacted.read(offset, BLOCK)
        if waiting is not None:  # not before the next block was judged by what stood here: a credential may lie in both
            _overwrite(descriptor, *waiting)
            found = True
        waiting = (offset, block) if block != original.read(offset, BLOCK) else None
    return found


def facts(given: Mapping[str, Fact] | None) -> Mapping[str, Fact] | None:
    """Replace the credentials in short values."""
    from ..budget.redact import redacted

    if given is None:
        return None
    return {name: redacted(value) if isinstance(value, str) else value for name, value in given.items()}


def notables(given: "Notables") -> "Notables":
    """Replace the credentials in remembered lines; of one that was cut off, the last word may be half of one."""
    from ..budget.redact import redacted

    def line(text: str) -> str:
        return redacted(text.rpartition(" ")[0] + " …" if text.endswith("…") else text)

    lines = tuple((number, line(text)) for number, text in given.lines)
    return replace(given, lines=lines, tests=tuple(map(line, given.tests)))


def _overwrite(descriptor: int, offset: int, data: bytes) -> None:
    """Write at an offset, also where a descriptor appends: Linux would append there whatever the offset."""
    if sys.platform == "win32":
        os.lseek(descriptor, offset, os.SEEK_SET)
        os.write(descriptor, data)
        return
    import fcntl

    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, flags & ~APPEND)
    try:
        while data:
            written = os.pwrite(descriptor, data, offset)
            offset, data = offset + written, data[written:]
    finally:
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags)
