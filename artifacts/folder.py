"""A private directory, held open by descriptor so that what was checked is what is used; by path on Windows."""

import errno
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeVar

from ..errors import BursarError

T = TypeVar("T")

_FLAGS: int = (
    getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOINHERIT", 0)
)
_AT_ONCE: int = getattr(os, "O_NONBLOCK", 0)
"""Opening a pipe that somebody planted does not wait for its other end; to a file it makes no difference."""

_DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)
_BY_DESCRIPTOR = bool(_DIRECTORY) and os.open in os.supports_dir_fd
_NAMELESS: int = getattr(os, "O_TMPFILE", 0)

_SAYS_NOTHING = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EIO", "EROFS", "EMFILE", "ENFILE", "ENOMEM", "ESTALE")
    if hasattr(errno, name)
}
"""Numbers of errors that say nothing about what a file system can do."""

READ = os.O_RDONLY | _FLAGS | _AT_ONCE
CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS
APPEND = os.O_APPEND
TEMPORARY = ".new-"

SMALL_BYTES = 4 << 20
"""No record is as large; what is, is none."""

ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}
"""Numbers of errors that mean: no file of ours has this name."""


class Folder:
    """A directory of ours: mode 0700, its files 0600, whatever the umask; nothing in it is reached through a link.

    Every method raises OSError as the system does.
    """

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self._descriptor = descriptor
        self._close: Callable[[int], None] = os.close  # the module may be gone when the interpreter ends

    @classmethod
    def root(cls, path: Path, is_ours: Callable[["Folder"], bool]) -> "Folder":
        """Open a directory by its path, made with all its parents if missing.

        Args:
            path: where it lies or is to lie.
            is_ours: tells of one that is there already, before anything about it is changed, whether it is ours to use.

        Raises:
            BursarError: it is a link, somebody else's, shared by everybody, or used for something else.
        """
        path = Path(os.path.abspath(path))  # noqa: PTH100 - links are not to be resolved
        for level in reversed(path.parents):
            _make(level, None)
        is_new = _make(path, None)
        folder = cls._opened(path, str(path), None)
        if not is_new and not is_ours(folder):
            raise _refused(path, "it is in use for something else")
        folder.restore_mode()
        return folder

    def child(self, name: str, *, create: bool = False) -> "Folder":
        """Open a directory in this one.

        Raises:
            FileExistsError: it is to be created and exists.
        """
        if create and not _make(Path(self._name(name)), self._descriptor):
            raise FileExistsError(name)
        folder = self._opening(name, lambda: self._opened(self.path / name, self._name(name), self._descriptor))
        folder.restore_mode()
        return folder

    def restore_mode(self) -> None:
        """Close it to everybody else, whatever its mode was."""
        if self._descriptor is not None:
            _close_to_others(self._descriptor)

    @classmethod
    def _opened(cls, path: Path, name: str, at: int | None) -> "Folder":
        if not _BY_DESCRIPTOR:
            os.stat(name)  # noqa: PTH116 - must exist
            return cls(path, None)
        try:
            descriptor = os.open(name, READ | _DIRECTORY, dir_fd=at)
        except OSError as error:
            if at is None:
                raise _refused(path, f"it cannot be opened as a directory: {error.strerror}") from error
            raise
        try:
            _judge(descriptor, path)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor)

    def open(self, name: str, flags: int = READ) -> int:
        """Open a file; a new one is ours alone, and one that was closed to ourselves is opened up again."""
        place, at = self._name(name), self._descriptor
        descriptor = self._opening(name, lambda: os.open(place, flags | _FLAGS, 0o600, dir_fd=at))
        if flags & os.O_CREAT:
            _make_private(descriptor)
        return descriptor

    def _opening(self, name: str, opens: Callable[[], T]) -> T:
        """Open what has this name; what was closed to ourselves is opened up first."""
        try:
            return opens()
        except PermissionError:
            if not open_up(self._name(name), self._descriptor):
                raise
            return opens()

    def nameless(self) -> int | None:
        """Open a file that vanishes with its descriptor unless it is given a name; None where that is impossible."""
        return self._nameless() if self._can_name() else None

    def _nameless(self) -> int:
        descriptor = os.open(".", os.O_RDWR | _NAMELESS | APPEND | _FLAGS, 0o600, dir_fd=self._descriptor)
        _make_private(descriptor)
        return descriptor

    def _can_name(self) -> bool:
        """Tell whether a nameless file that is given a name is there afterwards; tried once for each file system.

        There are some that say so, and keep nothing.
        """
        if not _NAMELESS or self._descriptor is None:
            return False
        device = os.fstat(self._descriptor).st_dev
        known = _can_name.get(device)
        if known is None:
            known = _can_name[device] = self._has_named()
        return known

    def _has_named(self) -> bool:
        name, sample = TEMPORARY + os.urandom(9).hex(), os.urandom(16)
        try:
            descriptor = self._nameless()
            try:
                write(descriptor, sample)
                self.name(descriptor, name)
            finally:
                os.close(descriptor)
            return self.contents(name) == sample
        except OSError as error:
            if error.errno in _SAYS_NOTHING or self.is_gone():
                raise
            return False
        finally:
            self.remove(name)

    def name(self, descriptor: int, name: str) -> None:
        """Give a nameless file its name, which nobody may have."""
        os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=self._descriptor, follow_symlinks=True)

    def temporary(self) -> tuple[int, str]:
        """Open a new file under a name that says it is not finished."""
        name = TEMPORARY + os.urandom(9).hex()
        return self.open(name, CREATE | APPEND), name

    def rename(self, name: str, to: str) -> None:
        """Give a file another name; what had it before is gone, in one step."""
        os.replace(self._name(name), self._name(to), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def remove(self, name: str) -> bool:
        """Remove a file if it is there and can be; tell whether it is gone."""
        try:
            os.unlink(self._name(name), dir_fd=self._descriptor)
        except OSError as error:
            return error.errno in ABSENT
        return True

    def remove_folder(self, name: str) -> None:
        """Remove an empty directory."""
        os.rmdir(self._name(name), dir_fd=self._descriptor)

    def replace(self, name: str, data: bytes, *, sync: bool = False) -> None:
        """Write a whole file in one step: others see the old one or the new one."""
        descriptor, temporary = self.temporary()
        try:
            try:
                write(descriptor, data)
                if sync:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
            self.rename(temporary, name)
            if sync:
                self.sync()
        except BaseException:
            self.remove(temporary)
            raise

    def contents(self, name: str, most: int = SMALL_BYTES) -> bytes:
        """Read a small file whole; one of more than `most` bytes counts as missing."""
        return self.stated(name, most)[0]

    def stated(self, name: str, most: int = SMALL_BYTES) -> tuple[bytes, os.stat_result]:
        """Read a small file whole, with its status."""
        descriptor = self.open(name)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size > most:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
            return read_at(descriptor, 0, found.st_size + 1), found
        finally:
            os.close(descriptor)

    def entries(self) -> "Iterator[os.DirEntry[str]]":
        """List what is in it; an entry tells its status only until the last one was asked for."""
        if self._descriptor is None:
            with os.scandir(self.path) as found:
                listed = list(found)
            yield from listed
            return
        # A descriptor of its own has a place in the listing that no other thread moves.
        own = os.open(".", READ | _DIRECTORY, dir_fd=self._descriptor)
        try:
            with os.scandir(own) as found:
                listed = list(found)
            yield from listed
        finally:
            os.close(own)

    def size(self, but: Collection[str] = ()) -> int:
        """Add up the bytes of its files but those of some names; what has none to tell is left out."""
        total = 0
        for entry in self.entries():
            with suppress(OSError):
                total += entry.stat(follow_symlinks=False).st_size if entry.name not in but else 0
        return total

    def sync(self) -> None:
        """Wait until the names in it are on the disk."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)

    def is_gone(self) -> bool:
        """Tell whether its path leads to it no longer: somebody has deleted or moved it."""
        try:
            found = self.path.lstat()
            own = found if self._descriptor is None else os.fstat(self._descriptor)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False
        return (found.st_dev, found.st_ino) != (own.st_dev, own.st_ino)

    def close(self) -> None:
        """Let go of it; does nothing the second time."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._close(descriptor)

    def __del__(self) -> None:
        self.close()

    def _name(self, name: str) -> str:
        return name if self._descriptor is not None else str(self.path / name)


def write(descriptor: int, data: bytes | memoryview) -> None:
    """Write all of it."""
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, memoryview(data)[written:])


