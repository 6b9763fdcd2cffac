"""What can be asked for of a content, in the same words by every tool that has one: a range of it, or what matches."""

import re
import time
from dataclasses import replace

import anyio
from pydantic import Field

from ..artifacts import Artifact, reader, search, spans
from ..artifacts.matches import Query
from ..artifacts.reader import Excerpt
from ..artifacts.search import Found
from ..artifacts.spans import Span
from ..errors import BursarError
from . import asking, documents
from .base import Call, Done, Reading, ShownArgs, unlisted
from .progress import Counter, in_thread, watched

QUICK_BYTES = 1 << 20
"""Read on the event loop; looking for a line in more may take long."""

_SHARE = 0.9
"""Of the client's patience; what was counted or found by then is known to the next call, or shown."""

_LEAST_S = 0.2

_FRAME_TOKENS = 100
"""Of a reply, around the matches."""

_CONTEXT = re.compile(r"\s*(\d{1,18})\s*(?:-\s*(\d{1,18})\s*)?", re.ASCII)


class ExcerptArgs(ShownArgs):
    """Which part of a content to show; a tool may take `bytes` and `tail` besides."""

    lines: str | None = Field(None, description="40-50; -50: the last", coerce_numbers_to_str=True)
    grep: str | None = Field(None, description="regex")
    context: str | None = Field(None, description="3 or 2-5 lines", coerce_numbers_to_str=True)
    count: bool = unlisted(default=False)
    sql: str | None = asking.OFFERED
    save: str = unlisted("")

    @property
    def asks(self) -> bool:
        """Whether a part is asked for at all, or a query."""
        return self.grep is not None or self.sql is not None or bool(self._ranges())

    def span(self) -> tuple[str, Span | None]:
        """Return the unit of the range that is asked for, and the range, or None for all.

        Raises:
            BursarError: bad_argument, bad_range.
        """
        given = self._ranges()
        if len(given) > 1:
            one, other, *_ = given
            raise BursarError("bad_argument", f"both {one} and {other} are given", f"Give {one} or {other}")
        for name, value in given.items():
            if name != "tail":
                return name, spans.parse(value, name)
            if int(value) < 1:
                raise BursarError("bad_argument", f"tail={value} shows nothing", "Give a number of lines from 1")
            return "lines", Span(None, int(value))
        return "lines", None

    def _ranges(self) -> dict[str, str]:
        given = {name: getattr(self, name, None) for name in ("lines", "bytes", "tail")}
        return {name: str(value) for name, value in given.items() if value is not None}

    def query(self, room: int) -> Query | None:
        """Return what is to be searched for, and shown in so many tokens of a reply; None if nothing is.

        Raises:
            BursarError: bad_argument, bad_range.
        """
        if self.save:
            what = "what reads writes no files, so that clients may run it unasked"
            fix = f'Call edit_file(path="{self.save[:80]}", artifact=…), with the same sql, grep or lines'
            raise BursarError("bad_argument", what, fix)
        unit, span = self.span()
        if self.sql is not None and (self.grep is not None or span is not None):
            raise BursarError("bad_argument", "sql is given with a range or grep", "Say it in SQL, with WHERE or LIMIT")
        if self.grep is None:
            return None
        around = _CONTEXT.fullmatch(self.context or "0")
        if around is None:
            raise BursarError(
                "bad_argument",
                f"context={(self.context or '')[:40]!r} is no number of lines",
                'Give context as "3" for 3 lines on both sides, or "2-5" for 2 before and 5 after',
            )
        query = Query(
            self.grep,
            before=int(around[1]),
            after=int(around[2] or around[1]),
            lines=span if unit == "lines" else None,
            bytes=span if unit == "bytes" else None,
            counts_only=self.count,
            room=room - _FRAME_TOKENS,
        )
        return replace(query, first=query.room) if self.max_tokens else query


async def part(
    args: ExcerptArgs, artifact: Artifact, call: Call, began: float, *, by_name: bool = True
) -> Done | Reading:
    """Show the part of an artifact that is asked for: a range, what matches, or the answer to a query.

    Args:
        args: what is asked for.
        artifact: what to read.
        call: which is cancelled, waits and reports progress.
        began: when the call began, on the monotonic clock.
        by_name: the caller named the content.

    Raises:
        BursarError: bad_argument, bad_range, timeout, and whatever the reader and the search raise.
    """
    query = args.query(call.room)
    if args.sql is not None:
        return await asking.shown(args.sql, artifact, call, left_s(call, began))
    if query is not None:
        found = await matches(artifact, query, call, began)
        note = documents.left_out(artifact)
        return Reading(found.page, artifact, found.facts() | ({"note": note} if note else {}), by_name=by_name)
    unit, span = args.span()
    shown = await excerpt(artifact, unit, span or Span(1, None), call, began)
    return Reading(shown.page, artifact, shown.facts(), by_name=by_name)


async def excerpt(artifact: Artifact, unit: str, span: Span, call: Call, began: float) -> Excerpt:
    """Read a range of `unit`, `lines` or `bytes`, of an artifact of any size; give up before the client does.

    Raises:
        BursarError: beyond_the_end, damaged, source_changed, timeout.
    """
    if artifact.size <= QUICK_BYTES:
        return reader.excerpt(artifact, unit, span)
    within_s = left_s(call, began)
    with anyio.move_on_after(within_s):
        return await in_thread(
            lambda pulse: reader.excerpt(artifact, unit, span, pulse.beat), call.progress, "bytes scanned"
        )
    raise BursarError(
        "timeout",
        f"{unit} {span.first or ''}-{span.last or ''} were not found within {within_s:.2g} s",
        "Call again: it goes on where it stopped; or give bytes, which need no counting",
    )


async def matches(artifact: Artifact, query: Query, call: Call, began: float) -> Found:
    """Search an artifact of any size; what was found before the client gives up is told.

    Raises:
        BursarError: bad_pattern, beyond_the_end, search_timeout, search_failed, damaged, source_changed.
    """
    deadline_s = min(search.DEADLINE_S, left_s(call, began))
    query = replace(query, sections=artifact.path.endswith(".md"))
    if artifact.size <= QUICK_BYTES:
        return await search.grep(artifact, query, deadline_s)
    counter = Counter(total=artifact.size)
    searching = search.grep(artifact, query, deadline_s, counter)
    return await watched(searching, call.progress, counter.read("bytes searched"))


def left_s(call: Call, began: float) -> float:
    """Return how long a work may go on that began with a call."""
    return max(_SHARE * call.patience_s - (time.monotonic() - began), _LEAST_S)
