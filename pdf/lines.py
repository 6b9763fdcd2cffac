"""Running text to lines on pages: looks, leading, and which lines may not be torn apart."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from .canvas import BLACK, BLUE, Color, Style
from .paragraph import Paragraph, Typesetter

if TYPE_CHECKING:
    from collections.abc import Callable

    from .blocks import Alignment, Spans
    from .canvas import Page
    from .characters import Characters
    from .flow import Flow
    from .fonts import Fonts

BODY_PT = 10.5
"""Size of body text."""

LEADING = 1.46
"""Distance of base lines in sizes: tall enough for Devanagari, Thai and vocalised Arabic."""


class Look(NamedTuple):
    """What text inherits from what it stands in; `size` is in points."""

    size: float
    color: Color = BLACK
    bold: bool = False
    tight: bool = False


class Lines:
    """Sets running text into the pages of a document.

    Attributes:
        flow: the pages.
        characters: decides what cannot be drawn.
    """

    def __init__(self, flow: Flow, fonts: Fonts, characters: Characters) -> None:
        self.flow = flow
        self.characters = characters
        self._typesetter = Typesetter(fonts)

    def fit(self, spans: Spans) -> Spans:
        """Return text that can be drawn, for text that is measured more than once: replacements are counted."""
        fitted = [self.characters.fit(span.text) for span in spans]
        return [span._replace(text=text) for span, text in zip(spans, fitted, strict=True)]

    def measure(self, spans: Spans, look: Look) -> list[Paragraph]:
        """Measure text: a paragraph for each of its lines, which may have no text."""
        if len(spans) == 1 and "\n" not in (text := self.characters.fit(spans[0].text)):
            return [
                self._typesetter.paragraph(
                    [(text, _style(look, *spans[0][1:7]))], (spans[0].place,) * bool(spans[0].place)
                )
            ]
        lines: list[list[tuple[str, Style]]] = [[]]
        places: list[list[str]] = [[]]
        for span in spans:
            style = _style(look, *span[1:7])
            if span.place:
                places[-1].append(span.place)
            first, *more = self.characters.fit(span.text).split("\n")
            lines[-1].append((first, style))
            lines += [[(line, style)] for line in more]
            places += [[] for _ in more]
        return [self._typesetter.paragraph(*pair) for pair in zip(lines, places, strict=True)]

    def text(self, text: str, style: Style) -> Paragraph:
        """Measure text in one style, as one paragraph."""
        return self._typesetter.paragraph([(self.characters.fit(text), style)])

    def draw(
        self,
        paragraph: Paragraph,
        size: float,
        *,
        leading: float = LEADING,
        alignment: Alignment = "",
        is_code: bool = False,
        mark: Callable[[Page, float], None] | None = None,
    ) -> None:
        """Draw a paragraph over as many pages as it takes; no page begins or ends with a single line of it.

        Args:
            paragraph: what to draw.
            size: of its text, in points.
            leading: distance of base lines, in sizes.
            alignment: where short lines stand; empty for where the paragraph begins.
            is_code: spaces count, and single lines may stand alone.
            mark: called for each line that goes on below, with its page and base line.
        """
        flow, height = self.flow, size * leading
        lines = paragraph.lines(flow.width, keep_spaces=is_code)
        if paragraph.places:
            flow.need(height)
            flow.page.places.update(dict.fromkeys(paragraph.places, flow.y))
        for number, line in enumerate(lines):
            left = len(lines) - number
            if not is_code and left > 1 and (number == 0 or (left == 2 and number > 1)):
                flow.need(height * 2)
            baseline = flow.take(height) + height * 0.5 + size * 0.36
            spare = flow.width - paragraph.width_of(line)
            paragraph.draw(flow.page, flow.left + indent(spare, alignment, paragraph), baseline, line)
            if mark is not None and left > 1:
                mark(flow.page, baseline)


def indent(spare: float, alignment: Alignment, paragraph: Paragraph) -> float:
    """Return how far from the left a line stands that leaves `spare` points of its room."""
    match alignment or ("right" if paragraph.rtl else "left"):
        case "center":
            return spare / 2
        case "right":
            return spare
        case _:
            return 0.0


@lru_cache(maxsize=1000)
def _style(look: Look, bold: bool, italic: bool, code: bool, strike: bool, link: str, note: bool) -> Style:
    """Return how a span looks in what it stands in."""
    if note:
        return Style(look.size * 0.66, rise=look.size * 0.34, link=link, color=BLUE)
    return Style(
        look.size * (0.9 if code else 1.0),
        mono=code,
        bold=bold or look.bold,
        italic=italic,
        strike=strike,
        shaded=code,
        link=link,
        color=BLUE if link else look.color,
    )
