"""The walls of a session's commands, built once and anew when the file system around them has changed."""

import os
import sys
from typing import Any

if sys.platform == "win32":
    raise ImportError("these walls are made of what Linux has")

from .walls import Prepared, Walls

_Seen = tuple[object, ...]


class Plan:
    """Which walls commands get."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.walls = Walls(**told)
        self._prepared: Prepared | None = None
        self._seen: _Seen = ()

    def prepared(self) -> Prepared:
        """Return the walls, ready to be raised by a process forked from this one.

        Raises:
            OSError: a place is gone, or the kernel refused.
            ValueError: a place to be granted is one to be hidden.
        """
        seen = self._look(() if self._prepared is None else self._prepared.walked)
        if self._prepared is None or seen != self._seen:
            fresh = Prepared(self.walls)
            if self._prepared is not None:
                self._prepared.close()
            self._prepared = fresh
            self._seen = self._look(fresh.walked)
        return self._prepared

    def _look(self, walked: tuple[str, ...]) -> _Seen:
        """Tell all that the rules depend on: what is mounted, what the named places are, what lies beside them."""
        if not self.walls.landlock:
            return ()
        with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123
            mounts = file.read()
        named = (*self.walls.reads, *self.walls.writes, *self.walls.private)
        places = tuple(_identity(path) for path in named)
        return (mounts, places, *(os.stat(path).st_mtime_ns for path in walked))  # noqa: PTH116


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)  # noqa: PTH116
    return found.st_dev, found.st_ino
