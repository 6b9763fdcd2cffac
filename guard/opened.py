"""What the workspace hands out: a file or directory that is open, judged and safe to read."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from . import handles


class Opened:
    """What is open, until it is closed; whatever happens to its path, this is what was judged.

    Attributes:
        descriptor: open for reading, never waiting.
        path: where it really lies.
        status: as it was when it was opened.
    """

    __slots__ = ("descriptor", "path", "status")

    def __init__(self, descriptor: int, path: Path, status: os.stat_result) -> None:
        self.descriptor = descriptor
        self.path = path
        self.status = status

    def close(self) -> None:
        """Close it; a second time does nothing."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class OpenedFile(Opened):
    """A regular file."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """Length in bytes when it was opened; 0 for files that the kernel writes while they are read."""
        return self.status.st_size

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`; fewer only at the end of what the file holds now."""
        data = _read_at(self.descriptor, offset, length)
        while (
            data and len(data) < length and (more := _read_at(self.descriptor, offset + len(data), length - len(data)))
        ):
            data += more
        return data


class OpenedDirectory(Opened):
    """A directory; its entries are reached through it and links among them never followed."""

    __slots__ = ("_closed", "_closed_inodes")

    def __init__(self, descriptor: int, path: Path, status: os.stat_result, closed: frozenset[tuple[int, int]]) -> None:
        super().__init__(descriptor, path, status)
        self._closed = closed
        self._closed_inodes = frozenset(inode for _, inode in closed)

    @property
    def by_descriptor(self) -> int | None:
        """The descriptor to pass as `dir_fd`; None where the system reaches entries by path only."""
        return self.descriptor if os.open in os.supports_dir_fd else None

    def again(self) -> "OpenedDirectory":
        """Return it open a second time, to be closed on its own."""
        return OpenedDirectory(os.dup(self.descriptor), self.path, self.status, self._closed)

    def entries(self) -> Iterator[os.DirEntry[str]]:
        """List what it holds, in no order.

        Raises:
            OSError: it cannot be listed.
        """
        with os.scandir(self.descriptor if handles.WALKS_BY_DESCRIPTOR else str(self.path)) as found:
            yield from found

    def enter(self, name: str) -> "OpenedDirectory":
        """Open the directory `name` in it.

        Raises:
            OSError: it is gone, no directory, a link, not to be read, or closed to this workspace.
        """
        descriptor = self._child(name, handles.CHILD_DIRECTORY)
        try:
            status = os.fstat(descriptor)
            if (status.st_dev, status.st_ino) in self._closed or not stat.S_ISDIR(status.st_mode):
                raise FileNotFoundError(name)
        except BaseException:
            os.close(descriptor)
            raise
        return OpenedDirectory(descriptor, self.path / name, status, self._closed)

    def is_closed(self, entry: os.DirEntry[str]) -> bool:
        """Tell whether an entry of this directory is closed to this workspace, so that it is not to be shown."""
        if entry.inode() not in self._closed_inodes:
            return False
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return True
        return (status.st_dev, status.st_ino) in self._closed

    def read(self, name: str, limit: int) -> bytes:
        """Return the first `limit` bytes of the regular file `name` in it.

        Raises:
            OSError: it is gone, no regular file, a link, or not to be read.
        """
        descriptor = self._child(name, handles.CHILD_FILE)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FileNotFoundError(name)
            return _read_at(descriptor, 0, limit)
        finally:
            os.close(descriptor)

    def target(self, name: str) -> str:
        """Return what the link `name` in it says.

        Raises:
            OSError: it is gone or no link.
        """
        if os.readlink in os.supports_dir_fd:
            return os.readlink(name, dir_fd=self.descriptor)
        return str((self.path / name).readlink())

    def _child(self, name: str, flags: int) -> int:
        if handles.WALKS_BY_DESCRIPTOR:
            return os.open(name, flags, dir_fd=self.descriptor)
        whole = str(self.path / name)
        descriptor = handles.pin(whole)
        if os.path.normcase(handles.place(descriptor)) != os.path.normcase(whole):
            os.close(descriptor)
            raise FileNotFoundError(name)
        return descriptor


if sys.platform == "win32":

    def _read_at(descriptor: int, offset: int, length: int) -> bytes:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, length)

else:

    def _read_at(descriptor: int, offset: int, length: int) -> bytes:
        return os.pread(descriptor, length, offset)
