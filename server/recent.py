"""Remembers the latest of many keys, so that what a long-lived server remembers stays small."""

from collections import OrderedDict

_KEPT = 10_000


class Recent:
    """Counts keys; the one that was not added for longest is forgotten first."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept
        self._counts: OrderedDict[str, int] = OrderedDict()

    def add(self, key: str) -> int:
        """Count a key; return how often it was added by now."""
        count = self._counts.pop(key, 0) + 1
        self._counts[key] = count
        if len(self._counts) > self._kept:
            self._counts.popitem(last=False)
        return count

    def __contains__(self, key: str) -> bool:
        return key in self._counts
