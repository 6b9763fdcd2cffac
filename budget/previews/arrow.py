"""Reads the columns of an Arrow file (Feather) and the number of its rows out of its footer.

The footer is a FlatBuffer: https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format and
https://flatbuffers.dev/internals/.
"""

import struct

from ..clean import clean
from ..content import Content
from .parquet import Footer

_END = 10
"""Bytes behind the footer: its length, and ARROW1."""

_READ_BYTES = 1 << 20
_HEAD_BYTES = 64 << 10
_NAME_BYTES = 256
_NAMES_MAX = 1000
_BATCHES_MAX = 1000
"""Of whose heads the number of rows is read; with more it is not told."""

_BLOCK, _HEAD = 24, 8
_SCHEMA, _BATCHES = 1, 3
"""Fields of the footer."""

_FIELDS = 1
_NAME, _KIND, _DICTIONARY = 0, 2, 4
"""Fields of a schema, and of a column."""

_BATCH, _LENGTH = 2, 0
"""Fields of a message, and of a batch of rows."""

_TYPES = (
    "none null int float bytes str bool decimal date time timestamp interval list struct union bytes list map duration "
    "bytes str list run bytes str list list"
).split()


def footer(content: Content) -> Footer:
    """Read the footer of a file.

    Raises:
        IndexError: it is damaged.
        ValueError: likewise.
        struct.error: likewise.
    """
    end = content.read(content.size - _END, _END)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != b"ARROW1" or length > min(content.size - _END, _READ_BYTES):
        raise ValueError("there is no footer")
    table = _Table(content.read(content.size - _END - length, length))
    columns = table.at(_SCHEMA).tables(_FIELDS)[:_NAMES_MAX]
    batches, count = table.vector(_BATCHES)
    rows = 0
    for number in range(count if count <= _BATCHES_MAX else 0):
        offset, size = struct.unpack_from("<qi", table.data, batches + number * _BLOCK)
        if offset < 0:
            raise ValueError("it begins before the file")
        head = content.read(offset + _HEAD, min(max(0, size), _HEAD_BYTES))
        rows += _Table(head).at(_BATCH).number(_LENGTH, "<q")
    return Footer([(column.text(_NAME), _type(column)) for column in columns], rows if count <= _BATCHES_MAX else -1)


def _type(column: "_Table") -> str:
    kind = column.number(_KIND, "<B")
    return "category" if column.place(_DICTIONARY) else _TYPES[kind]


class _Table:
    """A table of a FlatBuffer: by default the one that all of it is."""

    def __init__(self, data: bytes, start: int = -1) -> None:
        self.data = data
        self._start = struct.unpack_from("<I", data)[0] if start < 0 else start

    def place(self, field: int) -> int:
        """Return where a field is; 0 if it is not there."""
        fields = self._start - struct.unpack_from("<i", self.data, self._start)[0]
        at = 4 + 2 * field
        if at >= struct.unpack_from("<H", self.data, fields)[0]:
            return 0
        offset = struct.unpack_from("<H", self.data, fields + at)[0]
        return self._start + offset if offset else 0

    def number(self, field: int, form: str) -> int:
        """Return a number; 0 if it is not there."""
        place = self.place(field)
        return int(struct.unpack_from(form, self.data, place)[0]) if place else 0

    def at(self, field: int) -> "_Table":
        """Return a table in this one."""
        return _Table(self.data, self._target(self.place(field)))

    def vector(self, field: int) -> tuple[int, int]:
        """Return where the items of a list begin, and how many there are."""
        if not self.place(field):
            return 0, 0
        start = self._target(self.place(field))
        return start + 4, struct.unpack_from("<I", self.data, start)[0]

    def tables(self, field: int) -> "list[_Table]":
        """Return a list of tables."""
        start, count = self.vector(field)
        places = range(start, start + 4 * min(count, _NAMES_MAX), 4)
        return [_Table(self.data, self._target(place)) for place in places]

    def text(self, field: int) -> str:
        """Return a text, as one line."""
        start, count = self.vector(field)
        return clean(self.data[start : start + min(count, _NAME_BYTES)].decode("utf-8", "replace"), 60)

    def _target(self, place: int) -> int:
        target = place + int(struct.unpack_from("<I", self.data, place)[0])
        if not 0 < target < len(self.data):
            raise ValueError("it leads nowhere")
        return target
