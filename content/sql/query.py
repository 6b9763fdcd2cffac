"""Answers one query over a few contents; runs in a worker process, which can read these and nothing else."""

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...budget.sql import literal, quoted
from ...errors import BursarError
from . import failures, passing
from .delimited import Csv
from .tables import CARES, Given, Shelf

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY_BYTES = 1_000_000_000
"""For DuckDB; what it does not fit into fails, for nothing is put aside on the disk."""

THREADS = min(4, os.cpu_count() or 1)

_BATCH = 2_000
_NESTED = ("STRUCT", "MAP", "UNION", "JSON", "VARIANT")
_NAN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|-?\b(?:nan|inf|infinity)\b', re.IGNORECASE)
"""Also texts, in which it is left."""

_LARGE = "HUGEINT"
_HUGE = re.compile(r"\bU?HUGEINT\b")
_FORMATS = {
    "csv": "FORMAT csv, HEADER",
    "tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
    "json": "FORMAT json, ARRAY true",
    "ndjson": "FORMAT json",
    "parquet": "FORMAT parquet",
}


def load() -> None:
    """Load DuckDB."""
    import_module("duckdb")


def sql_query(
    sql: str, contents: Sequence[Mapping[str, Any]], scratch: str, target: str, form: str = ""
) -> dict[str, Any]:
    """Answer a query into the file `target`.

    Args:
        sql: one query.
        contents: each as `tables.Given` has it.
        scratch: an empty directory for what contents are turned into.
        target: an existing file.
        form: `md` or one of `_FORMATS`; empty for CSV, or NDJSON if there is anything nested.

    Returns:
        `kept`: ids of the contents whose tables are in `scratch` now, in `ID.tables`; with it `rows`, `form` and
        `notes`, or `failed`: code, message and fix of the error that ended the query.

    Raises:
        BursarError: bad_sql, not_a_table, too_deep, damaged, source_changed: nothing was made.
    """
    import duckdb

    with ExitStack() as opened:
        given = [opened.enter_context(Given(**one)) for one in contents]
        made = [one.kept + end for one in given if one.kept for end in ("", ".wal")]  # it looks whether there is one
        connection = opened.enter_context(_connection([*(one.file for one in given), *made, target], scratch))
        try:
            wanted = _checked(connection, sql)
        except duckdb.Error as error:
            raise failures.worded(error, "") from None
        for care in CARES:
            shelf = Shelf(connection, scratch, sql, care)
            kept: list[str] = []
            try:
                for one in given:
                    shelf.add(one)
                shelf.close_to_changes()
                kept = shelf.new
                rows, written = _written(connection, wanted, target, form, shelf.csv)
                if written in {"json", "ndjson"} and _without_nan(Path(target), Path(scratch, "finite")):
                    shelf.notes.append("numbers that JSON has no name for, NaN and Infinity, are null")
            except duckdb.Error as error:
                if not shelf.may_improve(error):
                    failed = failures.worded(error, shelf.listing())
                    return {"kept": kept, "failed": [failed.code, failed.message, failed.fix]}
                shelf.clear()
            else:
                return {"rows": rows, "form": written, "notes": shelf.notes, "kept": kept}
    raise AssertionError("the last care cannot be improved")


def _connection(paths: Sequence[str], scratch: str) -> "DuckDBPyConnection":
    """Open a database in memory that reaches these files and nothing else, whatever a query says."""
    import duckdb

    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": str(THREADS),
            "memory_limit": f"{MEMORY_BYTES}B",
            "temp_directory": "",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "allow_persistent_secrets": "false",
            "python_enable_replacements": "false",
        },
    )
    connection.execute(f"SET allowed_paths = [{', '.join(map(literal, paths))}]")
    connection.execute(f"SET allowed_directories = [{literal(scratch)}]")
    connection.execute("SET enable_progress_bar = false; SET TimeZone = 'UTC'")
    # The parts of what is asked need no `t.` before them.
    connection.execute("CREATE SCHEMA t; SET search_path = 'main,t'")
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")
    return connection


