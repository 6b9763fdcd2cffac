"""A CSV as a table: cells are read as text, and a column is of another type only if its cells mean the same in it."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...budget.previews.table import is_header
from ...budget.sql import literal, quoted
from .lines import Content

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CHANGED = "a cell is of another type than the first ones of its column"
"""The error of a query over a column that changes its type behind the rows that were looked at."""

_HEAD_BYTES = 256 * 1024
_LOOKED = 2_000
"""Rows whose cells tell the types, unless all are looked at."""
_SOME = "temp.looked"

_TIME = "'[0-9]{{4}}[-/][0-9]{{2}}[-/][0-9]{{2}}[ T][0-9:]{{5,8}}([.][0-9]{{1,6}})?"
_TYPES = {
    "BIGINT": "{1}::VARCHAR = {0}",
    "HUGEINT": "{1}::VARCHAR = trim({0})",
    "DOUBLE": "{1} IS NOT NULL AND NOT regexp_matches({0}, '^ *([+]|-?0[0-9])|_') "
    "AND (length({0}) <= 15 OR regexp_matches({0}, '[.eE]'))",
    "BOOLEAN": "lower({0}) IN ('true', 'false')",
    "DATE": "{1}::VARCHAR = replace({0}, '/', '-')",
    "TIMESTAMP": f"regexp_full_match({{0}}, {_TIME}') AND {{1}} IS NOT NULL",
    "TIMESTAMPTZ": f"regexp_full_match({{0}}, {_TIME}Z') AND {{1}} IS NOT NULL",
}
"""When a text means the same as a value of a type; the first that is so for all cells of a column is its type.

Numbers with blanks beside them are wide ones: to trim each takes a tenth of the time of most queries.
"""


@dataclass(frozen=True, slots=True)
class Csv:
    """A CSV as it is read.

    Attributes:
        rows: a query for its rows, in which all is text.
        columns: the type of each by its name; empty for text.
    """

    rows: str
    columns: Mapping[str, str]

    def typed(self, texts: Mapping[str, str] | None = None) -> str:
        """Return a query for the rows with columns of their types; it fails with `CHANGED` where one is of another.

        Args:
            texts: further columns, by their names: the texts of these.
        """
        columns = list(enumerate(self.columns.items()))
        places = {name: place for place, (name, _) in columns}
        # What is computed in a query below is computed once.
        values = "".join(f", TRY_CAST(t{place} AS {kind}) AS v{place}" for place, (_, kind) in columns if kind)
        shown = [f"{_value(place, kind)} AS {quoted(name)}" for place, (name, kind) in columns]
        shown += [f"t{places[name]} AS {quoted(own)}" for own, name in (texts or {}).items()]
        listed = ", ".join(f"t{place}" for place, _ in columns)
        return f"SELECT {', '.join(shown)} FROM (SELECT *{values} FROM ({self.rows}) AS r({listed}))"


def table(
    connection: "DuckDBPyConnection", content: Content, delimiter: str, *, looks_at_all: bool, ragged: bool
) -> Csv:
    """Return how the rows are read.

    Args:
        connection: reads the content.
        content: the CSV.
        delimiter: between its columns.
        looks_at_all: all rows tell the types of the columns.
        ragged: rows may have other lengths than the first.

    Raises:
        duckdb.Error: it is no such CSV.
    """
    options = f"{literal(content.file)}, delim = {literal(delimiter)}, header = {bool(header(content, delimiter))}"
    options += ", all_varchar = true, comment = '', skip = 0"
    usual = f"{options}, quote = '\"', escape = '\"'"
    if ragged:
        rows = f"FROM read_csv({usual}, sample_size = -1, null_padding = true, strict_mode = false)"
    else:
        has_others = not {"'", "\\"}.isdisjoint(_head(content))
        quote, rows = _sniffed(connection, options if has_others else usual)
        if quote.casefold() in {"", "\0", "(empty)"}:  # of the beginning, which has none
            _, rows = _sniffed(connection, usual)
    names = [str(column[0]) for column in connection.execute(f"DESCRIBE {rows}").fetchall()]
    held: dict[str, list[str]] = {}
    # Most of what this takes goes into making sense of the tests, of which so there are few.
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {_SOME} AS {rows} LIMIT {_LOOKED}")
    for kind in _TYPES:
        left = {name: [kind] for name in names if looks_at_all or name not in held}
        for name, kinds in _held(connection, f"FROM {_SOME}", left).items():
            held.setdefault(name, []).extend(kinds)
    connection.execute(f"DROP TABLE {_SOME}")
    if looks_at_all:
        held = _held(connection, rows, held)
    return Csv(rows, {name: next(iter(held.get(name, [])), "") for name in names})


def _held(connection: "DuckDBPyConnection", rows: str, types: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the types of columns that hold for all of their cells, of which there are some."""
    pairs = [(name, kind) for name, kinds in types.items() for kind in kinds]
    if not pairs:
        return {}
    tests = (
        f"bool_and(coalesce({_TYPES[kind].format(own, f'TRY_CAST({own} AS {kind})')}, false)) "
        f"FILTER ({own} IS NOT NULL)"
        for own, kind in ((quoted(name), kind) for name, kind in pairs)
    )
    seen = connection.execute(f"SELECT {', '.join(tests)} FROM ({rows})").fetchone() or ()
    held: dict[str, list[str]] = {}
    for (name, kind), is_so in zip(pairs, seen, strict=True):
        if is_so:
            held.setdefault(name, []).append(kind)
    return held


def header(content: Content, delimiter: str) -> list[str]:
    """Return the names of the columns, of which some may be equal; none if the first row is one of data."""
    text = io.StringIO(_head(content), newline="")
    first = next((row for row in csv.reader(text, delimiter=delimiter) if row), list[str]())
    return first if is_header([list(dict.fromkeys(first))]) else []


def _head(content: Content) -> str:
    return content.read(0, _HEAD_BYTES).decode("utf-8", "replace").removeprefix("\ufeff")


def _sniffed(connection: "DuckDBPyConnection", options: str) -> tuple[str, str]:
    """Return what DuckDB takes for quotes, and how it reads the content."""
    found = connection.execute(f"SELECT Quote, Prompt FROM sniff_csv({options})").fetchone() or ("", "")
    return str(found[0] or ""), str(found[1]).rstrip(";")


def _value(place: int, kind: str) -> str:
    text, value = f"t{place}", f"v{place}"
    if not kind:
        return text
    is_same = _TYPES[kind].format(text, value)
    return f"CASE WHEN {is_same} THEN {value} WHEN {text} IS NULL THEN NULL ELSE error({literal(CHANGED)}) END"
