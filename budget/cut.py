"""Cut a text to an allowance: the longest head or tail whose JSON form is within it, ending where a reader would."""

import json
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from . import graphemes, tokens
from .clean import escaped, utf8

_QUOTES = 2

_BYTES_PER_TOKEN_TRIED = 6
"""How far to look first when tokens are scarcer than bytes; most texts have fewer bytes to a token."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The most that a text may take in a reply, as a JSON string: escapes and both quotes included.

    Attributes:
        tokens: o200k tokens of its JSON form, as `form.dumps` writes it.
        bytes: UTF-8 bytes of the same.
    """

    tokens: int
    bytes: int


def longest(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number from 1 to `most` that `fits`, if all smaller ones do; 0 if none does."""
    numbers = range(max(0, most), 0, -1)
    return len(numbers) - bisect_left(numbers, True, key=fits)


def fits(text: str, allowance: Allowance) -> bool:
    """Tell whether the JSON form of `text` is within both ceilings; a lone surrogate counts as its U+FFFD."""
    if len(text) + _QUOTES > allowance.bytes:
        return False
    form = _form(text)
    size = _size(form)
    return size <= allowance.bytes and (size <= allowance.tokens or tokens.fits(form, allowance.tokens))


def head(text: str, allowance: Allowance) -> str:
    """Return the longest start of `text` within the allowance.

    It ends behind a line break when that keeps at least half of what fits, else behind a whole grapheme. Only within a
    grapheme that is longer than the allowance, or than 256 code points, does it end behind any code point. It is a
    true prefix: lone surrogates stay in it. An allowance too small for `""` gives the empty text.
    """
    return _keep(text, allowance, from_end=False)


def tail(text: str, allowance: Allowance) -> str:
    """Return the longest end of `text` within the allowance; it starts at a line or grapheme as `head` ends at one."""
    return _keep(text, allowance, from_end=True)


_encode = json.JSONEncoder(ensure_ascii=False).encode


def _form(text: str) -> str:
    return escaped(_encode(utf8(text)))


def _size(form: str) -> int:
    return len(form) if form.isascii() else len(form.encode())


def _end(text: str, first: int, last: int, *, from_end: bool) -> str:
    """Return the code points `first` to `last` of `text`, counted from the end that is kept."""
    return text[len(text) - last : len(text) - first] if from_end else text[first:last]


def _keep(text: str, allowance: Allowance, *, from_end: bool) -> str:
    if fits(text, allowance):
        return text
    reach = _reach(text, allowance.bytes, from_end=from_end)
    reach = min(reach, max(1, _token_reach(text, reach, allowance.tokens, from_end=from_end)))
    while reach > 0:
        kept = _at_boundary(text, reach, from_end=from_end)
        if not kept:
            whole = _outermost_grapheme(text, from_end=from_end)
            if fits(whole, allowance):
                return whole
            kept = _end(text, 0, reach, from_end=from_end)
        form = _form(kept)
        if _size(form) <= allowance.tokens:
            return kept
        spent = tokens.count(form)
        if spent <= allowance.tokens:
            return kept
        # A shorter text can have more tokens: `hel` has more than `hello`. Rare, and never by much.
        reach = min(len(kept) - 1, len(kept) * max(0, allowance.tokens) // spent)
    return ""


def _reach(text: str, ceiling: int, *, from_end: bool) -> int:
    """Return how many code points have a JSON form of at most `ceiling` bytes.

    Forms add up code point by code point, so halving measures each stretch of the text once.
    """
    room = ceiling - _QUOTES
    reach, beyond = 0, max(0, min(len(text), room))
    while reach < beyond:
        middle = (reach + beyond + 1) // 2
        size = _size(_form(_end(text, reach, middle, from_end=from_end))) - _QUOTES
        if size <= room:
            room -= size
            reach = middle
        else:
            beyond = middle - 1
    return reach


def _token_reach(text: str, most: int, limit: int, *, from_end: bool) -> int:
    """Return about how many code points, at most `most`, have a JSON form of `limit` tokens."""
    measure = tokens.last_bytes if from_end else tokens.first_bytes
    looked = limit * _BYTES_PER_TOKEN_TRIED
    while True:
        seen = min(most, _reach(text, looked, from_end=from_end))
        form = _form(_end(text, 0, seen, from_end=from_end))
        if _size(form) > limit:
            # One token is left for the quote at the cut, which is a byte of the form again.
            size = measure(form, limit - 1) + 1
            if size < _size(form):
                return _reach(text, size, from_end=from_end)
        if seen == most:
            return most
        looked *= 2


def _at_boundary(text: str, reach: int, *, from_end: bool) -> str:
    """Return at most `reach` code points of `text`, cut at a line or else at a grapheme; none if all are of one."""
    if from_end:
        start = len(text) - reach
        line = text.find("\n", max(0, start - 1)) + 1
        if line and 2 * (len(text) - line) >= reach:
            return text[line:]
        return text[graphemes.ceiling(text, start) :]
    line = text.rfind("\n", 0, reach) + 1
    if 2 * line >= reach:
        return text[:line]
    return text[: graphemes.floor(text, reach)]


def _outermost_grapheme(text: str, *, from_end: bool) -> str:
    return text[graphemes.floor(text, len(text) - 1) :] if from_end else text[: graphemes.ceiling(text, 1)]
