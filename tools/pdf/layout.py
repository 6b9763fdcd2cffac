"""Blocks to pages: sizes, leading, white space, and what may not be torn apart."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .blocks import Code, Heading, Item, Listing, Notes, PageBreak, Picture, Quote, Rule, Span, Table, Text
from .canvas import BLACK, Ink, Page, ink
from .paragraph import BLUE, GREY, LIGHT, SHADE, Paragraph, Style

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .blocks import Block, Spans
    from .characters import Characters
    from .flow import Flow
    from .options import Options
    from .paragraph import Typesetter
    from .pictures import Gallery

LEADING = 1.46
"""Distance of base lines in sizes: tall enough for Devanagari, Thai and vocalised Arabic."""

_HEADINGS = {1: (2.05, 26.0, 8.0), 2: (1.55, 20.0, 6.0), 3: (1.25, 15.0, 4.5), 4: (1.08, 12.0, 3.5)}
"""For each level its size in body sizes, and the white above and below."""

_CODE_LEADING = 1.34
_BOX_LEADING = 1.2
"""Where lines are drawn with characters they should meet: Fira Mono is 1.2 sizes high."""

_has_boxes = re.compile("[\u2500-\u259f]").search
_QUOTE_BAR = ink((0.78, 0.81, 0.85))
_QUOTED = ink((0.33, 0.36, 0.40))
_INDENT = 19.0


@dataclass(frozen=True, slots=True)
class Look:
    """What text inherits from what it stands in."""

    size: float
    color: Ink = BLACK
    bold: bool = False
    tight: bool = False


@dataclass(slots=True)
class Layout:
    """Lays out blocks.

    Attributes:
        flow: the pages.
        entries: (level, title, place) of the headings, for the table of contents.
        notes: sentences about what could not be done as written.
        markers: bullets and numbers that were measured.
        styles: styles in use, each made once.
    """

    flow: Flow
    type: Typesetter
    characters: Characters
    gallery: Gallery
    options: Options
    check: Callable[[], None]
    entries: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])
    notes: dict[str, None] = field(default_factory=dict[str, None])
    markers: dict[tuple[str, Style], Paragraph] = field(default_factory=dict["tuple[str, Style]", "Paragraph"])
    styles: dict[tuple[object, ...], Style] = field(default_factory=dict["tuple[object, ...]", Style])

    def block(self, block: Block, look: Look) -> None:
        """Lay out one block."""
        self.check()
        match block:
            case Text():
                self._text(block, look)
            case Heading():
                self.headings([block], None, look)
            case Code():
                self._code(block, look)
            case Listing():
                self._listing(block, look)
            case Quote():
                self._quote(block, look)
            case Table():
                from .tables import draw_table

                draw_table(self, block, look)
            case Picture():
                self._picture(block, look)
            case Rule():
                self.flow.space(12)
                top = self.flow.take(1)
                self.flow.page.rule(self.flow.left, top, self.flow.right, LIGHT, 0.9)
                self.flow.space(12)
            case PageBreak():
                if not self.flow.is_fresh:
                    self.flow.turn()
            case Notes():
                self._notes(block, look)

    def paragraphs(self, spans: Spans, look: Look) -> list[tuple[Paragraph, list[str]]]:
        """Measure text, one paragraph for each of its lines; with it come the places that links may go to."""
        if len(spans) == 1 and not spans[0].place:
            paragraph = self.type.quick(spans[0].text, self._style(spans[0], look))
            if paragraph is not None:
                return [(paragraph, [])]
        if len(spans) == 1 and "\n" not in spans[0].text and not spans[0].place:
            return [(self.type.paragraph([(self.characters.fit(spans[0].text), self._style(spans[0], look))]), [])]
        lines: list[list[tuple[str, Style]]] = [[]]
        places: list[list[str]] = [[]]
        for span in spans:
            style = self._style(span, look)
            if span.place:
                places[-1].append(span.place)
            for number, part in enumerate(self.characters.fit(span.text).split("\n")):
                if number:
                    lines.append([])
                    places.append([])
                if part:
                    lines[-1].append((part, style))
        return [(self.type.paragraph(line), names) for line, names in zip(lines, places, strict=True)]

    def draw_lines(
        self,
        paragraph: Paragraph,
        size: float,
        *,
        leading: float = LEADING,
        keep: bool = False,
        marks: Callable[[Page, float], None] | None = None,
    ) -> None:
        """Draw a paragraph over as many pages as it takes; no page begins or ends with a single line of it.

        Args:
            paragraph: what to draw.
            size: of its text.
            leading: distance of base lines, in sizes.
            keep: it is code.
            marks: called for each line that was broken because it was full, with its page and base line.
        """
        flow = self.flow
        lines = paragraph.lines(flow.width, keep_spaces=keep)
        height = size * leading
        if not keep and len(lines) > 1 and flow.room < height * 2:
            flow.need(height * 2)
        for number, line in enumerate(lines):
            left = len(lines) - number
            # Of three and more lines the last is not left alone for the next page.
            if not keep and left == 2 and number > 1:
                flow.need(height * 2)
            top = flow.take(height)
            baseline = top + height * 0.5 + size * 0.36
            start = flow.left
            if paragraph.rtl:
                start = flow.right - paragraph.widest(*line)
            paragraph.draw(flow.page, start, baseline, line)
            if marks is not None and left > 1:
                marks(flow.page, baseline)

    def style(self, size: float, *, mono: bool = False, bold: bool = False, color: Ink = BLACK) -> Style:
        """Return a style, the same one each time."""
        key = (size, mono, bold, color)
        if key not in self.styles:
            self.styles[key] = Style(size, mono=mono, bold=bold, color=color)
        return self.styles[key]

    def _style(self, span: Span, look: Look) -> Style:
        key = (look.size, look.color, look.bold, span[1:7])
        known = self.styles.get(key)
        if known is None:
            known = self.styles[key] = _style(span, look)
        return known

    def _text(self, block: Text, look: Look) -> None:
        gap = 0.0 if look.tight or block.tight else look.size * 0.72
        self.flow.space(gap)
        for paragraph, places in self.paragraphs(block.spans, look):
            self.place(places)
            self.draw_lines(paragraph, look.size)
        self.flow.space(gap)

    def place(self, names: Sequence[str]) -> None:
        """Let links go to what comes next."""
        if names:
            self.flow.need(self.options.size_pt * LEADING)
            for name in names:
                self.flow.page.places[name] = self.flow.y

    def headings(self, blocks: Sequence[Heading], following: Block | None, look: Look) -> None:
        """Lay out headings that follow each other, on the page on which the block after them begins."""
        keep = self._least(following, look)
        for number, block in enumerate(blocks):
            # A few headings stay together; a list made of headings does not.
            after = len(blocks) - number - 1
            self._heading(block, keep + after * look.size * 3.4 if after < 4 else 0.0)

    def _least(self, block: Block | None, look: Look) -> float:
        """Return how much of a block should stand under its heading, in points."""
        line = look.size * LEADING
        match block:
            case None:
                return 0.0
            case Table():
                return line * 4.5
            case Code():
                return line * 3.5
            case Picture():
                return min(self.gallery.height(self.flow, block, look), self.flow.page_room * 0.8)
            case _:
                return line * 2.2

    def _heading(self, block: Heading, keep: float) -> None:
        flow, body = self.flow, self.options.size_pt
        factor, above, below = _HEADINGS.get(block.level, (1.0, 11.0, 3.0))
        look = Look(body * factor, GREY if block.level == 6 else BLACK, bold=True)
        flow.space(above)
        measured = self.paragraphs([span._replace(bold=True) for span in block.spans], look)
        height = sum(len(p.lines(flow.width)) for p, _ in measured) * look.size * LEADING * 0.86
        flow.need(min(height + below + 4 + keep, flow.page_room))
        flow.settle()
        title = " ".join(paragraph.text for paragraph, _ in measured).strip()
        flow.page.places[block.place] = flow.y
        flow.page.sections.append((block.level, title or "…", flow.y))
        self.entries.append((block.level, title, block.place))
        for paragraph, _ in measured:
            self._heading_lines(paragraph, look)
        if block.level == 1:
            flow.y += 3
            flow.page.rule(flow.left, flow.y, flow.right, LIGHT, 0.8)
        flow.space(below)

    def _heading_lines(self, paragraph: Paragraph, look: Look) -> None:
        flow, height = self.flow, look.size * LEADING * 0.86
        for line in paragraph.lines(flow.width):
            top = flow.take(height)
            start = flow.right - paragraph.widest(*line) if paragraph.rtl else flow.left
            paragraph.draw(flow.page, start, top + height * 0.5 + look.size * 0.36, line)

    def _code(self, block: Code, look: Look) -> None:
        flow, size, padding = self.flow, look.size * 0.85, 8.0
        flow.space(look.size * 0.8)
        flow.need(padding * 2 + size * LEADING * 2)
        left, right = flow.left, flow.right

        def ground(page: Page, top: float, bottom: float, *, first: bool, last: bool) -> None:
            page.box(left, top, right - left, bottom - top, SHADE)

        def hook(page: Page, baseline: float) -> None:
            x, y = right - padding + 1.2, baseline - size * 0.3
            page.stroke([(x + 3.6, y - 3), (x + 3.6, y), (x, y)], GREY, 0.6)
            page.stroke([(x + 1.6, y - 1.6), (x, y), (x + 1.6, y + 1.6)], GREY, 0.6)

        code = self.style(size, mono=True)
        leading = _BOX_LEADING if _has_boxes(block.text) else _CODE_LEADING
        with flow.behind(ground):
            flow.y += padding
            with flow.inset(padding + 1, padding + 1):
                for number, line in enumerate(self.characters.fit(block.text).split("\n")):
                    if number % 64 == 0:
                        self.check()
                    self.draw_lines(self.type.paragraph([(line, code)]), size, leading=leading, keep=True, marks=hook)
            flow.y = flow.y + padding
        flow.space(look.size * 0.8)

    def _listing(self, block: Listing, look: Look) -> None:
        gap = 0.0 if look.tight and block.tight else look.size * 0.6
        self.flow.space(gap)
        inner = replace(look, tight=block.tight)
        widest = max((self._marker(item.marker, self.style(look.size)).width for item in block.items[-1:]), default=0.0)
        indent = max(_INDENT, widest + look.size * 0.7)
        for item in block.items:
            self._item(item, inner, indent)
            self.flow.space(look.size * (0.16 if block.tight else 0.6))
        self.flow.space(gap)

    def _marker(self, text: str, style: Style) -> Paragraph:
        key = (text, style)
        if key not in self.markers:
            self.markers[key] = self.type.paragraph([(self.characters.fit(text), style)])
        return self.markers[key]

    def _item(self, item: Item, look: Look, indent: float) -> None:
        flow = self.flow
        marker = self._marker(item.marker, self.style(look.size, color=look.color))
        rtl = _is_rtl(item.blocks)
        flow.need(look.size * LEADING)
        flow.settle()
        page, top, left, right = flow.page, flow.y, flow.left, flow.right
        gap = look.size * 0.42
        with flow.inset(*((0, indent) if rtl else (indent, 0)), least=marker.width + gap):
            height = look.size * LEADING
            at = flow.right + gap if rtl else max(flow.left - gap - marker.width, left)
            baseline = top + height * 0.5 + look.size * 0.36
            first = item.blocks[0] if item.blocks else Text([])
            if not isinstance(first, (Text, Listing)):
                # What has white of its own above it would not stand on the line of its marker.
                flow.take(height)
            marker.draw(page, min(at, right), baseline, (0, len(marker.text)))
            for number, block in enumerate(item.blocks):
                if number == 0 and isinstance(block, Text):
                    self._text(Text(block.spans, tight=True), look)
                    flow.space(0 if look.tight else look.size * 0.6)
                else:
                    self.block(block, look)
            if not item.blocks:
                self._text(Text([], tight=True), look)

    def _quote(self, block: Quote, look: Look) -> None:
        flow = self.flow
        flow.space(look.size * 0.7)
        flow.need(look.size * LEADING * 2)
        rtl = _is_rtl(block.blocks)
        edge = flow.right - 3 if rtl else flow.left

        def bar(page: Page, top: float, bottom: float, *, first: bool, last: bool) -> None:
            page.box(edge, top, 3, bottom - top, _QUOTE_BAR)

        inner = replace(look, color=_QUOTED, tight=False)
        with flow.inset(*((0, 15) if rtl else (15, 0))), flow.behind(bar):
            for number, part in enumerate(block.blocks):
                if number == 0 and isinstance(part, Text):
                    self._text(replace(part, tight=True), inner)
                    flow.space(look.size * 0.72)
                else:
                    self.block(part, inner)
        flow.space(look.size * 0.7)

    def _notes(self, block: Notes, look: Look) -> None:
        flow = self.flow
        flow.space(26)
        top = flow.take(1)
        flow.page.rule(flow.left, top, flow.left + min(120, flow.width), LIGHT, 0.9)
        flow.space(8)
        small = replace(look, size=look.size * 0.86)
        for number, (item, place) in enumerate(zip(block.items, block.places, strict=True), 1):
            self.place([place])
            back = Span("↩", link=f"#noteref:{number}")
            last = item.blocks[-1] if item.blocks else None
            if isinstance(last, Text):
                blocks = [*item.blocks[:-1], replace(last, spans=[*last.spans, Span("\u00a0"), back])]
            else:
                blocks = [*item.blocks, Text([back])]
            self._item(Item(item.marker, blocks), small, _INDENT)
            flow.space(2.5)

    def _picture(self, block: Picture, look: Look) -> None:
        flow = self.flow
        flow.space(look.size * 0.8)
        self.gallery.draw(self, block, look)
        flow.space(look.size * 0.8)


def _style(span: Span, look: Look) -> Style:
    if span.note:
        return Style(look.size * 0.66, rise=look.size * 0.34, link=span.link, color=BLUE)
    return Style(
        look.size * (0.9 if span.code else 1.0),
        mono=span.code,
        bold=span.bold or look.bold,
        italic=span.italic,
        strike=span.strike,
        shaded=span.code,
        link=span.link,
        color=BLUE if span.link else look.color,
    )


def _is_rtl(blocks: Sequence[Block]) -> bool:
    """Tell whether the first text in the blocks runs from right to left."""
    from .bidi import levels

    for block in blocks:
        if isinstance(block, (Text, Heading)):
            found = levels("".join(span.text for span in block.spans)[:400])
            return found is not None and found[-1] % 2 == 1
    return False
