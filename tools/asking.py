"""Asks artifacts in SQL, for every tool that has a content."""

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import anyio
import anyio.to_thread
from pydantic import Field

from ..artifacts import Artifact, Spool, reader
from ..budget.clean import clean
from ..errors import BursarError
from .base import Call, Done, Fact, unlisted
from .documents import left_out

_QUERY = "bursar.content.sql.query:sql_query"
_THREADS = 4
"""The most that a query computes with."""

_ADDRESSES_BYTES = 2_500_000_000
"""Of the worker, of which DuckDB takes a part and what it maps another; it holds far less."""

_LONGEST_S = 60.0
_ARTIFACTS_MAX = 16
_QUERY_CHARACTERS = 100_000
_NAMES_TRIED = 256
"""Each is looked up in the session, some 10 µs."""

_BLOCK_BYTES = 1 << 20
_SOME_ROWS = 10
"""So many are counted at sight."""

_ASKED_BY_DUCKDB = [place for place in ("/proc/self/cgroup", "/sys/fs/cgroup") if Path(place).exists()]
"""Read at its start for the memory of the machine; it does not start where they are there and cannot be read."""

_ID = re.compile(r"\ba[1-9][0-9]{0,8}\b", re.ASCII | re.IGNORECASE)

OFFERED: Any = (
    Field(None, description="DuckDB: it is t, others a7; text is n, line") if find_spec("duckdb") else unlisted()
)
"""The argument; where it cannot be had, no schema speaks of it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query returned.

    Attributes:
        content: all of it.
        form: `csv`, `ndjson` or as was asked.
        rows: how many.
        notes: what is to be known of how contents were read.
    """

    content: Spool
    form: str
    rows: int
    notes: str

    def facts(self) -> dict[str, Fact]:
        """Tell it in a reply."""
        told = {"rows": self.rows if self.rows > _SOME_ROWS else 0, "note": self.notes}
        return {name: value for name, value in told.items() if value}


async def shown(sql: str, asked: Artifact | None, call: Call, within_s: float) -> Done:
    """Answer a query; the result is an artifact, of which the first rows are shown.

    Args:
        sql: the query.
        asked: `t`; None if only others are named.
        call: whose session has the others.
        within_s: how long it may take.

    Raises:
        BursarError: bad_sql, sql_failed, not_a_table, sql_missing, timeout, and what is wrong with a content.
    """
    async with answered(sql, asked, call, within_s) as answer:
        writer = call.output(f"result.{answer.form}", clean(sql if asked is None else f"{sql} in {asked.id}"))
        await anyio.to_thread.run_sync(answer.content.pour, writer)
        artifact = await writer.finish(facts={"rows": answer.rows})
        return Done(answer.facts(), artifact, view=reader.beginning(artifact).page, afresh=True)


@asynccontextmanager
async def answered(
    sql: str, asked: Artifact | None, call: Call, within_s: float, form: str = ""
) -> AsyncGenerator[Answer]:
    """Answer a query as `shown` does; in another form if that is asked for."""
    if find_spec("duckdb") is None:
        what = "SQL needs DuckDB, which is not installed with this server"
        raise BursarError("sql_missing", what, "Use grep or a program, or have bursar[sql] installed")
    named = _named(sql, asked, call)
    with (
        call.session.spool("the result") as target,
        TemporaryDirectory(prefix="bursar-", ignore_cleanup_errors=True) as scratch,
    ):
        made, masked = Path(scratch, "made"), Path(scratch, "masked")
        given = await anyio.to_thread.run_sync(_given, named, asked, made, masked)
        wanted = {"sql": sql, "contents": given, "scratch": str(made), "target": str(target.path), "form": form}
        reads = [*_ASKED_BY_DUCKDB, *(str(one[place]) for one in given for place in ("path", "kept") if one[place])]
        deadline_s = min(within_s, _LONGEST_S)
        try:
            found = await call.workers.call(
                _QUERY,
                wanted,
                reads=reads,
                writes=[target.path, made],
                deadline_s=deadline_s,
                within_s=within_s,
                memory_bytes=_ADDRESSES_BYTES,
                threads=_THREADS,
            )
        except BursarError as error:
            raise _about_query(error, deadline_s) from None
        told = cast("Mapping[str, Any]", found)
        for name in told["kept"]:
            if name in named and not (masked / name).exists():
                await anyio.to_thread.run_sync(call.session.keep_tables, named[name], made / f"{name}.tables")
        if "failed" in told:
            raise BursarError(*(str(text)[:800] for text in told["failed"]))
        notes = list(map(str, told["notes"])) + [note for one in named.values() for note in await _lacks(one)]
        yield Answer(target, str(told["form"]), int(told["rows"]), "; ".join(notes))


