"""Finds a pattern in an artifact of any size: matching lines with context, or excerpts where lines are too long."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..budget.page import Page, Piece, Resume
from ..errors import BursarError
from . import spans, utf8
from .artifact import Artifact, Opened
from .index import LineIndex, Progress
from .reader import PAGE_BYTES
from .spans import Span

if TYPE_CHECKING:
    from ._engines import Engine, Hit

DEADLINE_S = 10.0
HITS_MAX = 500
"""Matches looked at for one page: more than any reply shows. The others are only counted."""

LINE_MAX_BYTES = 600
"""Of a longer line an excerpt about the match is shown."""

EXCERPT_BYTES = 450
"""Read on either side of a match for an excerpt of 150 characters there."""

DEFAULT_CONTEXT = 2

_EXCERPT_CHARACTERS = 150
_CONTEXT_MAX_LINES = 50


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found.

    Attributes:
        page: one piece for each match, with its context.
        matches: number of matching lines, or of matches where lines are too long to be shown; None when the time was
            up before all were counted.
        shown: how many of them the page has.
        range: the lines that were searched, such as `5000-`; empty for all.
    """

    page: Page
    matches: int | None
    shown: int
    range: str = ""


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
        f"nothing was found within {deadline_s:g} s, and not all was searched",
        "Search a part of it by giving lines or bytes too, or a simpler pattern",
    )


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
        from ._engines import engine

        with self._artifact.opened() as content:
            start, end, first_line = self._range(content)
            self._engine = engine(self._query.pattern, content, start, end)
            if self._is_stopped:
                self._engine.stop()
            hits = self._engine.hits(HITS_MAX)
            layout = _Layout(content, self._query, first_line, start, end)
            page, shown = layout.page(hits)
            if len(hits) < HITS_MAX:
                return Found(page, layout.units, shown, self._described())
            page = Page(page.pieces, page.after or layout.behind)
            self._found = Found(page, None, shown, self._described())
            total = self._engine.count(lines=not layout.has_long_lines)
            return Found(page if total > shown else Page(page.pieces), total, shown, self._described())

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
        self.units = 0
        self.has_long_lines = False

    def page(self, hits: "list[Hit]") -> tuple[Page, int]:
        """Lay out matches in order until there is enough; return the page and how many of them are on it."""
        pieces: list[Piece] = []
        size = shown = last_line = 0
        after: Resume | None = None
        matches = [(hit.line + self._first_line - 1, hit.offset + self._start) for hit in hits]
        for position, (number, offset) in enumerate(matches):
            line = self._line(number, offset)
            if line is not None and number == last_line:
                continue
            last_line = number
            self.units += 1
            if line is None and offset < self._byte_shown:  # it is in the excerpt about the match before
                shown += after is None
                continue
            if after is not None or size >= PAGE_BYTES:
                after = after or self._resume(number, offset, is_long=line is None)
                continue
            if line is None:
                text = self._excerpt(number, offset)
            else:
                text = self._with_context(line, next((n for n, _ in matches[position + 1 :] if n != number), None))
            pieces.append(Piece(text, self._resume(number, offset, is_long=line is None)))
            size += len(text)
            shown += 1
        if matches:
            self._behind = self._resume_behind(*matches[-1])
        return Page(pieces, after), shown

    @property
    def behind(self) -> Resume | None:
        """How to go on behind the last match; None if nothing is there."""
        return self._behind

    def _line(self, number: int, offset: int) -> _Line | None:
        """Find the line about `offset`; None if it is too long to be shown."""
        begin = max(0, offset - LINE_MAX_BYTES)
        around = self._content.read(begin, 2 * LINE_MAX_BYTES)
        before = around.rfind(b"\n", 0, offset - begin)
        behind = around.find(b"\n", offset - begin)
        start = begin + before + 1
        end = begin + (behind if behind >= 0 else len(around))
        is_open = (before < 0 and begin > 0) or (behind < 0 and end < self._content.size)
        if is_open or end - start > LINE_MAX_BYTES:
            self.has_long_lines = True
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
        right = behind[: utf8.boundary_in(behind, len(behind) - 3)].decode("utf-8", "replace")[:_EXCERPT_CHARACTERS]
        self._byte_shown = offset + len(right.encode())
        self._line_shown = number
        return f"{number} (byte {offset}): …{left}{right}…\n"

    def _with_context(self, line: _Line, next_number: int | None) -> str:
        before = [text for number, text in self._before(line) if number > self._line_shown]
        rows = [*before, f"{line.number}: {self._text(line.start, line.end)}\n"]
        if self._context and self._line_shown and line.number - len(before) > self._line_shown + 1:
            rows.insert(0, "--\n")
        self._line_shown = line.number
        for number, text in self._behind_line(line):
            if next_number is not None and number >= next_number:
                break
            rows.append(text)
            self._line_shown = number
        return "".join(rows)

    def _before(self, line: _Line) -> list[tuple[int, str]]:
        rows: list[tuple[int, str]] = []
        end, number = line.start - 1, line.number - 1
        while end >= 0 and len(rows) < self._context:
            begin = max(0, end - LINE_MAX_BYTES)
            found = self._content.read(begin, end - begin).rfind(b"\n")
            is_long = found < 0 and begin > 0
            start = begin + found + 1
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
