"""Previews of JSON and JSON lines: the shape over all values, and a sample."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from ..content import Content
from ..cut import Allowance
from ..json_size import cost, less, within
from ..severity import severity
from .base import Preview, Render, plural, share
from .sampled import sampled_lines
from .shape import Shape, describe
from .shape_text import LEVELS, Detail, trimmed, written

WHOLE_MAX_BYTES = 16 << 20
"""Larger documents are not read as a whole; the preview says so."""

_PREFIX_BYTES = 1 << 20
SMALL_BYTES = 40_000
"""Objects up to this size are shown as they are, with long values cut, if that fits."""
_PAGE_BYTES = 6000
_TRIMMED_LEVELS = (Detail(480, 12, 0, 400), Detail(240, 12, 0, 200), Detail(120, 10, 0, 160), *LEVELS[:5])
_SHAPE_PERCENT = 70
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
"""A string that never ends is one to the end of the text: else each quote in it would be taken for a beginning."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What was learned of a document.

    Attributes:
        facts: shown first.
        shape: of all that was read.
        rarest: a value or key that occurs seldom.
        samples: values to show, by where they stand.
        left_out: what a preview leaves out.
        next_lines: a range of lines to go on with, if the document has lines.
        document: of a small one, all of it; cut a little, it says more than its shape.
    """

    facts: dict[str, Any]
    shape: Shape
    rarest: str
    samples: dict[str, Any]
    left_out: str
    next_lines: str
    document: object = None


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
    lines = raw.count(b"\n") + 1
    next_lines = f"1-{min(lines, 100)}" if lines > 20 else ""
    small: object = document if isinstance(document, dict) and content.size <= SMALL_BYTES else None
    shape = describe([document])
    rarest = _rarest(shape)
    left_out = f"all values but a sample ({content.size:,} bytes)"
    return _renderer(_Found({}, shape, rarest, _samples(document, rarest), left_out, next_lines, small))


def plan_lines(content: Content) -> Render | str:
    """Prepare the preview of JSON lines; or say why they are none."""
    if content.size > WHOLE_MAX_BYTES:
        raw, of = sampled_lines(content), f" sampled of {content.size >> 20:,} MiB"
    else:
        raw, of = content.read(0, content.size).removeprefix(b"\xef\xbb\xbf").split(b"\n"), ""
    rows, bad, first_bad = _parsed(raw)
    if not rows or 5 * bad > len(rows):
        return "not JSON lines"
    facts: dict[str, Any] = {"rows": f"{len(rows):,}{of}" if of else len(rows)}
    if bad:
        facts["invalid"] = f"{plural(bad, 'line')} {'is' if bad == 1 else 'are'} not JSON" + (
            f", the first is line {first_bad}" if not of else ""
        )
    shape = describe(rows)
    rarest = _rarest(shape)
    samples = {"first": rows[0]}
    if rarest and not of and (place := next((at for at, row in enumerate(rows) if _holds(row, rarest)), 0)):
        samples[f"row {place + 1}"] = rows[place]
    samples |= {"last": rows[-1]} if len(rows) > 1 else {}
    left_out = f"all but a sample of {plural(len(rows), 'row')}{of}"
    return _renderer(_Found(facts, shape, rarest, samples, left_out, f"2-{min(len(rows), 21)}"))


def _renderer(found: _Found) -> Render:
    if found.rarest:
        suggest = {"grep": re.escape(found.rarest).replace("\\ ", " ")}
    else:
        suggest = {"lines": found.next_lines} if found.next_lines else {"bytes": f"0-{_PAGE_BYTES - 1}"}

    def render(allowance: Allowance) -> Preview:
        if found.document is not None:
            little = {"trimmed": _fitted(lambda detail: trimmed(found.document, detail), allowance, _TRIMMED_LEVELS)}
            if little["trimmed"] is not None and within(little, allowance):
                same = little["trimmed"] == found.document
                return Preview(little, "only white space" if same else "the rest of trimmed values", suggest)
        room = less(allowance, cost({**found.facts, "shape": "", "sample": ""}))
        shape = _fitted(lambda detail: written(found.shape, detail), share(room, _SHAPE_PERCENT))
        value: dict[str, Any] = {**found.facts, **({} if shape is None else {"shape": shape})}
        room = less(allowance, cost({**value, "sample": ""}))
        sample = _fitted(lambda detail: {at: trimmed(one, detail) for at, one in found.samples.items()}, room)
        return Preview(value | ({"sample": sample} if sample else {}), found.left_out, suggest)

    return render


def _fitted(write: Callable[[Detail], object], room: Allowance, levels: Sequence[Detail] = LEVELS) -> object:
    """Write with as much detail as fits; None when nothing does."""
    return next((value for detail in levels if within(value := write(detail), room)), None)


def _samples(document: dict[str, Any] | list[Any], rarest: str) -> dict[str, Any]:
    """Take the ends of the longest list at the top, or of an object that is larger; and what holds the rarest value."""
    lists = {"": document} if isinstance(document, list) else _lists_in(document)
    path, longest = max(lists.items(), key=lambda found: len(found[1]), default=("", list[Any]()))
    if isinstance(document, dict) and len(document) > len(longest):
        return {key: document[key] for key in (next(iter(document)), next(reversed(document)))}
    if not longest:
        return {}
    rare = next((at for at, item in enumerate(longest) if _holds(item, rarest)), 0) if rarest else 0
    return {f"{path}[{place}]": longest[place] for place in sorted({0, rare, len(longest) - 1})}


def _holds(value: object, sought: str) -> bool:
    """Tell whether a value or a key is somewhere in a sample."""
    if isinstance(value, dict):
        inner = cast("dict[str, object]", value)
        return sought in inner or any(one == sought or _holds(one, sought) for one in inner.values())
    if isinstance(value, list):
        return any(one == sought or _holds(one, sought) for one in cast("list[object]", value))
    return False


def _lists_in(document: dict[str, Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for key, value in list(document.items())[:100]:
        if isinstance(value, list):
            found[key] = cast("list[Any]", value)
        elif isinstance(value, dict):
            inner = cast("dict[str, Any]", value)
            found |= {f"{key}.{name}": one for name, one in list(inner.items())[:100] if isinstance(one, list)}
    return found


def _rarest(shape: Shape) -> str:
    """Return the rarest category of all, or the rarest key, for it is what a reader would look for; errors first."""
    found: list[tuple[bool, int, str]] = []
    waiting = [shape]
    while waiting:
        one = waiting.pop()
        seldom = [(key, inner.count) for key, inner in one.fields.items() if 0 < 100 * inner.count <= one.objects]
        found += [(not severity(value.encode("utf-8", "replace")), count, value) for value, count in one.rare + seldom]
        waiting += [*one.fields.values(), *(inner for inner in (one.items, one.of_map) if inner is not None)]
    return min(found, default=(True, 0, ""))[2]


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
    shape = describe([document])
    samples = dict(list(_samples(document, "").items())[:1])
    left_out = f"all values but a sample ({size:,} bytes)"
    return _Found({"note": f"{note} {cut:,} of {size:,} characters"}, shape, "", samples, left_out, "")


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
