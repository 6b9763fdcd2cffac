"""Previews of what has an outline: source code, documents, patches. Every part named with its line, and the start."""

from collections.abc import Sequence
from typing import Any

from .. import cut
from ..clean import as_left, utf8
from ..content import Content
from ..cut import Allowance, longest
from ..json_size import cost, less
from . import definitions
from .base import Preview, Render, decoded, encoded_size, fitting, plural, share
from .definitions import Entry

_WHOLE_BYTES = 4 << 20
"""What is larger is outlined by its beginning, and that is said."""

_HEAD_LINES = 8
_HEAD_READ_BYTES = 4096
_HEAD = Allowance(tokens=100, bytes=440)
_OUTLINE_PERCENT = 78
_FRAME = Allowance(tokens=24, bytes=80)

_MINIFIED_LINE_BYTES = 400
"""Source code whose lines are longer on average was not written by hand, and nobody reads it."""

_LONG_LINED = {"markdown", "prose", "markup"}
"""Paragraphs, and pages without line breaks, whose headings still tell what is in them."""

_PAGES_LEAST, _PAGES_TOLD = 3, 40

_LINE_MIN_TOKENS = 4
"""An entry is never shorter: its number, a space and a name."""

_EVERY = 1 << 30
_NAMING_ALL = ((_EVERY, True, True), (_EVERY, True, False), (_EVERY, False, False))
_NAMING_SOME = tuple((members, False, False) for members in (60, 40, 24, 12, 8, 6, 4, 3, 2, 1, 0))
"""How many members of each are named, whether with their lines, and whether the line of it is written out."""

_SOME_TOKENS = 280
"""An outline that cannot name everything takes no more: it is to find one's way, and a search names the rest."""


def plan(content: Content, family: str, lines: int | None, least: int = 1) -> Render | None:
    """Prepare the preview of a text of a family that `definitions` knows; None with fewer than `least` entries.

    Args:
        content: UTF-8 text, or nearly.
        family: `diff`, `markdown`, `prose`, or one of source code.
        lines: their number if known.
        least: as many entries make an outline.
    """
    text = content.read(0, min(content.size, _WHOLE_BYTES))
    is_all = len(text) == content.size
    if lines is None and is_all:
        lines = text.count(b"\n") + (not text.endswith(b"\n"))
    # What markup begins with is for programs.
    head_lines = [] if family == "markup" else text[:_HEAD_READ_BYTES].splitlines(keepends=True)[:_HEAD_LINES]
    start = decoded(as_left(b"".join(head_lines)))
    if family not in _LONG_LINED and content.size > _MINIFIED_LINE_BYTES * (1 + text.count(b"\n")):
        return _minified(content, start, lines)
    entries = definitions.definitions(text, family)
    if len(entries) < least:
        return None
    note = {} if is_all and len(entries) <= definitions.ENTRIES_MAX else {"outline_of": f"lines 1-{entries[-1].line}"}

    def render(allowance: Allowance) -> Preview:
        room = less(less(allowance, _FRAME), cost(note))
        shown = _pages(entries) or listed(entries, share(room, _OUTLINE_PERCENT))
        value: dict[str, Any] = {**note, "outline": shown} if shown else {}
        room = less(room, cost(shown))
        head = cut.head(start, Allowance(min(room.tokens, _HEAD.tokens), min(room.bytes, _HEAD.bytes)))
        return Preview(value | ({"head": utf8(head)} if head else {}), _left_out(content, head, lines))

    return render


