"""Previews of text that consists of lines: its start, what stands out, its end, and what is between."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..content import Content
from ..cut import Allowance
from ..json_size import cost, less
from ..notable import Notables, Watch
from ..severity import WARNING, severity, word
from . import ends
from .base import Preview, Render, fitting, plural, share
from .ends import LineSpan

COUNTED_BYTES = 2 << 20
"""Contents up to this size are counted and watched here if nobody did."""

_WATCHED_BYTES = 512 << 10
"""Of larger ones, this much of the beginning is watched."""

_FRAME = Allowance(36, 110)
"""For the names of the parts and the range between them."""

_DENSE_LINE_TOKENS = 500
"""Of a single line that is not prose, more than this would say nothing new."""

_PAGE_LINES = 100
_PAGE_BYTES = 6000


@dataclass(frozen=True, slots=True)
class _Layout:
    """How the parts share the room, in per cent, and how many lines are worth showing at most."""

    head: int
    middle: int
    head_lines: int
    tail_lines: int


_LAYOUTS = {
    "log": _Layout(head=45, middle=22, head_lines=30, tail_lines=30),
    "lines": _Layout(head=55, middle=15, head_lines=50, tail_lines=25),
    "text": _Layout(head=48, middle=18, head_lines=40, tail_lines=30),
    "prose": _Layout(head=60, middle=15, head_lines=80, tail_lines=15),
}


@dataclass(frozen=True, slots=True)
class _Facts:
    """What was learned of a content before anything is sketched."""

    content: Content
    layout: _Layout
    total: int | None
    notables: Notables
    watched: str
    note: str


def plan(
    content: Content,
    kind: str,
    detail: str,
    lines: int | None,
    notables: Notables | None,
    watched_bytes: int | None = None,
    note: str = "",
) -> Render:
    """Prepare the preview of a text.

    Args:
        content: UTF-8 text, or nearly.
        kind: `log`, `lines` or `text`.
        detail: `prose` for text that is read from the start.
        lines: their number if known.
        notables: what stands out, if known.
        watched_bytes: in how many bytes of the beginning and the end that was looked for, if not in all.
        note: a remark to show first.
    """
    layout = _LAYOUTS.get(detail if detail == "prose" else kind, _LAYOUTS["text"])
    whole = content.read(0, content.size) if content.size <= COUNTED_BYTES else b""
    if lines is None and whole:
        lines = whole.count(b"\n") + (not whole.endswith(b"\n"))
    watched = ""
    if notables is None:
        watched = "" if whole else f" in the first {_WATCHED_BYTES >> 10} KiB"
        notables = _watch(whole or content.read(0, _WATCHED_BYTES))
    elif watched_bytes is not None and watched_bytes < content.size:
        watched = f" in the {watched_bytes >> 20} MiB of start and end"
    facts = _Facts(content, layout, lines, notables, watched, note)

    def render(allowance: Allowance) -> Preview:
        return _render_one_line(facts, allowance) if lines == 1 else _render(facts, allowance)

    return render


def _watch(text: bytes) -> Notables:
    watch = Watch()
    watch.feed(text, 1)
    return watch.result()


def _render(facts: _Facts, allowance: Allowance) -> Preview:
    content, layout = facts.content, facts.layout
    room = Allowance(allowance.tokens - _FRAME.tokens, allowance.bytes - _FRAME.bytes)
    note = {"note": facts.note} if facts.note else {}
    room = less(room, cost(note)) if note else room
    middle = _middle(facts, share(room, layout.middle), None)
    rest = less(room, cost(middle)) if middle else room
    head_share = layout.head * 100 // (100 - layout.middle)
    head = ends.first_lines(content, share(rest, head_share), layout.head_lines)
    tail_room = less(rest, cost(head.shown)) if head.lines >= layout.head_lines else share(rest, 100 - head_share)
    tail = ends.last_lines(content, tail_room, layout.tail_lines, facts.total, head.size)
    if (between := _between(facts, head, tail)) != (1, None):
        middle = _middle(facts, share(room, layout.middle), between)
    omitted = _omitted(facts, head, tail)
    value: dict[str, Any] = {**note, "head": head.shown, **({"omitted": omitted} if omitted else {}), **middle}
    value |= {"tail": tail.shown} if tail.lines else {}
    left_out = _left_out(facts, head, tail)
    return Preview(value, left_out, _suggest(facts, head, tail, middle) if left_out else {})


def _between(facts: _Facts, head: LineSpan, tail: LineSpan) -> tuple[int, int | None]:
    """Return the numbers of the first and the last line that neither end shows; the last one may be unknown."""
    return head.lines + 1, None if facts.total is None else facts.total - tail.lines


def _omitted(facts: _Facts, head: LineSpan, tail: LineSpan) -> str:
    first, last = _between(facts, head, tail)
    if last is not None:
        return "" if last < first else f"lines {first}-{last}" if last > first else f"line {first}"
    behind = facts.content.size - tail.size
    return f"bytes {head.size}-{behind - 1} (from line {first})" if behind > head.size else ""


def _left_out(facts: _Facts, head: LineSpan, tail: LineSpan) -> str:
    cut_lines = head.cut + tail.cut
    cut = f"the rest of {plural(cut_lines, 'long line')}" if cut_lines else ""
    if facts.total is None:
        missing = facts.content.size - head.size - tail.size
        left_out = f"{missing:,} of {facts.content.size:,} bytes" if missing else ""
    else:
        missing = facts.total - head.lines - tail.lines
        left_out = f"{missing:,} of {plural(facts.total, 'line')}" if missing > 0 else ""
    repeated = isinstance(head.shown, list) or isinstance(tail.shown, list)
    return " and ".join(part for part in (left_out, cut) if part) or (
        "only repetitions of equal lines" if repeated else ""
    )


def _suggest(facts: _Facts, head: LineSpan, tail: LineSpan, middle: dict[str, Any]) -> dict[str, str]:
    """Suggest the surroundings of what stands out; if that is more than is shown, all of it; else the next lines."""
    first, last = _between(facts, head, tail)
    hidden = _chosen(facts.notables, first, last)
    if hidden and "notable" in middle:
        number, text, alike = max(hidden, key=lambda found: severity(found[1].encode()))
        many = alike > 1 or _more_than_listed(facts.notables, text, first, last)
        # A word that only one of them has would find that one, of which the line is known.
        if many and word(text) and (alike > 1 or sum(word(line) == word(text) for _, line, _ in hidden) > 1):
            return {"grep": word(text)}
        return {"lines": _around(number)}
    if head.cut and head.lines <= 1:
        return {"bytes": f"0-{_PAGE_BYTES - 1}"}
    if last is not None and last < first:
        return {"bytes": f"0-{_PAGE_BYTES - 1}"}
    end = first + _PAGE_LINES - 1
    return {"lines": f"{first}-{end if last is None else min(end, last)}"}


def _around(number: int) -> str:
    return f"{max(1, number - 10)}-{number + 20}"


def _more_than_listed(notables: Notables, text: str, first: int, last: int | None) -> bool:
    """Tell whether lines that stand out as much as `text` lie between the ends without being listed."""
    warning = severity(text.encode()) == WARNING
    same = [number for number, line in notables.lines if (severity(line.encode()) == WARNING) == warning]
    return len(same) < (notables.warnings if warning else notables.errors) and any(
        number >= first and (last is None or number <= last) for number in same
    )


def _middle(facts: _Facts, room: Allowance, between: tuple[int, int | None] | None) -> dict[str, Any]:
    """Return what is shown of the part between head and tail: the lines that stand out."""
    first, last = between or (1, None)
    chosen = _chosen(facts.notables, first, last)
    worst = sorted(chosen, key=lambda found: (-severity(found[1].encode()), found[2], found[0]))
    kept = set(fitting([_labelled(*found) for found in worst], room)[: max(1, room.tokens // 30)])
    shown = [label for found in chosen if (label := _labelled(*found)) in kept]
    if not shown:
        return {}
    listed = sum(1 for number, _ in facts.notables.lines if number < first or (last is not None and number > last))
    every = facts.notables.total <= listed + len(shown) and not facts.watched
    more = {} if every else {"notable_total": _totals(facts.notables) + facts.watched}
    return {**more, "notable": shown}


def _totals(notables: Notables) -> str:
    counts = [plural(notables.errors, "error")] if notables.errors or not notables.warnings else []
    return ", ".join(counts + ([plural(notables.warnings, "warning")] if notables.warnings else []))


def _chosen(notables: Notables, first: int, last: int | None) -> list[tuple[int, str, int]]:
    """Return (number, text, how many alike) of the notable lines in a range, one of each shape."""
    alike = notables.alike or (1,) * len(notables.lines)
    found: dict[str, tuple[int, str, int]] = {}
    for (number, text), count in zip(notables.lines, alike, strict=False):
        if number >= first and (last is None or number <= last):
            found.setdefault(_bare(text), (number, text, count))
    return list(found.values())


@lru_cache(maxsize=256)
def _bare(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter not in "0123456789abcdef")


def _labelled(number: int, text: str, alike: int) -> str:
    shown = text if len(text) <= 150 else text[:149] + "…"
    return f"{number} (one of {alike:,} alike): {shown}" if alike > 1 else f"{number}: {shown}"


def _render_one_line(facts: _Facts, allowance: Allowance) -> Preview:
    """Show both ends of a content that is a single line, by bytes."""
    content = facts.content
    note = facts.note or f"one line of {plural(content.size, 'byte')}{_minified(content)}"
    room = less(Allowance(allowance.tokens - _FRAME.tokens, allowance.bytes - _FRAME.bytes), cost(note))
    if "," in note:
        room = Allowance(min(room.tokens, _DENSE_LINE_TOKENS), room.bytes)
    head, begin, tail, end = ends.ends(content, share(room, 60), share(room, 40))
    value: dict[str, Any] = {"note": note, "head": head}
    if end > begin:
        value["omitted"] = f"bytes {begin}-{end - 1}"
    if tail:
        value["tail"] = tail
    suggest = {"bytes": f"{begin}-{min(end, begin + _PAGE_BYTES) - 1}"}
    if facts.notables.lines and (found := word(facts.notables.lines[0][1])):
        value["notable"] = [facts.notables.lines[0][1]]
        suggest = {"grep": found}
    return Preview(value, f"{end - begin:,} of {content.size:,} bytes", suggest)


def _minified(content: Content) -> str:
    """Guess what a single line is, from the signs that are frequent in it."""
    sample = content.read(0, 32 << 10)
    for marks, name in (
        ((b"function", b"=>", b"return", b"var ", b"const "), "minified JavaScript"),
        ((b"px;", b"{color", b"margin", b"@media", b"!important"), "minified CSS"),
        ((b"</", b"<div", b"href=", b"<span", b"<p>"), "markup without line breaks"),
        ((b'":', b',"', b'{"', b"true", b"null"), "JSON"),
    ):
        if sum(mark in sample for mark in marks) >= 3:
            return f", looks like {name}"
    return ", without spaces (encoded data?)" if len(sample) > 500 and sample.count(b" ") < len(sample) // 500 else ""
