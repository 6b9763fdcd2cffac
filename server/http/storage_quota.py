"""How much disk each principal holds: above its quota, what would store more is refused, and the others keep theirs."""

import time
from collections import Counter
from dataclasses import dataclass, field

import anyio
import anyio.to_thread

from ...artifacts import Store
from ...errors import BursarError
from .delete_session import PATH

_EVERY_S = 30.0
"""Between two measurements: each looks at every file of the store."""

_STORES_NOTHING = {"read_artifact", "resource"}
_GIB = 1 << 30


@dataclass
class StorageQuota:
    """Measures now and then what everybody's sessions take; in between, what is over the quota stays over it.

    Attributes:
        quota_bytes: of one principal; 0: no quota.
        held: bytes of each principal's sessions, as last measured.
    """

    quota_bytes: int
    held: Counter[str] = field(default_factory=Counter[str])

    async def keep_measuring(self, store: Store) -> None:
        """Measure for as long as the server lives."""
        while True:
            began = time.monotonic()
            self.held = await anyio.to_thread.run_sync(store.sizes)
            await anyio.sleep(max(_EVERY_S, 10 * (time.monotonic() - began)))

    def total_bytes(self) -> int:
        """Return the bytes of all sessions together, as last measured."""
        return self.held.total()

    def check(self, tool: str, principal: str) -> None:
        """Refuse a call that would store something for a principal who holds enough.

        Raises:
            BursarError: quota_exceeded.
        """
        if not self.quota_bytes or tool in _STORES_NOTHING or self.held[principal] <= self.quota_bytes:
            return
        what = f"your sessions hold {self.held[principal] / _GIB:.1f} GiB, and may hold {self.quota_bytes / _GIB:.1f}"
        fix = f"Delete sessions that you no longer need (DELETE {PATH}), and try again in {_EVERY_S:.0f} s"
        raise BursarError("quota_exceeded", what, fix)
