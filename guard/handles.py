"""Asks the kernel: opens a path without reading it, says what it is and where it really lies, opens it for reading.

Every system has its own way. Linux: an `O_PATH` descriptor and `/proc/self/fd`. macOS: a descriptor and `F_GETPATH`.
Windows: a handle and `GetFinalPathNameByHandleW`.
"""

import os
import sys
from pathlib import Path

_CLOEXEC: int = getattr(os, "O_CLOEXEC", 0)
_BINARY: int = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
_NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)
_DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)
_NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_NOCTTY: int = getattr(os, "O_NOCTTY", 0)

READ_FILE = os.O_RDONLY | _CLOEXEC | _BINARY | _NONBLOCK | _NOCTTY
READ_DIRECTORY = os.O_RDONLY | _CLOEXEC | _NONBLOCK | _DIRECTORY
CHILD_FILE = READ_FILE | _NOFOLLOW
CHILD_DIRECTORY = READ_DIRECTORY | _NOFOLLOW
"""Opening never waits (a FIFO without a writer) and never takes a terminal; children are never links."""

WALKS_BY_DESCRIPTOR = os.scandir in os.supports_fd and os.open in os.supports_dir_fd
"""Whether directories can be listed and descended by descriptor; elsewhere by path."""

if sys.platform == "linux":
    import ctypes
    import errno
    import functools

    _PIN = os.O_PATH | _CLOEXEC
    _OPENAT2 = 437  # the same number on every architecture
    _AT_FDCWD = -100
    _NO_MAGIC_LINKS = 2
    _libc = ctypes.CDLL(None, use_errno=True)
    _how = (ctypes.c_uint64 * 3)(_PIN, 0, _NO_MAGIC_LINKS)

    def pin(path: str) -> int:
        """Open `path`, whatever it is, without the right or the side effects of reading it.

        Links such as /proc/<pid>/root lead into other mount namespaces, where a path can read like one of ours and
        name another file. Where the kernel can (5.6), it refuses to follow them; elsewhere `place` looks at the mount.
        """
        return _pin_plainly(path) if _magic_links_refused() else os.open(path, _PIN)

    def _pin_plainly(path: str) -> int:
        name = os.fsencode(path)
        if b"\0" in name:
            raise ValueError("embedded null byte")
        descriptor = _libc.syscall(_OPENAT2, _AT_FDCWD, name, _how, ctypes.c_size_t(24))
        if descriptor < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
        return descriptor

    @functools.cache
    def _magic_links_refused() -> bool:
        try:
            os.close(_pin_plainly("/"))
        except OSError as error:
            if error.errno not in {errno.ENOSYS, errno.EPERM, errno.E2BIG, errno.EINVAL}:
                raise
            return False
        return True

    def place(descriptor: int) -> str:
        """Return the real path of what is open, as the kernel knows it.

        Raises:
            FileNotFoundError: it lies on a mount that this process does not see.
        """
        real = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - text, and four times as fast
        if not _magic_links_refused() and not _is_mounted_here(descriptor):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), real)
        return real

    def _is_mounted_here(descriptor: int) -> bool:
        facts = _contents(f"/proc/self/fdinfo/{descriptor}")
        mount = facts[facts.index(b"mnt_id:") + 7 :].split(b"\n", 1)[0].strip()
        return b"\n" + mount + b" " in b"\n" + _contents("/proc/self/mountinfo")

    def _contents(path: str) -> bytes:
        descriptor = os.open(path, os.O_RDONLY | _CLOEXEC)
        try:
            text = b""
            while block := os.read(descriptor, 1 << 16):
                text += block
            return text
        finally:
            os.close(descriptor)

    def reopen(descriptor: int, path: str, flags: int) -> int:
        """Open for reading exactly what `descriptor` pins."""
        return os.open(f"/proc/self/fd/{descriptor}", flags)

