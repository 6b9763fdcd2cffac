"""Tables of an SQLite database, read by the library itself, which is confined, and handed on as text."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
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
_COLUMNS_MAX = 1000
"""Of one answer; SQLite takes 2,000."""
_ARGUMENTS_MAX = 100
"""Of a function; SQLite takes 127 of them."""

_WHOLE, _REAL, _TEXT = "BIGINT", "DOUBLE", "VARCHAR"
_TYPES = (
    {"INT": _WHOLE} | dict.fromkeys(("CHAR", "CLOB", "TEXT"), _TEXT) | dict.fromkeys(("REAL", "FLOA", "DOUB"), _REAL)
)
"""What a declared type promises, and the column it makes: https://sqlite.org/datatype3.html, section 3.1."""

_PROMISED = {_WHOLE: "integer", _REAL: "real", _TEXT: "text"}
_MADE = {held: made for made, held in _PROMISED.items()}
_FIRST_ROWS = 1000
_HIDDEN = 1
"""A column that `select *` leaves out; generated ones are 2 and 3."""

_TOLD = 3
"""Of the tables that cannot be read."""

_EXACT = 1 << 53
"""Whole numbers up to it are exact beside fractions."""

_PLAIN = "COLLATE BINARY"
"""The order of a column may be known to the program alone that made it."""

_TABLES = (
    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
    "ORDER BY rowid"
)


def make(connection: "DuckDBPyConnection", content: Content, sql: str, into: str, spare: Path) -> list[str]:
    """Make the tables and views of a database; of a large one those whose names are in the query, in lower case.

    Returns:
        What is to be known of those that SQLite cannot read alone, such as views that need functions of a program.

    Raises:
        BursarError: damaged, not_a_table.
    """
    try:
        with closing(_opened(content)) as database, closing(_opened(content)) as second:
            names = [name.decode("utf-8", "replace") for (name,) in database.execute(_TABLES)]
            wanted = [name for name in names if content.size <= SMALL_BYTES or name.casefold() in sql]
            failed: dict[str, sqlite3.Error] = {}
            for name in wanted:
                try:
                    _copy(connection, (database, second), name, f"{into}.{quoted(name)}", spare)
                except sqlite3.Error as error:
                    failed[name] = error
            if failed and len(failed) == len(wanted):
                raise next(iter(failed.values()))
    except sqlite3.Error as error:
        raise BursarError("damaged", f"SQLite cannot read it: {error}", "It is kept as received") from None
    if not wanted:
        what = f"the query names none of its tables: {', '.join(names)}" if names else "the database has no tables"
        raise BursarError("not_a_table", what, "Name one, such as t.TABLE")
    told = list(failed.items())[:_TOLD]
    more = [f"{len(failed) - _TOLD:,} more"] if len(failed) > _TOLD else []
    return [", ".join([f"{name} is left out ({error})" for name, error in told] + more)] if failed else []


def _opened(content: Content) -> sqlite3.Connection:
    database = sqlite3.connect(f"file:{content.file}?mode=ro&immutable=1", uri=True, check_same_thread=False)
    database.execute("PRAGMA trusted_schema = OFF")
    database.text_factory = bytes
    return database


def _copy(
    connection: "DuckDBPyConnection", databases: tuple[sqlite3.Connection, ...], name: str, table: str, spare: Path
) -> None:
    """Hand on a table: written as its first values promise while another thread looks whether all of them keep that."""
    database, second = databases
    declared = _declared(database, name)
    promised = {column: kind for column, told in declared.items() if (kind := told or _first(database, name, column))}
    breaks = {column: _break(_name(column), kind) for column, kind in promised.items()}
    columns, has_nul = _types(database, name, declared, promised)
    with ThreadPoolExecutor(1) as pool:
        is_broken = pool.submit(_any, second, name, breaks.values())
        written = _written(database, name, columns, spare, has_nul, lambda: is_broken.done() and is_broken.result())
        if is_broken.result():
            kept = _unseen(database, name, breaks)
            columns, has_nul = _types(database, name, declared, {c: k for c, k in promised.items() if c in kept})
            written = _written(database, name, columns, spare, has_nul, lambda: False)
    longest, has_breaks = written
    listed = ", ".join(f"{literal(column)}: {literal(kind)}" for column, (kind, _) in columns.items())
    connection.execute(
        f"CREATE TABLE {table} AS FROM read_csv({literal(spare)}, auto_detect = false, header = false, delim = ',', "
        "quote = '''', escape = '''', nullstr = 'NULL', allow_quoted_nulls = false, strict_mode = false, "
        f"parallel = {not has_breaks}, max_line_size = {max(LINE_MAX_BYTES, 4 * longest)}, columns = {{{listed}}})"
    )


def _written(
    database: sqlite3.Connection,
    name: str,
    columns: Mapping[str, tuple[str, str]],
    spare: Path,
    has_nul: bool,
    is_over: Callable[[], bool],
) -> tuple[int, bool]:
    """Write the rows of a table until it is over; return the length of the longest, and whether any has line breaks."""
    longest, has_breaks = 0, False
    with spare.open("wb") as out:
        found = database.execute(f"SELECT {_row(columns, has_nul=has_nul)} FROM {_name(name)}")
        while (rows := found.fetchmany(_BATCH)) and not is_over():
            lines = [cells for (cells,) in rows]
            longest = max(longest, *map(len, lines))
            text = b"\n".join(lines) + b"\n"
            has_breaks = has_breaks or text.count(b"\n") > len(lines) or b"\r" in text
            out.write(text.decode("utf-8", "replace").encode())
    return longest, has_breaks


