"""Writes what is stored into the workspace: a whole artifact, lines of it or the answer to a query, in any form."""

import os
import time
from pathlib import PurePath

import anyio.to_thread

from ..artifacts import Artifact
from ..artifacts.copying import copy
from ..artifacts.matches import Query
from ..budget.previews.preview import CaptureFacts, ContentView, Hint
from ..errors import BursarError
from ..guard.created import CreatedFile
from ..guard.names import rewritten, written
from ..guard.opened import OpenedFile
from ..guard.paths import Workspace
from . import asking, documents, excerpts
from .base import Call, Done, Fact
from .progress import in_thread

_FORMS = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "ndjson",
    ".md": "md",
    ".ndjson": "ndjson",
    ".parquet": "parquet",
    ".tsv": "tsv",
}
_OF_TABLES = {"csv": "csv", "tsv": "tsv", "json": "json", "jsonl": "ndjson"}
_AS_CSV = {"", ".txt"}
_ALL = "FROM t"


class SavedArgs(excerpts.ExcerptArgs):
    """What of an artifact is saved."""

    artifact: str
    bytes: str | None = None
    tail: int | None = None


async def saved(args: SavedArgs, path: str, call: Call, *, overwrite: bool) -> Done:
    """Write into a file of the workspace.

    Args:
        args: which artifact, and what of it.
        path: as the workspace takes it; its suffix tells the form.
        call: whose artifacts and workspace.
        overwrite: replace a file that is there already.

    Raises:
        BursarError: as the workspace, the artifact, the range or the query refuses.
    """
    began = time.monotonic()
    query = args.query(call.room)
    artifact = call.session.open(args.artifact, call.workspace.descriptor) if args.artifact else None
    form = _FORMS.get(PurePath(path).suffix.casefold(), "")
    sql = args.sql
    if sql is None and artifact is not None and not args.asks and _is_converted(artifact, form):
        sql = _ALL
    suffix = PurePath(path).suffix.casefold()
    if sql is not None and not form and suffix not in _AS_CSV:
        what = f"an answer in SQL cannot be written as {suffix}"
        raise BursarError("bad_argument", what, f"Name the file {', '.join(_FORMS)}; .txt is CSV, too")
    if sql is None and form == "parquet" and args.asks:
        raise BursarError("bad_argument", "lines are no Parquet", "Say it in SQL: FROM t WHERE n BETWEEN 1 AND 9")
    with await anyio.to_thread.run_sync(_created, call.workspace, path, overwrite) as created:
        facts: dict[str, Fact] = {}
        if sql is not None:
            async with asking.answered(sql, artifact, call, excerpts.left_s(call, began), form or "csv") as answer:
                await anyio.to_thread.run_sync(answer.content.pour, created)
                facts["rows"] = answer.rows
                if answer.notes:
                    facts["note"] = answer.notes
        elif artifact is not None:
            unit, span = args.span()
            wanted = query or (Query("", lines=span) if unit == "lines" else Query("", bytes=span))
            await in_thread(lambda pulse: copy(artifact, wanted, created, pulse.beat), call.progress, "bytes copied")
            if args.grep and not created.size:
                raise BursarError(
                    "no_match", f"no line matches '{args.grep[:80]}'", "No file was written; mend the pattern"
                )
            facts = {} if artifact.state == "whole" else {"state": artifact.state}
            notes = [documents.left_out(artifact)]
            with artifact.opened() as content:
                if content.is_redacted:
                    notes.append("credentials in it, if there are some, are blanked in the file, too")
            facts |= {"note": note} if (note := "; ".join(filter(None, notes))) else {}
        await anyio.to_thread.run_sync(created.commit, created.status)
    return Done({"saved": written(str(created.path)), "bytes": created.size, **facts})


def refuse_unwritable(file: OpenedFile, path: str) -> None:
    """Refuse to replace a file that may not be written: putting another in its place needs no right to it.

    Raises:
        BursarError: permission_denied.
    """
    if not file.status.st_mode & 0o222 or not os.access(file.path, os.W_OK):
        what = f"'{rewritten(path)}' may not be written"
        raise BursarError("permission_denied", what, "Leave it, or have its mode or owner changed first")


def _is_converted(artifact: Artifact, form: str) -> bool:
    """Tell whether a form is another than the one that a table has."""
    view = ContentView(artifact, CaptureFacts(), Hint(artifact.name))
    is_table = view.kind in _OF_TABLES or view.form in {"Parquet table", "SQLite database"}
    has_form = "parquet" if view.form == "Parquet table" else _OF_TABLES.get(view.kind)
    return bool(form) and (is_table or form == "parquet") and has_form != form


def _created(workspace: Workspace, path: str, overwrite: bool) -> CreatedFile:
    """Begin a file; what it is to replace must be writable, and lends it owner and mode."""
    if overwrite:
        try:
            with workspace.open(path) as file:
                refuse_unwritable(file, path)
                created = workspace.create(written(str(file.path)), overwrite=True)
                created.resemble(file.status)
                return created
        except BursarError as error:
            if error.code != "not_found":
                raise
    try:
        return workspace.create(path)
    except BursarError as error:
        fixes = {"not_found": "Make its directory first", "exists": "Use another path, or all=true to replace the file"}
        raise BursarError(error.code, error.message, fixes.get(error.code, error.fix)) from error
