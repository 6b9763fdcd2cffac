"""Lays out matches as `grep -n` does: `50000:text`, context as `49999-text`, excerpts `1:1234:…text…` of long lines."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..budget.page import Page, Piece, Resume
from . import utf8
from .artifact import Opened
from .spans import Span

if TYPE_CHECKING:
    from .engines import Hits

LINE_MAX_BYTES = 600
"""Of a longer line an excerpt about the match is shown."""

EXCERPT_BYTES = 450
"""Read on either side of a match for an excerpt there."""

_EXCERPT_MIN_CHARACTERS, _EXCERPT_CHARACTERS = 60, 150
"""On either side of a match; of many matches less, so that together they have about as much as six."""

_CONTEXT_MAX_LINES = 50

_CONTEXT_BYTES_PER_TOKEN = 2
"""Of context on a page whose context is not all there, for each token of room: the matches themselves have the rest."""

_CONTEXT_MIN_BYTES = 1000
"""Of it for each match, however many there are."""

_SECTIONS_BYTES = 4 << 20
"""Of a larger document no headings are looked for."""

_HEADING_CHARACTERS = 100

_NO_TEXT = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]+")
"""What is no text when bytes are taken for UTF-8."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for.

    Attributes:
        pattern: a regular expression as ripgrep and RE2 know them.
        before: lines shown before a match.
        after: lines shown behind it.
        lines: only in these lines.
        bytes: only in these bytes.
        counts_only: no match is to be shown.
        sections: of a Markdown text, the heading above each match is shown too.
        room: tokens of a reply that may be all of them.
        first: tokens shown of more matches than there is room for.
    """

    pattern: str
    before: int = 0
    after: int = 0
    lines: Span | None = None
    bytes: Span | None = None
    counts_only: bool = False
    sections: bool = False
    room: int = 1900
    first: int = 300


@dataclass(frozen=True, slots=True)
class Stretch:
    """What of a content is searched: its bytes from `start` to before `end`, and the number of its first line."""

    start: int
    end: int
    first_line: int


@dataclass(frozen=True, slots=True)
class _Line:
    """Where a line lies, without its line break; cut off where it is longer than is shown."""

    number: int
    start: int
    end: int


class Layout:
    """Turns matches into pieces, once.

    Attributes:
        units: lines with matches, or matches where lines are too long to be shown.
        has_excerpts: some are.
        context: how many lines are shown about matches, where not all that were asked for; else empty.
    """

    def __init__(self, content: Opened, query: Query, stretch: Stretch) -> None:
        self._content = content
        self._query = query
        self._stretch = stretch
        self._above = min(max(query.before, 0), _CONTEXT_MAX_LINES)
        self._below = min(max(query.after, 0), _CONTEXT_MAX_LINES)
        self._line_shown = 0
        self._byte_shown = 0
        self._heading_shown = 0
        self._context_bytes = 0
        self._headings = _headings(content) if query.sections else []
        self._excerpt_characters = _EXCERPT_CHARACTERS
        self.units = 0
        self.has_excerpts = False
        self.context = ""

    def page(self, hits: "Hits", most_bytes: int) -> tuple[Page, int]:
        """Lay out matches in order until there is enough; return the page and how many of them are on it."""
        pieces: list[Piece] = []
        size = shown = last_line = 0
        after: Resume | None = None
        first_line, start = self._stretch.first_line, self._stretch.start
        matches = [(hit.line + first_line - 1, hit.offset + start) for hit in hits.found]
        firsts = {number: (number, offset) for number, offset in reversed(matches)}
        numbers = sorted(firsts)
        following = dict(zip(numbers, (firsts[number] for number in numbers[1:]), strict=False))
        room = self._query.room * _CONTEXT_BYTES_PER_TOKEN
        self._context_bytes = max(_CONTEXT_MIN_BYTES, room // max(1, len(numbers)))
        share = 6 * _EXCERPT_CHARACTERS // max(1, len(matches))
        self._excerpt_characters = min(_EXCERPT_CHARACTERS, max(_EXCERPT_MIN_CHARACTERS, share))
        for number, offset in matches:
            if number == last_line or (after is not None and not hits.is_all):
                continue
            line = self._line(number, offset)
            last_line = 0 if line is None else number
            self.units += 1
            if line is None and offset < self._byte_shown:  # it is in the excerpt about the match before
                shown += after is None
                continue
            if after is not None or size >= most_bytes:
                after = after or self._resume(number, offset, is_long=line is None)
                continue
            if line is None:
                rows = [Piece(self._excerpt(number, offset), self._resume(number, offset, is_long=True))]
            else:
                rows = self._with_context(line, offset, following.get(number), is_first=not pieces)
            pieces += rows
            size += sum(len(row.text) for row in rows)
            shown += 1
        if after is None and not hits.is_all:
            after = self._resume_behind(*matches[-1])
        return Page(pieces, after), shown

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
        left = before.decode("utf-8", "replace")[-self._excerpt_characters :]
        if len(behind) == EXCERPT_BYTES:
            behind = behind[: utf8.boundary_in(behind, len(behind) - 3)]
        right = behind.decode("utf-8", "surrogateescape")
        right = right[: self._excerpt_characters].encode("utf-8", "surrogateescape")
        self._byte_shown = offset + len(right)
        self._line_shown = number
        text = left + right.decode("utf-8", "replace")
        if not _is_text(text.encode()):
            text = _NO_TEXT.sub("·", text)
        return f"{number}:{offset}:…{text}…\n"

    def _with_context(
        self, line: _Line, offset: int, following: tuple[int, int] | None, *, is_first: bool
    ) -> list[Piece]:
        """Show a match among its neighbours, those nearest to it if there is no room for all."""
        until = line.number + self._below if following is None else following[0] - 1
        before = [row for row in self._before(line) if row[0] > self._line_shown]
        behind = [row for row in self._behind_line(line) if row[0] <= until]
        kept, followed = _nearest([text for _, text in before], [text for _, text in behind], self._context_bytes)
        if (kept, followed) != (len(before), len(behind)):
            around = f"{max(1, line.number - self._above)}-{line.number + self._below}"
            self.context = (
                self.context or f'only the nearest lines; lines="{around}" shows all about line {line.number}'
            )
        before, behind = before[len(before) - kept :], behind[:followed]
        here = self._resume(line.number, offset, is_long=False)
        if is_first and before:  # a reply too small for these lines is to get on
            here = {name: value for name, value in here.items() if name != "context"}
        has_context = self._above or self._below
        gap = has_context and self._line_shown and line.number - kept > self._line_shown + 1
        shown = [*(text for _, text in before), f"{line.number}:{self._text(line.start, line.end)}\n"]
        shown[0] = ("--\n" if gap else "") + self._heading(line.number - kept, line.number) + shown[0]
        pieces = [Piece(text, here) for text in shown]
        for number, text in behind:
            rest: Resume = {"lines": f"{number}-{line.number + self._below}"}
            pieces.append(Piece(text, rest if following is None else self._resume(*following, is_long=False)))
        self._line_shown = line.number + followed
        return pieces

    def _heading(self, number: int, matched: int) -> str:
        """Show the heading above a line as `git grep -p` shows a function, unless it was seen, or a heading matched."""
        place = bisect_left(self._headings, (number,)) - 1
        own = bisect_left(self._headings, (matched,))
        is_itself_one = own < len(self._headings) and self._headings[own][0] == matched
        if is_itself_one or place < 0 or self._headings[place][0] <= max(self._line_shown, self._heading_shown):
            return ""
        self._heading_shown, text = self._headings[place]
        return f"{self._heading_shown}={text}\n"

    def _before(self, line: _Line) -> list[tuple[int, str]]:
        rows: list[tuple[int, str]] = []
        end, number = line.start - 1, line.number - 1
        while end >= 0 and len(rows) < self._above:
            begin = max(0, end - LINE_MAX_BYTES)
            found = self._content.read(begin, end - begin).rfind(b"\n")
            is_long = found < 0 and begin > 0
            start = begin + found + 1
            if not _is_text(self._content.read(start, end - start)):
                break
            rows.insert(0, (number, f"{number}-{'…' if is_long else ''}{self._text(start, end)}\n"))
            if is_long:
                break
            end, number = start - 1, number - 1
        return rows

    def _behind_line(self, line: _Line) -> Iterator[tuple[int, str]]:
        start, number = line.end + 1, line.number + 1
        while start < self._content.size and number <= line.number + self._below:
            data = self._content.read(start, LINE_MAX_BYTES)
            found = data.find(b"\n")
            end = start + (found if found >= 0 else len(data))
            is_long = found < 0 and end < self._content.size
            if not _is_text(data[: end - start]):
                return
            yield number, f"{number}-{self._text(start, end)}{'…' if is_long else ''}\n"
            if is_long:
                return
            start, number = end + 1, number + 1

    def _text(self, start: int, end: int) -> str:
        return self._content.read(start, end - start).removesuffix(b"\r").decode("utf-8", "replace")

    def _resume(self, number: int, offset: int, *, is_long: bool) -> Resume:
        """Say how to go on from a match; the range that was asked for keeps its end."""
        query, resume = self._query, {"grep": self._query.pattern}
        if query.before or query.after:
            resume["context"] = str(query.before) if query.before == query.after else f"{query.before}-{query.after}"
        if query.bytes is not None or is_long:
            resume["bytes"] = f"{offset}-{'' if self._stretch.end >= self._content.size else self._stretch.end - 1}"
        else:
            span = query.lines
            resume["lines"] = f"{number}-{'' if span is None or span.first is None or span.last is None else span.last}"
        return resume

    def _resume_behind(self, number: int, offset: int) -> Resume | None:
        line, end = self._line(number, offset), self._stretch.end
        if line is None:
            return self._resume(number, offset + 1, is_long=True) if offset + 1 < end else None
        return self._resume(number + 1, line.end + 1, is_long=False) if line.end + 1 < end else None


def _headings(content: Opened) -> list[tuple[int, str]]:
    """Return the headings of a Markdown text by their lines."""
    found: list[tuple[int, str]] = []
    is_code = False
    if content.size > _SECTIONS_BYTES:
        return found
    for number, line in enumerate(content.read(0, content.size).split(b"\n"), 1):
        if line.lstrip().startswith((b"```", b"~~~")):
            is_code = not is_code
        elif line.startswith(b"#") and not is_code and line.lstrip(b"#").startswith(b" "):
            found.append((number, line.rstrip().decode("utf-8", "replace")[:_HEADING_CHARACTERS]))
    return found


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
