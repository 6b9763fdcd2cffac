"""Previews of CSV and its like: its columns with types and ranges over all rows, and the first row as it stands."""

import csv
import io
from collections import Counter
from itertools import zip_longest
from typing import Any

from ..clean import clean, utf8
from ..content import Content
from ..cut import Allowance
from ..json_size import cost, less, within
from .base import Preview, Render, decoded, plural
from .sampled import sampled_lines
from .shape import Shape, describe
from .shape_text import fitted

WHOLE_MAX_BYTES = 16 << 20
"""Larger tables are judged by a sample; the preview says so."""

_COLUMNS_MAX = 300
"""More are never shown. Rows of very different lengths have fewer described: no table of this size has more cells than
half its bytes."""

_PROBED = 50
_ROW_MAX_BYTES = 300
"""A longer first row says nothing that its columns do not."""


def plan(content: Content, delimiter: str, lines: int | None) -> Render | str:
    """Prepare the preview of a table, of so many lines if that is known; or say why the content is none."""
    is_part = content.size > WHOLE_MAX_BYTES
    raw = b"\n".join(sampled_lines(content)) if is_part else content.read(0, content.size)
    text = decoded(raw).removeprefix("\ufeff")
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except csv.Error as error:
        return f"not a table: {error}"
    if len(rows) < 2 or max(map(len, rows[:100])) < 2:
        return "not a table"
    names, body = _header(rows)
    facts: dict[str, Any] = {"rows": len(body)}
    if is_part:
        are_lines = len(rows) == raw.count(b"\n") + (not raw.endswith(b"\n"))
        whole = {"rows": lines - len(rows) + len(body)} if lines is not None and are_lines else {}
        facts = whole | {"sampled": f"{len(body):,} rows"}
    facts |= ({"delimiter": delimiter} if delimiter != "," else {}) | _ragged(rows)
    described = min(len(names), _COLUMNS_MAX, max(1, WHOLE_MAX_BYTES // 2 // len(body)))
    cells = zip_longest(*(row[:described] for row in body), fillvalue="")
    columns = {name: _column(list(column)) for name, column in zip(names, cells, strict=False)}
    shape = Shape(len(body), fields=columns, absent=len(names) - len(columns), objects=len(body))
    start = text[: 2 * _ROW_MAX_BYTES + len(",".join(rows[0]))].split("\n")
    first = utf8(start[1].rstrip("\r")) if len(start) > 2 and len(body) < len(rows) and '"' not in start[0] else ""

    def render(allowance: Allowance) -> Preview:
        room = less(allowance, cost(facts | {"columns": ""}))
        value = facts | {"columns": fitted(shape, room, is_part=is_part, is_table=True)}
        with_row = value | {"first": first}
        fits = 0 < len(first) <= _ROW_MAX_BYTES and within(with_row, allowance)
        return Preview(with_row if fits else value, "rows")

    return render


def _ragged(rows: list[list[str]]) -> dict[str, str]:
    widths = Counter(map(len, rows))
    if len(widths) == 1:
        return {}
    usual = widths.most_common(1)[0][0]
    odd = len(rows) - widths[usual]
    first = next(place for place, row in enumerate(rows, start=1) if len(row) != usual)
    return {"ragged": f"{plural(odd, 'row')} without exactly {usual} fields, the first is row {first:,}"}


def is_header(rows: list[list[str]]) -> bool:
    """Tell a header from a row of data: names differ from one another, and none is a number."""
    names = [name.strip() for name in rows[0]]
    return len(set(names)) == len(names) and not any(_is_number(name) for name in names)


def _header(rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    if is_header(rows):
        names = [clean(name.strip(), 60) or f"({place})" for place, name in enumerate(rows[0], start=1)]
        widest = max(map(len, rows))
        return names + [f"({place})" for place in range(len(names) + 1, widest + 1)], rows[1:]
    return [f"({place})" for place in range(1, max(map(len, rows)) + 1)], rows


def _column(cells: list[str]) -> Shape:
    """Describe the cells of one column."""
    shape = describe(_typed(cells))
    for scalar in shape.scalars:
        scalar.type = "empty" if scalar.type == "null" else scalar.type
    return shape


def _typed(values: list[str]) -> list[Any]:
    """Turn cells into numbers where most are, and empty ones into None."""
    filled = [value for value in values if value]
    probe = filled[:_PROBED]
    if not probe or 2 * sum(map(_is_number, probe)) < len(probe):
        return [value or None for value in values]
    for number in (int, float):
        try:
            return [number(value) if value else None for value in values]
        except ValueError:
            continue
    likely = (int, float) if all(isinstance(_number(value), int) for value in probe) else (float,)
    return [_number(value, likely) if value else None for value in values]


def _is_number(text: str) -> bool:
    return isinstance(_number(text), int | float)


def _number(text: str, tried: tuple[type[int] | type[float], ...] = (int, float)) -> int | float | str:
    for number in tried:
        try:
            return number(text)
        except ValueError:
            continue
    return text
