"""The parts a document is made of, between its source and its pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


class Span(NamedTuple):
    """A piece of running text in one look.

    Attributes:
        text: a newline ends a line.
        link: a URL or `#name`; empty for none.
        note: a reference to a footnote, set small and high.
        place: a name that links may go to.
    """

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    strike: bool = False
    link: str = ""
    note: bool = False
    place: str = ""


Spans = list[Span]
Alignment = Literal["left", "center", "right", ""]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 to 6, and the name by which links find it."""

    level: int
    spans: Spans
    place: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; a tight one has no space around it, and keeps the spaces at the start of its lines."""

    spans: Spans
    tight: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """Text whose spaces and line ends count."""

    text: str


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation."""

    blocks: list[Block]


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a list; `marker` is a bullet, a number or a box to tick."""

    marker: str
    blocks: list[Block]


@dataclass(frozen=True, slots=True)
class Listing:
    """A list; a tight one has no space between its items."""

    items: list[Item]
    tight: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A table; rows may be shorter than the header."""

    header: list[Spans]
    rows: list[list[Spans]]
    alignments: list[Alignment]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, by what stands in the source."""

    reference: str
    alt: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line."""


@dataclass(frozen=True, slots=True)
class PageBreak:
    """The next block begins a page."""


@dataclass(frozen=True, slots=True)
class Notes:
    """The footnotes, at the end."""

    items: list[Item]


Block = Heading | Text | Code | Quote | Listing | Table | Picture | Rule | PageBreak | Notes


def plain_text(spans: Spans) -> str:
    """Return running text without its looks and references."""
    return " ".join("".join(span.text for span in spans if not span.note).split())
