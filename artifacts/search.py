"""Finds a pattern in an artifact of any size: how often, the first matches, and of a flood how it is spread."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from ..budget import tokens
from ..budget.page import Page
from ..errors import BursarError
from . import spans
from .artifact import Artifact, Opened
from .index import LineIndex, Progress
from .matches import Layout, Query, Stretch
from .reader import PAGE_BYTES
from .spans import Span
from .spread import spread

if TYPE_CHECKING:
    from .engines import Engine

DEADLINE_S = 10.0
LINES_MAX = 2000
"""Lines with matches that one page looks at: more than any reply shows. The others are only counted."""

HITS_MAX = 20_000
"""Matches that one page looks at: `.` matches each character of a line."""

FEW = 20
"""More matches than that, for which there is no room, are a flood unless a range was asked for: the first are shown."""

_LIKE_TOKENS = 300
"""Shown of what is only like what was searched for."""

AGAIN_BYTES = 64 << 20
"""Where nothing matches, so much is searched for the like."""

_PART_BYTES = 1 << 29
"""Proposed to be searched when a whole takes too long: some 0.3 s where the disk does not slow it down."""

_LITERALLY = str.maketrans({sign: f"\\{sign}" for sign in r"\.+*?()|[]{}^$"})


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found.

    Attributes:
        page: one piece for each match, with its context.
        matches: number of matching lines, or of matches where lines are too long to be shown; None when the time was
            up before all were counted.
        shown: how many of them the page has.
        context: how many lines are shown about matches, where not all that were asked for; else empty.
        spread: of more matches than are shown at once: how often their texts occur, or where they lie.
        like: where nothing matches, what matches without regard to case or as a literal text, and is shown.
    """

    page: Page
    matches: int | None
    shown: int
    context: str = ""
    spread: Mapping[str, int] | str = ""
    like: Mapping[str, int | str] = field(default_factory=dict[str, int | str])

    @property
    def counted(self) -> int | str:
        """The number of matches, or what is known of it."""
        return f"more than {self.shown}" if self.matches is None else self.matches

    def facts(self) -> dict[str, str | int | Mapping[str, int]]:
        """Tell in a reply what was found."""
        told = {"context": self.context, "spread": self.spread}
        return {"matches": self.counted, **self.like, **{name: value for name, value in told.items() if value}}


async def grep(
    artifact: Artifact, query: Query, deadline_s: float = DEADLINE_S, progress: Progress | None = None
) -> Found:
    """Search, in a thread and a process; both end when the call is cancelled.

    Raises:
        BursarError: bad_pattern, beyond_the_end, search_timeout, search_failed, damaged, source_changed.
    """
    search = _Search(artifact, query, progress)
    found = await search.within(deadline_s) or search.so_far
    if found is None:
        what = f"nothing was found within {deadline_s:.2g} s, and not all was searched"
        raise BursarError("search_timeout", what, _narrower(artifact, query))
    return found


