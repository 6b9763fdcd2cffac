"""Remembers the latest of many keys, so that what a long-lived server remembers stays small."""

from collections import OrderedDict
from hashlib import blake2b

_KEPT = 10_000
_DIGEST_BYTES = 16


class LruCounter:
    """Counts keys; the one that was not added for longest is forgotten first.

    A key is made of any values and may hold contents: only a hash of how they are written is kept.
    """

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept
        self._counts: OrderedDict[bytes, int] = OrderedDict()

    def add(self, *key: object) -> int:
        """Count a key; return how often it was added by now."""
        digest = _digest(key)
        count = self._counts.pop(digest, 0) + 1
        self._counts[digest] = count
        if len(self._counts) > self._kept:
            self._counts.popitem(last=False)
        return count

    def __contains__(self, key: object) -> bool:
        return _digest((key,)) in self._counts


def _digest(key: tuple[object, ...]) -> bytes:
    return blake2b(repr(key).encode(), digest_size=_DIGEST_BYTES).digest()
