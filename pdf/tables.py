"""Tables: columns as wide as their words need, the header on every page, rows that may be longer than a page."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from .blocks import Span, Table
from .canvas import GREY, LIGHT, SHADE, Color
from .lines import indent

if TYPE_CHECKING:
    from .blocks import Alignment, Spans
    from .lines import Lines, Look
    from .paragraph import Paragraph

_PADDING_X, _PADDING_Y = 5.5, 3.6
_NARROWEST = 38.0
"""Of a column, in points; a table with more columns than fit comes in parts."""

_SIZES = (0.92, 0.84, 0.76, 0.66)
"""Of text in a table, in sizes of the text around it: it shrinks before words are broken."""

_LEADING = 1.36
_SAMPLE_ROWS = 400
"""Rows that decide the widths of the columns, and are held in memory at once."""

_HEAD_RULE = Color(0.55, 0.58, 0.63)

_Row: TypeAlias = "list[list[Paragraph]]"
_LinesOfRow: TypeAlias = "list[list[tuple[Paragraph, tuple[int, int]]]]"


def draw_table(lines: Lines, table: Table, look: Look) -> str:
    """Draw a table; return a sentence when it had to be divided.

    One with more columns than fit comes in several parts, each with the first column.
    """
    flow = lines.flow
    columns = len(table.header)
    table = Table(
        list(map(lines.fit, table.header)), [list(map(lines.fit, row)) for row in table.rows], table.alignments
    )
    most = max(int(flow.width // _NARROWEST), 1)
    flow.space(look.size * 0.85)
    if columns <= most:
        _Grid(lines, table, look, range(columns)).draw()
        flow.space(look.size * 0.85)
        return ""
    step = max(most - 1, 1)
    small = look._replace(size=look.size * 0.86, color=GREY)
    for first in range(1, columns, step):
        end = min(first + step, columns)
        flow.need(look.size * 9)
        name = Span(f"Columns {first + 1 if first > 1 else 1} to {end} of {columns}", italic=True)
        for paragraph in lines.measure([name], small):
            lines.draw(paragraph, small.size)
        _Grid(lines, table, look, [0, *range(first, end)]).draw()
        flow.space(look.size * 0.85)
    return f"A table of {columns} columns was divided into parts of at most {most} columns."


class _Grid:
    """Some columns of a table, measured."""

    def __init__(self, lines: Lines, table: Table, look: Look, columns: range | list[int]) -> None:
        self._lines, self._flow, self._columns = lines, lines.flow, columns
        self._alignments: list[Alignment] = [table.alignments[i] for i in columns]
        self._more = table.rows[_SAMPLE_ROWS:]
        room = self._flow.width - 2 * _PADDING_X * len(columns)
        words = texts = list[float]()
        for factor in _SIZES:
            self._look = look._replace(size=look.size * factor, bold=False)
            self._header = self._measured(table.header, self._look._replace(bold=True))
            self._rows = [self._measured(row, self._look) for row in table.rows[:_SAMPLE_ROWS]]
            cells = [list(chain.from_iterable(column)) for column in zip(self._header, *self._rows, strict=True)]
            texts = [max(4.0, *(paragraph.width for paragraph in column)) for column in cells]
            words = texts if sum(texts) <= room else [max(p.longest_word() for p in column) for column in cells]
            if sum(words) <= room:
                break
        self._widths = _shared(words, texts, room)
        self._step = self._look.size * _LEADING

    def draw(self) -> None:
        """Draw all rows."""
        flow = self._flow
        header = self._broken(self._header)
        head = self._height(header) if any(paragraph.width for cell in self._header for paragraph in cell) else 0.0
        repeat = 0 < head <= flow.page_room / 3
        first = self._height(self._broken(self._rows[0])) if self._rows else 0.0
        flow.need(min(head + first, flow.page_room))
        flow.settle()
        if repeat:
            self._draw_row(header, is_header=True)
        elif head:
            self._draw_long(header, None)
        for row in chain(self._rows, (self._measured(row, self._look) for row in self._more)):
            lines = self._broken(row)
            height = self._height(lines)
            if not flow.is_fresh and flow.room < height and height + head <= flow.page_room:
                flow.turn()
            if flow.is_fresh and repeat:
                self._draw_row(header, is_header=True)
            self._draw_long(lines, header if repeat else None)

    def _measured(self, row: list[Spans], look: Look) -> _Row:
        return [self._lines.measure(row[i] if i < len(row) else [], look) for i in self._columns]

    def _broken(self, row: _Row) -> _LinesOfRow:
        return [
            [(paragraph, line) for paragraph in cell for line in paragraph.lines(width)]
            for cell, width in zip(row, self._widths, strict=True)
        ]

    def _height(self, lines: _LinesOfRow) -> float:
        return max(1, *map(len, lines)) * self._step + 2 * _PADDING_Y

    def _draw_long(self, lines: _LinesOfRow, header: _LinesOfRow | None) -> None:
        """Draw a row; what is longer than the page goes on on the next one."""
        flow = self._flow
        while True:
            room = int((flow.room - 2 * _PADDING_Y + 0.01) // self._step)
            if max(map(len, lines)) <= room or (flow.is_fresh and room < 1):
                self._draw_row(lines)
                return
            if room >= 1:
                self._draw_row([cell[:room] for cell in lines])
                lines = [cell[room:] for cell in lines]
            flow.turn()
            if header is not None:
                self._draw_row(header, is_header=True)

    def _draw_row(self, lines: _LinesOfRow, *, is_header: bool = False) -> None:
        height = self._height(lines)
        top = self._flow.take(height)
        page, left = self._flow.page, self._flow.left
        right = left + sum(self._widths) + 2 * _PADDING_X * len(self._widths)
        if is_header:
            page.box(left, top, right - left, height, SHADE)
        page.rule(left, top + height, right, _HEAD_RULE if is_header else LIGHT, 0.9 if is_header else 0.5)
        for cell, width, alignment in zip(lines, self._widths, self._alignments, strict=True):
            left += _PADDING_X
            for number, (paragraph, line) in enumerate(cell):
                x = left + indent(width - paragraph.width_of(line), alignment, paragraph)
                baseline = top + _PADDING_Y + self._step * (number + 0.5) + self._look.size * 0.36
                paragraph.draw(page, x, baseline, line)
            left += width + _PADDING_X


def _shared(words: list[float], texts: list[float], room: float) -> list[float]:
    """Divide the room among columns: each gets its longest word, then what is left goes where text is long."""
    if sum(texts) <= room:
        return texts
    if sum(words) > room:
        return _fair(words, room)
    wishes = _fair([text - word for word, text in zip(words, texts, strict=True)], room - sum(words))
    return [word + wish for word, wish in zip(words, wishes, strict=True)]


def _fair(wishes: list[float], room: float) -> list[float]:
    """Divide the room: no share is larger than its wish, or larger than that of a larger wish."""
    shares = [0.0] * len(wishes)
    for done, index in enumerate(sorted(range(len(wishes)), key=lambda i: wishes[i])):
        shares[index] = min(wishes[index], room / (len(wishes) - done))
        room -= shares[index]
    return shares
