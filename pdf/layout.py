"""Blocks to pages: sizes, white space, and what may not be torn apart."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from .bidi import is_rtl
from .blocks import Code, Heading, Item, Listing, Notes, PageBreak, Picture, Quote, Rule, Span, Table, Text
from .canvas import BLACK, GREY, LIGHT, SHADE, Color, Style
from .lines import BODY_PT, LEADING, Look
from .pictures import Gallery
from .tables import draw_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .blocks import Block
    from .canvas import Page
    from .lines import Lines

_HEADINGS = {
    1: (2.05, 26.0, 8.0),
    2: (1.55, 20.0, 6.0),
    3: (1.25, 15.0, 4.5),
    4: (1.08, 12.0, 3.5),
    5: (1.0, 11.0, 3.0),
    6: (1.0, 11.0, 3.0),
}
"""For each level its size in body sizes, and the white above and below in points."""

_HEADING_LEADING = LEADING * 0.86
_CODE_LEADING = 1.34
_BOX_LEADING = 1.2
"""Where lines are drawn with characters they should meet: Fira Mono is 1.2 sizes high."""

_has_boxes = re.compile("[\u2500-\u259f]").search
_QUOTE_BAR = Color(0.78, 0.81, 0.85)
_QUOTED = Color(0.33, 0.36, 0.40)
_INDENT = 19.0
_HEADINGS_TOGETHER = 4
"""As many headings in a row stay on one page; a list made of headings does not."""


class Layout:
    """Lays out the blocks of one document.

    Attributes:
        entries: (level, title, place) of the headings, for the table of contents.
        notes: sentences about what could not be done as written.
        opening: the first line of the first paragraph that has one.
    """

    def __init__(self, lines: Lines, gallery: Gallery) -> None:
        self.entries: list[tuple[int, str, str]] = []
        self.notes: dict[str, None] = {}
        self.opening = ""
        self._lines = lines
        self._flow = lines.flow
        self._gallery = gallery
        self._headings: list[Heading] = []

    def add(self, block: Block, look: Look) -> None:
        """Lay out the next block of the document; a heading waits for what comes after it."""
        if isinstance(block, Heading):
            self._headings.append(block)
            return
        self.finish(self._least(block, look))
        self._block(block, look)

    def finish(self, keep: float = 0.0) -> None:
        """Lay out the headings that wait, on a page where `keep` points are left under them."""
        headings, self._headings = self._headings, []
        for after, block in zip(reversed(range(len(headings))), headings, strict=True):
            self._heading(block, keep + after * BODY_PT * 3.4 if after < _HEADINGS_TOGETHER else 0.0)

    def _block(self, block: Block, look: Look) -> None:
        flow = self._flow
        match block:
            case Text():
                self._text(block, look)
            case Heading():
                self._heading(block, 0.0)
            case Code():
                self._code(block, look)
            case Listing():
                self._listing(block, look)
            case Quote():
                self._quote(block, look)
            case Table():
                if note := draw_table(self._lines, block, look):
                    self.notes[note] = None
            case Picture():
                flow.space(look.size * 0.8)
                self._gallery.draw(block, look)
                flow.space(look.size * 0.8)
            case Rule():
                flow.space(12)
                top = flow.take(1)
                flow.page.rule(flow.left, top, flow.right, LIGHT, 0.9)
                flow.space(12)
            case PageBreak():
                if not flow.is_fresh:
                    flow.turn()
            case Notes():
                self._notes(block, look)

    def _text(self, block: Text, look: Look) -> None:
        gap = 0.0 if look.tight or block.tight else look.size * 0.72
        self._flow.space(gap)
        for paragraph in self._lines.measure(block.spans, look):
            self.opening = self.opening or paragraph.text.strip()
            self._lines.draw(paragraph, look.size)
        self._flow.space(gap)

    def _least(self, block: Block, look: Look) -> float:
        """Return how much of a block should stand under its heading, in points."""
        line = look.size * LEADING
        match block:
            case Table():
                return line * 4.5
            case Code():
                return line * 3.5
            case Picture():
                return min(self._gallery.height(block, look), self._flow.page_room * 0.8)
            case _:
                return line * 2.2

    def _heading(self, block: Heading, keep: float) -> None:
        flow = self._flow
        factor, above, below = _HEADINGS[block.level]
        look = Look(BODY_PT * factor, GREY if block.level == max(_HEADINGS) else BLACK, bold=True)
        flow.space(above)
        paragraphs = self._lines.measure(block.spans, look)
        height = sum(len(paragraph.lines(flow.width)) for paragraph in paragraphs) * look.size * _HEADING_LEADING
        flow.need(min(height + below + 4 + keep, flow.page_room))
        flow.settle()
        title = " ".join(paragraph.text for paragraph in paragraphs).strip()
        flow.page.places[block.place] = flow.y
        flow.page.sections.append((block.level, title or "…", flow.y))
        self.entries.append((block.level, title, block.place))
        for paragraph in paragraphs:
            self._lines.draw(paragraph, look.size, leading=_HEADING_LEADING)
        if block.level == 1:
            flow.y += 3
            flow.page.rule(flow.left, flow.y, flow.right, LIGHT, 0.8)
        flow.space(below)

    def _code(self, block: Code, look: Look) -> None:
        flow, size, padding = self._flow, look.size * 0.85, 8.0
        left, right = flow.left, flow.right

        def ground(page: Page, top: float, bottom: float) -> None:
            page.box(left, top, right - left, bottom - top, SHADE)

        def hook(page: Page, baseline: float) -> None:
            x, y = right - padding + 1.2, baseline - size * 0.3
            page.line([(x + 3.6, y - 3), (x + 3.6, y), (x, y)], GREY)
            page.line([(x + 1.6, y - 1.6), (x, y), (x + 1.6, y + 1.6)], GREY)

        leading = _BOX_LEADING if _has_boxes(block.text) else _CODE_LEADING
        flow.space(look.size * 0.8)
        flow.need(padding * 2 + size * LEADING * 2)
        with flow.behind(ground), flow.inset(padding + 1, padding + 1):
            flow.y += padding
            for line in self._lines.characters.fit(block.text).split("\n"):
                paragraph = self._lines.text(line, Style(size, mono=True))
                self._lines.draw(paragraph, size, leading=leading, is_code=True, mark=hook)
            flow.y += padding
        flow.space(look.size * 0.8)

    def _listing(self, block: Listing, look: Look) -> None:
        flow = self._flow
        gap = 0.0 if look.tight and block.tight else look.size * 0.6
        widest = self._lines.text(block.items[-1].marker, Style(look.size)).width
        flow.space(gap)
        for item in block.items:
            self._item(item, look._replace(tight=block.tight), max(_INDENT, widest + look.size * 0.7))
            flow.space(look.size * (0.16 if block.tight else 0.6))
        flow.space(gap)

    def _item(self, item: Item, look: Look, indent: float) -> None:
        flow, height, gap = self._flow, look.size * LEADING, look.size * 0.42
        marker = self._lines.text(item.marker, Style(look.size, color=look.color))
        rtl = _is_rtl(item.blocks)
        flow.need(height)
        flow.settle()
        page, left, right = flow.page, flow.left, flow.right
        baseline = flow.y + height * 0.5 + look.size * 0.36
        blocks = item.blocks or [Text([Span("")])]
        with flow.inset(*((0, indent) if rtl else (indent, 0)), least=marker.width + gap):
            at = flow.right + gap if rtl else max(flow.left - gap - marker.width, left)
            marker.draw(page, min(at, right), baseline)
            if not isinstance(blocks[0], (Text, Listing)):
                # What has white of its own above it would not stand on the line of its marker.
                flow.take(height)
            self._inside(blocks, look, 0.0 if look.tight else look.size * 0.6)

    def _quote(self, block: Quote, look: Look) -> None:
        flow = self._flow
        rtl = _is_rtl(block.blocks)
        edge = flow.right - 3 if rtl else flow.left

        def bar(page: Page, top: float, bottom: float) -> None:
            page.box(edge, top, 3, bottom - top, _QUOTE_BAR)

        flow.space(look.size * 0.7)
        flow.need(look.size * LEADING * 2)
        with flow.inset(*((0, 15) if rtl else (15, 0))), flow.behind(bar):
            self._inside(block.blocks, look._replace(color=_QUOTED, tight=False), look.size * 0.72)
        flow.space(look.size * 0.7)

    def _inside(self, blocks: Sequence[Block], look: Look, gap: float) -> None:
        """Lay out what stands in another block: without white above a first paragraph, and with `gap` below it."""
        for number, block in enumerate(blocks):
            if number == 0 and isinstance(block, Text):
                self._text(replace(block, tight=True), look)
                self._flow.space(gap)
            else:
                self._block(block, look)

    def _notes(self, block: Notes, look: Look) -> None:
        flow = self._flow
        flow.space(26)
        top = flow.take(1)
        flow.page.rule(flow.left, top, flow.left + min(120, flow.width), LIGHT, 0.9)
        flow.space(8)
        for item in block.items:
            self._item(item, look._replace(size=look.size * 0.86), _INDENT)
            flow.space(2.5)


def _is_rtl(blocks: Sequence[Block]) -> bool:
    """Tell whether the first text in the blocks runs from right to left."""
    first = next((block for block in blocks if isinstance(block, (Text, Heading))), None)
    return first is not None and is_rtl("".join(span.text for span in first.spans)[:400])
