"""How much the store keeps, and for how long."""

from dataclasses import dataclass

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """Settings of a store; sizes in bytes, times in seconds.

    Attributes:
        idle_s: a session that nobody used for so long may be swept away. Seven days: a conversation taken up again
            after a week-end still has its artifacts.
        total_bytes: all sessions together; above it, sweeping removes the longest unused ones first.
        session_bytes: one session; a writer that would go beyond it is refused.
        settle_s: a session used this recently is never swept, whatever the limits say; it covers the instants in
            which a new session is not locked yet.
        fsync: wait for the disk before an artifact counts as stored. Off, because artifacts can be made again and a
            crash of the process loses nothing either way; after a power cut the last ones may be missing, and what is
            damaged is found out by its hash. Costs some 8 ms per artifact.
    """

    idle_s: float = 7 * 86400.0
    total_bytes: int = 10 * GIB
    session_bytes: int = 10 * GIB
    settle_s: float = 60.0
    fsync: bool = False
