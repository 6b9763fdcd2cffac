"""How wide text is, near enough to divide a table among its columns and to break what has no place to break."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

import regex

from .fonts import advances

if TYPE_CHECKING:
    from collections.abc import Iterator

CELL = 0.6
"""Width of a column of text in columns, in sizes."""

_LONG = re.compile(r"\S{8,}")
_BREAKABLE = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef]+"
)
"""Scripts whose lines break between letters or where a dictionary says so."""

_PARTS = regex.compile(r"\X{1,3}")


def width(text: str) -> float:
    """Return the width of a text in sizes; it may be a little less."""
    known = advances()
    return sum(known.get(character) or _other(character) for character in text)


def longest(text: str) -> float:
    """Return the width of the longest part that no line breaks, in sizes."""
    return max((width(word) for part in _BREAKABLE.split(text) for word in part.split()), default=0.0)


def cells(character: str) -> int:
    """Return how many columns the character takes where text is set in columns."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def breaking(text: str, room: float) -> Iterator[str | None]:
    """Yield the text in pieces; None where a line may break in a word that is wider than `room` sizes."""
    at = 0
    for word in _LONG.finditer(text):
        if longest(word[0]) > room:
            yield text[at : word.start()]
            for part in _PARTS.findall(word[0]):
                yield part
                yield None
            at = word.end()
    yield text[at:]


def _other(character: str) -> float:
    return 0.0 if not (columns := cells(character)) else CELL * 1.1 if columns == 1 else 1.0
