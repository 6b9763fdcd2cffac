"""Tables: columns as wide as their words need, the header on every page, rows that may be longer than a page."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .blocks import Span, Text
from .canvas import ink
from .paragraph import GREY, LIGHT, SHADE

if TYPE_CHECKING:
    from .blocks import Alignment, Spans, Table
    from .layout import Layout, Look
    from .paragraph import Paragraph

_PADDING_X, _PADDING_Y = 5.5, 3.6
_NARROWEST = 38.0
_SAMPLE_ROWS = 400
"""Rows that decide the widths of the columns, and are held in memory at once."""
_SMALLEST = 0.66
_LINES = 1.36
_HEAD_RULE = ink((0.55, 0.58, 0.63))


_Lines: TypeAlias = "list[list[tuple[Paragraph, tuple[int, int]]]]"
"""Of a row: for each cell its lines."""


class _Cell(NamedTuple):
    paragraphs: list[Paragraph]
    widest: float

    @property
    def longest_word(self) -> float:
        return max((paragraph.longest_word() for paragraph in self.paragraphs), default=0.0)


def draw_table(layout: Layout, table: Table, look: Look) -> None:
    """Draw a table; one with more columns than fit comes in several parts, each with the first column."""
    flow = layout.flow
    columns = max([len(table.header), *(len(row) for row in table.rows)], default=0)
    if not columns:
        return
    flow.space(look.size * 0.85)
    most = max(int(flow.width // _NARROWEST), 1)
    if columns <= most:
        _Grid(layout, table, look, list(range(columns))).draw()
    else:
        layout.notes[f"A table of {columns} columns was divided into parts of at most {most} columns."] = None
        step = max(most - 1, 1)
        for first in range(1, columns, step):
            part = [0, *range(first, min(first + step, columns))]
            told = f"Columns {first + 1 if first > 1 else 1} to {part[-1] + 1} of {columns}"
            flow.need(look.size * 9)
            layout.block(Text([Span(told, italic=True)], tight=True), replace(look, size=look.size * 0.86, color=GREY))
            _Grid(layout, table, look, part).draw()
            flow.space(look.size * 0.85)
    flow.space(look.size * 0.85)


class _Grid:
    """Some columns of a table, measured."""

    def __init__(self, layout: Layout, table: Table, look: Look, columns: list[int]) -> None:
        self._layout = layout
        self._columns = columns
        self._alignments: list[Alignment | None] = [
            table.alignments[column] if column < len(table.alignments) else None for column in columns
        ]
        room = layout.flow.width - 2 * _PADDING_X * len(columns)
        for factor in (0.92, 0.84, 0.76, _SMALLEST):
            self._look = replace(look, size=look.size * factor, tight=True)
            self._bold = replace(self._look, bold=True)
            self._header = self._row(table.header, bold=True)
            self._rows = [self._row(row, bold=False) for row in table.rows[:_SAMPLE_ROWS]]
            columns_of = list(zip(self._header, *self._rows, strict=True))
            texts = [max(cell.widest for cell in column) for column in columns_of]
            words = texts
            if sum(texts) <= room:
                break
            words = [max(cell.longest_word for cell in column) for column in columns_of]
            if sum(words) <= room:
                break
        self._widths = [width + 2 * _PADDING_X for width in _share(words, texts, room)]
        self._step = self._look.size * _LINES
        self._more = table.rows[_SAMPLE_ROWS:]

    def draw(self) -> None:
        """Draw all rows."""
        flow = self._layout.flow
        header = self._lines(self._header)
        head = self._height(header) if any(cell.widest for cell in self._header) else 0.0
        repeat = head <= flow.page_room / 3
        first = self._height(self._lines(self._rows[0])) if self._rows else 0.0
        flow.need(min(head + first, flow.page_room))
        flow.settle()
        if head and repeat:
            self._draw_row(header, is_header=True)
        elif head:
            self._draw_long(header, None)
        for number, row in enumerate(chain(self._rows, (self._row(row, bold=False) for row in self._more))):
            if number % 32 == 0:
                self._layout.check()
            lines = self._lines(row)
            height = self._height(lines)
            if not flow.is_fresh and flow.room < height and height + head <= flow.page_room:
                flow.turn()
            if flow.is_fresh and head and repeat:
                self._draw_row(header, is_header=True)
            self._draw_long(lines, header if head and repeat else None)

    def _row(self, row: list[Spans], *, bold: bool) -> list[_Cell]:
        look = self._bold if bold else self._look
        cells: list[_Cell] = []
        for column in self._columns:
            spans = row[column] if column < len(row) else []
            paragraphs = [paragraph for paragraph, _ in self._layout.paragraphs(spans, look)]
            cells.append(_Cell(paragraphs, max([paragraph.width for paragraph in paragraphs])))
        return cells

    def _lines(self, row: list[_Cell]) -> _Lines:
        return [
            [(p, line) for p in cell.paragraphs for line in p.lines(width - 2 * _PADDING_X)]
            for cell, width in zip(row, self._widths, strict=True)
        ]

    def _height(self, lines: _Lines) -> float:
        return max(1, *map(len, lines)) * self._step + 2 * _PADDING_Y

    def _draw_long(
        self,
        lines: _Lines,
        header: _Lines | None,
    ) -> None:
        """Draw a row; what is longer than the page goes on on the next one."""
        flow = self._layout.flow
        while True:
            room = int((flow.room - 2 * _PADDING_Y + 0.01) // self._step)
            longest = max((len(cell) for cell in lines), default=1)
            if longest <= room or (flow.is_fresh and room < 1):
                self._draw_row(lines)
                return
            if room >= 1:
                self._draw_row([cell[:room] for cell in lines])
                lines = [cell[room:] for cell in lines]
            flow.turn()
            if header is not None:
                self._draw_row(header, is_header=True)

    def _draw_row(self, lines: _Lines, *, is_header: bool = False) -> None:
        flow, size = self._layout.flow, self._look.size
        height = self._height(lines)
        top = flow.take(height)
        page, left = flow.page, flow.left
        right = left + sum(self._widths)
        if is_header:
            page.box(left, top, right - left, height, SHADE)
        for cell, width, alignment in zip(lines, self._widths, self._alignments, strict=True):
            for number, (paragraph, line) in enumerate(cell):
                x = left + _PADDING_X
                if (side := alignment or ("right" if paragraph.rtl else "left")) != "left":
                    spare = width - 2 * _PADDING_X - paragraph.widest(*line)
                    x += spare / 2 if side == "center" else spare
                baseline = top + _PADDING_Y + self._step * (number + 0.5) + size * 0.36
                paragraph.draw(page, x, baseline, line)
            left += width
        rule = _HEAD_RULE if is_header else LIGHT
        page.rule(flow.left, top + height, right, rule, 0.9 if is_header else 0.5)


def _share(words: list[float], texts: list[float], room: float) -> list[float]:
    """Divide the room among columns: each gets its longest word, then what is left goes where text is long."""
    words = [min(word, room) for word in words]
    texts = [max(text, 4.0) for text in texts]
    if sum(texts) <= room:
        return texts
    if sum(words) <= room:
        return _filled(words, texts, room)
    # Not even the words fit: no column gets less than a fair share as long as it wants it, and words are broken.
    widths = [0.0] * len(words)
    left, order = room, sorted(range(len(words)), key=lambda i: words[i])
    for done, index in enumerate(order):
        widths[index] = min(words[index], left / (len(order) - done))
        left -= widths[index]
    return widths


def _filled(words: list[float], texts: list[float], room: float) -> list[float]:
    """Give columns of little text what they want, and divide the rest among those of much."""
    widths = list(words)
    order = sorted(range(len(words)), key=lambda i: texts[i])
    for done, index in enumerate(order):
        others = order[done + 1 :]
        fair = (room - sum(widths[i] for i in order[:done])) / (len(others) + 1)
        spare = room - sum(widths[i] for i in range(len(widths)) if i != index)
        widths[index] = max(words[index], min(texts[index], fair, spare))
    return widths
