"""Reads the columns of a Parquet file and the number of its rows out of its footer.

The footer is a structure of Thrift's compact protocol: https://parquet.apache.org/docs/file-format/ and
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..clean import clean
from ..content import Content

_END = 8
"""Bytes behind the footer: its length, and PAR1."""

_READ_BYTES = 256 << 10
"""Of the footer: the columns and the number of rows stand before all else."""

_DEEPEST = 16
_NAMES_MAX = 1000

_SCHEMA, _ROWS = 2, 3
"""Fields of the footer."""

_TYPE, _NAME, _CHILDREN, _CONVERTED, _LOGICAL = 1, 4, 5, 6, 10
"""Fields of an element of the schema."""

_TYPES = ("bool", "int", "int", "timestamp", "float", "float", "bytes", "bytes")
_CONVERTED_TYPES = {0: "str", 1: "map", 3: "list", 4: "str", 5: "decimal", 6: "date", 7: "time", 8: "time"} | {
    9: "timestamp",
    10: "timestamp",
    19: "json",
}
_LOGICAL_TYPES = {1: "str", 2: "map", 3: "list", 4: "str", 5: "decimal", 6: "date", 7: "time", 8: "timestamp"} | {
    12: "json",
    14: "uuid",
}

_I8, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 3, 7, 8, 9, 10, 11, 12


@dataclass(frozen=True, slots=True)
class Footer:
    """What a footer tells.

    Attributes:
        columns: each its name and its type.
        rows: how many there are; -1 if that would take long to tell.
    """

    columns: Sequence[tuple[str, str]]
    rows: int


def footer(content: Content) -> Footer:
    """Read the footer of a file.

    Raises:
        IndexError: it is damaged.
        ValueError: likewise.
        KeyError: likewise.
    """
    end = content.read(content.size - _END, _END)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != b"PAR1" or length > content.size - _END:
        raise ValueError("there is no footer")
    found = _Thrift(content.read(content.size - _END - length, min(length, _READ_BYTES))).structure(last=_ROWS)
    _, *elements = found[_SCHEMA]
    if not isinstance(found[_ROWS], int):
        raise ValueError("it tells no number of rows")  # noqa: TRY004 - it is the content that is wrong
    columns: list[tuple[str, str]] = []
    while elements and len(columns) < _NAMES_MAX:
        first = elements.pop(0)
        columns.append((clean(first[_NAME].decode("utf-8", "replace"), 60), _type(first)))
        left = first.get(_CHILDREN, 0)
        while left > 0:
            left += elements.pop(0).get(_CHILDREN, 0) - 1
    return Footer(columns, found[_ROWS])


def _type(element: dict[int, Any]) -> str:
    logical: int = next(iter(element.get(_LOGICAL, {})), 0)
    told = _LOGICAL_TYPES.get(logical) or _CONVERTED_TYPES.get(element.get(_CONVERTED, -1), "")
    return told or ("struct" if element.get(_CHILDREN) else _TYPES[int(element[_TYPE])])


class _Thrift:
    """Reads values one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def structure(self, depth: int = 0, last: int = 1 << 15) -> dict[int, Any]:
        """Read the fields of a structure by their numbers, up to the last that is wanted."""
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) and number < last:
            number = number + (head >> 4) if head >> 4 else self._whole()
            kind = head & 15
            fields[number] = kind == 1 if kind in {1, 2} else self._value(kind, depth + 1)
        return fields

    def _value(self, kind: int, depth: int) -> Any:  # noqa: ANN401 - of the type that the data says
        if kind < _I8:
            return self._byte() == 1
        if kind == _I8:
            return self._byte()
        if kind < _DOUBLE:
            return self._whole()
        if kind in {_DOUBLE, _BINARY}:
            length = 8 if kind == _DOUBLE else self._unsigned()
            self._at += length
            return self._data[self._at - length : self._at]
        if kind in {_LIST, _SET}:
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15, depth) for _ in range(count)]
        if kind == _MAP:
            count = self._unsigned()
            kinds = self._byte() if count else 0
            return [(self._value(kinds >> 4, depth), self._value(kinds & 15, depth)) for _ in range(count)]
        if kind == _STRUCT:
            return self.structure(depth)
        raise ValueError("there is no such type")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number is too long")
        return value | byte << shift

    def _whole(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
