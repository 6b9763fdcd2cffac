"""Reads the tables of an SQLite database out of its pages: their columns and numbers of rows.

The format is that of https://sqlite.org/fileformat2.html. Nothing is run, and a file that is damaged tells less: its
pages may name one another in circles and its rows lie upon one another, so that everything is counted on the way.
"""

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ..clean import clean
from ..content import Content

_COUNTED_BYTES = 64 << 20
"""Of a larger database the rows are not counted."""

_PAGES_MAX = 40_000
_TABLES_MAX = 200
_ENTRIES_MAX = 5000
_NAME_MAX_BYTES = 1024
_DEFINITION_MAX_BYTES = 16 << 10
_DEFINITIONS_MAX_BYTES = 128 << 10
"""Of all tables in one database; those beyond are named without columns."""

_LEAF, _INTERIOR = 0x0D, 0x05
_IN_WAL = 2
"""Of a database in this mode the newest rows may be in another file."""

_WORD = re.compile(
    r"--[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|\"(?:[^\"]|\"\")*+\"?|'(?:[^']|'')*+'?|`[^`]*+`?|\[[^\]]*+\]?|[(),]"
    r"|[^\s(),\"'`\[]+"
)
_CONSTRAINTS = frozenset(
    "CONSTRAINT PRIMARY UNIQUE CHECK FOREIGN NOT NULL DEFAULT REFERENCES COLLATE GENERATED AS".split()
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table, or a view.

    Attributes:
        name: of it.
        columns: each a name, and its type if it has one.
        rows: how many it has; None when they were not counted.
    """

    name: str
    columns: Sequence[tuple[str, str]]
    rows: int | None = None

    def written(self, *, has_types: bool) -> str:
        """Write it on one line, such as `planes(tailnum TEXT, year) 3,322 rows`."""
        columns = ", ".join(f"{name} {kind}" if kind and has_types else name for name, kind in self.columns)
        name = clean(self.name, 60) + (f"({columns})" if columns else "")
        return name + ("" if self.rows is None else f" {self.rows:,} rows")


def tables(content: Content) -> list[Table]:
    """Return the tables and views of a database, without its own.

    Raises:
        struct.error: the file ends too early.
        IndexError: likewise.
    """
    pages = _Pages(content)
    found: list[Table] = []
    room = _DEFINITIONS_MAX_BYTES
    for kind, name, root, sql in islice(pages.schema(), _ENTRIES_MAX):
        if kind == "view":
            found.append(Table(name, ()))
        elif kind == "table" and not name.startswith("sqlite_"):
            room -= len(sql)
            found.append(Table(name, _columns(sql) if room >= 0 else (), pages.count(root)))
        if len(found) == _TABLES_MAX:
            break
    return found


class _Pages:
    """The pages of a database, which form a tree for each table."""

    def __init__(self, content: Content) -> None:
        self._content = content
        head = content.read(0, 100)
        size = struct.unpack(">H", head[16:18])[0]
        self._size = 65_536 if size == 1 else max(512, size)
        self._usable = self._size - head[20]
        self._are_counted = content.size <= _COUNTED_BYTES and _IN_WAL not in head[18:20]
        self._left = _PAGES_MAX

    def schema(self) -> Iterator[tuple[str, str, int, str]]:
        """Yield what the database holds: kind, name, first page and definition."""
        for page, at in self._leaves(1):
            (cells,) = struct.unpack_from(">H", page, at + 3)
            for start in struct.unpack_from(f">{cells}H", page, at + 8):
                kind, name, _, root, sql = self._record(page, start, 5)
                yield (
                    kind[:_NAME_MAX_BYTES].decode("utf-8", "replace"),
                    name[:_NAME_MAX_BYTES].decode("utf-8", "replace"),
                    int.from_bytes(root[:8]),
                    sql[:_DEFINITION_MAX_BYTES].decode("utf-8", "replace"),
                )

    def count(self, root: int) -> int | None:
        """Count the rows of the table that begins on a page; None if that would take too long."""
        if not root or not self._are_counted:
            return None
        counts = [struct.unpack_from(">H", page, at + 3)[0] for page, at in self._leaves(root)]
        return sum(counts) if counts and self._left > 0 else None

    def _leaves(self, root: int) -> Iterator[tuple[bytes, int]]:
        """Yield the pages that hold the rows of a table, and where their headers begin."""
        pending, seen = [root], {root}
        while pending and self._left > 0:
            number = pending.pop()
            self._left -= 1
            page, at = self._content.read((number - 1) * self._size, self._size), 100 if number == 1 else 0
            if page[at] == _LEAF:
                yield page, at
            elif page[at] == _INTERIOR:
                cells, last = struct.unpack_from(">HxxxI", page, at + 3)
                starts = struct.unpack_from(f">{cells}H", page, at + 12)
                below = [last, *(struct.unpack_from(">I", page, start)[0] for start in reversed(starts))]
                pending += [number for number in dict.fromkeys(below) if number not in seen]
                seen.update(below)
                self._left = self._left if len(pending) <= self._left else 0

    def _record(self, page: bytes, start: int, count: int) -> list[bytes]:
        """Return the first values of a row, as far as they are on its page."""
        size, at = _number(page, start)
        _, at = _number(page, at)
        end = at + (size if size <= self._usable - 35 else self._usable // 9)
        header, place = _number(page, at)
        value_at = at + header
        values: list[bytes] = []
        while len(values) < count:
            kind, place = _number(page, place)
            length = (kind - 12) // 2 if kind >= 12 else (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[kind]
            values.append(page[value_at : min(value_at + length, end)])
            value_at += length
        return values


def _number(page: bytes, at: int) -> tuple[int, int]:
    """Read a number of one to nine bytes; returns it, and where the next begins."""
    value = 0
    for place in range(8):
        byte = page[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return value << 8 | page[at + 8], at + 9


def _columns(sql: str) -> list[tuple[str, str]]:
    """Take the columns out of a definition, without what they must fulfil."""
    columns: list[tuple[str, str]] = []
    depth, words = 0, list[str]()
    for match in _WORD.finditer(sql):
        word = match.group()
        depth -= word == ")"
        if (word == "," and depth == 1) or (word == ")" and not depth):
            end = next((at for at, each in enumerate(words) if each.upper() in _CONSTRAINTS), len(words))
            if end:
                columns.append((clean(words[0].strip("\"'`[]"), 60), clean(" ".join(words[1:end]), 40)))
            words = []
            if not depth:
                break
        elif depth == 1 and word not in "()" and not word.startswith(("--", "/*")):
            words.append(word)
        depth += word == "("
    return columns
