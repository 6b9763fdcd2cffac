"""Finds what tells of failures (tests, errors, warnings) while a content streams past, in constant memory."""

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from .clean import as_left, clean
from .forms import CANDIDATE, CAUSE, LEVEL, LINE_BYTES, NUMBERED, SUMMARY, TEST, WARNING, context, judge, unplaced

TEXT_MAX_CHARACTERS = 240

_SPARSE_MAX = 200
"""More candidates than this in one block are not looked at one by one but grouped by shape first."""

_JUDGED_MAX = 2000
"""Shapes judged one by one in a block; beyond, nothing is looked at: hostile input."""

_GROUPS_MAX = 64
"""Of each kind."""

_TESTS_MAX = 300
_NAME_MAX_CHARACTERS = 160
_BEFORE_LINES = 80
_BEHIND_LINES = 30
_BEFORE_BYTES = 8 << 10
"""How far before and behind a line is looked for what belongs to it."""

_NOT_IN_SHAPE = b"0123456789abcdef"


_Around = tuple[list[bytes], list[bytes]]
"""The lines before and behind one."""


@dataclass(frozen=True, slots=True)
class Notables:
    """What a content tells of failures.

    Attributes:
        lines: (line number from 1, what it says), by kind the first line of each group of lines that say the same.
        kinds: of each of `lines`, as in `forms`.
        alike: how many lines the group of each of `lines` has.
        names: what the form of each of `lines` names, such as the code of the error; empty when it names nothing.
        tests: the names of the tests that failed, at most 300.
        errors: how many lines of compilers and checkers tell of one; without those, how many lines of a log are at that
            level.
        warnings: how many lines only warn.
        is_exact: whether `alike`, `errors` and `warnings` are all that there are.
    """

    lines: tuple[tuple[int, str], ...] = ()
    kinds: tuple[str, ...] = ()
    alike: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    errors: int = 0
    warnings: int = 0
    is_exact: bool = True

    def __add__(self, behind: "Notables") -> "Notables":
        """Join what was found at the beginning and at the end of a content."""
        return Notables(
            lines=self.lines + behind.lines,
            kinds=self.kinds + behind.kinds,
            alike=self.alike + behind.alike,
            names=self.names + behind.names,
            tests=self.tests + behind.tests,
            errors=self.errors + behind.errors,
            warnings=self.warnings + behind.warnings,
            is_exact=self.is_exact and behind.is_exact,
        )

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "Notables":
        """Read what was written as JSON.

        Raises:
            KeyError, TypeError, ValueError: it was something else.
        """
        return cls(
            lines=tuple((_count(number), _text(text)) for number, text in given["lines"]),
            kinds=tuple(map(_text, given["kinds"])),
            alike=tuple(map(_count, given["alike"])),
            names=tuple(map(_text, given["names"])),
            tests=tuple(map(_text, given["tests"])),
            errors=_count(given["errors"]),
            warnings=_count(given["warnings"]),
            is_exact=given["is_exact"] is True,
        )


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(value)
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


@dataclass(slots=True)
class _Group:
    """Lines that say the same: the first of them, and how many there are."""

    number: int
    text: str
    kind: str
    name: str
    count: int


