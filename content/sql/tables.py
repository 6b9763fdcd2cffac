"""Makes tables of contents by their kinds: `a7`, the same as `t` if it is the one asked, and its parts as `a7.part`."""

import os
import stat
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ...budget import kinds
from ...budget.kinds import Kind
from ...budget.sql import WHOLE, literal, quoted
from ...errors import BursarError
from . import databases, delimited, documents, failures, lines

if TYPE_CHECKING:
    import duckdb
    from duckdb import DuckDBPyConnection

CARES = (0, 1, 2, 3)
_LISTED_CHARACTERS = 440
_TOLD_CHARACTERS = 120
_FITS_ALL = "SQL reads JSON, CSV, Parquet, SQLite and lines of text"


@dataclass(frozen=True, slots=True)
class Given:
    """A content.

    Attributes:
        id: of the artifact, such as `a7`.
        path: where the content lies.
        size: of it, in bytes.
        device: of the file that must lie there.
        inode: likewise.
        name: a file name whose suffix tells what it is.
        is_asked: it is `t`, too.
        kept: a file with its tables, made by an earlier query; empty if there is none.
    """

    id: str
    path: str
    size: int
    device: int
    inode: int
    name: str
    is_asked: bool
    kept: str = ""
    descriptor: int = field(init=False)

    def __post_init__(self) -> None:
        """Open it: what has its name later is not what is read.

        Raises:
            BursarError: source_changed; another file has its name already.
        """
        object.__setattr__(self, "descriptor", os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0)))
        found = os.fstat(self.descriptor)
        if (found.st_dev, found.st_ino) != (self.device, self.inode) or not stat.S_ISREG(found.st_mode):
            os.close(self.descriptor)
            raise BursarError("source_changed", "another file has its name", "Call the tool again")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self.descriptor)

    @property
    def file(self) -> str:
        """A path to the very file that was opened, where the system has one."""
        return f"/proc/self/fd/{self.descriptor}" if sys.platform == "linux" else self.path

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`, none behind the end that it had."""
        os.lseek(self.descriptor, offset, os.SEEK_SET)
        parts: list[bytes] = []
        left = min(length, self.size - offset)
        while left > 0 and (part := os.read(self.descriptor, left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def kind(self) -> Kind:
        """Tell what it is by its beginning, its end and its name."""
        head = self.read(0, min(self.size, kinds.HEAD_BYTES))
        tail = self.read(max(0, self.size - kinds.TAIL_BYTES), min(self.size, kinds.TAIL_BYTES))
        return kinds.decide(self.size, head, tail, self.name, None)


class Shelf:
    """The tables of one query.

    Attributes:
        notes: what is to be known of how contents were read.
        new: ids of the contents whose tables lie in the scratch directory now.
        csv: the tables that are read from a CSV as it is, by their names.
    """

    def __init__(self, connection: "DuckDBPyConnection", scratch: str, sql: str, care: int) -> None:
        """Take what it needs.

        Args:
            connection: to the database.
            scratch: a directory for what contents are turned into.
            sql: the query; of a large database only tables that it may name are read.
            care: how a CSV is read, one of `CARES`: its types by its beginning or by all of it, rows
                of other lengths, too, or as nothing but text.
        """
        self.notes: list[str] = []
        self.new: list[str] = []
        self.csv: dict[str, delimited.Csv] = {}
        self._connection = connection
        self._scratch = Path(scratch)
        self._sql = sql.casefold()
        self._care = care
        self._asked = ""
        self._has_csv = False

    def add(self, one: Given) -> None:
        """Make the tables of a content.

        Raises:
            BursarError: not_a_table, too_large, too_deep or damaged.
            duckdb.Error: DuckDB cannot read it.
        """
        self._asked = one.id if one.is_asked else self._asked
        if one.kept:
            self._connection.execute(f"ATTACH {literal(one.kept)} AS kept_{one.id} (READ_ONLY)")
            self._show_parts(one)
            return
        kind = one.kind()
        self._has_csv = self._has_csv or kind.name in {"csv", "tsv"}
        if direct := self._direct(one, kind):
            self._show(one, WHOLE, direct)
            return
        self._connection.execute(f"ATTACH {literal(self._kept(one.id))} AS kept_{one.id} (RECOVERY_MODE no_wal_writes)")
        self.new.append(one.id)
        self._make(one, kind)
        self._show_parts(one)

    def may_improve(self, error: "duckdb.Error") -> bool:
        """Tell whether a CSV that is read with more care may be without an error."""
        import duckdb

        return (
            self._has_csv
            and self._care < CARES[-1]
            and (
                failures.is_of_csv(error)
                or (
                    not self._care
                    and (isinstance(error, duckdb.ConversionException) or delimited.CHANGED in str(error))
                )
            )
        )

    def close_to_changes(self) -> None:
        """Finish the tables that were made; no query can change them from now on."""
        for name in self.new:
            kept = literal(self._kept(name))
            self._connection.execute(f"DETACH kept_{name}; ATTACH {kept} AS kept_{name} (READ_ONLY)")

    def clear(self) -> None:
        """Take everything away again."""
        made = "SELECT DISTINCT schema_name FROM duckdb_schemas() WHERE NOT internal AND database_name = 'memory'"
        for (schema,) in self._connection.execute(made).fetchall():
            if schema != "main":
                self._connection.execute(f"DROP SCHEMA {quoted(schema)} CASCADE")
        attached = "SELECT database_name FROM duckdb_databases() WHERE database_name LIKE 'kept_%'"
        for (name,) in self._connection.execute(attached).fetchall():
            self._connection.execute(f"DETACH {name}")
        for name in self.new:
            self._kept(name).unlink(missing_ok=True)

    def listing(self) -> str:
        """Name the tables that can be asked, with their columns, and their types if there is room."""
        rows = self._connection.execute(
            "SELECT schema_name, table_name, list(column_name ORDER BY column_index), "
            "list(data_type ORDER BY column_index) FROM duckdb_columns() "
            "WHERE NOT internal AND database_name = 'memory' GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        told = [
            (name if schema == "main" else f"{schema}.{quoted(name)}", list(map(quoted, columns)), types)
            for schema, name, columns, types in rows
            if self._asked not in (schema, name)
        ]
        texts = (
            ", ".join(
                f"{name}({', '.join(map(' '.join, zip(columns, map(_short, types), strict=True)))})"
                for name, columns, types in told
            ),
            ", ".join(f"{name}({', '.join(columns)})" for name, columns, _ in told),
            ", ".join(name for name, *_ in told),
        )
        return next((text for text in texts if len(text) <= _LISTED_CHARACTERS), f"{texts[-1][:_LISTED_CHARACTERS]}…")

    def _direct(self, one: Given, kind: Kind) -> str:
        """Return what DuckDB reads as it is; empty if it is to be made into tables first."""
        if kind.name in {"csv", "tsv"} and self._care < CARES[-1]:
            return self._csv(one, kind.detail or ",")
        if kind.detail == "Parquet table":
            return f"FROM read_parquet({literal(one.file)})"
        if kind.name in {"json", "jsonl"}:
            return documents.direct(one.file, one.size, kind.name)
        if kind.name in {"binary", "csv", "tsv"}:
            return ""
        return lines.direct(one.file, lines.survey(one))

    def _csv(self, one: Given, delimiter: str) -> str:
        names = delimited.header(one, delimiter)
        if not names:
            self.notes.append(f"{one.id}: its first row is taken for data; its columns are column0, column1 …")
        elif twice := [name for name, count in Counter(map(str.casefold, names)).items() if count > 1]:
            self.notes.append(
                f"{one.id}: {', '.join(map(quoted, twice))[:_TOLD_CHARACTERS]} twice; the next ones are _1 …"
            )
        ragged = self._care > 1
        if ragged and not lines.survey(one).is_plain:
            return ""  # where lines end in several ways DuckDB loses cells
        if ragged:
            self.notes.append(f"{one.id}: rows of other lengths than the first are filled up with NULL")
        table = delimited.table(self._connection, one, delimiter, looks_at_all=self._care > 0, ragged=ragged)
        self.csv |= dict.fromkeys((one.id, "t") if one.is_asked else (one.id,), table)
        return table.typed()

    def _make(self, one: Given, kind: Kind) -> None:
        into = f"kept_{one.id}"
        spare = self._scratch / f"{one.id}.part"
        try:
            if kind.name in {"json", "jsonl"}:
                self.notes += documents.make(self._connection, one, kind.name, into, spare)
            elif kind.detail == "SQLite database":
                left_out = databases.make(self._connection, one, self._sql, into, spare)
                self.notes += [f"{one.id}: {told}" for told in left_out]
            elif kind.name in {"csv", "tsv"}:
                self.notes.append(f"{one.id}: its rows differ; every column is text")
                lines.make_rows(self._connection, one, kind.detail or ",", into, spare)
            elif kind.name == "binary":
                what = f"{one.id} is {kind.detail or 'a binary of no known format'}, which has no tables"
                raise BursarError("not_a_table", what, _FITS_ALL)
            else:
                lines.make(self._connection, one, into, spare)
        finally:
            spare.unlink(missing_ok=True)

    def _kept(self, name: str) -> Path:
        return self._scratch / f"{name}.tables"

    def _show_parts(self, one: Given) -> None:
        """Show what was made: parts by their names, which are columns of the whole, too."""
        into = f"kept_{one.id}"
        found = "SELECT table_name FROM duckdb_tables() WHERE database_name = ? ORDER BY table_oid"
        names = [name for (name,) in self._connection.execute(found, [into]).fetchall()]
        parts = [name for name in names if name != WHOLE]
        for part in parts:
            self._show(one, part, f"FROM {into}.{quoted(part)}")
        if WHOLE in names:
            lists = "".join(f", (SELECT list(p) FROM {into}.{quoted(part)} p) AS {quoted(part)}" for part in parts)
            self._show(one, WHOLE, f"SELECT *{lists} FROM {into}.{quoted(WHOLE)}")
        elif len(parts) == 1:
            self._show(one, WHOLE, f"FROM {into}.{quoted(parts[0])}")

    def _show(self, one: Given, part: str, body: str) -> None:
        for name in (one.id, "t") if one.is_asked else (one.id,):
            if part == WHOLE:
                self._connection.execute(f"CREATE OR REPLACE VIEW {name} AS {body}")
            else:
                self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {name}")
                self._connection.execute(f"CREATE VIEW {name}.{quoted(part)} AS {body}")


def _short(kind: str) -> str:
    return kind if len(kind) <= 24 else kind.partition("(")[0] + ("[]" if kind.endswith("[]") else "")
