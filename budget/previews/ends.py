"""The first and the last lines of a content, with lines that are too long cut by themselves."""

from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

from .. import cut
from ..clean import as_left, utf8
from ..content import Content
from ..cut import Allowance
from ..json_size import cost
from .base import decoded, encoded_size

WINDOW_BYTES = 128 << 10
"""Read at each end; no preview shows more than a fraction of it."""

_LINE_END_SOUGHT_BYTES = 32 << 20
"""How far the end of a long line is looked for, to tell its length."""

_WINDOWS_MAX = 6
_LINES_LOOKED_AT = 1000
_RUN_MIN_LINES = 4
"""So many equal lines in a row are shown once."""

_LINE_END_BYTES = 2 << 10
"""Read of the end of a line that is longer than the window."""

_LONG_LINE_BYTES = 480
"""A line up to this length is shown whole if there is room for two of them."""


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Some whole lines at one end of a content.

    Attributes:
        shown: their text; or, when lines had to be cut, a list of texts and of such lines as objects.
        lines: how many they are.
        size: bytes of the content that they take, cut ones in full length.
        cut: how many of them are not shown whole.
    """

    shown: str | list[Any]
    lines: int
    size: int
    cut: int = 0


EMPTY = LineSpan("", 0, 0)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line as a terminal leaves it, that stands `times` times in a row; of a very long one its start and its end."""

    start: bytes
    length: int
    end: bytes = b""
    times: int = 1

    @property
    def width(self) -> int:
        """How many bytes of it there would be to show."""
        return self.length if self.end else len(self.start)


def first_lines(content: Content, room: Allowance, most: int) -> LineSpan:
    """Return at most `most` of the first lines within `room`; fewer when they are long."""
    lines: list[_Line] = []
    offset = 0
    for _ in range(_WINDOWS_MAX):
        window = content.read(offset, WINDOW_BYTES)
        *full, rest = window.split(b"\n", _LINES_LOOKED_AT)
        if not full and offset + len(window) < content.size:
            line = _long_line(content, offset, window)
            lines.append(line)
            offset += line.length
        else:
            lines += [_Line(as_left(line) + b"\n", len(line) + 1) for line in full]
            offset += len(window) - len(rest)
            if offset + len(rest) >= content.size and rest and len(full) < _LINES_LOOKED_AT:
                lines.append(_Line(as_left(rest), len(rest)))
                break
        if offset >= content.size or len(_runs(lines)) >= most:
            break
    return _assemble(_runs(lines)[:most], room, 1)


def last_lines(content: Content, room: Allowance, most: int, total: int | None, begin: int) -> LineSpan:
    """Return at most `most` of the last lines within `room`, none that starts before byte `begin`.

    Args:
        content: of which the end is shown.
        room: for its JSON form.
        most: lines.
        total: number of the last line; None when nobody counted.
        begin: where the lines end that are shown as the first ones.
    """
    start = max(begin, content.size - WINDOW_BYTES)
    window = content.read(start, content.size - start)
    body, newline = (window[:-1], b"\n") if window.endswith(b"\n") else (window, b"")
    lines = body.rsplit(b"\n", _LINES_LOOKED_AT)
    if len(lines) > _LINES_LOOKED_AT or (start > begin and len(lines) > 1):
        lines = lines[1:]
    elif start > begin:
        return _end_of_a_line(window, room, total)
    if not window:
        return EMPTY
    ended = [line + b"\n" for line in lines[:-1]] + [lines[-1] + newline]
    return _assemble(_runs([_Line(as_left(line), len(line)) for line in ended])[-most:], room, total, from_end=True)


def _runs(lines: list[_Line]) -> list[_Line]:
    """Join lines that are repeated at once; what says the same again and again is shown once."""
    joined: list[_Line] = []
    for _, group in groupby(lines, key=attrgetter("start")):
        same = list(group)
        joined += same if len(same) < _RUN_MIN_LINES else [replace(same[0], times=len(same))]
    return joined