def _pages(entries: Sequence[Entry]) -> str:
    """Tell where the pages of a document begin that has no other headings; of many every so many."""
    if len(entries) < _PAGES_LEAST or any(one.text != f"## Page {page}" for page, one in enumerate(entries, 1)):
        return ""
    step = -(-len(entries) // _PAGES_TOLD)
    which = "pages 1, 2, …" if step == 1 else f"pages 1, {1 + step}, {1 + 2 * step}, …"
    return f"{which} begin at lines {', '.join(str(one.line) for one in entries[::step])}"


def _left_out(content: Content, head: str, lines: int | None) -> str:
    if lines is None:
        return f"{content.size - encoded_size(head):,} of {content.size:,} bytes"
    first = head.count("\n") + 1
    return f"{'the rest of ' if head and not head.endswith(chr(10)) else ''}lines {first}-{lines} of {lines}"


def _minified(content: Content, start: str, lines: int | None) -> Render:
    note = "minified" + (f": {plural(lines, 'line')}" if lines is not None else "")

    def render(allowance: Allowance) -> Preview:
        room = less(less(allowance, _FRAME), cost(note))
        head = cut.head(start, Allowance(min(room.tokens, 60), min(room.bytes, 240)))
        return Preview({"note": note, "head": utf8(head)}, _left_out(content, head, None))

    return render


def listed(entries: Sequence[Entry], room: Allowance) -> list[str]:
    """Write an outline within `room`: all names first, then the lines of members, then what lines say besides a name.

    Entries look like `120 class Store(Base): open 140, close 152`, or `120 class Store: open, … 12 more`. If even the
    outermost do not fit, some of them are shown, the last ones included, and how many are not.
    """
    groups = _groups(entries)
    some = Allowance(min(room.tokens, _SOME_TOKENS), room.bytes)
    if _LINE_MIN_TOKENS * len(groups) <= room.tokens:
        for room_of_levels, levels in ((room, _NAMING_ALL), (some, _NAMING_SOME), (room, _NAMING_SOME[-1:])):
            for level in levels:
                lines = [_group(head, inner, *level) for head, inner in groups]
                if len(fitting(lines, room_of_levels)) == len(lines):
                    return lines
    lines = [_group(head, inner, *_NAMING_SOME[-1]) for head, inner in groups]
    count = longest(len(lines) - 1, lambda count: len(fitting(_spread(lines, count), some)) == count + 1)
    return _spread(lines, count) if count else []


def _spread(lines: list[str], count: int) -> list[str]:
    """Pick so many: half of them the first ones, half spread over the others."""
    first = count // 2
    rest, more = lines[first:], count - first
    picked = lines[:first] + [rest[place * len(rest) // more] for place in range(more)]
    return [*picked, f"… {len(lines) - count:,} more"]


def _groups(entries: Sequence[Entry]) -> list[tuple[Entry, list[Entry]]]:
    """Put deeper entries below the outermost one that precedes them; a document's only title is above all."""
    depths = sorted(entry.depth for entry in entries)
    is_titled = len(depths) > 1 and depths[0] < depths[1] and entries[0].text.startswith("#")
    top = depths[is_titled] if depths else 0
    groups: list[tuple[Entry, list[Entry]]] = []
    for entry in entries:
        if entry.depth <= top or not groups:
            groups.append((entry, []))
        else:
            groups[-1][1].append(entry)
    return groups


def _group(head: Entry, inner: list[Entry], members: int, is_numbered: bool, is_full: bool) -> str:
    text = f"{head.line} {head.text if is_full else _bare(head.text)}"
    if not inner:
        return text
    depth = min(entry.depth for entry in inner)
    inner = [entry for entry in inner if entry.depth == depth and not _name(entry.text).startswith("__")]
    if not members or not inner:
        return f"{text} (+{len(inner)})" if inner else text
    named = ", ".join(_name(entry.text) + (f" {entry.line}" if is_numbered else "") for entry in inner[:members])
    return f"{text}: {named}" + (f", … {len(inner) - members} more" if len(inner) > members else "")


def _bare(text: str) -> str:
    """Return a definition without its arguments."""
    name, bracket, _ = text.partition("(")
    return name if bracket and f"_{name[-1:]}".isidentifier() else text


def _name(text: str) -> str:
    """Return the name that a definition gives, a key with its value, or the words of a heading."""
    if text.startswith("#"):
        return text.lstrip("# ")[:40]
    before = text.partition("(")[0]
    words = before.split()
    return words[-1][:40] if words and ": " not in before else text[:40]
