"""Finds what tells of failures (tests, errors, warnings) while a content streams past, in constant memory."""

import copy
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from .clean import as_left, clean
from .forms import CANDIDATE, CAUSE, LEVEL, LINE_BYTES, NUMBERED, SUMMARY, TEST, WARNING, context, judge, unplaced

TEXT_MAX_CHARACTERS = 240

EFFORT = 28 << 20
"""How much is looked at whole, counted in bytes of a text that tells of nothing; some 40 ms."""

_ESCAPE_EFFORT = 80
_CANDIDATE_EFFORT = 12 << 10
_GROUPED_EFFORT = 96
"""What takes longer: a colour or a line written anew, a line that may have a form, a line of those that are grouped."""

_SAMPLE_BYTES = 4 << 10
_SAMPLE_EVERY_BYTES = 256 << 10
_SAMPLES_MAX = 128
"""Of the rest samples are looked at; of more than these, every second is let go of and the distance doubled."""

_LEAST_VARIANCE = 2.25
"""What none of the samples has there may be three times as often as would have shown in one."""

_SPARSE_MAX = 200
"""More candidates than this in one block are not looked at one by one but grouped by shape first."""

_DENSE_BYTES = 64 << 10
"""How much is grouped at a time."""

_GROUPS_MAX = 64
"""Of each kind."""

_TESTS_MAX = 300
_NAME_MAX_CHARACTERS = 160
_BEFORE_LINES = 80
_BEHIND_LINES = 30
_BEFORE_BYTES = 8 << 10
"""How far before and behind a line is looked for what belongs to it."""