def _assemble(lines: list[_Line], room: Allowance, number: int | None, *, from_end: bool = False) -> LineSpan:
    """Put together as many lines as fit, from the end that matters; `number` is the line number there."""
    longest = min(max(_LONG_LINE_BYTES, room.bytes // 4), room.bytes // 2)
    if all(line.width <= longest and line.times == 1 for line in lines):
        text = decoded(b"".join(line.start for line in lines))
        kept = cut.tail(text, room) if from_end else cut.head(text, room)
        if kept == text or not kept or _whole_lines(kept, text, from_end=from_end):
            count = kept.count("\n") + (bool(kept) and not kept.endswith("\n"))
            taken = lines[len(lines) - count :] if from_end else lines[:count]
            return LineSpan(utf8(kept), count, sum(line.length for line in taken))
    return _assemble_entries(lines, room, number, longest, from_end=from_end)


def _whole_lines(kept: str, text: str, *, from_end: bool) -> bool:
    return text[-len(kept) - 1] == "\n" if from_end else kept.endswith("\n")


def _assemble_entries(
    lines: list[_Line], room: Allowance, number: int | None, longest: int, *, from_end: bool
) -> LineSpan:
    """Put together lines some of which are cut or repeated: those become objects between texts."""
    shown: list[Any] = []
    left, size, cut_lines, count = Allowance(room.tokens - 2, room.bytes - 2), 0, 0, 0
    for line in reversed(lines) if from_end else lines:
        at = None if number is None else number - count - line.times + 1 if from_end else number + count
        named: dict[str, Any] = {} if at is None else {"line": at}
        named |= {"times": line.times} if line.times > 1 else {}
        entry: str | dict[str, Any] = utf8(decoded(line.start))
        if line.width > longest:
            spent = Allowance(min(left.tokens, room.tokens // 3) - 26, min(left.bytes, room.bytes // 3) - 70)
            entry = _cut_line(line, named, spent)
        elif line.times > 1:
            entry = named | {"text": entry}
        taken = cost(entry)
        left = Allowance(left.tokens - taken.tokens - 1, left.bytes - taken.bytes - 1)
        if left.tokens < 0 or left.bytes < 0 or entry == {}:
            break
        shown.append(entry)
        cut_lines += line.width > longest
        size += line.length * line.times
        count += line.times
    return LineSpan(_joined(list(reversed(shown)) if from_end else shown), count, size, cut_lines)


def _cut_line(line: _Line, named: dict[str, Any], room: Allowance) -> dict[str, Any]:
    """Show a start and an end of a long line."""
    if room.tokens < 12 or room.bytes < 40:
        return {}
    start = cut.head(decoded(line.start), Allowance(room.tokens * 2 // 3, room.bytes * 2 // 3))
    entry: dict[str, Any] = named | {"bytes": line.length, "start": utf8(start)}
    if end := decoded(line.end or line.start):
        entry["end"] = utf8(cut.tail(end.rstrip("\n"), Allowance(room.tokens // 3, room.bytes // 3)))
    return entry


def _joined(entries: list[Any]) -> str | list[Any]:
    """Join texts that follow one another."""
    joined: list[Any] = []
    for entry in entries:
        if joined and isinstance(entry, str) and isinstance(joined[-1], str):
            joined[-1] += entry
        else:
            joined.append(entry)
    return joined[0] if len(joined) == 1 and isinstance(joined[0], str) else joined or ""


def _end_of_a_line(window: bytes, room: Allowance, number: int | None) -> LineSpan:
    """Show the end of a last line that begins before everything that was read."""
    text = decoded(_from_character(window))
    entry: dict[str, Any] = {"line": number} if number is not None else {}
    entry["end"] = utf8(cut.tail(text, Allowance(room.tokens - 16, room.bytes - 40)))
    return LineSpan([entry], 1, len(window), 1) if entry["end"] else EMPTY


def _from_character(window: bytes) -> bytes:
    """Drop the continuation bytes at the start, which belong to a character that begins before it."""
    skip = 0
    while skip < 3 and skip < len(window) and window[skip] & 0xC0 == 0x80:
        skip += 1
    return window[skip:]


def _long_line(content: Content, start: int, window: bytes) -> _Line:
    """Measure the line that begins at `start` and does not end within the window, and read its end."""
    offset = start + len(window)
    stop = min(content.size, start + _LINE_END_SOUGHT_BYTES)
    while offset < stop:
        block = content.read(offset, 1 << 20)
        if not block:
            break
        found = block.find(b"\n")
        if found >= 0:
            offset += found + 1
            break
        offset += len(block)
    end = content.read(offset - _LINE_END_BYTES, _LINE_END_BYTES)
    return _Line(as_left(window), offset - start, as_left(_from_character(end)))


def ends(content: Content, head_room: Allowance, tail_room: Allowance) -> tuple[str, int, str, int]:
    """Show the start and the end of a content whatever its lines.

    Returns:
        The start, the offset behind it, the end, and the offset where it begins.
    """
    head = cut.head(decoded(content.read(0, WINDOW_BYTES)), head_room)
    begin = encoded_size(head)
    start = max(begin, content.size - WINDOW_BYTES)
    window = content.read(start, content.size - start)
    tail = cut.tail(decoded(_from_character(window) if start > begin else window), tail_room)
    return utf8(head), begin, utf8(tail), content.size - encoded_size(tail)