class Watch:
    """Collects `Notables` from blocks fed in order; blocks may end anywhere. Best fed with 1 MiB at a time."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        self._groups: dict[tuple[str, bytes], _Group] = {}
        self._kept = Counter[str]()
        self._tests: dict[str, None] = {}
        self._is_exact = True
        self._carry = b""
        self._carry_line = 1

    def feed(self, block: bytes, first_line: int) -> None:
        """Take the next bytes; `first_line` is the number (from 1) of the line that the block's first byte is in."""
        if not self._carry:
            self._carry_line = first_line
        data = self._carry + block if self._carry else block
        end = data.rfind(b"\n") + 1
        if end:
            self._scan(as_left(data[:end] if end < len(data) else data), self._carry_line)
            self._carry_line = first_line + block.count(b"\n")
        self._carry = data[end:]
        if len(self._carry) > LINE_BYTES:  # of a line, only the beginning of its last state counts
            self._carry = self._carry[self._carry.rfind(b"\r") + 1 :][:LINE_BYTES]

    def result(self) -> Notables:
        """Tell what was found so far, an unfinished last line included; feeding may go on afterwards."""
        if self._carry:
            ended = copy.deepcopy(self)
            ended.feed(b"\n", self._carry_line)
            return ended.result()
        groups = sorted(self._groups.values(), key=lambda group: group.number)
        return Notables(
            lines=tuple((group.number, group.text) for group in groups),
            kinds=tuple(group.kind for group in groups),
            alike=tuple(group.count for group in groups),
            names=tuple(group.name for group in groups),
            tests=tuple(self._tests),
            errors=self._counts[CAUSE] or self._counts[LEVEL],
            warnings=self._counts[WARNING],
            is_exact=self._is_exact,
        )

    def _scan(self, data: bytes, first_line: int) -> None:
        for judged, (number, start, end) in enumerate(_candidates(data, first_line), start=1):
            self._take(data[start:end], number, 1, partial(_around, data, start, end))
            if judged == _SPARSE_MAX and end < len(data):
                self._scan_dense(data[end + 1 :], number + 1)
                break

    def _scan_dense(self, data: bytes, first_line: int) -> None:
        """Group lines that are equal but for numbers at the speed of C, and judge one line of each group."""
        lines, keys = data.split(b"\n"), data.translate(None, _NOT_IN_SHAPE).split(b"\n")
        counts = Counter(keys)
        places = sorted(dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True)).values())
        for judged, (nth, _, _) in enumerate(_candidates(b"\n".join(map(lines.__getitem__, places)), 0)):
            if judged == _JUDGED_MAX:
                self._is_exact = False
                break
            place = places[nth]
            around = partial(_between, lines, place)
            kind = self._take(lines[place], first_line + place, counts[keys[place]], around)
            if kind == TEST and counts[keys[place]] > 1 and len(self._tests) < _TESTS_MAX:
                for line in (line for line, key in zip(lines, keys, strict=True) if key == keys[place]):
                    self._take(line, first_line, 1, around)

    def _take(self, line: bytes, number: int, count: int, around: Callable[[], _Around]) -> str:
        """Count a line that has one of the forms, and return its kind; of the first of its group, keep what it says."""
        kind, name = judge(line) or ("", b"")
        if kind == NUMBERED:
            kind = TEST if self._kept[SUMMARY] else ""
        if kind == TEST and len(self._tests) < _TESTS_MAX:
            named = [name, *(context(line, [], around()[1]) if name.isdigit() else ())]
            self._tests[_shown(b" ".join(named), _NAME_MAX_CHARACTERS)] = None
        elif kind and kind != TEST:
            self._counts[kind] += count
            key = kind, name or _shape_of(line)
            if key in self._groups:
                self._groups[key].count += count
            elif self._kept[kind] < _GROUPS_MAX:
                self._kept[kind] += 1
                text = "\n".join(_shown(part, TEXT_MAX_CHARACTERS) for part in (line, *context(line, *around())))
                self._groups[key] = _Group(number, text, kind, name.decode("utf-8", "replace"), count)
        return kind


def _candidates(data: bytes, first_line: int) -> Iterator[tuple[int, int, int]]:
    """Yield number, start and end of each line that may have one of the forms."""
    number, counted = first_line, 0
    for match in CANDIDATE.finditer(data):
        start = match.start()
        end = data.find(b"\n", start)
        number += data.count(b"\n", counted, start)
        counted = start
        yield number, start, end if end >= 0 else len(data)


def _around(data: bytes, start: int, end: int) -> _Around:
    before = data[max(0, start - _BEFORE_BYTES) : start].split(b"\n")[:-1]
    return before[-_BEFORE_LINES:], data[end + 1 : end + 1 + _BEFORE_BYTES].split(b"\n")[:_BEHIND_LINES]


def _between(lines: list[bytes], place: int) -> _Around:
    return lines[max(0, place - _BEFORE_LINES) : place], lines[place + 1 : place + 1 + _BEHIND_LINES]


def _shape_of(line: bytes) -> bytes:
    """Reduce a line to what it has in common with its like: no place, digits, hexadecimal letters, capitals."""
    return unplaced(line[:LINE_BYTES]).lower().translate(None, _NOT_IN_SHAPE)


def _shown(line: bytes, limit: int) -> str:
    return clean(line[:LINE_BYTES].decode("utf-8", "replace").strip(), limit)
