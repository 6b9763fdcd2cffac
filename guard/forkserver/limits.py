"""Limits of resources that the kernel keeps, lowered for ever."""

import contextlib
import resource
import sys
from collections.abc import Iterable

if sys.platform == "win32":
    raise ImportError("Windows has job objects instead")

_TASKS_PER_PROCESS = 4
_TASKS_MIN = 256
"""Of few processes each may have many threads: a runtime such as Java's or node's begins with some thirty."""


def lower(limits: Iterable[tuple[int, int]]) -> None:
    """Lower limits of resources (`resource.RLIMIT_…`), the soft and the hard one; a limit that is lower already stays.

    Raises:
        OSError: the system refused.
        ValueError: likewise.
    """
    for what, most in limits:
        _, hard = resource.getrlimit(what)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))


def tasks_of(processes: int) -> int:
    """Return how many tasks, threads included, the kernel may let commands have who may have so many processes.

    Whoever has more processes is ended; this is for what forks faster than that.
    """
    return max(_TASKS_MIN, _TASKS_PER_PROCESS * processes)


def tasks_now() -> int:
    """Return how many tasks the whole machine has; 0 where that cannot be told."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/loadavg", "rb") as file:  # noqa: PTH123
        return int(file.read().split()[3].partition(b"/")[2])
    return 0
