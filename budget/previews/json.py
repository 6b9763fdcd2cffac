"""Previews of JSON and JSON lines: the shape over all values."""

import json
import re
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple, cast

from ..content import Content
from ..cut import Allowance
from ..json_size import cost, less
from ..sql import quoted
from .base import Preview, Render, plural
from .sampled import sampled_lines
from .shape import Shape, describe, parts
from .shape_text import fitted

WHOLE_MAX_BYTES = 16 << 20
"""Larger documents are not read as a whole; the preview says so."""

_PREFIX_BYTES = 1 << 20
_TABLES_MAX = 8
"""Parts of a document that are named as tables, for queries."""

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
"""A string that never ends is one to the end of the text: else each quote in it would be taken for a beginning."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What was learned of a document: facts, which are shown first, and the shape of all or of a part of it."""

    facts: dict[str, Any]
    shape: Shape
    is_part: bool = False


def plan(content: Content) -> Render | str:
    """Prepare the preview of a JSON document; or say why it is none."""
    if content.size > WHOLE_MAX_BYTES:
        head = content.read(0, _PREFIX_BYTES).decode("utf-8-sig", "ignore")
        found = _read_prefix(head, content.size, "shape of the first")
        return _renderer(found) if found is not None else "JSON too large to be read as a whole"
    raw = content.read(0, content.size)
    try:
        text = raw.decode("utf-8-sig")
        document = cast("dict[str, Any] | list[Any] | str | float | None", json.loads(text))
    except json.JSONDecodeError as error:
        reason = f"not valid JSON: {error.msg.removesuffix(' at')} at line {error.lineno:,} column {error.colno:,}"
        valid = raw[:_PREFIX_BYTES].decode("utf-8-sig", "ignore")[: error.pos]
        found = _read_prefix(valid, content.size, f"{reason}; shape of the first") if 4 * error.pos > len(raw) else None
        return _renderer(found) if found is not None and error.msg != "Extra data" else reason
    except UnicodeDecodeError as error:
        return f"not valid JSON: not UTF-8 at byte {error.start:,}"
    except RecursionError:
        return "JSON nested too deeply to be read"
    except ValueError as error:
        return f"not valid JSON: {str(error).partition(';')[0]}"
    if not isinstance(document, dict | list):
        return "JSON of a single value"
    shape = describe([document])
    tables = [f"t.{quoted(part.name)}" for part in parts(shape)[:_TABLES_MAX]] if find_spec("duckdb") else []
    return _renderer(_Found({"tables": ", ".join(tables)} if tables else {}, shape))


def plan_lines(content: Content, lines: int | None) -> Render | str:
    """Prepare the preview of JSON lines, of which there are so many if that is known; or say why they are none."""
    is_part = content.size > WHOLE_MAX_BYTES
    raw = (
        sampled_lines(content) if is_part else content.read(0, content.size).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    )
    rows, bad, first_bad = _parsed(raw)
    if not rows or 5 * bad > len(rows):
        return "not JSON lines"
    facts: dict[str, Any] = {"rows": len(rows)}
    if is_part:
        facts = ({} if lines is None else {"rows": lines}) | {"sampled": len(rows)}
    if bad:
        facts["invalid"] = f"{plural(bad, 'line')} {'is' if bad == 1 else 'are'} not JSON" + (
            f", the first is line {first_bad}" if not is_part else ""
        )
    return _renderer(_Found(facts, describe(rows), is_part))


def _renderer(found: _Found) -> Render:
    def render(allowance: Allowance) -> Preview:
        room = less(allowance, cost({**found.facts, "shape": ""}))
        shape = fitted(found.shape, room, is_part=found.is_part)
        return Preview({**found.facts, **({"shape": shape} if shape else {})}, "values")

    return render


class _Opened(NamedTuple):
    """What closes a list or an object, and what that one is in: kept at each comma at no cost, however deep."""

    sign: str
    outer: "_Opened | None"


def _read_prefix(text: str, size: int, note: str) -> _Found | None:
    """Read as much of a document as its first characters hold, by closing what is open there."""
    opened: _Opened | None = None
    cut, at_cut = 0, opened
    for match in _TOKEN.finditer(text):
        sign = match.group()
        if sign in ("{", "["):
            opened = _Opened("}" if sign == "{" else "]", opened)
        elif sign in ("}", "]") and opened is not None:
            opened = opened.outer
        elif sign == ",":
            cut, at_cut = match.start(), opened
    closing: list[str] = []
    while at_cut is not None:
        closing.append(at_cut.sign)
        at_cut = at_cut.outer
    try:
        document = cast("dict[str, Any] | list[Any]", json.loads(text[:cut] + "".join(closing)))
    except (ValueError, RecursionError):
        return None
    return _Found({"note": f"{note} {cut:,} of {size:,} characters"}, describe([document]), is_part=True)


def _parsed(lines: list[bytes]) -> tuple[list[Any], int, int]:
    """Parse lines; returns the values, the number of lines that are none, and the number of the first of those."""
    full = [line for line in lines if line.strip()]
    try:
        rows: list[Any] = json.loads(b"[" + b",".join(full) + b"]")
    except (ValueError, RecursionError):
        return _parsed_singly(lines)
    return (rows, 0, 0) if len(rows) == len(full) else _parsed_singly(lines)


def _parsed_singly(lines: list[bytes]) -> tuple[list[Any], int, int]:
    rows: list[Any] = []
    bad, first_bad = 0, 0
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except (ValueError, RecursionError):
                bad += 1
                first_bad = first_bad or number
    return rows, bad, first_bad
