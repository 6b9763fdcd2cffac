"""Says what is wrong with a query, and what to ask instead."""

import re
from typing import TYPE_CHECKING

from ...errors import BursarError

if TYPE_CHECKING:
    import duckdb

_NEAR = re.compile(r'Did you mean "([^"]{1,80})"')
_ALIKE = re.compile(r'Candidate bindings: ("[^\n]{1,300})')
_FILE = re.compile(r'(?:file )?"?/proc/self/fd/\d+"?')
_SYSTEM = ("pg_", "duckdb_", "sqlite_", "pragma_")


def is_of_csv(error: "duckdb.Error") -> bool:
    """Tell whether a CSV is other than its beginning promised."""
    text = str(error)
    return "CSV Error" in text or "sniffing file" in text or "csv_sniffer" in text


def worded(error: "duckdb.Error", tables: str) -> BursarError:
    """Say it as the server does; `tables` are those that can be asked, with their columns."""
    import duckdb

    text = _FILE.sub("the content", str(error))
    what = " ".join(text.partition("\nLINE ")[0].split("\n", 1)[0].split())[:300]
    kind, _, said = what.partition(": ")
    said = (said or kind).rstrip("!.")
    there = f"there is {tables}" if tables else ""
    near = next((name for name in _NEAR.findall(text) if not name.startswith(_SYSTEM)), "")
    if isinstance(error, duckdb.OutOfMemoryException):
        return BursarError("too_large", "the query needs more memory than it is given", "Filter or aggregate first")
    if isinstance(error, duckdb.PermissionException):
        return BursarError(
            "bad_sql", "SQL reaches no files, only artifacts by their ids", "Read it first: read_file(path, sql=…)"
        )
    if isinstance(error, duckdb.ParserException):
        place = re.search(r"LINE \d+: ([^\n]{1,80})", text)
        return BursarError("bad_sql", said, f"Mind DuckDB's SQL{'; ' + there if there else ''}" if place else there)
    if isinstance(error, duckdb.CatalogException | duckdb.BinderException):
        if "No function matches" in text and "VARCHAR" in text:
            return BursarError("bad_sql", said.partition(". You")[0], "TRY_CAST(x AS DOUBLE) makes numbers of text")
        meant = f'Did you mean "{near}"? ' if near else ""
        if not near and (alike := _ALIKE.search(text)):
            meant = f"Did you mean {alike[1]}? "
        return BursarError("bad_sql", said, meant + (there[0].upper() + there[1:] if there else "Look at it first"))
    if isinstance(error, duckdb.ConversionException):
        return BursarError("sql_failed", said, "TRY_CAST gives NULL for what is none")
    if isinstance(error, duckdb.IOException):
        return BursarError("sql_failed", said, "The content may be damaged; it is kept as received")
    return BursarError("sql_failed", said, there or "Ask in another way")
