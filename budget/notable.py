"""Finds the lines that stand out (errors, warnings) while a content streams past, in constant memory."""

import copy
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import nlargest

from .clean import clean
from .pattern import compile_bytes
from .severity import CANDIDATE_WORDS, ERROR, FATAL, WARNING, ZEROS, severity

TEXT_MAX_CHARACTERS = 200

_CARRY_MAX_BYTES = 64 << 10
"""An unfinished line is kept until it ends, but not beyond this; a longer one is looked at in pieces."""

_OVERLAP_BYTES = 64
"""Of a line looked at in pieces, so that no word is lost between two of them."""

_SPARSE_MAX = 200
"""More candidates than this in one block are not looked at one by one but grouped by shape first."""

_KEPT_BYTES = 1024
"""Of a line that is remembered."""

_JUDGED_MAX = 5000
"""Shapes judged one by one in a block; beyond, whatever holds one of the words counts: hostile input."""

_KEPT_SHAPES: Mapping[int, int] = {FATAL: 8, ERROR: 12, WARNING: 6}
_KEPT_LAST: Mapping[int, int] = {FATAL: 2, ERROR: 3, WARNING: 1}

_NOT_IN_SHAPE = b"0123456789abcdef"

_CANDIDATE = compile_bytes(f"(?:{CANDIDATE_WORDS})[^\\n]*", any_case=True)
_ZERO = compile_bytes(ZEROS, any_case=True)
_COLOUR = re.compile(rb"\x1b\[[0-9;:?]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Notables:
    """The lines of a content that stand out.

    Attributes:
        total: how many lines stand out; `errors` and `warnings` add up to it.
        lines: (line number from 1, text cut to 200 characters), by line number: the first of each shape that was kept
            and the last few of all.
        errors: how many of them tell of an error.
        warnings: how many of them only warn.
        alike: for each of `lines`, how many lines have its shape (equal but for digits); 1 when it stands alone.
    """

    total: int = 0
    lines: tuple[tuple[int, str], ...] = ()
    errors: int = 0
    warnings: int = 0
    alike: tuple[int, ...] = ()


@dataclass(slots=True)
class _Shape:
    """Lines that are equal but for digits: the first of them, and how many there are."""

    number: int
    line: bytes
    grade: int
    count: int


@dataclass(frozen=True, slots=True)
class _Found:
    """A line that holds one of the words; `at` is where the word begins in it."""

    number: int
    line: bytes
    at: int


class Watch:
    """Collects `Notables` from blocks fed in order; blocks may end anywhere. Best fed with 1 MiB at a time."""

    def __init__(self) -> None:
        self._counts = Counter[int]()
        self._shapes: dict[bytes, _Shape] = {}
        self._kept = Counter[int]()
        self._last = {grade: deque[tuple[int, bytes]](maxlen=size) for grade, size in _KEPT_LAST.items()}
        self._carry = b""
        self._carry_line = 1
        self._carry_judged = False

    def feed(self, block: bytes, first_line: int) -> None:
        """Take the next bytes; `first_line` is the number (from 1) of the line that the block's first byte is in."""
        if not self._carry:
            self._carry_line = first_line
        data = self._carry + block if self._carry else block
        end = data.rfind(b"\n") + 1
        if end:
            self._scan(data[:end] if end < len(data) else data, self._carry_line)
            self._carry_line = first_line + block.count(b"\n")
            self._carry_judged = False
        self._carry = data[end:]
        if len(self._carry) > _CARRY_MAX_BYTES:
            self._scan(self._carry, self._carry_line)
            self._carry = self._carry[-_OVERLAP_BYTES:]

    def result(self) -> Notables:
        """Tell what was found so far, an unfinished last line included; feeding may go on afterwards."""
        if self._carry:
            ended = copy.deepcopy(self)
            ended.feed(b"\n", self._carry_line)
            return ended.result()
        rows = {shape.number: (shape.line, shape.count) for shape in self._shapes.values()}
        for number, line in (found for last in self._last.values() for found in last):
            shape = self._shapes.get(_shape_of(line))
            rows.setdefault(number, (line, shape.count if shape else 1))
        numbers = sorted(rows)
        errors = self._counts[FATAL] + self._counts[ERROR]
        return Notables(
            total=errors + self._counts[WARNING],
            lines=tuple((number, _text(rows[number][0])) for number in numbers),
            errors=errors,
            warnings=self._counts[WARNING],
            alike=tuple(rows[number][1] for number in numbers),
        )

    def _scan(self, data: bytes, first_line: int) -> None:
        """Look at whole lines, or at a piece of a long one."""
        for judged, (found, behind) in enumerate(_candidates(data, first_line), start=1):
            if found.number != self._carry_line or not self._carry_judged:
                self._judge(found)
            if judged == _SPARSE_MAX:
                self._scan_dense(data[behind:], first_line + data.count(b"\n", 0, behind))
                break

    def _judge(self, found: _Found) -> None:
        grade = _grade(found.line, found.at)
        if grade:
            line = found.line if found.at < _KEPT_BYTES // 2 else found.line[found.at - 60 :]
            if not self._known(line, grade, 1):
                self._shapes[_shape_of(line[:_KEPT_BYTES])] = _Shape(found.number, line[:_KEPT_BYTES], grade, 1)
            self._last[grade].append((found.number, line[:_KEPT_BYTES]))
            self._carry_judged |= found.number == self._carry_line

    def _scan_dense(self, data: bytes, first_line: int) -> None:
        """Group lines by shape at the speed of C, and judge one line of each shape."""
        lines = data.split(b"\n")
        keys = _shape_of(_mark_zeros(data)).split(b"\n")
        counts = Counter(keys)
        last = dict(zip(keys, range(len(keys)), strict=True))
        graded: dict[bytes, int] = {}
        for key, count in counts.items():
            line = lines[last[key]]
            match = _CANDIDATE.search(line)
            if match is None:
                continue
            grade = ERROR if len(graded) > _JUDGED_MAX else _grade(line, match.start())
            if grade:
                graded[key] = grade
                if not self._known(line, grade, count):
                    first = keys.index(key)
                    self._shapes[_shape_of(line[:_KEPT_BYTES])] = _Shape(first_line + first, lines[first], grade, count)
        for key in nlargest(sum(_KEPT_LAST.values()), graded, key=last.__getitem__)[::-1]:
            self._last[graded[key]].append((first_line + last[key], lines[last[key]][:_KEPT_BYTES]))

    def _known(self, line: bytes, grade: int, count: int) -> bool:
        """Count lines of one shape; False when the shape is new and there is still a place for it."""
        self._counts[grade] += count
        shape = self._shapes.get(_shape_of(line[:_KEPT_BYTES]))
        if shape is not None:
            shape.count += count
            return True
        if self._kept[grade] >= _KEPT_SHAPES[grade]:
            return True
        self._kept[grade] += 1
        return False


def _mark_zeros(data: bytes) -> bytes:
    """Make a count of nothing differ from its neighbours that count something, for digits are not part of a shape."""
    if _ZERO.search(data) is not None:
        for zero in (b" 0 ", b"(0 ", b"=0 ", b"=0,", b"=0;", b"=0\n", b":0,", b":0}", b": 0", b" code 0", b" status 0"):
            data = data.replace(zero, b"~\n" if zero[-1:] == b"\n" else b"~")
    return data


def _candidates(data: bytes, first_line: int) -> Iterator[tuple[_Found, int]]:
    """Yield each line that holds one of the words, and the offset behind that line."""
    number, counted = first_line, 0
    for match in _CANDIDATE.finditer(data):
        at, end = match.start(), match.end()
        start = data.rfind(b"\n", 0, at) + 1
        number += data.count(b"\n", counted, start)
        counted = start
        yield _Found(number, data[start:end], at - start), end


def _grade(line: bytes, at: int) -> int:
    stretch = line[max(0, at - 64) : at + 1024]
    return severity(_COLOUR.sub(b"", stretch) if b"\x1b" in stretch else stretch)


def _shape_of(line: bytes) -> bytes:
    """Reduce a line to what it has in common with its like: no digits, no hexadecimal letters, no capitals."""
    return line.lower().translate(None, _NOT_IN_SHAPE)


def _text(line: bytes) -> str:
    """Show a line, or of a long one the stretch about its word."""
    line = _COLOUR.sub(b"", line)
    match = _CANDIDATE.search(line)
    at = match.start() if match is not None else 0
    begin = line.rfind(b"\r", 0, at) + 1
    cut = at - begin > TEXT_MAX_CHARACTERS // 2
    text = line[max(begin, at - 60) if cut else begin :].decode("utf-8", "replace")
    text = clean((text.lstrip("\ufffd") if cut else text).partition("\r")[0].strip(), TEXT_MAX_CHARACTERS - cut)
    return "…" + text if cut else text
