"""How much the store keeps, and for how long."""

from dataclasses import dataclass
from typing import Literal

GIB = 1 << 30

Redaction = Literal["off", "shown", "stored"]
"""Whether credentials are blanked: never; in all that is read of an artifact; or in what is stored already."""


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
