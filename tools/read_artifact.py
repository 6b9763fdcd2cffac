"""Reads what was stored: lists, pages, searches, and waits for what is still being written."""

import time
from collections.abc import Callable
from functools import partial
from typing import ClassVar

import anyio
import anyio.to_thread
from pydantic import Field

from ..artifacts import Artifact, reader
from ..artifacts.matches import Query
from ..artifacts.ranking import ranked
from ..artifacts.search import DEADLINE_S
from ..artifacts.spans import Span
from ..budget.page import Page, Piece
from ..errors import BursarError
from . import asking, excerpts
from .base import Call, Fact, Outcome, Progress, Reading, Tool, unlisted
from .excerpts import ExcerptArgs
from .progress import Counter, watched
from .running import Looks, recorded, still_running

_POLL_MIN_S, _POLL_MAX_S = 0.03, 0.3
_SETTLE_S = 0.1
"""Waited for more when what was waited for has come: programs print a line in several pieces."""


class ReadArtifactArgs(ExcerptArgs):
    """Which artifact, and what of it."""

    artifact: str = Field("", description="omit to list")
    bytes: str | None = unlisted(coerce_numbers_to_str=True)
    tail: int | None = unlisted()
    search: str | None = Field(None, description="words: best lines of all")
    wait_s: float = Field(0, description="for its end or a match")


class ReadArtifact(Tool[ReadArtifactArgs]):
    """Read on in an earlier output, ask it, or list them."""

    name: ClassVar[str] = "read_artifact"
    read_only: ClassVar[bool] = True
    Args = ReadArtifactArgs

    def __init__(self, looks: Looks | None = None) -> None:
        """Take what is known of earlier looks at running commands."""
        self._looks = looks or Looks()

    def did(self, args: ReadArtifactArgs) -> str:
        """Describe the reading."""
        name = args.artifact.rpartition("/")[2]
        if args.search is not None:
            return f"{args.search!r} in {name or 'all artifacts'}"
        if not name:
            return args.sql or "listed artifacts"
        if args.grep is not None:
            return f"{args.grep!r} in {name}"
        if args.sql is not None:
            return f"{args.sql} in {name}"
        asked = (
            f"{unit} {part}"
            for unit, part in (("lines", args.lines), ("bytes", args.bytes), ("tail", args.tail))
            if part
        )
        return " ".join(["read", name, *asked])

    async def run(self, args: ReadArtifactArgs, call: Call) -> Outcome:
        """Read.

        Raises:
            BursarError: unknown_artifact, bad_argument, and whatever the reader and the search raise.
        """
        if args.search is not None:
            return await _ranked(args.search, args, call)
        query = args.query(call.room)
        if args.sql is not None:
            asked = call.session.open(args.artifact, call.workspace.descriptor) if args.artifact else None
            return await asking.shown(args.sql, asked, call, excerpts.left_s(call, time.monotonic()))
        unit, span = args.span()
        if not args.artifact:
            return await anyio.to_thread.run_sync(_listing, args, span, call)

        def view() -> Artifact:
            return call.session.open(args.artifact, call.workspace.descriptor)

        wait_s = min(max(args.wait_s, 0), call.patience_s)
        if query is not None:
            return await _search(query, view, wait_s, call)
        if span is None:
            return await self._read(view, wait_s, call.progress)
        return await _read_part(unit, span, view, wait_s, call)

    async def _read(self, view: Callable[[], Artifact], wait_s: float, progress: Progress) -> Reading:
        """Show the beginning; of what is still being written the end, or what is new since the last look."""
        artifact = view()
        seen = self._looks.last(artifact)
        if wait_s:
            artifact = await _waited(view, wait_s, _never, progress)
        self._looks.keep(artifact)
        if wait_s and seen is not None and seen <= artifact.size:
            excerpt = reader.since(artifact, seen)
            about = {} if artifact.state == "live" else _about(artifact)
        else:
            is_live = artifact.state == "live"
            excerpt = reader.tail(artifact, artifact.size or 1) if is_live else reader.beginning(artifact)
            about = _about(artifact)
        return Reading(excerpt.page, artifact, {**_state(artifact), **about, **excerpt.facts()})


async def _read_part(unit: str, span: Span, view: Callable[[], Artifact], wait_s: float, call: Call) -> Reading:
    """Show a range; one that is not there yet is waited for, and may still not be there when the time is up."""
    began = time.monotonic()
    artifact = await _waited(view, wait_s, partial(_reaches, unit, span), call.progress) if wait_s else view()
    about = _state(artifact) | (_about(artifact) if wait_s else {})
    try:
        excerpt = await excerpts.excerpt(artifact, unit, span, call, began)
    except BursarError as error:
        if error.code != "beyond_the_end" or not (wait_s or artifact.state == "live"):
            raise
        if wait_s:
            return Reading(Page(()), artifact, {**about, "beyond": error.message})
        raise BursarError(error.code, f"{error.message} so far", f"{error.fix}; wait_s waits for more") from error
    return Reading(excerpt.page, artifact, {**about, **excerpt.facts()})


