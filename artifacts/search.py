"""Finds a pattern in an artifact of any size: matching lines with context, or excerpts where lines are too long."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..budget.page import Page, Piece, Resume
from ..errors import BursarError
from . import spans, utf8
from .artifact import Artifact, Opened
from .index import LineIndex, Progress
from .reader import PAGE_BYTES
from .spans import Span

if TYPE_CHECKING:
    from .engines import Engine, Hits

DEADLINE_S = 10.0
LINES_MAX = 500
"""Lines with matches that one page looks at: more than any reply shows. The others are only counted."""

HITS_MAX = 20_000
"""Matches that one page looks at: `.` matches each character of a line."""

LINE_MAX_BYTES = 600
"""Of a longer line an excerpt about the match is shown."""

EXCERPT_BYTES = 450
"""Read on either side of a match for an excerpt of 150 characters there."""

DEFAULT_CONTEXT = 2

_EXCERPT_CHARACTERS = 150
_CONTEXT_MAX_LINES = 50

_CONTEXT_BYTES = 4000
"""Of context on a page whose context is not all there: what a reply has room for beside the matches themselves."""

_CONTEXT_MIN_BYTES = 1000
"""Of it for each match, however many there are."""

_PART_BYTES = 1 << 29
"""Proposed to be searched when a whole takes too long: some 0.3 s where the disk does not slow it down."""

_NO_TEXT = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]+")
"""What is no text when bytes are taken for UTF-8."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found.

    Attributes:
        page: one piece for each match, with its context.
        matches: number of matching lines, or of matches where lines are too long to be shown; None when the time was
            up before all were counted.
        shown: how many of them the page has.
        range: the lines that were searched, such as `5000-`; empty for all.
        context: how many lines are shown about matches, where not all that were asked for; else empty.
    """

    page: Page
    matches: int | None
    shown: int
    range: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for.

    Attributes:
        pattern: a regular expression as ripgrep and RE2 know them.
        context: lines shown before and after a match.
        lines: only in these lines.
        bytes: only in these bytes.
    """

    pattern: str
    context: int = DEFAULT_CONTEXT
    lines: Span | None = None
    bytes: Span | None = None


async def grep(
    artifact: Artifact, query: Query, deadline_s: float = DEADLINE_S, progress: Progress | None = None
) -> Found:
    """Search, in a thread and a process; both end when the call is cancelled.

    Raises:
        BursarError: bad_pattern, beyond_the_end, search_timeout, search_failed, damaged, source_changed.
    """
    import anyio
    from anyio import to_thread

    search = _Search(artifact, query, progress)
    try:
        with anyio.move_on_after(deadline_s):
            return await to_thread.run_sync(search.run, abandon_on_cancel=True)
    finally:
        search.stop()
    if (found := search.so_far()) is not None:
        return found
    raise BursarError(
        "search_timeout",
        f"nothing was found within {deadline_s:.2g} s, and not all was searched",
        _narrower(artifact, query),
    )


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


class _Search:
    """One search; `run` blocks, `stop` ends it from another thread."""

    def __init__(self, artifact: Artifact, query: Query, progress: Progress | None) -> None:
        self._artifact = artifact
        self._query = query
        self._progress = progress
        self._index = artifact.index()
        self._engine: Engine | None = None
        self._is_stopped = False
        self._found: Found | None = None

    def run(self) -> Found:
        from .engines import engine

        with self._artifact.opened() as content:
            start, end, first_line = self._range(content)
            self._engine = engine(self._query.pattern, content, start, end, self._report)
            if self._is_stopped:
                self._engine.stop()
            hits = self._engine.hits(LINES_MAX, HITS_MAX)
            layout = _Layout(content, self._query, first_line, start, end)
            page, shown = layout.page(hits)
            found = Found(page, layout.units, shown, self._described(), layout.context)
            if hits.is_all:
                return found
            page = Page(page.pieces, page.after or layout.behind)
            self._found = replace(found, page=page, matches=None)
            total = self._engine.count(lines=not layout.has_excerpts)
            return replace(found, page=page if total > shown else Page(page.pieces), matches=total)

    def stop(self) -> None:
        self._is_stopped = True
        if self._engine is not None:
            self._engine.stop()

    def so_far(self) -> Found | None:
        return self._found

    def _range(self, content: Opened) -> tuple[int, int, int]:
        """Return where the search starts, where it ends, and the number of its first line."""
        if self._query.bytes is not None:
            return _byte_range(self._query.bytes, content, self._index, self._report)
        span = self._query.lines
        if span is None:
            return 0, content.size, 1
        first = span.first
        if first is None:
            first = max(1, self._index.lines(content, self._report) - (span.last or 0) + 1)
        start = self._index.start_of(content, first, self._report)
        if start is None and first > 1:
            raise spans.beyond("lines", first, self._index.lines(content, self._report))
        behind = None
        if span.first is not None and span.last is not None:
            behind = self._index.start_of(content, span.last + 1, self._report)
        return start or 0, content.size if behind is None else behind, first

    def _report(self, done: int, total: int) -> None:
        if self._is_stopped:
            raise BursarError("search_timeout", "the search was stopped", "Search a part of it")
        if self._progress is not None:
            self._progress(done, total)

    def _described(self) -> str:
        span = self._query.lines or self._query.bytes
        if span is None:
            return ""
        unit = "lines" if self._query.lines is not None else "bytes"
        first = "" if span.first is None else span.first
        last = "" if span.last is None else span.last
        return f"{unit} {first}-{last}"


