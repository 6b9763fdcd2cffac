"""How many bytes a session may still grow, with all that is being written into it."""

import time
from typing import Protocol

from . import errors
from .folder import Folder

_COUNT_EVERY_S = 60.0
"""Other processes may store something in the same session."""


class Growing(Protocol):
    """A content that is being written."""

    @property
    def size(self) -> int:
        """How many bytes it has by now."""
        ...


class Room:
    """What is stored in a session, and what may be.

    Attributes:
        limit_bytes: how much the session may hold.
        growing: what is being written in this process, each with the name of its file, empty where it has none yet.
    """

    def __init__(self, folder: Folder, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.growing: dict[Growing, str] = {}
        self._folder = folder
        self._used: int | None = None
        self._counted = 0.0

    @property
    def is_counted(self) -> bool:
        """Whether what is stored was counted lately: if not, the next look takes time that grows with it."""
        return self._used is not None and time.monotonic() - self._counted < _COUNT_EVERY_S

    def left(self, *, anew: bool = False) -> int:
        """Return how many bytes the session may still grow.

        What the open writers of this process hold counts as used, and so does all that other processes have stored by
        the time it is counted, which `anew` does.

        Raises:
            BursarError: store_failed.
        """
        if self._used is None or anew:
            with errors.storing("more in this session"):
                self._used = self._folder.size(but=set(self.growing.values()))
                self._counted = time.monotonic()
        return self.limit_bytes - self._used - sum(part.size for part in tuple(self.growing))

    def spend(self, size: int) -> None:
        """Count what was stored."""
        if self._used is not None:
            self._used += size
