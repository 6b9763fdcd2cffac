"""Messages of another server as they arrive: short ones in memory, long ones in a file, none beyond the limit."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

HELD_BYTES = 1 << 20
"""A longer message goes into a file."""

MOST_BYTES = 256 * 1024**2
"""What a longer message has beyond is dropped, and that is told."""


_LEFT_S = 86_400.0
"""No message is on its way for a day."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message as it was sent.

    Attributes:
        data: the message, if it is short.
        path: the file that it is in, if it is long; whoever takes the frame removes it.
        size: its bytes, those that were dropped included.
        is_cut: whether its end is missing.
    """

    data: bytes = b""
    path: Path | None = None
    size: int = 0
    is_cut: bool = False

    def drop(self) -> None:
        """Remove the file, if there is one."""
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)


class Frames:
    """Cuts a stream into the lines that messages are."""

    def __init__(self, directory: Path, most_bytes: int = MOST_BYTES) -> None:
        """Keep nothing yet.

        Args:
            directory: where long messages go; made when it is needed.
            most_bytes: of one message.
        """
        self._directory = directory
        self._most = most_bytes
        self._held = bytearray()
        self._size = 0
        self._file: BinaryIO | None = None
        self._path: Path | None = None

    @property
    def size(self) -> int:
        """How much has arrived of the message that is not whole yet."""
        return self._size

    def feed(self, block: bytes) -> Iterator[Frame]:
        """Take in a block, and yield each message that is whole now.

        Raises:
            OSError: a long message could not be put into a file.
        """
        at = 0
        while (end := block.find(b"\n", at)) >= 0:
            self._add(block[at:end])
            at = end + 1
            yield self.end()
        self._add(block[at:])

    def end(self, *, is_cut: bool = False) -> Frame:
        """Return what has arrived since the last message as one.

        Args:
            is_cut: it is known that more should have come.
        """
        if self._file is None:
            frame = Frame(bytes(self._held), None, self._size, is_cut)
        else:
            self._file.close()
            frame = Frame(b"", self._path, self._size, is_cut or self._size > self._most)
        self._held, self._size, self._file, self._path = bytearray(), 0, None, None
        return frame

    def close(self) -> None:
        """Drop what is not whole."""
        self.end().drop()

    def _add(self, part: bytes) -> None:
        if not part:
            return
        room = self._most - self._size
        self._size += len(part)
        if self._file is not None:
            self._file.write(part[: max(0, room)])
        elif len(self._held) + len(part) <= HELD_BYTES:
            self._held += part
        else:
            self._file, self._path = self._opened()
            self._file.write(self._held)
            self._file.write(part[: max(0, room)])
            self._held = bytearray()

    def _opened(self) -> tuple[BinaryIO, Path]:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(OSError):
            _tidy(self._directory)
        descriptor, name = tempfile.mkstemp(prefix="frame-", dir=self._directory)
        return os.fdopen(descriptor, "wb"), Path(name)


def _tidy(directory: Path) -> None:
    """Remove what a process that was killed has left."""
    before = time.time() - _LEFT_S
    for path in directory.iterdir():
        if path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
