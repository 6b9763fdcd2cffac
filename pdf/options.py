"""What a caller may ask of a document, and what the report says about it afterwards."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import BursarError

EmojiPolicy = Literal["name", "drop", "box"]
"""What stands for an emoji that no font can draw: `[grinning face]`, nothing, or a box."""

_UNITS_PT = {"mm": 72 / 25.4, "cm": 72 / 2.54, "in": 72.0, "pt": 1.0}
_SIZES_MM = {
    "a3": (297.0, 420.0),
    "a4": (210.0, 297.0),
    "a5": (148.0, 210.0),
    "b5": (176.0, 250.0),
    "letter": (215.9, 279.4),
    "legal": (215.9, 355.6),
    "tabloid": (279.4, 431.8),
}
_SMALLEST_PT, _LARGEST_PT = 200.0, 5000.0
_CUSTOM = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)\s*[x×*]\s*(\d{1,5}(?:\.\d{1,3})?)\s*(mm|cm|in|pt)", re.IGNORECASE)


def page_size(name: str) -> tuple[float, float]:
    """Return width and height in points of `A4`, `letter landscape`, `210x297mm` or `8.5x11in`.

    Raises:
        BursarError: bad_page_size.
    """
    words = name.casefold().split()
    landscape = "landscape" in words
    wanted = " ".join(word for word in words if word not in ("landscape", "portrait"))
    if custom := _CUSTOM.fullmatch(wanted):
        unit = _UNITS_PT[custom[3].casefold()]
        width, height = float(custom[1]) * unit, float(custom[2]) * unit
    else:
        width, height = (side * _UNITS_PT["mm"] for side in _SIZES_MM.get(wanted, (0.0, 0.0)))
    if not all(_SMALLEST_PT <= side <= _LARGEST_PT for side in (width, height)):
        raise BursarError(
            "bad_page_size",
            f"{name[:60]!r} is not a page size",
            "Use A3, A4, A5, B5, letter, legal or tabloid, with or without 'landscape', or a size such as 210x297mm",
        )
    return (height, width) if landscape and width < height else (width, height)


@dataclass(frozen=True, slots=True)
class Options:
    """How the document shall be.

    Attributes:
        title: document title; also printed on the first page when the text does not begin with a heading.
        author: document author.
        language: BCP 47 tag such as `en` or `zh-CN`; guessed from the text when empty.
        page_pt: width and height in points.
        margin_pt: white on each side of the text, in points.
        toc: put a table of contents in front.
        page_numbers: print `n / total` at the foot.
        plain: the source is plain text; otherwise Markdown.
        emoji: what stands for an emoji without a glyph.
    """

    title: str = ""
    author: str = ""
    language: str = ""
    page_pt: tuple[float, float] = (595.28, 841.89)
    margin_pt: float = 62.0
    toc: bool = False
    page_numbers: bool = True
    plain: bool = False
    emoji: EmojiPolicy = "name"


@dataclass(frozen=True, slots=True)
class Missing:
    """Why a picture cannot be shown, in a few words."""

    reason: str


Pictures = Mapping[str, Path | Missing]
"""From what stands in the source (`![alt](this)`) to a file that the caller vetted and that may be opened."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """Something that no font could draw, or that is invisible by nature.

    Attributes:
        text: the character, or the grapheme cluster that was replaced as a whole.
        name: its Unicode name; several are joined by commas.
        count: how often.
        replacement: what stands in its place; empty when it was left out.
    """

    text: str
    name: str
    count: int
    replacement: str

    @property
    def code_points(self) -> str:
        """Return such as `U+1F1EB U+1F1F7`."""
        return " ".join(f"U+{ord(character):04X}" for character in self.text)


@dataclass(frozen=True, slots=True)
class Report:
    """What became of the document.

    Attributes:
        pages: number of pages.
        fonts: names of the fonts that are embedded, most used first.
        embedded: references of pictures that were drawn.
        missing: references of pictures that were not, each with its reason.
        replaced: characters that were not drawn as they stood, most frequent first.
        without_font: scripts that no font draws, by the first word of their letters' names, and how many letters.
        dropped_links: targets that are not clickable, each with its reason.
        notes: other things the reader of the document should know, one sentence each.
        title: the title that the document has.
    """

    pages: int
    fonts: tuple[str, ...]
    embedded: tuple[str, ...]
    missing: tuple[tuple[str, str], ...]
    replaced: tuple[Replaced, ...]
    without_font: tuple[tuple[str, int], ...]
    dropped_links: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    title: str
