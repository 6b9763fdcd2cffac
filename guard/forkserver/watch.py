"""Watches what a command uses, all its processes together, which no limit of the kernel's counts."""

import contextlib
import os
import resource
import sys
import time
from typing import Any

if sys.platform == "win32":
    raise ImportError("Windows has job objects instead")

from .limits import tasks_of
from .processes import below

OFTEN_S, SELDOM_S = 0.05, 0.5
"""Between two looks: while a command forks or grows, and while it does neither."""

SHARE, SHARE_IN_HASTE = 0.04, 0.4
"""Of a processor, for looking at what a command with many processes uses; the second while it forks or grows."""

_FORKS = 8
_TICKS_PER_S = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PAGE = resource.getpagesize()


class Watch:
    """Tells when a command uses more processes, memory or processor time than it may; sees nothing but on Linux."""

    def __init__(self, limits: dict[str, Any]) -> None:
        self._processes: int = limits["processes"]
        self._memory_bytes: int = limits["memory_bytes"]
        self._cpu_s: float = limits["cpu_s"]
        self._bounded = sys.platform == "linux" and bool(self._processes or self._memory_bytes or self._cpu_s)
        self._every_s = OFTEN_S
        self._next_at = time.monotonic() + OFTEN_S
        self._last_pid = _last_pid()
        self._bytes = 0

    @property
    def left_s(self) -> float:
        """Seconds until the next look is due."""
        return self._next_at - time.monotonic() if self._bounded else float("inf")

    def look(self) -> str:
        """Return the limit that is passed, such as `memory limit`, or nothing. Cheap unless a look is due."""
        if self.left_s > 0:
            return ""
        began = time.monotonic()
        passed, calm = self._measure()
        took_s = time.monotonic() - began
        self._every_s = min(SELDOM_S, 1.5 * self._every_s) if calm else OFTEN_S
        self._next_at = began + max(self._every_s, took_s / (SHARE if calm else SHARE_IN_HASTE))
        return passed

    def _measure(self) -> tuple[str, bool]:
        """Return the limit that is passed, and whether little has changed."""
        pids = below([os.getpid()])
        tasks = used_bytes = ticks = 0
        for pid in pids:
            with contextlib.suppress(OSError, IndexError, ValueError), open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read().rpartition(b")")[2].split()
                ticks += sum(map(int, fields[11:15]))
                tasks += int(fields[17])
                used_bytes += int(fields[21]) * _PAGE
        last, before = _last_pid(), self._bytes
        forked, self._last_pid = last - self._last_pid, last
        self._bytes = used_bytes
        calm = abs(forked) < _FORKS and used_bytes < max(1.2 * before, self._memory_bytes / 8)
        if self._processes and (len(pids) > self._processes or tasks > tasks_of(self._processes)):
            return "process limit", calm
        if self._memory_bytes and used_bytes > self._memory_bytes and _shared_out(pids) > self._memory_bytes:
            return "memory limit", calm
        waited = resource.getrusage(resource.RUSAGE_CHILDREN)
        if self._cpu_s and ticks / _TICKS_PER_S + waited.ru_utime + waited.ru_stime > self._cpu_s:
            return "cpu limit", calm
        return "", calm


def _last_pid() -> int:
    """Return the process id that was given out last: how much it grows tells how much is forked."""
    with contextlib.suppress(OSError, ValueError), open("/proc/loadavg", "rb") as file:  # noqa: PTH123
        return int(file.read().split()[-1])
    return 0


def _shared_out(pids: list[int]) -> int:
    """Return the bytes of memory of all processes, each page counted once however many share it."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as file:  # noqa: PTH123
                total += next((int(line.split()[1]) * 1024 for line in file if line.startswith(b"Pss:")), 0)
        except OSError:
            with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123
                total += int(file.read().split()[1]) * _PAGE
    return total
