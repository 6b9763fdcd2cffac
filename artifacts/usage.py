"""When a session was used last and what it was promised: one line of three numbers, in its `lock`.

The first of them alone promises nothing. Only what is written there counts. A command that can neither read nor write a
file may still set its times.
"""

import os
import time
from dataclasses import dataclass

from .folder import Folder
from .limits import Limits

_IDLE_MAX_S = 1e13
_TOTAL_MAX_BYTES = 10**18


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
