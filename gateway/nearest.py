"""What a model may have meant by a name that is none."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

_CHARACTERS = 128
_NAMES = 500
"""Comparing takes time with the length of both, for each of them."""


def nearest(name: str, known: Iterable[str], most: int = 1, least: float = 0.6) -> list[str]:
    """Return the names that are most like one, the likest first.

    Args:
        name: as a model wrote it.
        known: of which the first few hundred are looked at.
        most: that are returned.
        least: of what both share, from 0 to 1.
    """
    looked_at = [one for one in islice(known, _NAMES) if len(one) <= _CHARACTERS]
    return get_close_matches(name[:_CHARACTERS], looked_at, most, least)
