"""Answers one query over a few contents; runs in a worker process, which can read these and nothing else."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...budget.sql import literal
from ...errors import BursarError
from . import failures
from .tables import CARES, Given, Shelf

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY_BYTES = 1_000_000_000
"""For DuckDB; what it does not fit into fails, for nothing is put aside on the disk."""

THREADS = min(4, os.cpu_count() or 1)

_BATCH = 2_000
_NESTED = ("STRUCT", "MAP", "UNION", "JSON", "VARIANT")
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
                rows, written = _written(connection, wanted, target, form)
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
    connection.execute("SET enable_progress_bar = false")
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


def _written(connection: "DuckDBPyConnection", sql: str, target: str, form: str) -> tuple[int, str]:
    """Write what a query returns; return the number of rows, and the form."""
    form = form or ("ndjson" if _is_nested(connection, sql) else "csv")
    if form == "md":
        return _as_markdown(connection, sql, target), form
    # What is in the brackets was parsed as one statement that changes nothing; its last line may be a comment.
    query = f"COPY ({sql}\n) TO {literal(target)} ({_FORMATS[form]}, USE_TMP_FILE false)"
    counted = connection.execute(query).fetchone()
    return int(counted[0]) if counted else 0, form


def _is_nested(connection: "DuckDBPyConnection", sql: str) -> bool:
    import duckdb

    try:
        columns = connection.execute(f"DESCRIBE FROM ({sql}\n)").fetchall()
    except duckdb.ParserException:  # such as PIVOT, whose columns are only known once it has run
        return False
    return any(str(column[1]).startswith(_NESTED) or str(column[1]).endswith("]") for column in columns)


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
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else str(value)
