"""Reads pages of an artifact: by lines, by bytes, from the end. Pages in a row make up exactly its bytes."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..budget.content import Content
from ..budget.page import Page, Piece, Resume
from . import spans, utf8
from .artifact import Artifact
from .index import BLOCK, Progress
from .spans import Span

PAGE_BYTES = 64 << 10
"""More than any reply shows of a page."""

TAIL_BYTES = 4500
"""How far back the end of an artifact is shown: about what a reply has room for."""

_END_IN_BLOCKS = 64
"""How far behind its start the end of a range of lines is looked for: some 30 ms."""

_PIECES_MAX = 4096
_CHUNK_BYTES = 4 << 10
_TEXT_MIN_BYTES = 16 << 10
_RAW_BYTES = 768  # a multiple of 3, so that the base64 of the pieces joins to the base64 of the whole


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A page and what it is.

    Attributes:
        page: what to show.
        shows: what was asked for, such as `4000-4050 of 12000`.
        unit: of `shows`: `lines` or `bytes`.
        invalid: number of bytes on the page that are not UTF-8.
        encoding: `base64` if the page is not text, else empty.
        earlier: the argument that shows what was asked for but lies before the page; None if nothing does.
    """

    page: Page
    shows: str
    unit: str
    invalid: int = 0
    encoding: str = ""
    earlier: Resume | None = None

    def facts(self) -> dict[str, str]:
        """Tell in a reply what the page is."""
        facts = {self.unit: self.shows}
        if self.encoding:
            facts["shown_as"] = self.encoding
        if self.invalid:
            facts["not_utf8"] = f"{self.invalid:,} bytes, shown as U+FFFD"
        if self.earlier is not None:
            facts["earlier"] = ", ".join(f'{name}="{value}"' for name, value in self.earlier.items())
        return facts


def excerpt(artifact: Artifact, unit: str, span: Span, progress: Progress | None = None) -> Excerpt:
    """Read a range of `unit`, `lines` or `bytes`, as `lines`, `some_bytes` and `tail` do.

    Raises:
        BursarError: beyond_the_end, damaged, source_changed.
    """
    if span.first is None:
        return tail(artifact, span.last or 1, unit)
    if unit == "bytes":
        return some_bytes(artifact, span.first, span.last)
    return lines(artifact, span.first, span.last, progress)


def lines(artifact: Artifact, first: int, last: int | None, progress: Progress | None = None) -> Excerpt:
    """Read lines `first` to `last`, from 1 and both included; None for all that follow.

    Finding a line far into a content that was never indexed takes half a second per GB: call it in a thread.

    Raises:
        BursarError: beyond_the_end, damaged, source_changed.
    """
    index = artifact.index()
    with artifact.opened() as content:
        start = index.start_of(content, first, progress)
        if start is None and first > 1:
            raise spans.beyond("lines", first, index.lines(content, progress))
        start = start or 0
        # A range that ends farther away ends on another page: looking for its end might take all of a huge content.
        near = start // BLOCK + _END_IN_BLOCKS
        behind = None if last is None else index.start_of(content, last + 1, progress, until_block=near)
        end = content.size if behind is None else behind
        reading = _Reading(content, start, end)
        page, invalid = reading.by_lines(first, last)
        total = artifact.lines
        if total is None and index.is_complete(content.size):
            total = index.lines(content)
    artifact.keep_index(index)
    return Excerpt(page, _range(first, last, total), "lines", invalid)


def some_bytes(artifact: Artifact, first: int, last: int | None) -> Excerpt:
    """Read bytes `first` to `last`, from 0 and both included; None for all that follow.

    A character belongs to the page on which it begins. A page that is not text is given as base64.

    Raises:
        BursarError: beyond_the_end, damaged, source_changed.
    """
    with artifact.opened() as content:
        size = content.size
        if first >= size and first > 0:
            raise spans.beyond("bytes", first, size)
        start = utf8.boundary(content, first)
        end = size if last is None else utf8.boundary(content, last + 1)
        reading = _Reading(content, start, end)
        if reading.is_text():
            page, encoding = reading.by_bytes(), ""
        else:
            page, encoding = reading.as_base64(), "base64"
    return Excerpt(page, _range(start, max(start, end - 1), size), "bytes", 0, encoding)


