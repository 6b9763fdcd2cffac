"""Landlock: rules of the kernel for which files a process, and whatever it starts, may use from now on."""

import errno
import os
import struct
import sys

from .kernel import call

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_CHAR = 1 << 6
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MAKE_SOCK = 1 << 9
MAKE_FIFO = 1 << 10
MAKE_BLOCK = 1 << 11
MAKE_SYM = 1 << 12
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15

READ = READ_FILE | READ_DIR
WRITE = (
    WRITE_FILE | TRUNCATE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_SYM | REFER
)
"""All that changes files, but for making devices."""

ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""What a rule may say of something that is no directory."""

_SINCE = ((1, (1 << 13) - 1), (2, REFER), (3, TRUNCATE), (5, IOCTL_DEV))
"""Rights by the version of the interface that brought them."""

_NETWORK_SINCE, _TCP = 4, 0b11
_SCOPE_SINCE, _SIGNALS_AND_ABSTRACT_SOCKETS = 6, 0b11

# The same numbers on every architecture.
_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_PATH_BENEATH = 1


def abi() -> int:
    """Return the version of the kernel's interface: 0 without Landlock, 6 and more with walls against signals too."""
    if sys.platform != "linux":
        return 0
    try:
        return call(_CREATE, None, 0, 1)
    except OSError:
        return 0


def handled(version: int) -> int:
    """Return the rights on files that this version knows."""
    return sum(rights for since, rights in _SINCE if version >= since)


class Rules:
    """A set of rules that grows until it is enforced; what no rule allows is refused.

    Enforcing it binds the calling thread and its children for ever; the set itself stays, for the next one.
    """

    def __init__(self, *, network: bool) -> None:
        """Allow nothing yet.

        Args:
            network: False to refuse TCP too, where the kernel can.

        Raises:
            OSError: the kernel has no Landlock, or it was switched off.
        """
        self.version = abi()
        if self.version < 1:
            raise OSError(errno.ENOSYS, "the kernel has no Landlock")
        self._handled = handled(self.version)
        attributes = struct.pack("=Q", self._handled)
        if self.version >= _NETWORK_SINCE:
            attributes += struct.pack("=Q", 0 if network else _TCP)
        if self.version >= _SCOPE_SINCE:
            attributes += struct.pack("=Q", _SIGNALS_AND_ABSTRACT_SOCKETS)
        self.fd = call(_CREATE, attributes, len(attributes), 0)

    def allow(self, path: "str | bytes", rights: int, *, follow: bool = False) -> None:
        """Allow `rights` on a file, or on a directory and all that is in it.

        Args:
            path: a link is itself, and so nothing to allow anything on, unless `follow`.
            rights: those that the kernel or the kind of file does not know are left out.
            follow: mean what a link leads to.

        Raises:
            OSError: it cannot be reached.
        """
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))  # type: ignore[attr-defined]
        try:
            self.allow_opened(fd, rights)
        finally:
            os.close(fd)

    def allow_opened(self, fd: int, rights: int) -> None:
        """Allow `rights` on what is open as `fd`."""
        kind = os.fstat(fd).st_mode & 0o170000
        rights &= self._handled if kind == 0o040000 else self._handled & ON_FILES
        if rights and kind != 0o120000:
            call(_ADD_RULE, self.fd, _PATH_BENEATH, struct.pack("=Qi", rights, fd), 0)

    def enforce(self) -> None:
        """Bind the calling thread; needs `no_new_privs`.

        Raises:
            OSError: the kernel refused; nothing is bound then.
        """
        call(_RESTRICT, self.fd, 0)

    def close(self) -> None:
        """Let go of the set; what was bound stays bound."""
        os.close(self.fd)