def read_at(descriptor: int, offset: int, length: int) -> bytes:
    """Read up to `length` bytes from `offset`; fewer only at the end of the file."""
    data = _pread(descriptor, length, offset)
    if len(data) in {0, length}:
        return data
    parts = [data]
    missing = length - len(data)
    while missing and (data := _pread(descriptor, missing, offset + length - missing)):
        parts.append(data)
        missing -= len(data)
    return b"".join(parts)


if sys.platform == "win32":

    def _pread(descriptor: int, length: int, offset: int) -> bytes:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, length)

    def _make_private(descriptor: int) -> None:
        """Files are private there by the permissions they inherit from the user's directory."""

    def _judge(descriptor: int, path: Path) -> None:
        """Directories are private there by the permissions of the user's directory."""

    def _close_to_others(descriptor: int) -> None:
        """They are closed to others there already."""

    def open_up(name: str, at: int | None = None) -> bool:
        """Nothing there is closed by a mode."""
        return False

else:
    _pread = os.pread

    def _make_private(descriptor: int) -> None:
        os.fchmod(descriptor, 0o600)

    def _judge(descriptor: int, path: Path) -> None:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid():
            raise _refused(path, "it belongs to another user")
        if found.st_mode & stat.S_ISVTX:
            raise _refused(path, "it is a directory that everybody shares")

    def _close_to_others(descriptor: int) -> None:
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != 0o700:
            os.fchmod(descriptor, 0o700)

    def open_up(name: str, at: int | None = None) -> bool:
        """Open up to ourselves, and close to others, a file or directory of ours that cannot even be opened.

        Args:
            name: of the file, or its path.
            at: descriptor of the directory that holds it; None for a path.

        Returns:
            Whether it was done: on Linux only, and never through a link.

        Raises:
            OSError: there is none, or it cannot be reached.
        """
        if not sys.platform.startswith("linux"):
            return False
        descriptor = os.open(name, os.O_PATH | _FLAGS, dir_fd=at)
        try:
            found = os.fstat(descriptor)
            is_folder = stat.S_ISDIR(found.st_mode)
            if found.st_uid != os.geteuid() or not (is_folder or stat.S_ISREG(found.st_mode)):
                return False
            Path(f"/proc/self/fd/{descriptor}").chmod(0o700 if is_folder else 0o600)
        finally:
            os.close(descriptor)
        return True


