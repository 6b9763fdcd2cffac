"""How much the store keeps, and for how long; and how much a session may still grow."""

import time
from dataclasses import dataclass
from typing import Literal, Protocol

from . import errors
from .folder import Folder

GIB = 1 << 30

Redaction = Literal["off", "shown", "stored"]
"""Whether credentials are blanked: never; in all that is read of an artifact; or in what is stored already."""

_COUNT_EVERY_S = 60.0
"""Other processes may store something in the same session."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Settings of a store; sizes in bytes, times in seconds.

    Attributes:
        idle_s: a session that nobody used for so long may be swept away. Seven days: a conversation taken up again
            after a week-end still has its artifacts.
        total_bytes: all sessions together; above it, sweeping removes the longest unused ones first.
        session_bytes: one session; a writer that would go beyond it is refused, and a running command is ended. Four
            GiB: a single command has the two that one may print.
        settle_s: a session used this recently is never swept, whatever the limits say; it covers the instants in
            which a new session is not locked yet.
        fsync: wait for the disk before an artifact counts as stored. Off, because artifacts can be made again and a
            crash of the process loses nothing either way; after a power cut the last ones may be missing, and what is
            damaged is found out by its hash. Costs some 8 ms per artifact.
        redact: whether credentials of known formats are blanked. When they are so in what is stored, it happens as an
            artifact becomes final; what a running command has printed so far lies on the disk as it is.
    """

    idle_s: float = 7 * 86400.0
    total_bytes: int = 10 * GIB
    session_bytes: int = 4 * GIB
    settle_s: float = 60.0
    fsync: bool = False
    redact: Redaction = "off"


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