def _declared(database: sqlite3.Connection, name: str) -> dict[str, str]:
    """Return of each column what its declared type promises, if anything."""
    return {
        column.decode("utf-8", "replace"): next(
            (made for sign, made in _TYPES.items() if sign in kind.decode("utf-8", "replace").upper()), ""
        )
        for _, column, kind, *_, hidden in database.execute(f"PRAGMA table_xinfo({_name(name)})")
        if hidden != _HIDDEN
    }


def _break(own: str, kind: str) -> str:
    """Return a test that a value fails which is as promised: in the order of SQLite, texts lie between these two."""
    if kind == _TEXT:
        return f"{own} {_PLAIN} NOT BETWEEN '' AND x'' OR instr({own}, char(0))"
    return f"typeof({own}) <> '{_PROMISED[kind]}' AND {own} IS NOT NULL"


def _types(
    database: sqlite3.Connection, name: str, declared: Mapping[str, str], kept: Mapping[str, str]
) -> tuple[dict[str, tuple[str, str]], bool]:
    """Return of each column its type, text if its values have several, and how a value is written.

    A column of SQLite may hold anything, whatever its declared type says. Also return whether any text has a NUL.

    Args:
        database: has the table.
        name: of it.
        declared: has its columns.
        kept: the types of those whose values are taken to have one; the others are looked at.
    """
    others = [column for column in declared if column not in kept]
    tests = (
        test
        for own in map(_name, others)
        for test in (
            f"typeof({own}) IN ('text', 'blob')",
            f"typeof({own}) = 'real'",
            f"typeof({own}) = 'integer'",
            f"typeof({own}) = 'integer' AND {own} {_PLAIN} NOT BETWEEN {-_EXACT} AND {_EXACT}",
            f"typeof({own}) = 'text' AND instr({own}, char(0))",
        )
    )
    seen = _looked(database, name, tests)
    made: dict[str, str] = {}
    for place, column in enumerate(others):
        has_text, has_real, has_whole, has_large, _ = seen[5 * place : 5 * place + 5]
        is_text = has_text or (has_real and has_large) or not (has_real or has_whole)
        made[column] = _TEXT if is_text else _REAL if has_real else _WHOLE
    reals = {c: f"{_name(c)} {_PLAIN} <> CAST({_name(c)} AS INTEGER)" for c in kept if kept[c] == _REAL}
    whole = _unseen(database, name, reals)

    def written(column: str) -> str:
        own = _name(column)
        if column not in kept:
            return _value(own)
        if column in reals:
            # Whole numbers are written several times as fast; of others the digits that make the same again will do.
            return (
                f"CAST({own} AS INTEGER)" if column in whole else f"iif({own} IS NULL, NULL, printf('%!.17g', {own}))"
            )
        return own

    return {column: (made.get(column) or kept[column], written(column)) for column in declared}, any(seen[4::5])


def _first(database: sqlite3.Connection, name: str, column: str) -> str:
    """Return the type of the first value of a column, if it is among the first rows and of a type that promises one."""
    own = _name(column)
    some = f"SELECT {own} {_PLAIN} AS {own} FROM {_name(name)} LIMIT {_FIRST_ROWS}"
    found = database.execute(f"SELECT typeof({own}) FROM ({some}) WHERE {own} IS NOT NULL LIMIT 1").fetchone()
    return _MADE.get(found[0].decode(), "") if found else ""


def _any(database: sqlite3.Connection, name: str, tests: Iterable[str]) -> bool:
    """Tell whether any row passes any of the tests."""
    listed = list(tests)
    groups = (listed[start : start + _COLUMNS_MAX] for start in range(0, len(listed), _COLUMNS_MAX))
    return any(
        database.execute(f"SELECT 1 FROM {_name(name)} WHERE {' OR '.join(g)} LIMIT 1").fetchone() for g in groups
    )


def _unseen(database: sqlite3.Connection, name: str, tests: Mapping[str, str]) -> set[str]:
    """Return the columns whose test no row passes."""
    return {
        column for column, is_seen in zip(tests, _looked(database, name, tests.values()), strict=True) if not is_seen
    }


def _looked(database: sqlite3.Connection, name: str, tests: Iterable[str]) -> list[bool]:
    """Tell of each test whether any row passes it."""
    listed = list(tests)
    found: list[bool] = []
    for start in range(0, len(listed), _COLUMNS_MAX):
        some = ", ".join(f"max({test})" for test in listed[start : start + _COLUMNS_MAX])
        found += map(bool, database.execute(f"SELECT {some} FROM {_name(name)}").fetchone())
    return found


def _row(columns: Mapping[str, tuple[str, str]], *, has_nul: bool) -> str:
    """Return an expression that writes a row: each value in quotes, NULL without."""
    values = [written for _, written in columns.values()]
    groups = [values[start : start + _ARGUMENTS_MAX] for start in range(0, len(values), _ARGUMENTS_MAX)]
    between = " || ',' || "
    if not has_nul:
        return between.join(f"printf('{','.join(['%Q'] * len(group))}', {', '.join(group)})" for group in groups)
    # What printf writes ends at a NUL; this takes longer.
    exact = "coalesce('''' || replace({}, '''', '''''') || '''', 'NULL')"
    return between.join(f"({between.join(map(exact.format, group))})" for group in groups)


def _value(column: str) -> str:
    """Return an expression for a value: fractions with the digits they need, bytes as hexadecimal digits."""
    short = f"printf('%!.15g', {column})"
    return (
        f"CASE typeof({column}) WHEN 'real' THEN CASE WHEN CAST({short} AS REAL) = {column} {_PLAIN} THEN {short} "
        f"ELSE printf('%!.17g', {column}) END WHEN 'blob' THEN hex({column}) ELSE {column} END"
    )


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
