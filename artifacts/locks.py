"""Locks that end with their process, however it ends: who uses a session, who writes an artifact."""

import errno
import os
import sys
from contextlib import suppress

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 40  # locks are mandatory there: one byte that no content reaches

    def share(descriptor: int) -> None:
        """Mark as used, together with others."""

    def claim(descriptor: int) -> bool:
        """Take alone if nobody else has it; do not wait."""
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def release(descriptor: int) -> None:
        """Give back what was taken."""
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        except OSError:
            return

    def is_claimed(descriptor: int) -> bool:
        """Tell whether somebody took it alone."""
        if claim(descriptor):
            release(descriptor)
            return False
        return True

else:
    import fcntl

    _WITHOUT = {errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.ENOLCK}
    """Numbers of errors that mean: a file system without locks."""

    def share(descriptor: int) -> None:
        """Mark as used, together with others; do not wait.

        Raises:
            BlockingIOError: somebody keeps it to itself, which no process of ours does for long.
            OSError: locking failed.
        """
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _WITHOUT:  # `claim` fails there too, so nothing is ever swept
                raise  # unlocked, the session could be swept under its user

    def claim(descriptor: int) -> bool:
        """Take alone if nobody else has it; do not wait."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def release(descriptor: int) -> None:
        """Give back what was taken, also where a forked child still holds the descriptor."""
        with suppress(OSError):  # then closing the descriptor does it
            fcntl.flock(descriptor, fcntl.LOCK_UN)

    def is_claimed(descriptor: int) -> bool:
        """Tell whether somebody took it alone.

        Raises:
            OSError: that cannot be told.
        """
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError as error:
            if error.errno in _WITHOUT:
                return False
            raise
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return False