def tail(artifact: Artifact, count: int, unit: str = "lines") -> Excerpt:
    """Read the last `count` lines or bytes; of lines no more than some 4,500 bytes, since the end is what matters.

    Raises:
        BursarError: damaged, source_changed.
    """
    if unit == "bytes":
        return some_bytes(artifact, max(0, artifact.size - count), None)
    with artifact.opened() as content:
        size = content.size
        window_start = max(0, size - TAIL_BYTES)
        window = content.read(window_start, size - window_start)
        start, found = _last_lines(window, count, whole=window_start == 0)
        start = window_start + start if found else utf8.boundary(content, window_start)
        total = artifact.lines
        first = None if total is None or not found else total - found + 1
        reading = _Reading(content, start, size)
        page, invalid = reading.by_lines(first, None) if first is not None else reading.by_raw_lines()
    if first is None or total is None:
        shows = f"the last {found} lines" if found > 1 else "the last line"
        if not found:
            shows = f"the end of the last line, from byte {start}" if size else _range(1, 0, 0)
        earlier = {"bytes": f"{max(0, start - PAGE_BYTES)}-{start - 1}"} if start and found < count else None
        return Excerpt(page, shows, "lines", invalid, earlier=earlier)
    wanted = max(1, total - count + 1)
    earlier = {"lines": f"{wanted}-{first - 1}"} if wanted < first else None
    return Excerpt(page, _range(first, total, total), "lines", invalid, earlier=earlier)


