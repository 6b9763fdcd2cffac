"""What a person sees of what a program drew on its terminal; runs in a worker process.

The sequences are those of xterm that programs use for terminals of this kind:
https://invisible-island.net/xterm/ctlseqs/ctlseqs.html. Colours, titles and modes change nothing that is read.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

ROWS, COLUMNS = 24, 120
"""Of the terminal that programs are given."""

_READ_BYTES = 512 << 10
"""Of the end of what was drawn; what was drawn before is long scrolled away or drawn over."""

_CHARACTERS_MAX = 12_000
"""Of the end of what is shown."""

_TOKEN = re.compile(
    r"\x1b\[(?P<marks>[<-?]?)(?P<numbers>[0-9;:]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|\x1b(?P<place>[()])(?P<set>[0-~])|\x1b[ -/]+[0-~]"
    r"|\x1b(?P<escape>[0-~])|(?P<control>[\x00-\x1f\x7f])|(?P<text>[^\x00-\x1f\x7f]+)",
)
_OTHER_SCREEN = {"47", "1047", "1049"}
_LINES = str.maketrans("_`abcdefghijklmnopqrstuvwxyz{|}~", " ◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")
"""What letters stand for in the character set `0`, in which programs draw lines."""

_TAB = 8
_REPEATED = 3
_MOST, _DIGITS = 10_000, 5


def run(path: str, offset: int) -> dict[str, str | bool]:
    """Return what is to be seen now in the file at `path`, and was not when it ended at `offset`.

    Returns:
        `above` and `below`: what stands above the cursor's line, and this line with all below it; `is_screen`: a
        program draws on all of the screen, and these are the rows that changed; `is_cut`: more was new than is shown.
    """
    with Path(path).open("rb") as file:
        size = file.seek(0, 2)
        start = max(0, size - _READ_BYTES)
        file.seek(start)
        data = file.read(size - start)
    seen = max(0, offset - start)
    screen = Screen()
    screen.draw(data[:seen].decode("utf-8", "replace"))
    before, was_other = screen.lines(), screen.is_other
    screen.draw(data[seen:].decode("utf-8", "replace"))
    now = screen.lines()
    if screen.is_other:
        new = [number for number, line in enumerate(now) if not was_other or line != before[number]]
    else:
        known = () if was_other else before
        same = (number for number, line in enumerate(now) if number >= len(known) or line != known[number])
        new = range(next(same, len(now)), len(now))
    at = screen.line
    above, below = (
        _joined(now[number] for number in new if number < at),
        _joined(now[number] for number in new if number >= at),
    )
    above, below = above.lstrip("\n"), below.rstrip("\n")
    return {
        "above": above[-_CHARACTERS_MAX:],
        "below": below[:_CHARACTERS_MAX],
        "is_screen": screen.is_other,
        "is_cut": max(len(above), len(below)) > _CHARACTERS_MAX or offset < start,
    }


def _joined(lines: Iterable[str]) -> str:
    """Return lines with those that follow one another and are equal as one, and how many there are."""
    folded: list[str] = []
    for line, group in groupby(line.rstrip() for line in lines):
        count = len(list(group))
        folded += [f"{line} (× {count})"] if line and count >= _REPEATED else [line] * min(count, _REPEATED)
    return "".join(f"{line}\n" for line in folded)


class Screen:
    """A terminal's screen, and what scrolled off it.

    Attributes:
        is_other: a program draws on the second screen, which does not scroll away.
    """

    def __init__(self) -> None:
        self.is_other = False
        self._kept: list[list[str]] = []
        self._wrapped: set[int] = set()
        self._rows = _blank(ROWS)
        self._first: tuple[list[list[str]], int, int, set[int]] | None = None
        self._x = self._y = 0
        self._saved = (0, 0)
        self._sets, self._set = ["B", "B"], 0
        self._last = ""
        self._top, self._bottom = 0, ROWS - 1

    @property
    def line(self) -> int:
        """Of `lines`, from 0, the one in which the cursor is."""
        if self.is_other:
            return self._y
        row = len(self._kept) + self._y
        return row - len(self._wrapped.intersection(range(row)))

    def lines(self) -> list[str]:
        """Return what is to be read, without what is empty below it; lines that were too wide are whole."""
        rows = ["".join(row).rstrip() for row in (self._rows if self.is_other else [*self._kept, *self._rows])]
        if self.is_other:
            return rows
        lines: list[str] = []
        for number, row in enumerate(rows):
            if number and number - 1 in self._wrapped and lines:
                lines[-1] += row
            else:
                lines.append(row)
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def draw(self, text: str) -> None:
        """Take what a program wrote."""
        for found in _TOKEN.finditer(text):
            if found["text"]:
                self._write(found["text"])
            elif found["control"]:
                self._control(found["control"])
            elif found["set"]:
                self._sets["()".index(found["place"])] = found["set"]
            elif found["escape"]:
                self._escape(found["escape"])
            elif found["final"]:
                numbers = [
                    min(int(number[:_DIGITS]), _MOST) if number.isdigit() else 0
                    for number in found["numbers"].split(";")
                ]
                if found["marks"] == "?":
                    self._mode(found["numbers"].split(";"), found["final"])
                elif not found["marks"]:
                    self._sequence(found["final"], numbers)

    def _write(self, text: str) -> None:
        text = text.translate(_LINES) if self._sets[self._set] == "0" else text
        for character in text:
            width = _width(character)
            if not width:
                self._combine(character)
                continue
            if self._x + width > COLUMNS:
                self._wrapped.add(len(self._kept) + self._y)
                self._x = 0
                self._down()
            row = self._rows[self._y]
            row[self._x] = character
            if width > 1:
                row[self._x + 1] = ""
            self._x += width
            self._last = character

    def _combine(self, mark: str) -> None:
        row = self._rows[self._y]
        if self._x and len(row[self._x - 1]) < _TAB:
            row[self._x - 1] += mark

    def _control(self, character: str) -> None:
        match character:
            case "\n" | "\v" | "\f":
                self._down()
            case "\r":
                self._x = 0
            case "\b":
                self._x = max(0, min(self._x, COLUMNS) - 1)
            case "\t":
                self._x = min(COLUMNS - 1, (self._x // _TAB + 1) * _TAB)
            case "\x0e" | "\x0f":
                self._set = int(character == "\x0e")
            case _:
                pass

    def _escape(self, character: str) -> None:
        match character:
            case "7":
                self._saved = (self._x, self._y)
            case "8":
                self._x, self._y = self._saved
            case "D":
                self._down()
            case "E":
                self._x = 0
                self._down()
            case "M":
                if self._y == self._top:
                    self._scroll_down(self._top, 1)
                else:
                    self._y = max(0, self._y - 1)
            case "c":
                self._erase(2)
                self._x = self._y = 0
                self._sets, self._set = ["B", "B"], 0
            case _:
                pass

    def _mode(self, modes: Sequence[str], final: str) -> None:
        if _OTHER_SCREEN.isdisjoint(modes) or final not in "hl" or (final == "h") == self.is_other:
            return
        self.is_other = final == "h"
        if self.is_other:
            self._first = (self._rows, self._x, self._y, self._wrapped)
            self._rows, self._wrapped = _blank(ROWS), set()
        elif self._first is not None:
            self._rows, self._x, self._y, self._wrapped = self._first
        self._top, self._bottom = 0, ROWS - 1

    def _sequence(self, final: str, numbers: Sequence[int]) -> None:
        first = numbers[0]
        count = max(1, first)
        moves: dict[str, Callable[[], tuple[int, int]]] = {
            "A": lambda: (self._x, self._y - count),
            "B": lambda: (self._x, self._y + count),
            "C": lambda: (self._x + count, self._y),
            "D": lambda: (self._x - count, self._y),
            "E": lambda: (0, self._y + count),
            "F": lambda: (0, self._y - count),
            "G": lambda: (count - 1, self._y),
            "`": lambda: (count - 1, self._y),
            "d": lambda: (self._x, count - 1),
            "H": lambda: (max(1, numbers[1]) - 1 if len(numbers) > 1 else 0, count - 1),
            "f": lambda: (max(1, numbers[1]) - 1 if len(numbers) > 1 else 0, count - 1),
            "u": lambda: self._saved,
        }
        if final in moves:
            x, y = moves[final]()
            self._x, self._y = min(max(0, x), COLUMNS - 1), min(max(0, y), ROWS - 1)
            return
        row, x = self._rows[self._y], min(self._x, COLUMNS - 1)
        match final:
            case "J":
                self._erase(first)
            case "K":
                start, end = (0 if first else x), (x + 1 if first == 1 else COLUMNS)
                row[start:end] = [" "] * (end - start)
                self._wrapped.discard(len(self._kept) + self._y)
            case "P":
                row[x:] = (row[x + count :] + [" "] * count)[: COLUMNS - x]
            case "@":
                row[x:] = ([" "] * min(count, COLUMNS) + row[x:])[: COLUMNS - x]
            case "X":
                end = min(COLUMNS, x + count)
                row[x:end] = [" "] * (end - x)
            case "L" if self._top <= self._y <= self._bottom:
                self._scroll_down(self._y, count)
            case "M" if self._top <= self._y <= self._bottom:
                self._scroll_up(self._y, count)
            case "b":
                self._write(self._last * min(count, ROWS * COLUMNS))
            case "S":
                self._scroll_up(self._top, count)
            case "T":
                self._scroll_down(self._top, count)
            case "r":
                last = numbers[1] if len(numbers) > 1 and numbers[1] else ROWS
                if count < last <= ROWS:
                    self._top, self._bottom = count - 1, last - 1
                    self._x = self._y = 0
            case "s":
                self._saved = (self._x, self._y)
            case _:
                pass

    def _erase(self, what: int) -> None:
        x = min(self._x, COLUMNS - 1)
        if what in {0, 1}:
            start, end = (x, COLUMNS) if what == 0 else (0, x + 1)
            self._rows[self._y][start:end] = [" "] * (end - start)
        first, last = {0: (self._y + 1, ROWS), 1: (0, self._y), 2: (0, ROWS)}.get(what, (0, 0))
        self._unwrap(min(first, self._y), max(last, self._y + 1))
        self._rows[first:last] = _blank(last - first)

    def _down(self) -> None:
        if self._y != self._bottom:
            self._y = min(ROWS - 1, self._y + 1)
        elif self._top or self._bottom != ROWS - 1 or self.is_other:
            self._scroll_up(self._top, 1)
        else:
            self._kept.append(self._rows.pop(0))
            self._rows += _blank(1)

    def _unwrap(self, first: int, last: int) -> None:
        """Forget of rows that they go on in the next one: they are another text now."""
        self._wrapped -= set(range(len(self._kept) + first, len(self._kept) + last))

    def _scroll_up(self, top: int, count: int) -> None:
        self._unwrap(max(0, top - 1), ROWS)
        count = min(count, self._bottom - top + 1)
        self._rows[top : self._bottom + 1] = self._rows[top + count : self._bottom + 1] + _blank(count)

    def _scroll_down(self, top: int, count: int) -> None:
        self._unwrap(max(0, top - 1), ROWS)
        count = min(count, self._bottom - top + 1)
        self._rows[top : self._bottom + 1] = _blank(count) + self._rows[top : self._bottom + 1 - count]


def _blank(rows: int) -> list[list[str]]:
    return [[" "] * COLUMNS for _ in range(rows)]


def _width(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
