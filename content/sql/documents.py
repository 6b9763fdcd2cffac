"""JSON as tables: the rows of a list, the entries of a map, and the large lists and maps in a document as its parts."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...budget.clean import clean, utf8
from ...budget.previews.shape import Part, Scalar, Shape, describe, parts
from ...budget.sql import WHOLE, literal, quoted
from ...errors import BursarError
from .lines import Content

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LARGEST_BYTES = 64 << 20
"""Larger ones are left to DuckDB, which reads them piece by piece but knows neither maps nor parts."""

_MARK, _END = "\ufeff", "\n"
_ALL = "_all"
"""The column of rows with more keys than are columns."""

_OBJECT_MAX_BYTES = 16 << 20
"""Of one element; longer ones are read where there are some."""

_TOLD_CHARACTERS = 200
_KEYS_TOLD, _KEY_CHARACTERS = 3, 60
_VALUE = re.compile(r"[^ \t\r\n]")
_LONG = re.compile(r"…\(([0-9]+) digits\)")
_DIGITS_OF_BIGINT, _DIGITS_OF_HUGEINT = 18, 38


def direct(file: str, size: int, kind: str) -> str:
    """Return what DuckDB reads as it is; empty if it must be made into tables first."""
    if size <= LARGEST_BYTES:
        return ""
    form = "newline_delimited" if kind == "jsonl" else "auto"
    return (
        f"FROM read_json({literal(file)}, format = '{form}', sample_size = -1, maximum_object_size = {size}, "
        "compression = 'uncompressed')"
    )


def make(connection: "DuckDBPyConnection", content: Content, kind: str, into: str, spare: Path) -> list[str]:
    """Make tables of a document, or of JSON lines; return what is to be known of how it was read.

    Raises:
        BursarError: damaged, too_deep.
    """
    read = _parsed(content.read(0, content.size), kind)
    document, shape = read.document, describe([read.document])
    store = partial(_store, connection, into, spare, read.notes)
    if shape.lists and shape.items is not None:
        store(WHOLE, document, shape.items, (content.file, read.form) if read.form else None)
    elif shape.of_map is not None:
        store(WHOLE, *_entries(document, shape.of_map))
    elif shape.objects:
        for part in parts(shape):
            store(part.name, *_taken_out(document, part))
        store(WHOLE, [document], describe([document]))
    else:
        store(WHOLE, [] if shape.lists else [document], shape)
    return read.notes


@dataclass(frozen=True, slots=True)
class _Read:
    """What was parsed.

    Attributes:
        document: all of it; a list of all values if they stand on lines.
        form: in which DuckDB may read the same from the file, if it is a list; empty if it may not.
        notes: what is to be known of how it was read.
    """

    document: Any
    form: str = ""
    notes: list[str] = field(default_factory=list[str])


def _parsed(raw: bytes, kind: str) -> _Read:
    try:
        text, is_exact = raw.decode(), True
    except UnicodeDecodeError:
        text, is_exact = raw.decode("utf-8", "replace"), False
    text = text.removeprefix(_MARK)
    repeated: set[str] = set()
    decoder = json.JSONDecoder(object_pairs_hook=partial(_object, repeated))
    try:
        read = _decoded(text, kind, decoder)
    except RecursionError:
        raise BursarError("too_deep", "the JSON is nested too deeply to be read", "Use grep, or a program") from None
    if repeated:
        told = ", ".join(clean(key, _KEY_CHARACTERS) for key in sorted(repeated)[:_KEYS_TOLD])
        read.notes.append(f"of keys that stand twice in an object the last one counts: {told}")
    # DuckDB takes no half of a character, for which an escape may stand.
    is_exact = is_exact and not repeated and "\\ud" not in text and "\\uD" not in text
    return replace(read, form=read.form if is_exact else "")


def _object(repeated: set[str], pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        repeated |= {key for key, count in Counter(key for key, _ in pairs).items() if count > 1}
    return made


def _decoded(text: str, kind: str, decoder: json.JSONDecoder) -> _Read:
    try:
        if kind == "json":
            return _Read(decoder.decode(text), "array")
        return _Read(decoder.decode(f"[{','.join(filter(str.strip, text.split(_END)))}]"), "newline_delimited")
    except ValueError as error:
        for ways in (_one_by_one, _line_by_line):
            found = ways(text, decoder)
            if found.document:
                return found
        fix = "Use grep on it, or have what wrote it mend it"
        raise BursarError("damaged", f"not valid JSON: {error}", fix) from None


def _one_by_one(text: str, decoder: json.JSONDecoder) -> _Read:
    """Read values that follow one another, as `jq` writes them; nothing if anything else is among them."""
    rows: list[Any] = []
    at = 0
    while (found := _VALUE.search(text, at)) is not None:
        try:
            value, at = decoder.raw_decode(text, found.start())
        except ValueError:
            return _Read([])
        rows.append(value)
    return _Read(rows)


def _line_by_line(text: str, decoder: json.JSONDecoder) -> _Read:
    """Read the lines that are JSON; nothing if too few are."""
    rows: list[Any] = []
    bad = 0
    for line in filter(str.strip, text.split(_END)):
        try:
            rows.append(decoder.decode(line))
        except (ValueError, RecursionError):
            bad += 1
    if 5 * bad > len(rows):
        return _Read([])
    return _Read(rows, notes=[f"{bad:,} lines that are no JSON are left out"] if bad else [])


def _entries(entries: Mapping[str, Any], inner: Shape) -> tuple[list[Any], Shape]:
    """Return the entries of a map as rows with a key."""
    if not _are_records(inner, len(entries)):
        key = Shape(len(entries), [Scalar("str", len(entries))])
        rows = [{"key": name, "value": value} for name, value in entries.items()]
        return rows, Shape(len(rows), fields={"key": key, "value": inner}, objects=len(rows))
    own = "key" if "key" not in inner.fields else "_key"
    key = Shape(len(entries), [Scalar("str", len(entries))])
    rows = [{own: name, **value} for name, value in entries.items()]
    return rows, Shape(len(rows), fields={own: key, **inner.fields}, absent=inner.absent, objects=len(rows))


def _taken_out(document: dict[str, Any], part: Part) -> tuple[list[Any], Shape]:
    """Take a part out of a document; return its rows, and their shape."""
    *above, key = part.path
    for outer in above:
        document = document[outer]
    value = document.pop(key)
    return _entries(value, part.shape) if part.is_map else (value, part.shape)


def _are_records(shape: Shape, count: int) -> bool:
    """Tell whether all values are objects that have their keys as columns."""
    return shape.objects == count and shape.of_map is None and bool(shape.fields)


def _store(
    connection: "DuckDBPyConnection",
    into: str,
    spare: Path,
    notes: list[str],
    name: str,
    rows: list[Any],
    shape: Shape,
    original: tuple[str, str] | None = None,
) -> None:
    """Make one table; `original` is a file that has these very rows, and its form."""
    import duckdb

    if not _are_records(shape, len(rows)):
        rows, shape = [{"value": row} for row in rows], Shape(len(rows), fields={"value": shape}, objects=len(rows))
        original = None
    columns: dict[str, tuple[str, str]] = {}
    for key, inner in shape.fields.items():
        own, number = utf8(key) or "_", 1
        while own.casefold() in columns:
            own, number = f"{key}_{number}", number + 1
        columns[own.casefold()] = own, _type(inner)
    renamed = {key: own for key, (own, _) in zip(shape.fields, columns.values(), strict=True) if key != own}
    if alike := [f"{key} is {own}" for key, own in renamed.items() if own not in {utf8(key), "_"}]:
        notes.append(f"of names that differ only in case {', '.join(alike)[:_TOLD_CHARACTERS]}")
    if renamed or shape.absent:
        rows, original = list(_renamed(rows, renamed, has_more=bool(shape.absent))), None
    if shape.absent:
        columns[_ALL] = _ALL, "JSON"
    if original is None:
        text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
        spare.write_text(utf8(text), encoding="utf-8")
        original = str(spare), "array"
    file, form = original
    listed = ", ".join(f"{literal(own)}: {literal(kind)}" for own, kind in columns.values())
    read = (
        f"CREATE TABLE {into}.{quoted(name)} AS FROM read_json({literal(file)}, format = '{form}', "
        f"compression = 'uncompressed', columns = {{{listed}}}"
    )
    # DuckDB takes no longer elements than it is told, and holds a multiple of that in memory.
    for longest in (_OBJECT_MAX_BYTES, Path(file).stat().st_size + 1024):
        try:
            connection.execute(f"{read}, maximum_object_size = {longest})")
        except duckdb.InvalidInputException as error:
            if "maximum_object_size" not in str(error) or longest > _OBJECT_MAX_BYTES:
                raise
        else:
            return


def _renamed(rows: list[Any], renamed: Mapping[str, str], *, has_more: bool) -> Iterator[dict[str, Any]]:
    for row in rows:
        columns = {renamed.get(key, key): value for key, value in row.items()}
        yield {**columns, _ALL: row} if has_more else columns


def _type(shape: Shape) -> str:
    """Return the type of a column for what stands in one place."""
    scalars = [scalar for scalar in shape.scalars if scalar.type != "null"]
    if bool(shape.objects) + bool(shape.lists) + bool(scalars) > 1:
        return "JSON"
    if shape.of_map is not None:
        return f"MAP(VARCHAR, {_type(shape.of_map)})"
    if shape.objects:
        are_alike = len({key.casefold() for key in shape.fields}) < len(shape.fields)
        if shape.absent or not shape.fields or are_alike or "" in shape.fields:
            return "JSON"
        return f"STRUCT({', '.join(f'{_field(key)} {_type(inner)}' for key, inner in shape.fields.items())})"
    if shape.lists:
        return "JSON" if shape.items is None else f"{_type(shape.items)}[]"
    return _scalar_type(scalars)


def _field(name: str) -> str:
    return '"' + utf8(name).replace('"', '""') + '"'


def _scalar_type(scalars: Sequence[Scalar]) -> str:
    names = {scalar.type for scalar in scalars}
    if names == {"bool"}:
        return "BOOLEAN"
    if names == {"int"}:
        digits = max(_digits(part) for scalar in scalars for part in (scalar.span or scalar.example).split(".."))
        if digits > _DIGITS_OF_HUGEINT:
            return "VARCHAR"
        return "BIGINT" if digits <= _DIGITS_OF_BIGINT else "HUGEINT"
    return "DOUBLE" if names and names <= {"int", "float", "NaN", "Infinity", "-Infinity"} else "VARCHAR"


def _digits(number: str) -> int:
    """Return how many digits a whole number has, of which few may be written."""
    long = _LONG.search(number)
    return int(long[1]) if long else len(number.lstrip("-"))
