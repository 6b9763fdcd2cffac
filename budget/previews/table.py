"""Previews of CSV and its like: header, columns with types and ranges over all rows, first and last rows."""

import csv
import io
import re
from collections import Counter
from itertools import zip_longest
from typing import Any

from ..clean import clean
from ..content import Content
from ..cut import Allowance
from ..json_size import cost, less
from . import ends
from .base import Preview, Render, decoded, fitting, plural, share
from .sampled import sampled_lines
from .shape import describe
from .shape_text import Detail, scalars

WHOLE_MAX_BYTES = 16 << 20
"""Larger tables are judged by a sample; the preview says so."""

_COLUMNS_MAX = 300
"""More are never shown. Rows of very different lengths have fewer described: no table of this size has more cells than
half its bytes."""

_COLUMN = Detail(keys=1, depth=1, examples=4, characters=40)
_TERSE = Detail(keys=1, depth=1, examples=0, characters=20)
_HEAD_LINES = 8
_TAIL_LINES = 4
_PROBED = 50
_ENDS = {"head": "", "omitted": "lines 10000-1000000", "tail": ""}


def plan(content: Content, delimiter: str, lines: int | None) -> Render | str:
    """Prepare the preview of a table; or say why the content is none."""
    sampled = content.size > WHOLE_MAX_BYTES
    raw = b"\n".join(sampled_lines(content)) if sampled else content.read(0, content.size)
    text = decoded(raw).removeprefix("\ufeff")
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except csv.Error as error:
        return f"not a table: {error}"
    if len(rows) < 2 or max(map(len, rows[:100])) < 2:
        return "not a table"
    if lines is None and not sampled:
        lines = raw.count(b"\n") + (not raw.endswith(b"\n"))
    facts = _facts(rows, delimiter, content.size if sampled else 0)
    names, body = _header(rows)
    described = min(len(names), _COLUMNS_MAX, max(1, WHOLE_MAX_BYTES // 2 // len(body)))
    cells = zip_longest(*(row[:described] for row in body), fillvalue="")
    columns = [_Column(name, list(column)) for name, column in zip(names, cells, strict=False)]
    full = [column.written(_COLUMN) for column in columns]
    terse = [column.written(_TERSE) for column in columns]
    rare = next((column.rare for column in columns if column.rare), "")

    def render(allowance: Allowance) -> Preview:
        room = less(allowance, cost(facts | {"columns": ""} | _ENDS))
        value = facts | {"columns": _fitted(full, terse, len(names), share(room, 55))}
        room = less(allowance, cost(value | _ENDS))
        head = ends.first_lines(content, share(room, 65), _HEAD_LINES)
        tail = ends.last_lines(content, share(room, 35), _TAIL_LINES, lines, head.size)
        value["head"] = head.shown
        first, last = head.lines + 1, None if lines is None else lines - tail.lines
        if last is None or last >= first:
            value["omitted"] = (
                f"lines {first}-{last}" if last is not None else f"bytes {head.size}-{content.size - tail.size - 1}"
            )
        if tail.lines:
            value["tail"] = tail.shown
        left_out = f"{content.size - head.size - tail.size:,} of {content.size:,} bytes"
        if lines is not None and last is not None:
            left_out = f"{last - first + 1:,} of {plural(lines, 'line')}"
        suggest = {"lines": f"{first}-{first + 99 if last is None else min(last, first + 99)}"}
        return Preview(value, left_out, {"grep": re.escape(rare).replace("\\ ", " ")} if rare else suggest)

    return render


def _facts(rows: list[list[str]], delimiter: str, sampled_of: int) -> dict[str, Any]:
    count = len(rows) - (1 if _is_header(rows) else 0)
    facts: dict[str, Any] = {"rows": f"{count:,} sampled of {sampled_of >> 20:,} MiB" if sampled_of else count}
    if delimiter != ",":
        facts["delimiter"] = delimiter
    widths = Counter(map(len, rows))
    if len(widths) > 1:
        usual = widths.most_common(1)[0][0]
        odd = len(rows) - widths[usual]
        first = next(place for place, row in enumerate(rows, start=1) if len(row) != usual)
        facts["ragged"] = f"{plural(odd, 'row')} without exactly {usual} fields, the first is row {first:,}"
    return facts


def _is_header(rows: list[list[str]]) -> bool:
    """Tell a header from a row of data: names differ from one another, and none is a number."""
    names = [name.strip() for name in rows[0]]
    return len(set(names)) == len(names) and not any(_is_number(name) for name in names)


def _header(rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    if _is_header(rows):
        names = [clean(name.strip(), 60) or f"({place})" for place, name in enumerate(rows[0], start=1)]
        widest = max(map(len, rows))
        return names + [f"({place})" for place in range(len(names) + 1, widest + 1)], rows[1:]
    return [f"({place})" for place in range(1, max(map(len, rows)) + 1)], rows


class _Column:
    """The cells of one column, and what they have in common."""

    def __init__(self, name: str, cells: list[str]) -> None:
        self._name = name
        values, mixed = _typed(cells)
        self._shape = describe(values)
        self.rare = min(self._shape.rare, key=lambda found: found[1], default=("", 0))[0]
        self._odd = next((at for at, value in enumerate(values, start=1) if isinstance(value, str)), 0) if mixed else 0

    def written(self, detail: Detail) -> str:
        text = f"{self._name} {scalars(self._shape, detail)}".replace("null", "empty")
        return f"{text}, first text in data row {self._odd:,}" if self._odd else text


def _typed(values: list[str]) -> tuple[list[Any], bool]:
    """Turn cells into numbers where they are, and empty ones into None; tell whether most are numbers."""
    filled = [value for value in values if value]
    probe = filled[:_PROBED]
    if not probe or 2 * sum(map(_is_number, probe)) < len(probe):
        return [value or None for value in values], False
    for number in (int, float):
        try:
            return [number(value) if value else None for value in values], False
        except ValueError:
            continue
    likely = (int, float) if all(isinstance(_number(value), int) for value in probe) else (float,)
    return [_number(value, likely) if value else None for value in values], True


def _is_number(text: str) -> bool:
    return isinstance(_number(text), int | float)


def _number(text: str, tried: tuple[type[int] | type[float], ...] = (int, float)) -> int | float | str:
    for number in tried:
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _fitted(full: list[str], terse: list[str], total: int, room: Allowance) -> list[str]:
    """List all columns, if need be tersely; if even that is too much, the first ones and how many more."""
    for columns in (full, terse):
        if len(fitting(columns, room)) == total:
            return columns
    shown = fitting(terse, Allowance(room.tokens - 12, room.bytes - 40))
    return [*shown, f"… {total - len(shown):,} more columns"] if room.tokens > 12 else []
