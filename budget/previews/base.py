"""What a preview is, and what those of all kinds share: shares of an allowance, and how things are counted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .. import tokens
from ..content import Content
from ..cut import Allowance
from ..json_size import cost

Resume = Mapping[str, str | int]
"""Arguments of `read_artifact`, beside the artifact itself, of a further reading."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What is shown of a content.

    Attributes:
        value: a text, or parts by name; stands under `preview` in a reply.
        left_out: what is missing, such as `99,940 of 100,000 lines not shown`; empty when nothing is.
        suggest: arguments of the reading that most likely helps next; empty when there is nothing more to read.
        measures: of the whole, which only matter when it is not shown, such as its tokens.
    """

    value: str | Mapping[str, Any]
    left_out: str = ""
    suggest: Resume = field(default_factory=dict[str, str | int])
    measures: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left out."""
        return not self.left_out


class View(Protocol):
    """A content as it can be shown under any allowance, down to none at all."""

    def whole(self, allowance: Allowance) -> str | None:
        """Return all of the content if it fits, else None; cheap."""
        ...

    def part(self, allowance: Allowance) -> Preview:
        """Show what is most useful of it."""
        ...


Render = Callable[[Allowance], Preview]
"""Shows parts by name, about as large as the allowance; called again with a smaller one if they are larger."""


def tokens_of(content: Content) -> dict[str, str]:
    """Measure the tokens of a content by samples of it, in words."""
    samples = [content.read(offset, length) for offset, length in tokens.windows(content.size)]
    return {"tokens": tokens.human(tokens.estimate(content.size, samples))}


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
