"""How much disk each principal holds: above its quota, what would store more is refused, and the others keep theirs."""

import json
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread

from ...errors import BursarError
from .delete_session import PATH

_EVERY_S = 30.0
"""Between two measurements: each looks at every file of the store."""

_OWNER = "owner.json"
_STORES_NOTHING = {"read_artifact", "resource"}
_GIB = 1 << 30


@dataclass
class StorageQuota:
    """Measures now and then what everybody's sessions take; in between, what is over the quota stays over it.

    Attributes:
        store: directory of the sessions.
        quota_bytes: of one principal; 0: no quota.
    """

    store: Path
    quota_bytes: int
    _held: Counter[str] = field(default_factory=Counter[str])

    async def keep_measuring(self) -> None:
        """Measure for as long as the server lives."""
        while self.quota_bytes:
            began = time.monotonic()
            self._held = await anyio.to_thread.run_sync(held_in, self.store)
            await anyio.sleep(max(_EVERY_S, 10 * (time.monotonic() - began)))

    def check(self, tool: str, principal: str) -> None:
        """Refuse a call that would store something for a principal who holds enough.

        Raises:
            BursarError: quota_exceeded.
        """
        if not self.quota_bytes or tool in _STORES_NOTHING or self._held[principal] <= self.quota_bytes:
            return
        what = f"your sessions hold {self._held[principal] / _GIB:.1f} GiB, and may hold {self.quota_bytes / _GIB:.1f}"
        fix = f"Delete sessions that you no longer need (DELETE {PATH}), and try again in {_EVERY_S:.0f} s"
        raise BursarError("quota_exceeded", what, fix)


def held_in(store: Path) -> Counter[str]:
    """Add up the bytes of all sessions by their owners. Blocks."""
    held = Counter[str]()
    with suppress(OSError):
        for session in store.iterdir():
            with suppress(OSError, ValueError, KeyError, TypeError):
                owner = str(cast("dict[str, Any]", json.loads((session / _OWNER).read_bytes()))["owner"])
                held[owner] += sum(file.lstat().st_size for file in session.iterdir())
    return held