async def _lacks(artifact: Artifact) -> list[str]:
    """Tell what a content lacks: of its document, or of a database whose last changes stand in a file beside it."""
    lacks = [f"{artifact.id}: {note}"] if (note := left_out(artifact)) else []
    if artifact.source is not None:
        with suppress(OSError):
            if (await anyio.Path(f"{artifact.source.path}-wal").stat()).st_size:
                wal = "rows that are only in its -wal are missing; PRAGMA wal_checkpoint moves them"
                lacks.append(f"{artifact.id}: {wal}")
    return lacks


def _named(sql: str, asked: Artifact | None, call: Call) -> dict[str, Artifact]:
    """Return the artifacts that a query may name, and the one that is asked, by their ids; all are of one session."""
    named = {asked.id: asked} if asked is not None else {}
    handle = asked.handle if asked is not None else call.session.handle
    if len(sql) > _QUERY_CHARACTERS:
        raise BursarError("bad_sql", f"the query has more than {_QUERY_CHARACTERS:,} characters", "Ask for less")
    for name in islice(dict.fromkeys(map(str.lower, _ID.findall(sql))), _NAMES_TRIED):
        with suppress(BursarError):  # a name that the query gives to something else
            named.setdefault(name, call.session.open(f"{handle}/{name}", call.workspace.descriptor))
    if not named:
        raise BursarError("bad_sql", "the query names no artifact", "Give artifact, which is t, or name some, as in a7")
    if len(named) > _ARTIFACTS_MAX:
        raise BursarError("bad_sql", f"the query names more than {_ARTIFACTS_MAX} artifacts", "Ask of fewer at a time")
    return named


def _given(named: Mapping[str, Artifact], asked: Artifact | None, made: Path, masked: Path) -> list[dict[str, Any]]:
    """Make two directories, and describe contents to the worker; of one not to be shown as it is, a copy that is."""
    made.mkdir()
    masked.mkdir()
    given: list[dict[str, Any]] = []
    for name, artifact in named.items():
        path, kept = Path(artifact.path), artifact.tables
        with artifact.opened() as content:
            if content.is_redacted:
                path, kept = masked / name, None
                with path.open("wb") as copy:
                    for offset in range(0, content.size, _BLOCK_BYTES):
                        copy.write(content.read(offset, _BLOCK_BYTES))
            status = path.stat() if content.is_redacted else content.status
        given.append(
            {
                "id": name,
                "path": str(path),
                "size": artifact.size,
                "device": status.st_dev,
                "inode": status.st_ino,
                "name": artifact.name if artifact.source is None else artifact.source.path,
                "is_asked": artifact is asked,
                "kept": str(kept or ""),
            }
        )
    return given


def _about_query(error: BursarError, deadline_s: float) -> BursarError:
    """Say of a query what the workers say of any content."""
    match error.code:
        case "too_slow":
            what = f"the query took longer than {deadline_s:.3g} s and was stopped"
            return BursarError("timeout", what, "Ask for less: filter, sample (USING SAMPLE 1%), or join on equal keys")
        case "worker_failed" if error.message.startswith("the process "):
            what = "the process that answered the query ended early, perhaps for want of memory"
            return BursarError("sql_failed", what, "Ask for less, or use grep or a program")
        case _:
            return error
