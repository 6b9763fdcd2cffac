"""Previews of what is no text: its format, what its header tells, and whatever is readable."""

import re
import struct
from collections.abc import Callable
from typing import Any

from ..content import Content
from ..cut import Allowance
from ..json_size import cost, less
from . import arrow, parquet, sqlite
from .base import Preview, Render, fitting, plural

_HEAD_BYTES = 64 << 10
_HEX_BYTES = 16
_TABLES = "SQLite database"
_FOOTERS = {"Arrow table": arrow.footer, "Parquet table": parquet.footer}

_STRING = re.compile(rb"[\x20-\x7e]{8,}")
_STRINGS_MAX = 12
_STRING_MAX_CHARACTERS = 80
_PACKED = (
    "image",
    "gzip",
    "xz",
    "zstd",
    "bzip2",
    "lz4",
    "archive",
    "audio",
    "video",
    "document",
    "wheel",
    "font",
    "book",
)


def plan(content: Content, form: str) -> Render:
    """Prepare the preview of a binary whose format is `form`, or unknown if that is empty."""
    head = content.read(0, _HEAD_BYTES)
    tail = content.read(max(0, content.size - _HEAD_BYTES), _HEAD_BYTES)
    facts: dict[str, Any] = {"format": form or "unknown binary"} | _details(form, head, tail, content.size)
    names: list[str] = facts.pop("names", [])
    if form == _TABLES:
        return _tables(content, facts)
    if form in _FOOTERS and (columns := _columns(content, form)) is not None:
        return _listing(facts | columns)
    strings = [] if form.endswith(_PACKED) or names else _strings(head)
    facts |= {} if form else {"hex": head[:_HEX_BYTES].hex(" ", -4)}
    is_all = not form and content.size <= _HEX_BYTES

    def render(allowance: Allowance) -> Preview:
        value = dict(facts)
        for label, items in (("entries", names), ("strings", strings)):
            value |= _listed(label, items, less(allowance, cost(value)))
        return Preview(value, "" if is_all else plural(content.size, "byte"))

    return render


def _columns(content: Content, form: str) -> dict[str, Any] | None:
    """Return the rows and the columns of a table; None if its footer is damaged."""
    try:
        found = _FOOTERS[form](content)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error):
        return None
    rows = {"rows": found.rows} if found.rows >= 0 else {}
    return rows | {"columns": [f"{name}: {kind}" for name, kind in found.columns]}


def _listing(facts: dict[str, Any]) -> Render:
    """Prepare the preview of a table by its columns."""
    columns: list[str] = facts.pop("columns")

    def render(allowance: Allowance) -> Preview:
        return Preview(facts | _listed("columns", columns, less(allowance, cost(facts))), "rows")

    return render


def _tables(content: Content, facts: dict[str, Any]) -> Render:
    """Prepare the preview of a database: its tables with their columns, if need be without types or columns."""
    try:
        found = sqlite.tables(content)
    except (struct.error, IndexError, UnicodeDecodeError):
        found = []
    levels = [[table.written(has_types=has_types) for table in found] for has_types in (True, False)]
    levels.append([table.name for table in found])

    def render(allowance: Allowance) -> Preview:
        room = less(allowance, cost(facts | {"tables": ""}))
        items = next((items for items in levels if len(fitting(items, room)) == len(items)), levels[-1])
        return Preview(facts | _listed("tables", items, less(allowance, cost(facts))), "rows")

    return render


def _listed(label: str, items: list[str], allowance: Allowance) -> dict[str, list[str]]:
    """List as many of the first items as fit, and say how many more there are."""
    room = less(allowance, Allowance(16, 60))
    shown = fitting(items, room) if sum(map(len, items[:1])) < room.bytes else []
    more = [f"… {len(items) - len(shown):,} more"] if len(shown) < len(items) else []
    return {label: shown + more} if shown else {}


def _strings(head: bytes) -> list[str]:
    """Return readable stretches of mostly letters, each once, in their order."""
    found: dict[str, None] = {}
    for match in _STRING.finditer(head):
        text = match.group().decode("ascii").strip()
        if 4 * sum(map(str.isalnum, text)) >= 3 * len(text) and len(text) >= 8:
            found.setdefault(text[:_STRING_MAX_CHARACTERS])
            if len(found) >= _STRINGS_MAX:
                break
    return list(found)


def _details(form: str, head: bytes, tail: bytes, size: int) -> dict[str, Any]:
    reader = next((reader for start, reader in _READERS.items() if form.startswith(start)), None)
    if reader is None:
        reader = _zip if head.startswith(b"PK\x03\x04") else None
    try:
        return reader(head, tail, size) if reader is not None else {}
    except (struct.error, IndexError):
        return {}


def _png(head: bytes, _tail: bytes, _size: int) -> dict[str, Any]:
    width, height = struct.unpack(">II", head[16:24])
    return {"pixels": f"{width}x{height}"}


def _gif(head: bytes, _tail: bytes, _size: int) -> dict[str, Any]:
    width, height = struct.unpack("<HH", head[6:10])
    return {"pixels": f"{width}x{height}"}


def _bmp(head: bytes, _tail: bytes, _size: int) -> dict[str, Any]:
    width, height = struct.unpack("<ii", head[18:26])
    return {"pixels": f"{width}x{abs(height)}"}


def _jpeg(head: bytes, _tail: bytes, _size: int) -> dict[str, Any]:
    """Follow the segments to the frame header."""
    at = 2
    while head[at] == 0xFF:
        mark = head[at + 1]
        if 0xC0 <= mark <= 0xCF and mark not in {0xC4, 0xC8, 0xCC}:
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return {"pixels": f"{width}x{height}"}
        at += 2 + struct.unpack(">H", head[at + 2 : at + 4])[0]
    return {}


def _webp(head: bytes, _tail: bytes, _size: int) -> dict[str, Any]:
    if head[12:16] != b"VP8X":
        return {}
    width, height = (1 + int.from_bytes(head[at : at + 3], "little") for at in (24, 27))
    return {"pixels": f"{width}x{height}"}


def _gzip(_head: bytes, tail: bytes, _size: int) -> dict[str, Any]:
    return {"unpacked_bytes": struct.unpack("<I", tail[-4:])[0]}


def _zip(_head: bytes, tail: bytes, size: int) -> dict[str, Any]:
    """List the members from the directory at the end, as far as that was read."""
    end = tail.rfind(b"PK\x05\x06")
    if end < 0:
        return {}
    count, length, start = struct.unpack("<HII", tail[end + 10 : end + 20])
    at = max(0, len(tail) - size + start)
    if start + length > size or at >= end:
        at = 0
    at = tail.find(b"PK\x01\x02", at)
    names: list[str] = []
    while 0 <= at < end and tail[at : at + 4] == b"PK\x01\x02":
        unpacked, name, extra, comment = struct.unpack("<IHHH", tail[at + 24 : at + 34])
        names.append(f"{tail[at + 46 : at + 46 + name].decode('utf-8', 'replace')[:120]} {unpacked:,}")
        at += 46 + name + extra + comment
    return {"members": count, "names": names}


_Reader = Callable[[bytes, bytes, int], dict[str, Any]]
_READERS: dict[str, _Reader] = {
    "PNG": _png,
    "GIF": _gif,
    "BMP": _bmp,
    "JPEG image": _jpeg,
    "WebP": _webp,
    "gzip": _gzip,
    "ZIP": _zip,
}