def _byte_range(span: Span, content: Opened, index: LineIndex, report: Progress) -> tuple[int, int, int]:
    first = max(0, content.size - (span.last or 0)) if span.first is None else span.first
    if first >= content.size and first > 0:
        raise spans.beyond("bytes", first, content.size)
    end = content.size if span.first is None or span.last is None else min(content.size, span.last + 1)
    return first, end, index.line_at(content, first, report)


@dataclass(frozen=True, slots=True)
class _Line:
    """Where a line lies, without its line break; cut off where it is longer than is shown."""

    number: int
    start: int
    end: int


class _Layout:
    """Turns matches into pieces: `50000: text`, with `49999- text` about it."""

    def __init__(self, content: Opened, query: Query, first_line: int, start: int, end: int) -> None:
        self._content = content
        self._query = query
        self._first_line = first_line
        self._start = start
        self._end = end
        self._context = min(max(query.context, 0), _CONTEXT_MAX_LINES)
        self._line_shown = 0
        self._byte_shown = 0
        self._behind: Resume | None = None
        self._context_bytes = _CONTEXT_BYTES
        self.units = 0
        self.has_excerpts = False
        self.context = ""

    def page(self, hits: "Hits") -> tuple[Page, int]:
        """Lay out matches in order until there is enough; return the page and how many of them are on it."""
        pieces: list[Piece] = []
        size = shown = last_line = 0
        after: Resume | None = None
        matches = [(hit.line + self._first_line - 1, hit.offset + self._start) for hit in hits.found]
        firsts = {number: (number, offset) for number, offset in reversed(matches)}
        numbers = sorted(firsts)
        following = dict(zip(numbers, (firsts[number] for number in numbers[1:]), strict=False))
        self._context_bytes = max(_CONTEXT_MIN_BYTES, _CONTEXT_BYTES // max(1, len(numbers)))
        for number, offset in matches:
            if number == last_line or (after is not None and not hits.is_all):
                continue
            line = self._line(number, offset)
            last_line = 0 if line is None else number
            self.units += 1
            if line is None and offset < self._byte_shown:  # it is in the excerpt about the match before
                shown += after is None
                continue
            if after is not None or size >= PAGE_BYTES:
                after = after or self._resume(number, offset, is_long=line is None)
                continue
            if line is None:
                rows = [Piece(self._excerpt(number, offset), self._resume(number, offset, is_long=True))]
            else:
                rows = self._with_context(line, offset, following.get(number), is_first=not pieces)
            pieces += rows
            size += sum(len(row.text) for row in rows)
            shown += 1
        if matches:
            self._behind = self._resume_behind(*matches[-1])
        return Page(pieces, after), shown

    @property
    def behind(self) -> Resume | None:
        """How to go on behind the last match; None if nothing is there."""
        return self._behind

    def _line(self, number: int, offset: int) -> _Line | None:
        """Find the line about `offset`; None if it is no text, or too long to be shown."""
        begin = max(0, offset - LINE_MAX_BYTES)
        around = self._content.read(begin, 2 * LINE_MAX_BYTES)
        before = around.rfind(b"\n", 0, offset - begin)
        behind = around.find(b"\n", offset - begin)
        start = begin + before + 1
        end = begin + (behind if behind >= 0 else len(around))
        is_open = (before < 0 and begin > 0) or (behind < 0 and end < self._content.size)
        if is_open or end - start > LINE_MAX_BYTES or not _is_text(around[start - begin : end - begin]):
            self.has_excerpts = True
            return None
        return _Line(number, start, end)

    def _excerpt(self, number: int, offset: int) -> str:
        begin = utf8.boundary(self._content, max(0, offset - EXCERPT_BYTES))
        before = self._content.read(begin, offset - begin)
        behind = self._content.read(offset, EXCERPT_BYTES)
        before = before[before.rfind(b"\n") + 1 :]
        ends = behind.find(b"\n")
        behind = behind if ends < 0 else behind[:ends]
        left = before.decode("utf-8", "replace")[-_EXCERPT_CHARACTERS:]
        if len(behind) == EXCERPT_BYTES:
            behind = behind[: utf8.boundary_in(behind, len(behind) - 3)]
        right = behind.decode("utf-8", "surrogateescape")
        right = right[:_EXCERPT_CHARACTERS].encode("utf-8", "surrogateescape")
        self._byte_shown = offset + len(right)
        self._line_shown = number
        text = left + right.decode("utf-8", "replace")
        if not _is_text(text.encode()):
            text = _NO_TEXT.sub("·", text)
        return f"{number} (byte {offset}): …{text}…\n"

    def _with_context(
        self, line: _Line, offset: int, following: tuple[int, int] | None, *, is_first: bool
    ) -> list[Piece]:
        """Show a match among its neighbours, those nearest to it if there is no room for all."""
        until = line.number + self._context if following is None else following[0] - 1
        before = [row for row in self._before(line) if row[0] > self._line_shown]
        behind = [row for row in self._behind_line(line) if row[0] <= until]
        kept, followed = _nearest([text for _, text in before], [text for _, text in behind], self._context_bytes)
        if (kept, followed) != (len(before), len(behind)):
            around = f"{max(1, line.number - self._context)}-{line.number + self._context}"
            self.context = (
                self.context or f'only the nearest lines; lines="{around}" shows all about line {line.number}'
            )
        before, behind = before[len(before) - kept :], behind[:followed]
        here = self._resume(line.number, offset, is_long=False)
        if is_first and before:
            here = {**here, "context": 0}  # a reply too small for these lines is to get on
        gap = self._context and self._line_shown and line.number - kept > self._line_shown + 1
        shown = [*(text for _, text in before), f"{line.number}: {self._text(line.start, line.end)}\n"]
        pieces = [Piece("--\n" + text if gap and not place else text, here) for place, text in enumerate(shown)]
        for number, text in behind:
            rest: Resume = {"lines": f"{number}-{line.number + self._context}"}
            pieces.append(Piece(text, rest if following is None else self._resume(*following, is_long=False)))
        self._line_shown = line.number + followed
        return pieces

    def _before(self, line: _Line) -> list[tuple[int, str]]:
        rows: list[tuple[int, str]] = []
        end, number = line.start - 1, line.number - 1
        while end >= 0 and len(rows) < self._context:
            begin = max(0, end - LINE_MAX_BYTES)
            found = self._content.read(begin, end - begin).rfind(b"\n")
            is_long = found < 0 and begin > 0
            start = begin + found + 1
            if not _is_text(self._content.read(start, end - start)):
                break
            rows.insert(0, (number, f"{number}- {'…' if is_long else ''}{self._text(start, end)}\n"))
            if is_long:
                break
            end, number = start - 1, number - 1
        return rows

    def _behind_line(self, line: _Line) -> Iterator[tuple[int, str]]:
        start, number = line.end + 1, line.number + 1
        while start < self._content.size and number <= line.number + self._context:
            data = self._content.read(start, LINE_MAX_BYTES)
            found = data.find(b"\n")
            end = start + (found if found >= 0 else len(data))
            is_long = found < 0 and end < self._content.size
            if not _is_text(data[: end - start]):
                return
            yield number, f"{number}- {self._text(start, end)}{'…' if is_long else ''}\n"
            if is_long:
                return
            start, number = end + 1, number + 1

    def _text(self, start: int, end: int) -> str:
        return self._content.read(start, end - start).removesuffix(b"\r").decode("utf-8", "replace")

    def _resume(self, number: int, offset: int, *, is_long: bool) -> Resume:
        """Say how to go on from a match; the range that was asked for keeps its end."""
        resume: dict[str, str | int] = {"grep": self._query.pattern}
        if self._query.context != DEFAULT_CONTEXT:
            resume["context"] = self._query.context
        if self._query.bytes is not None or is_long:
            resume["bytes"] = f"{offset}-{'' if self._end >= self._content.size else self._end - 1}"
        else:
            span = self._query.lines
            resume["lines"] = f"{number}-{'' if span is None or span.first is None or span.last is None else span.last}"
        return resume

    def _resume_behind(self, number: int, offset: int) -> Resume | None:
        line = self._line(number, offset)
        if line is None:
            return self._resume(number, offset + 1, is_long=True) if offset + 1 < self._end else None
        return self._resume(number + 1, line.end + 1, is_long=False) if line.end + 1 < self._end else None


def _is_text(data: bytes) -> bool:
    """Tell whether bytes can be shown as they are: no NUL, and no more than one in three characters unreadable."""
    if b"\0" in data:
        return False
    text = data.decode("utf-8", "replace")
    return 3 * sum(map(len, _NO_TEXT.findall(text))) <= len(text)


def _nearest(before: list[str], behind: list[str], room: int) -> tuple[int, int]:
    """Return how many of the rows before and behind a match, the nearest first, fit into so many bytes."""
    kept = followed = 0
    for distance in range(max(len(before), len(behind))):
        if distance < len(before):
            room -= len(before[-1 - distance].encode())
            kept += room >= 0
        if distance < len(behind):
            room -= len(behind[distance].encode())
            followed += room >= 0
        if room < 0:
            break
    return kept, followed