def since(artifact: Artifact, offset: int) -> Excerpt:
    """Read what came after the first `offset` bytes; of much only the end, from the start of a line where one is near.

    Raises:
        BursarError: damaged, source_changed.
    """
    size = artifact.size
    if size <= offset:
        return Excerpt(Page(()), f"none new of {size}", "bytes")
    start = max(offset, size - TAIL_BYTES)
    if start > offset:
        start += artifact.read(start, TAIL_BYTES // 2).find(b"\n") + 1
    excerpt = some_bytes(artifact, start, None)
    return replace(excerpt, earlier={"bytes": f"{offset}-{start - 1}"} if start > offset else None)


def has(artifact: Artifact, unit: str, first: int) -> bool:
    """Tell whether an artifact has a line or byte by now; may take as long as `lines` does."""
    if unit == "bytes":
        return first < artifact.size
    with artifact.opened() as content:
        return artifact.index().start_of(content, first) is not None


def beginning(artifact: Artifact) -> Excerpt:
    """Read from the start, without looking for anything: fast for any size."""
    with artifact.opened() as content:
        reading = _Reading(content, 0, content.size)
        page, invalid = reading.by_lines(1, None)
    total = artifact.lines
    return Excerpt(page, _range(1, total, total), "lines", invalid)


class _Reading:
    """One page from `start`, of a range that ends before `end`."""

    def __init__(self, content: Content, start: int, end: int) -> None:
        self._start = start
        self._end = end
        data = content.read(start, min(PAGE_BYTES + 4, end - start))
        cut = utf8.boundary_in(data, PAGE_BYTES)
        self._data = data if len(data) <= PAGE_BYTES else data[:cut]

    def is_text(self) -> bool:
        """Tell whether it is text; if only a beginning is that fills any reply, the page ends behind it."""
        valid = utf8.valid_length(self._data)
        is_cut_off = 0 < len(self._data) - valid < 4 and valid > 0  # the content ends inside a character
        if valid < min(len(self._data), _TEXT_MIN_BYTES) and not is_cut_off:
            return False
        self._data = self._data[:valid]
        return True

    def by_lines(self, first: int, last: int | None) -> tuple[Page, int]:
        """Cut into lines numbered from `first`, which are resumed by number, long ones inside by offset."""
        pieces: list[Piece] = []
        position, number = 0, first
        until = "" if last is None else str(last)
        for stop in self._line_ends():
            if stop == len(self._data) and not self._is_whole_line(stop) and pieces:
                break  # the next page begins with this line
            pieces += self._chunks(position, stop, {"lines": f"{number}-{until}"})
            position, number = stop, number + 1
            if len(pieces) >= _PIECES_MAX:
                break
        shown = self._data[:position]
        mid_line = position > 0 and shown[-1:] != b"\n"
        after = self._from(position) if mid_line else {"lines": f"{number}-{until}"}
        return self._page(pieces, position, after), utf8.count_invalid(shown)

    def by_raw_lines(self) -> tuple[Page, int]:
        """Cut into lines without numbers, which are resumed by offset."""
        page = self.by_bytes()
        return page, utf8.count_invalid(self._data)

    def by_bytes(self) -> Page:
        """Cut into lines and chunks that are resumed by offset."""
        pieces: list[Piece] = []
        position = 0
        for stop in self._line_ends():
            pieces += self._chunks(position, stop, self._from(position))
            position = stop
            if len(pieces) >= _PIECES_MAX:
                break
        return self._page(pieces, position, self._from(position))

    def as_base64(self) -> Page:
        """Cut into pieces of base64; joined they are the base64 of the page."""
        pieces: list[Piece] = []
        position, is_last = 0, False
        while position < len(self._data) and not is_last:
            end, is_last = self._base64_end(position)
            pieces.append(Piece(base64.b64encode(self._data[position:end]).decode(), self._from(position)))
            position = end
        return self._page(pieces, position, self._from(position))

    def _base64_end(self, position: int) -> tuple[int, bool]:
        """Find the end of a piece of base64: no padding within a page, and none inside a character, like every range.

        Where no place is both, the page ends.
        """
        furthest = position + _RAW_BYTES
        if furthest >= len(self._data):
            return len(self._data), True
        for end in range(furthest, position, -3):
            if utf8.boundary_in(self._data, end) == end:
                return end, False
        return utf8.boundary_in(self._data, furthest), True

    def _line_ends(self) -> Iterator[int]:
        position = 0
        while position < len(self._data):
            found = self._data.find(b"\n", position)
            position = len(self._data) if found < 0 else found + 1
            yield position

    def _is_whole_line(self, stop: int) -> bool:
        return self._data[stop - 1 : stop] == b"\n" or self._start + stop >= self._end

    def _chunks(self, start: int, stop: int, resume: Resume) -> Iterator[Piece]:
        """Give a line as one piece, a long one as several."""
        position = start
        while position < stop:
            end = min(stop, utf8.boundary_in(self._data, position + _CHUNK_BYTES))
            text = self._data[position:end].decode("utf-8", "surrogateescape")
            long = stop - start > _CHUNK_BYTES
            yield Piece(text, self._from(position) if long else resume, self._start + position)
            position = end

    def _from(self, position: int) -> Resume:
        return {"bytes": f"{self._start + position}-{self._end - 1}"}

    def _page(self, pieces: list[Piece], position: int, after: Resume) -> Page:
        return Page(pieces, None if self._start + position >= self._end else after)


def _last_lines(window: bytes, count: int, *, whole: bool) -> tuple[int, int]:
    """Find the last `count` lines that lie whole in the window: their start in it and their number."""
    start, found = len(window), 0
    while found < count and start > 0:
        before = window.rfind(b"\n", 0, start - 1)
        if before < 0 and not whole:
            break
        start, found = before + 1, found + 1
    return start, found


def _range(first: int, last: int | None, total: int | None) -> str:
    """Say which lines or bytes of how many are shown."""
    if total == 0:
        return "none: it is empty"
    known = [number for number in (last, total) if number is not None]
    return f"{first}-{min(known) if known else ''}" + (f" of {total}" if total is not None else "")
