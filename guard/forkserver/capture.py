"""Moves what a command prints into its file."""

import contextlib
import errno
import fcntl
import os
import stat
import sys

if sys.platform == "win32":
    raise ImportError("Windows has job objects instead")

import termios

READ_BYTES = 64 * 1024
FLOOD_BYTES = 1024 * 1024
"""Pipe and reads of a command that has printed as much. Not of all: users without privileges have 64 MiB in pipes."""

TERMINAL_SIZE = (24, 120)
"""Rows and columns."""

FIRST_LOOK_BYTES = 1024 * 1024
LOOK_EVERY_BYTES = 16 * 1024 * 1024
"""How often the room on the disk is looked at; a command that prints little may run on a full one."""


class Capture:
    """Moves what a command prints through a pipe, or a terminal, into its output file.

    Were the file itself the command's output, `echo oops > /dev/stderr` would empty it: opening truncates. In between,
    it can also be cut off at exactly its limit.
    """

    def __init__(self, output: int, most_bytes: int, free_bytes: int, *, terminal: bool = False) -> None:
        self.fd, self.command_fd = os.openpty() if terminal else os.pipe()
        if terminal:
            termios.tcsetwinsize(self.fd, TERMINAL_SIZE)
        os.set_blocking(self.fd, False)
        self.size = 0
        self.failure = ""
        self._most = most_bytes
        self._free = free_bytes
        self._look_at = FIRST_LOOK_BYTES
        self._output = output
        # Through memory: measured, that is as fast as letting the kernel move the pages (splice).
        self._buffer = memoryview(bytearray(READ_BYTES))

    def pump(self) -> bool:
        """Move what there is now; False when no more will be moved, with `failure` set unless it was all there is."""
        try:
            if self.size == self._most:
                self.failure = "output limit" if os.read(self.fd, 1) else ""
                return False
            moved = self._move(self._most - self.size)
        except BlockingIOError:
            return True
        except OSError as error:
            if error.errno == errno.EIO and os.isatty(self.fd):  # nobody has the other end of the terminal any more
                return False
            self.failure = "disk full"
            return False
        self.size += moved
        if self.size >= self._look_at:
            self._widen()
            self._look_at = self.size + LOOK_EVERY_BYTES
            disk = os.fstatvfs(self._output)
            if stat.S_ISREG(os.fstat(self._output).st_mode) and disk.f_bavail * disk.f_frsize < self._free:
                self.failure = "disk full"
        return moved > 0 and not self.failure

    def drain(self) -> None:
        """Move what is left when nobody writes any more."""
        before = -1
        while self.size != before and not self.failure:
            before = self.size
            self.pump()

    def _widen(self) -> None:
        """Let the command run further ahead: on a busy machine each of the two waits long for its turn."""
        if len(self._buffer) < FLOOD_BYTES:
            self._buffer = memoryview(bytearray(FLOOD_BYTES))
            if sys.platform == "linux":
                with contextlib.suppress(OSError):  # the user may have too much in pipes already
                    fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, FLOOD_BYTES)

    def _move(self, most: int) -> int:
        moved = os.readv(self.fd, [self._buffer[:most]])
        rest = self._buffer[:moved]
        while rest:
            rest = rest[os.write(self._output, rest) :]
        return moved