async def _waited(
    view: Callable[[], Artifact], wait_s: float, is_enough: Callable[[Artifact], bool], progress: Progress
) -> Artifact:
    """Wait until a live artifact holds enough, has ended, or the time is up."""
    artifact = view()
    rest_s = _POLL_MIN_S
    until = time.monotonic() + wait_s
    await progress(artifact.size, None, "bytes of output")
    while artifact.state == "live" and not await anyio.to_thread.run_sync(is_enough, artifact):
        left_s = until - time.monotonic()
        if left_s <= 0:
            return artifact
        await anyio.sleep(min(rest_s, left_s))
        rest_s = min(_POLL_MAX_S, rest_s * 1.5)
        artifact = view()
    if artifact.state == "live":
        await anyio.sleep(_SETTLE_S)
    return view()


def _never(_artifact: Artifact) -> bool:
    """Gather for as long as there is time."""
    return False


def _has_grown(size: int, artifact: Artifact) -> bool:
    return artifact.size != size


def _reaches(unit: str, span: Span, artifact: Artifact) -> bool:
    """Tell whether a range is there to its end; one without an end never is."""
    return span.first is not None and span.last is not None and reader.has(artifact, unit, span.last)


async def _search(query: Query, view: Callable[[], Artifact], wait_s: float, call: Call) -> Reading:
    """Search; in a live artifact again when it has grown, until something is found, it has ended, or time is up."""
    began = time.monotonic()
    while True:
        artifact = view()
        found = await excerpts.matches(artifact, query, call, began)
        left_s = wait_s - (time.monotonic() - began)
        if found.matches != 0 or artifact.state != "live" or left_s <= 0:
            return Reading(found.page, artifact, {**_state(artifact), **found.facts()})
        await _waited(view, left_s, partial(_has_grown, artifact.size), call.progress)


async def _ranked(words: str, args: ReadArtifactArgs, call: Call) -> Reading:
    """Rank the lines of one artifact or of all of them."""
    if args.asks:
        raise BursarError("bad_argument", "search is given with a range or grep", "Give search alone, or with artifact")
    began, opener = time.monotonic(), call.workspace.descriptor
    if args.artifact:
        artifacts = [call.session.open(args.artifact, opener)]
    else:
        artifacts = (await anyio.to_thread.run_sync(call.session.artifacts, opener))[::-1]
    counter = Counter(total=len(artifacts))
    ranking = ranked(artifacts, words, min(DEADLINE_S, excerpts.left_s(call, began)), counter)
    found = await watched(ranking, call.progress, counter.read("artifacts searched"))
    left_out = {"left_out": found.left_out} if found.left_out else {}
    return Reading(found.page, None, {"searched": found.searched, **left_out})


def _state(artifact: Artifact) -> dict[str, Fact]:
    if artifact.state == "live":
        return dict(still_running(time.time() - artifact.created))
    return {} if artifact.state == "whole" else {"state": artifact.state}


def _about(artifact: Artifact) -> dict[str, Fact]:
    return {"of": artifact.did, "bytes": artifact.size, **recorded(artifact)}


def _listing(args: ReadArtifactArgs, span: Span | None, call: Call) -> Reading:
    """List the session's artifacts, the latest first, of a repeated call the last; `lines` pages through the list."""
    if args.bytes or args.grep is not None:
        name = "bytes" if args.bytes else "grep"
        raise BursarError(
            "bad_argument", f"{name} without an artifact", "Say which artifact; search takes words for all"
        )
    stored = call.session.artifacts()[::-1]
    alike: dict[tuple[str, ...], list[Artifact]] = {}
    for artifact in stored:
        alike.setdefault(_sameness(artifact), []).append(artifact)
    entries = [_entry(latest, 1 + len(earlier)) for latest, *earlier in alike.values()]
    first, last = 1, len(entries)
    if span is not None:
        first = span.first if span.first is not None else max(1, last - (span.last or 0) + 1)
        last = min(last, span.last or last) if span.first is not None else last
    pieces = [
        Piece(entry, {"lines": f"{place}-"}) for place, entry in enumerate(entries[first - 1 : last], start=first)
    ]
    after = {"lines": f"{last + 1}-"} if last < len(entries) else None
    return Reading(Page(pieces, after), None, {"session": call.session.handle, "artifacts": len(stored)})


def _sameness(artifact: Artifact) -> tuple[str, ...]:
    """Return what a call that was repeated, and brought the same again, has in common with the first."""
    return (artifact.tool, artifact.did, artifact.sha256) if artifact.sha256 else (artifact.ref,)


def _entry(artifact: Artifact, times: int) -> str:
    state = "" if artifact.state == "whole" else f"  {artifact.state}"
    counted = "" if artifact.lines is None else f"  {artifact.lines:,} line{'' if artifact.lines == 1 else 's'}"
    did = " ".join(artifact.did.split())[:120] + (f" ({times} times)" if times > 1 else "")
    return (
        f"{artifact.id}{state}  {_measure(artifact.size)}{counted}  {_age(artifact.created)}  {artifact.tool}: {did}\n"
    )


def _measure(size: int) -> str:
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:.3g} {unit}" if amount < 1000 else f"{amount:,.0f} {unit}"
        amount /= 1000
    return ""


def _age(created: float) -> str:
    seconds = max(0.0, time.time() - created)
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"