def _checked(connection: "DuckDBPyConnection", sql: str) -> str:
    """Return a text if it is one query."""
    import duckdb

    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        what = f"these are {len(statements)} statements" if statements else "there is no statement"
        raise BursarError("bad_sql", what, "Give one query, such as SELECT count(*) FROM t")
    if statements[0].type not in {duckdb.StatementType.SELECT, duckdb.StatementType.MULTI}:
        what = f"{statements[0].type.name} is no query"
        raise BursarError("bad_sql", what, "Give a SELECT, or DESCRIBE or SUMMARIZE; artifacts are only read")
    return sql.rstrip().rstrip(";")


def _written(
    connection: "DuckDBPyConnection", sql: str, target: str, form: str, csv: Mapping[str, Csv]
) -> tuple[int, str]:
    """Write what a query returns; return the number of rows, and the form."""
    import duckdb

    form = form or ("ndjson" if _is_nested(connection, sql) else "csv")
    sql = passing.spelled(connection, sql, csv, form)
    if form == "md":
        return _as_markdown(connection, sql, target), form
    # What is in the brackets was parsed as one statement that changes nothing; its last line may be a comment.
    copy = f"COPY ({{}}\n) TO {literal(target)} ({_FORMATS[form]}, USE_TMP_FILE false)"
    asked = _of_parquet(connection, sql) if form == "parquet" else [sql]
    for place, query in enumerate(asked, 1):
        try:
            counted = connection.execute(copy.format(query)).fetchone()
        except duckdb.ConversionException:
            if place == len(asked):
                raise
        else:
            return int(counted[0]) if counted else 0, form
    raise AssertionError("the last way returns or raises")


def _without_nan(target: Path, spare: Path) -> bool:
    """Write null for what is no number in JSON; tell whether there was any. The rows stand on lines."""
    has_any = False

    def finite(found: re.Match[bytes]) -> bytes:
        nonlocal has_any
        if found[0].startswith(b'"'):
            return found[0]
        has_any = True
        return b"null"

    with target.open("rb") as lines, spare.open("wb") as out:
        out.writelines(
            _NAN.sub(finite, line) if b"nan" in (small := line.lower()) or b"inf" in small else line for line in lines
        )
    if has_any:
        with spare.open("rb") as made, target.open("r+b") as out:
            shutil.copyfileobj(made, out)
            out.truncate()
    spare.unlink()
    return has_any


def _of_parquet(connection: "DuckDBPyConnection", sql: str) -> list[str]:
    """Return a query as Parquet can have it, which knows no whole numbers of 128 bits: the next where one fails."""
    columns = _columns(connection, sql)
    if not any(_LARGE in kind for _, kind in columns):
        return [sql]
    names = ", ".join(f"c{place}" for place in range(len(columns)))
    ways: list[str] = []
    for exact in ("BIGINT", "DECIMAL(38, 0)"):
        casts = (
            f"CAST(c{place} AS {_HUGE.sub(exact, kind)}) AS {quoted(name)}"
            if _LARGE in kind
            else f"c{place} AS {quoted(name)}"
            for place, (name, kind) in enumerate(columns)
        )
        ways.append(f"SELECT {', '.join(casts)} FROM ({sql}\n) AS r({names})")
    return ways


def _columns(connection: "DuckDBPyConnection", sql: str) -> list[tuple[str, str]]:
    """Return names and types; none where they are only known once it has run, as of PIVOT."""
    import duckdb

    try:
        return [(str(name), str(kind)) for name, kind, *_ in connection.execute(f"DESCRIBE FROM ({sql}\n)").fetchall()]
    except duckdb.ParserException:
        return []


def _is_nested(connection: "DuckDBPyConnection", sql: str) -> bool:
    return any(kind.startswith(_NESTED) or kind.endswith("]") for _, kind in _columns(connection, sql))


def _as_markdown(connection: "DuckDBPyConnection", sql: str, target: str) -> int:
    result = connection.execute(sql)
    names = [str(column[0]) for column in result.description or ()]
    rows = 0
    with Path(target).open("w", encoding="utf-8", errors="replace", newline="\n") as out:
        out.write(_row(names) + _row(["---"] * len(names)))
        while batch := result.fetchmany(_BATCH):
            rows += len(batch)
            out.writelines(_row([_cell(value) for value in row]) for row in batch)
    return rows


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in cells)} |\n"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list | bool) else str(value)