def _narrower(artifact: Artifact, query: Query) -> str:
    """Propose to search one part after the other."""
    if query.lines is not None and query.lines.first is not None and query.lines.last is not None:
        unit, first, last, part = "lines", query.lines.first, query.lines.last, _PART_BYTES
    else:
        span = query.bytes or Span(0, None)
        unit, first, part = "bytes", span.first or 0, _PART_BYTES
        last = artifact.size if span.first is None or span.last is None else span.last
    middle = first + min(part, max(1, (last - first) // 2))
    return f'Search a part at a time: {unit}="{first}-{middle}", then {unit}="{middle + 1}-{last}"'


T = TypeVar("T")


class Searching(ABC, Generic[T]):
    """Something that searches in a thread and a process, until it is done or stopped."""

    _engine: "Engine | None" = None
    _is_stopped = False

    @abstractmethod
    def run(self) -> T:
        """Search. Blocks."""

    @abstractmethod
    def report(self, done: int, total: int) -> None:
        """Tell how far it is."""

    async def within(self, deadline_s: float) -> T | None:
        """Return what `run` does; None if that takes longer. Its thread and its process end with this call."""
        import anyio
        from anyio import to_thread

        try:
            with anyio.move_on_after(deadline_s):
                return await to_thread.run_sync(self.run, abandon_on_cancel=True)
        finally:
            self._is_stopped = True
            if self._engine is not None:
                self._engine.stop()
        return None

    def _engine_for(self, pattern: str, content: Opened, start: int, end: int) -> "Engine":
        from .engines import engine

        self._engine = engine(pattern, content, start, end, self._report)
        if self._is_stopped:
            self._engine.stop()
        return self._engine

    def _report(self, done: int, total: int) -> None:
        if self._is_stopped:
            raise BursarError("search_timeout", "the search was stopped", "Search a part of it")
        self.report(done, total)


class _Search(Searching[Found]):
    """A search for a pattern.

    Attributes:
        so_far: what was found by now, as far as it can be shown.
    """

    def __init__(self, artifact: Artifact, query: Query, progress: Progress | None) -> None:
        self._artifact = artifact
        self._query = query
        self._progress = progress
        self._index = artifact.index()
        self.so_far: Found | None = None

    def report(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total)

    def run(self) -> Found:
        """Search for the pattern; if nothing matches, for the like."""
        with self._artifact.opened() as content:
            stretch = stretch_of(self._query, content, self._index, self._report)
            bad: BursarError | None = None
            try:
                found = self._found(content, stretch, self._query)
            except BursarError as error:
                if error.code != "bad_pattern":
                    raise
                bad, found = error, None
            if found is None or found.matches == 0:
                self.so_far = found
                like = self._like(content, stretch, bad is not None)
                found = like if like is not None else found
            if found is None:
                assert bad is not None  # noqa: S101 - nothing was found as it was not searched for
                raise bad
            return found

    def _like(self, content: Opened, stretch: Stretch, is_bad: bool) -> Found | None:
        """Search without regard to case, then literally, where that is cheap and differs."""
        if stretch.end - stretch.start > AGAIN_BYTES or self._artifact.state == "live":
            return None
        pattern = self._query.pattern
        literal = pattern.translate(_LITERALLY)
        others = {"as_literal": literal} if literal != pattern else {}
        if not is_bad:
            others = {"ignoring_case": f"(?i){pattern}", **others}
        for name, other in others.items():
            found = self._found(content, stretch, replace(self._query, pattern=other))
            if found.matches != 0:
                return replace(found, matches=0, like={name: found.counted})
        return None

    def _found(self, content: Opened, stretch: Stretch, query: Query) -> Found:
        search = self._engine_for(query.pattern, content, stretch.start, stretch.end)
        hits = search.hits(LINES_MAX, HITS_MAX)
        layout = Layout(content, query, stretch)
        page, shown = layout.page(hits, PAGE_BYTES)
        has_excerpts = layout.has_excerpts
        found = Found(page, layout.units if hits.is_all else None, shown, layout.context)
        if query.counts_only:
            found = replace(found, page=Page(()), context="")
        self._keep(found, query)
        text = "".join(piece.text for piece in found.page.pieces)
        is_flood = self._is_flood(query, layout.units, text)
        if is_flood:
            layout = Layout(content, query, stretch)
            page, shown = layout.page(hits, tokens.first_bytes(text, self._query.first))
            found = replace(found, page=page, shown=shown, context=layout.context)
            self._keep(found, query)
        if not hits.is_all:
            total = search.count(lines=not has_excerpts)
            after = found.page.after if total > found.shown else None
            found = replace(found, page=Page(found.page.pieces, after), matches=total)
            self._keep(found, query)
        if is_flood:
            with closing(search.texts()) as texts:
                found = replace(found, spread=spread(texts))
        return found

    def _keep(self, found: Found, query: Query) -> None:
        """Have something to show when the time is up; what is only like the pattern would be taken for matches."""
        if query.pattern == self._query.pattern:
            self.so_far = found

    def _is_flood(self, query: Query, matches: int, text: str) -> bool:
        """Tell whether so much is not to be shown at once; who gives a range has seen the first."""
        if query.counts_only or query.lines is not None or query.bytes is not None:
            return False
        if query.pattern != self._query.pattern:
            return not tokens.fits(text, _LIKE_TOKENS)
        return matches > FEW and not tokens.fits(text, query.room)


def stretch_of(query: Query, content: Opened, index: LineIndex, report: Progress) -> Stretch:
    """Find the bytes that a query is for.

    Raises:
        BursarError: beyond_the_end.
    """
    if query.bytes is not None:
        return _bytes(query.bytes, content, index, report)
    span = query.lines
    if span is None:
        return Stretch(0, content.size, 1)
    first = span.first
    if first is None:
        first = max(1, index.lines(content, report) - (span.last or 0) + 1)
    start = index.start_of(content, first, report)
    if start is None and first > 1:
        raise spans.beyond("lines", first, index.lines(content, report))
    behind = None
    if span.first is not None and span.last is not None:
        behind = index.start_of(content, span.last + 1, report)
    return Stretch(start or 0, content.size if behind is None else behind, first)


def _bytes(span: Span, content: Opened, index: LineIndex, report: Progress) -> Stretch:
    first = max(0, content.size - (span.last or 0)) if span.first is None else span.first
    if first >= content.size and first > 0:
        raise spans.beyond("bytes", first, content.size)
    end = content.size if span.first is None or span.last is None else min(content.size, span.last + 1)
    return Stretch(first, end, index.line_at(content, first, report))