_NOT_IN_SHAPE = b"0123456789abcdef"
_ALIKE = bytes.maketrans(b"23456789", b"11111111")
"""Makes lines of one form equal: some forms tell 0 from other digits, none tells those from one another."""


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
        errors_margin: how far `errors` may be off, two standard errors; 0 if they were counted.
        warnings_margin: how far `warnings` may be off.
        is_exact: whether `alike`, `errors` and `warnings` are all that there are in what was looked at; else `errors`
            and `warnings` are estimated by samples.
    """

    lines: tuple[tuple[int, str], ...] = ()
    kinds: tuple[str, ...] = ()
    alike: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    errors: int = 0
    warnings: int = 0
    errors_margin: int = 0
    warnings_margin: int = 0
    is_exact: bool = True

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
            errors_margin=_count(given["errors_margin"]),
            warnings_margin=_count(given["warnings_margin"]),
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


@dataclass(frozen=True, slots=True)
class _Sample:
    """Whole lines out of what is not looked at whole, and how many of them are of each kind."""

    offset: int
    size: int
    counts: Counter[str]


class Watch:
    """Collects `Notables` from blocks fed in order; blocks may end anywhere. Best fed with 1 MiB at a time.

    All is looked at until that has taken `EFFORT`, then samples, and from `look_again` on all.

    Attributes:
        stopped: where samples began: the offset and number of a line; None while all is looked at.
        seen_bytes: how many bytes were looked at whole.
    """

    def __init__(self) -> None:
        self.stopped: tuple[int, int] | None = None
        self.seen_bytes = 0
        self._offset = 0
        self._effort = EFFORT
        self._counts = Counter[str]()
        self._samples: list[_Sample] = []
        self._sample_at = 0
        self._sample_every = _SAMPLE_EVERY_BYTES
        self._groups: dict[tuple[str, bytes], _Group] = {}
        self._kept = Counter[str]()
        self._tests: dict[str, None] = {}
        self._carry = b""
        self._carry_line = 1

    def feed(self, block: bytes, first_line: int) -> None:
        """Take the next bytes; `first_line` is the number (from 1) of the line that the block's first byte is in."""
        if self._effort > 0:
            self._look(block, first_line)
        if self._effort <= 0:
            self._sample(block, first_line)
        self._offset += len(block)

    def rested(self) -> None:
        """Take heart: whoever feeds has nothing to feed just now, so there is time to look at more whole."""
        if self.stopped is None:
            self._effort = EFFORT

    def look_again(self, offset: int) -> None:
        """Look at all again from an offset on, where a line begins; what is behind it may have been fed already."""
        self._samples = [sample for sample in self._samples if sample.offset < offset]
        self._offset = offset
        self._effort = EFFORT

    def result(self) -> Notables:
        """Tell what was found so far, an unfinished last line included; feeding may go on afterwards."""
        if self._carry:
            ended = copy.deepcopy(self)
            ended.feed(b"\n", self._carry_line)
            return ended.result()
        groups = sorted(self._groups.values(), key=lambda group: group.number)
        causes, levels, warnings = map(self._estimate, (CAUSE, LEVEL, WARNING))
        errors, errors_margin = causes if causes[0] else levels
        return Notables(
            lines=tuple((group.number, group.text) for group in groups),
            kinds=tuple(group.kind for group in groups),
            alike=tuple(group.count for group in groups),
            names=tuple(group.name for group in groups),
            tests=tuple(self._tests),
            errors=errors,
            warnings=warnings[0],
            errors_margin=errors_margin,
            warnings_margin=warnings[1],
            is_exact=self._is_exact,
        )

    @property
    def _is_exact(self) -> bool:
        return not any(sample.counts for sample in self._samples)

    def _estimate(self, kind: str) -> tuple[int, int]:
        """Return how many lines of a kind there are, and how far that may be off."""
        if self._is_exact:
            return self._counts[kind], 0
        found, looked = sum(sample.counts[kind] for sample in self._samples), sum(s.size for s in self._samples)
        many, scale = len(self._samples), (self._offset - self.seen_bytes) / looked
        spread = sum((sample.counts[kind] - found / looked * sample.size) ** 2 for sample in self._samples)
        variance = max(found, _LEAST_VARIANCE, spread * many / max(1, many - 1))
        return self._counts[kind] + round(found * scale), math.ceil(2 * scale * math.sqrt(variance))

    def _look(self, block: bytes, first_line: int) -> None:
        """Look at all whole lines, or at the first of them until the effort is used up."""
        if not self._carry:
            self._carry_line = first_line
        data = self._carry + block if self._carry else block
        end = data.rfind(b"\n") + 1
        left = data[end:]
        self.seen_bytes += len(block)
        if end:
            whole = data[:end] if left else data
            self._effort -= end + _ESCAPE_EFFORT * (whole.count(b"\x1b") + whole.count(b"\r"))
            stopped = self._scan(as_left(whole), self._carry_line)
            if self._effort <= 0:
                left = data.split(b"\n", stopped - self._carry_line)[-1]
                self.seen_bytes -= len(left)
                self._sample_at = self._offset + len(block) - len(left)
                self.stopped = (self._sample_at, stopped)
                left = b""
            self._carry_line = stopped
        self._carry = left
        if len(left) > LINE_BYTES:  # of a line, only the beginning of its last state counts
            self._carry = left[left.rfind(b"\r") + 1 :][:LINE_BYTES]

    def _scan(self, text: bytes, first_line: int) -> int:
        """Look at lines one by one, or in groups if too many of them tell of something.

        Returns:
            The number of the first line that was not looked at: there was no more effort for it, or it is behind all.
        """
        for judged, (number, start, end) in enumerate(_candidates(text, first_line), start=1):
            self._effort -= _CANDIDATE_EFFORT
            self._take(text[start:end], number, 1, partial(_around, text, start, end))
            if self._effort <= 0:
                return number + 1
            if judged == _SPARSE_MAX:
                return self._scan_dense(text, end + 1, number + 1)
        return first_line + text.count(b"\n")

    def _scan_dense(self, text: bytes, start: int, number: int) -> int:
        while start < len(text) and self._effort > 0:
            end = text.find(b"\n", min(start + _DENSE_BYTES, len(text) - 1)) + 1
            self._group(text[start:end], number)
            number += text.count(b"\n", start, end)
            start = end
        return number

    def _group(self, text: bytes, first_line: int) -> None:
        """Group lines that are equal but for numbers at the speed of C, and judge one line of each group."""
        lines, keys = text.split(b"\n"), text.translate(_ALIKE).split(b"\n")
        counts = Counter(keys)
        places = sorted(dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True)).values())
        self._effort -= _GROUPED_EFFORT * len(lines)
        for nth, _, _ in _candidates(b"\n".join(map(lines.__getitem__, places)), 0):
            place = places[nth]
            many = counts[keys[place]]
            alike = [place]
            if many > 1 and (judge(lines[place]) or ("", b""))[1]:  # names may differ in numbers
                alike, many = [at for at in range(place, len(keys)) if keys[at] == keys[place]], 1
            self._effort -= _CANDIDATE_EFFORT * len(alike)
            for at in alike:
                self._take(lines[at], first_line + at, many, partial(_between, lines, at))

    def _sample(self, block: bytes, first_line: int) -> None:
        """Look at some lines in a block if it is their turn."""
        number, counted = first_line, 0
        while (at := max(0, self._sample_at - self._offset)) < len(block):
            self._sample_at = self._offset + at + self._sample_every
            start = block.find(b"\n", at) + 1
            end = block.find(b"\n", start + _SAMPLE_BYTES) + 1 or block.rfind(b"\n") + 1
            if not 0 < start < end:
                continue
            text, number = as_left(block[start:end]), number + block.count(b"\n", counted, start)
            counted = start
            kept, self._counts = self._counts, Counter[str]()
            for place, begin, stop in _candidates(text, number):
                self._take(text[begin:stop], place, 1, partial(_around, text, begin, stop))
            self._samples.append(_Sample(self._offset + start, end - start, self._counts))
            self._counts = kept
            if len(self._samples) == _SAMPLES_MAX:
                self._samples = self._samples[::2]
                self._sample_every *= 2

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
            is_full = self._kept[kind] == _GROUPS_MAX
            if is_full and self._samples:  # how many are alike is not told any more
                return kind
            key = kind, name or _shape_of(line)
            if key in self._groups:
                self._groups[key].count += count
            elif not is_full:
                self._kept[kind] += 1
                text = "\n".join(_shown(part, TEXT_MAX_CHARACTERS) for part in (line, *context(line, *around())))
                self._groups[key] = _Group(number, text, kind, name.decode("utf-8", "replace"), count)
        return kind


def _candidates(data: bytes, first_line: int) -> Iterator[tuple[int, int, int]]:
    """Yield number, start and end of each line that may have one of the forms."""
    number, end = first_line, -1
    while (
        match := CANDIDATE.search(data, at := end + 1)
    ) is not None:  # on from the next line: some forms reach into it
        start = match.start()
        end = data.find(b"\n", start)
        number += data.count(b"\n", at, start)
        if end < 0:
            end = len(data)
        yield number, start, end
        number += 1


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