elif sys.platform == "darwin":
    import fcntl
    import stat

    def pin(path: str) -> int:
        """Open `path`, a file or directory, for reading; anything else only as far as looking at it is harmless."""
        mode = os.stat(path).st_mode  # noqa: PTH116 - a path as text
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise NotARegularFileError(path)
        return os.open(path, os.O_RDONLY | _CLOEXEC | _NONBLOCK | _NOCTTY)

    def place(descriptor: int) -> str:
        """Return the real path of what is open, in the case and Unicode form that the disk has."""
        return os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).split(b"\0", 1)[0])

    def reopen(descriptor: int, path: str, flags: int) -> int:
        """Return another descriptor of what `descriptor` has open; it is readable already."""
        return os.dup(descriptor)

elif sys.platform == "win32":
    import ctypes
    import msvcrt
    from ctypes import wintypes

    _kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel32.CreateFileW.restype = wintypes.HANDLE
    _kernel32.CreateFileW.argtypes = (
        wintypes.LPCWSTR,
        wintypes.DWORD,
        wintypes.DWORD,
        wintypes.LPVOID,
        wintypes.DWORD,
        wintypes.DWORD,
        wintypes.HANDLE,
    )
    _kernel32.GetFinalPathNameByHandleW.argtypes = (wintypes.HANDLE, wintypes.LPWSTR, wintypes.DWORD, wintypes.DWORD)
    _GENERIC_READ = 0x80000000
    _SHARE_ALL = 7
    _OPEN_EXISTING = 3
    _BACKUP_SEMANTICS = 0x02000000  # without it, directories cannot be opened
    _INVALID = wintypes.HANDLE(-1).value

    def pin(path: str) -> int:
        """Open `path` for reading; devices and pipes have names of their own there and are refused by their name."""
        if path.startswith(("\\\\.\\", "\\\\?\\", "//./", "//?/")):
            raise NotARegularFileError(path)
        handle = _kernel32.CreateFileW(path, _GENERIC_READ, _SHARE_ALL, None, _OPEN_EXISTING, _BACKUP_SEMANTICS, None)
        if handle == _INVALID:
            raise ctypes.WinError(ctypes.get_last_error())
        return msvcrt.open_osfhandle(handle, os.O_RDONLY | _BINARY)

    def place(descriptor: int) -> str:
        """Return the real path of what is open, links and short names resolved."""
        buffer = ctypes.create_unicode_buffer(32768)
        if not _kernel32.GetFinalPathNameByHandleW(msvcrt.get_osfhandle(descriptor), buffer, len(buffer), 0):
            raise ctypes.WinError(ctypes.get_last_error())
        real = buffer.value
        return "\\\\" + real[8:] if real.startswith("\\\\?\\UNC\\") else real.removeprefix("\\\\?\\")

    def reopen(descriptor: int, path: str, flags: int) -> int:
        """Return another descriptor of what `descriptor` has open; it is readable already."""
        return os.dup(descriptor)

else:
    raise ImportError(f"bursar cannot tell where an open file lies on {sys.platform}; it runs on Linux, macOS, Windows")


class NotARegularFileError(OSError):
    """The path leads to a device, a pipe or a socket; opening it might already do something."""


def real_path(path: Path) -> str:
    """Return the real path of `path`, which need not exist: the kernel's word as far as it does, then the rest."""
    whole, rest = str(path) if path.is_absolute() else os.path.join(Path.cwd(), path), list[str]()  # noqa: PTH118 - text
    while True:
        try:
            descriptor = pin(whole)
        except OSError:
            parent, name = os.path.split(whole if rest else os.path.realpath(whole))
            if parent == whole:
                return os.path.join(whole, *reversed(rest))  # noqa: PTH118
            whole = parent
            rest.append(name)
            continue
        try:
            return os.path.join(place(descriptor), *reversed(rest))  # noqa: PTH118
        finally:
            os.close(descriptor)