def _make(path: Path, at: int | None) -> bool:
    try:
        os.mkdir(path, 0o700, dir_fd=at)
    except FileExistsError:
        return False
    except OSError:
        if at is None and path.is_dir():
            return False  # "/" and the like on a read-only file system
        raise
    if _BY_DESCRIPTOR:
        os.chmod(path, 0o700, dir_fd=at)
    return True


def _refused(path: Path, why: str) -> BursarError:
    return BursarError(
        "data_directory_refused",
        f"{path} cannot hold the artifacts: {why}",
        "Give a directory of your own with --data-dir, by its real path",
    )


_can_name: dict[int, bool] = {}
"""What was tried, by device."""


_LOCAL = {
    0xEF53: "ext4",
    0x58465342: "XFS",
    0x9123683E: "Btrfs",
    0x2FC12FC1: "ZFS",
    0xCA451A4E: "bcachefs",
    0xF2F52010: "F2FS",
    0x3153464A: "JFS",
    0x52654973: "ReiserFS",
    0x01021994: "tmpfs",
    0x858458F6: "ramfs",
    0x794C7630: "overlayfs",
    0x24051905: "UBIFS",
    0x7366746E: "NTFS",
    0x2011BAB0: "exFAT",
    0x4D44: "FAT",
    0xF15F: "eCryptfs",
}
"""Of one machine alone, by the numbers of statfs(2) and linux/magic.h: all who use them ask one kernel for a lock."""

_STATFS_BYTES = 256


def is_local(folder: Folder) -> bool:
    """Tell whether nobody can reach a directory but through this machine's kernel; never of network or FUSE mounts.

    On systems other than Linux it is taken for granted.
    """
    return not sys.platform.startswith("linux") or _kind(str(folder.path)) in _LOCAL


@cache
def _kind(path: str) -> int:
    """Return the number of the file system that a path is on; 0 if it cannot be told."""
    import ctypes

    found = ctypes.create_string_buffer(_STATFS_BYTES)
    if ctypes.CDLL(None).statfs(os.fsencode(path), found):
        return 0
    return int.from_bytes(found.raw[: ctypes.sizeof(ctypes.c_long)], sys.byteorder) & 0xFFFFFFFF
