"""When a session was used last and what it was promised: one line of three numbers, in its `lock`.

The first of them alone promises nothing. Only what is written there counts. A command that can neither read nor write a
file may still set its times.
"""

import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from . import locks
from .folder import Folder
from .limits import Limits

_IDLE_MAX_S = 1e13
_TOTAL_MAX_BYTES = 10**18


LOCK = "lock"
"""Whoever uses a session holds this file of it locked."""


class InUse:
    """Keeps a session from being swept as long as this object is there.

    Raises:
        BlockingIOError: somebody holds the lock alone.
        OSError: it cannot be opened.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._locks = [_locked(folder)]
        self._close: Callable[[int], None] = os.close  # the module may be gone when the interpreter ends

    def renew(self, limits: Limits) -> None:
        """Say on disk that it is used now, and lock it anew if its lock was deleted: who sweeps asks for the new one.

        Raises:
            OSError: it cannot be opened or written.
        """
        lock = _locked(self._folder)
        if self._locks and not os.path.samestat(os.fstat(lock), os.fstat(self._locks[-1])):
            self._locks.append(lock)
        else:
            os.close(lock)
        renew(self._folder, LOCK, limits)

    def close(self) -> None:
        """Let go of it; does nothing the second time."""
        while self._locks:
            self._close(self._locks.pop())

    def __del__(self) -> None:
        if getattr(self, "_locks", None):
            self.close()


def _locked(folder: Folder) -> int:
    try:
        descriptor = folder.open(LOCK, os.O_RDWR | os.O_CREAT)  # somebody may have deleted it
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        try:
            descriptor = folder.open(LOCK)  # what was stored can still be read
        except FileNotFoundError:
            raise error from None
    try:
        locks.share(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@dataclass(frozen=True, slots=True)
class Usage:
    """The last use.

    Attributes:
        at: when it was, in seconds since 1970.
        idle_s: how long the session is kept from then on.
        total_bytes: as long as all sessions together take no more, it is kept anyway.
    """

    at: float
    idle_s: float
    total_bytes: int


def note(folder: Folder, name: str, used: Usage) -> None:
    """Write a use into a file that is there.

    Raises:
        OSError: it cannot be opened or written.
    """
    idle_s, total_bytes = min(used.idle_s, _IDLE_MAX_S), min(used.total_bytes, _TOTAL_MAX_BYTES)
    at = int(used.at * 1000) / 1000  # rounded up, it would be in the future for an instant
    descriptor = folder.open(name, os.O_WRONLY)
    try:
        # Always of the same length: no reader sees a mixture of two lines.
        written = os.write(descriptor, f"{at:014.3f} {idle_s:014.0f} {total_bytes:019d}\n".encode())
        os.ftruncate(descriptor, written)  # whatever else was in it would make it unreadable
    finally:
        os.close(descriptor)


def renew(folder: Folder, name: str, limits: Limits) -> None:
    """Write into a file that it is used now; it keeps what it was promised wherever the limits promise less.

    Raises:
        OSError: it cannot be opened or written.
    """
    note(folder, name, _now(noted(folder, name), limits.idle_s, limits.total_bytes))


def set_right(folder: Folder, name: str) -> None:
    """Have a use that is not known, or of a clock that was put right since, be now; it keeps what it was promised.

    Raises:
        OSError: it cannot be opened or written.
    """
    used = noted(folder, name)
    if used is None or used.at > time.time():
        note(folder, name, _now(used, 0, 0))


def _now(used: Usage | None, idle_s: float, total_bytes: int) -> Usage:
    if used is None:
        return Usage(time.time(), idle_s, total_bytes)
    return Usage(time.time(), max(used.idle_s, idle_s), max(used.total_bytes, total_bytes))


def noted(folder: Folder, name: str) -> Usage | None:
    """Return what was written into a file last; None if there is nothing of this kind."""
    try:
        at, *promise = folder.contents(name).split()
        idle_s, total_bytes = promise or (0, 0)
        usage = Usage(float(at), float(idle_s), int(total_bytes))
    except (OSError, ValueError):
        return None
    return usage if usage.at >= 0 and usage.idle_s >= 0 else None  # not a number is not at least anything
