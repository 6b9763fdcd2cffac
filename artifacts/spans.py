"""Understands which part of an artifact is asked for: `4000-4050`, `4000-`, `-50`, `4000`."""

import re
from dataclasses import dataclass

from ..errors import BursarError

_SPAN = re.compile(r"(\d{0,18})(\s*-\s*)?(\d{0,18})", re.ASCII)

_PAIR = re.compile(r"\s*(\d{1,18})\s*,\s*(\d{1,18})\s*", re.ASCII)
"""Two numbers with a comma in between: never read as one with a thousands separator, for it may mean a range."""


@dataclass(frozen=True, slots=True)
class Span:
    """A range whose ends both belong to it.

    Attributes:
        first: where it starts; None for the last `last` ones.
        last: where it ends; None for the end of the content.
    """

    first: int | None
    last: int | None


def parse(text: str, unit: str) -> Span:
    """Read a range of `unit`, `lines` (from 1) or `bytes` (from 0).

    Raises:
        BursarError: bad_range.
    """
    lowest = 1 if unit == "lines" else 0
    parts = _SPAN.fullmatch(text.strip().replace("–", "-"))
    if parts is None or not (parts[1] or parts[3]) or (parts[2] is None and parts[3]):
        raise _bad(text, unit, "it is not a range")
    if parts[2] is None:
        only = int(parts[1])
        span = Span(only, only)
    elif not parts[1]:
        span = Span(None, int(parts[3]))
    else:
        span = Span(int(parts[1]), int(parts[3]) if parts[3] else None)
    if span.first is None and span.last == 0:
        raise _bad(text, unit, f"the last 0 {unit} are nothing")
    if span.first is not None and span.first < lowest:
        raise _bad(text, unit, "lines are counted from 1")
    if span.first is not None and span.last is not None and span.last < span.first:
        raise _bad(text, unit, "it ends before it starts")
    return span


def beyond(unit: str, asked: int, count: int) -> BursarError:
    """Say that a content has less than what was asked for."""
    last = f'the last of them are {unit}="-{min(count, 50)}"' if count else "it is empty"
    one = unit.removesuffix("s")
    there = f"there is 1 {one}" if count == 1 else f"there are {count:,} {unit}"
    return BursarError("beyond_the_end", f"{one} {asked:,} is beyond the end: {there}", f"Ask for less; {last}")


def _bad(text: str, unit: str, why: str) -> BursarError:
    example = '"4000-4050", "4000-" or "-50" (the last 50)' if unit == "lines" else '"0-4095", "4096-" or "-4096"'
    if (pair := _PAIR.fullmatch(text)) is not None:
        example = f'"{pair[1]}-{pair[2]}" for a range, or without the comma for one number'
    return BursarError("bad_range", f"{unit}={text[:40]!r}: {why}", f"Give {unit} as {example}")
