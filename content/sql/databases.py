"""Tables of an SQLite database, read by the library itself, which is confined, and handed on as text."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from ...budget.sql import literal, quoted
from ...errors import BursarError
from .lines import LINE_MAX_BYTES, Content

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SMALL_BYTES = 64 << 20
"""Of a larger database only what the query may name is read."""

_BATCH = 10_000
_ARGUMENTS_MAX = 100
"""Of a function; SQLite takes 127 of them."""

_TYPES = (("INT", "BIGINT"), ("REAL", "DOUBLE"), ("FLOA", "DOUBLE"), ("DOUB", "DOUBLE"))
"""What a declared type holds, and what that makes of the column: https://sqlite.org/datatype3.html, section 3.1."""

_SAMPLED = 10_000
"""Rows that tell of a column without a type whether it has fractions or bytes; of others 15 digits are read."""

_CLOSED = ("INT", "CHAR", "CLOB", "TEXT")
"""In columns of these types are hardly ever fractions or bytes."""

_TABLES = (
    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
    "ORDER BY rowid"
)


def make(connection: "DuckDBPyConnection", content: Content, sql: str, into: str, spare: Path) -> None:
    """Make the tables and views of a database; of a large one those whose names are in the query, in lower case.

    Raises:
        BursarError: damaged, not_a_table.
    """
    try:
        with closing(sqlite3.connect(f"file:{content.file}?mode=ro&immutable=1", uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.text_factory = bytes
            names = [name.decode("utf-8", "replace") for (name,) in database.execute(_TABLES)]
            wanted = [name for name in names if content.size <= SMALL_BYTES or name.casefold() in sql]
            for name in wanted:
                _copy(connection, database, name, f"{into}.{quoted(name)}", spare)
    except sqlite3.Error as error:
        raise BursarError("damaged", f"SQLite cannot read it: {error}", "It is kept as received") from None
    if not wanted:
        what = f"the query names none of its tables: {', '.join(names)}" if names else "the database has no tables"
        raise BursarError("not_a_table", what, "Name one, such as t.TABLE")


def _copy(connection: "DuckDBPyConnection", database: sqlite3.Connection, name: str, table: str, spare: Path) -> None:
    """Hand on a table."""
    declared = [
        (column.decode("utf-8", "replace"), kind.decode("utf-8", "replace").upper())
        for _, column, kind, *_ in database.execute(f"PRAGMA table_info({_name(name)})")
    ]
    longest, has_breaks = 0, False
    with spare.open("wb") as out:
        found = database.execute(f"SELECT {_row(database, name, declared)} FROM {_name(name)}")
        while rows := found.fetchmany(_BATCH):
            lines = [cells for (cells,) in rows]
            longest = max(longest, *map(len, lines))
            text = b"\n".join(lines) + b"\n"
            has_breaks = has_breaks or text.count(b"\n") > len(lines) or b"\r" in text
            out.write(text.decode("utf-8", "replace").encode())
    read = (
        f"CREATE TABLE {table} AS FROM read_csv({literal(spare)}, auto_detect = false, header = false, delim = ',', "
        "quote = '''', escape = '''', nullstr = 'NULL', allow_quoted_nulls = false, strict_mode = false, "
        f"parallel = {not has_breaks}, max_line_size = {max(LINE_MAX_BYTES, 4 * longest)}, columns = "
    )
    try:
        connection.execute(f"{read}{_listed(declared)})")
    except Exception:  # noqa: BLE001 - a column of SQLite may hold anything, whatever its type says
        connection.execute(f"{read}{_listed((column, '') for column, _ in declared)})")
    _make_numbers(connection, table, [column for column, kind in declared if not kind])


def _make_numbers(connection: "DuckDBPyConnection", table: str, columns: Sequence[str]) -> None:
    """Make numbers of columns without a type if all texts in them are some, as written, or empty: then nothing."""
    if not columns:
        return
    tests = (
        f"bool_and({own} = TRY_CAST({own} AS BIGINT)::VARCHAR) FILTER ({own} <> ''), "
        f"bool_and(TRY_CAST({own} AS DOUBLE) IS NOT NULL) FILTER ({own} <> '')"
        for own in map(_name, columns)
    )
    found = connection.execute(f"SELECT {', '.join(tests)} FROM {table}").fetchone() or ()
    for column, are_whole, are_numbers in zip(columns, found[::2], found[1::2], strict=True):
        if are_whole is not None and are_numbers:
            kind = "BIGINT" if are_whole else "DOUBLE"
            made = f"TYPE {kind} USING TRY_CAST({_name(column)} AS {kind})"
            connection.execute(f"ALTER TABLE {table} ALTER {_name(column)} {made}")


def _row(database: sqlite3.Connection, name: str, declared: Sequence[tuple[str, str]]) -> str:
    """Return an expression that writes a row: each value in quotes, NULL without. Where it must choose takes time."""
    open_ones = [column for column, kind in declared if not any(sign in kind for sign in _CLOSED)]
    tests = ", ".join(f"max(typeof({_name(column)}) IN ('real', 'blob'))" for column in open_ones)
    sample = f"(SELECT * FROM {_name(name)} LIMIT {_SAMPLED})"
    found = database.execute(f"SELECT {tests} FROM {sample}").fetchone() if open_ones else ()
    chosen = {column for column, has_any in zip(open_ones, found, strict=True) if has_any}
    values = [_value(_name(column)) if column in chosen else _name(column) for column, _ in declared]
    groups = [values[start : start + _ARGUMENTS_MAX] for start in range(0, len(values), _ARGUMENTS_MAX)]
    return " || ',' || ".join(f"printf('{','.join(['%Q'] * len(group))}', {', '.join(group)})" for group in groups)


def _value(column: str) -> str:
    """Return an expression for a value: fractions with all their digits, bytes as hexadecimal digits."""
    return (
        f"CASE typeof({column}) WHEN 'real' THEN printf('%!.17g', {column}) WHEN 'blob' THEN hex({column}) "
        f"ELSE {column} END"
    )


def _listed(declared: Iterable[tuple[str, str]]) -> str:
    columns: Mapping[str, str] = {
        name: next((made for sign, made in _TYPES if sign in kind), "VARCHAR") for name, kind in declared
    }
    return f"{{{', '.join(f'{literal(name)}: {literal(kind)}' for name, kind in columns.items())}}}"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
