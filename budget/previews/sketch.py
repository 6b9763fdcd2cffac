"""What the previews of all kinds share: the sketch of one, shares of an allowance, and how things are counted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..cut import Allowance
from ..json_size import cost


@dataclass(frozen=True, slots=True)
class Sketch:
    """A preview under one allowance, before anyone checked that it keeps to it.

    Attributes:
        value: the parts by name.
        left_out: what is missing.
        suggest: arguments of the next reading.
        complete: nothing is missing.
    """

    value: dict[str, Any]
    left_out: str = ""
    suggest: Mapping[str, str] = field(default_factory=dict[str, str])
    complete: bool = False


Render = Callable[[Allowance], Sketch]
"""Sketches a preview that is about as large as the allowance; called again with a smaller one if it is larger."""


def share(allowance: Allowance, percent: int) -> Allowance:
    """Return a part of an allowance."""
    return Allowance(allowance.tokens * percent // 100, allowance.bytes * percent // 100)


def fitting(items: list[str], allowance: Allowance) -> list[str]:
    """Return as many of the first items as a JSON list within the allowance can hold."""
    room_tokens, room_bytes = allowance.tokens - 2, allowance.bytes - 2
    for place, item in enumerate(items):
        taken = cost(item)
        room_tokens -= taken.tokens + 1
        room_bytes -= taken.bytes + 1
        if room_tokens < 0 or room_bytes < 0:
            return items[:place]
    return items


def plural(n: int, noun: str) -> str:
    """Count things: `1 line`, `12,003 lines`."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def decoded(raw: bytes) -> str:
    """Decode UTF-8 so that encoding it again gives the same bytes, whatever they are."""
    return raw.decode("utf-8", "surrogateescape")


def encoded_size(text: str) -> int:
    """Return how many bytes a part of a decoded text was."""
    return len(text.encode("utf-8", "surrogateescape"))
