"""Previews of text that consists of lines: its start, what stands out, its end, and what is between."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from ..content import Content
from ..cut import Allowance
from ..forms import CAUSE, DETAIL, ERROR, LEVEL, SUMMARY, WARNING
from ..json_size import cost, less
from ..notable import Notables, Watch
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
    """What the failures get of the room at most and the head of the rest, in per cent, and how many lines are shown."""

    head: int
    middle: int
    head_lines: int
    tail_lines: int


_LAYOUTS = {
    "log": _Layout(head=50, middle=45, head_lines=30, tail_lines=30),
    "lines": _Layout(head=65, middle=15, head_lines=50, tail_lines=25),
    "text": _Layout(head=58, middle=45, head_lines=40, tail_lines=30),
    "prose": _Layout(head=70, middle=15, head_lines=80, tail_lines=15),
    "failure": _Layout(head=0, middle=75, head_lines=0, tail_lines=5),
    "tests": _Layout(head=0, middle=85, head_lines=0, tail_lines=2),
}
_TESTS_PERCENT = 60
"""Of the room, for the names of failed tests."""

_NAMES_A_TEXT = 12
_NOTABLE_MAX = 8
_FAILURE_TOKENS = 450
"""What failed is told in this, or in little more if there are many names."""

_RANKS = (SUMMARY, CAUSE, DETAIL, LEVEL, ERROR, WARNING)
"""What tells most of the cause comes first."""

_FOR_WANT_OF = {LEVEL: {CAUSE}, ERROR: {CAUSE, DETAIL}, WARNING: {CAUSE, DETAIL, LEVEL, ERROR}}
"""What is told only if there is nothing of those."""

_SOUGHT = ("error: ", "error TS", "error[", "E   ", ": error", " ERROR ", "ERROR in", "npm error", "ERROR:", "error:")
_FOUND_MAX = 200
"""A search that finds more than this leads to no answer."""


@dataclass(frozen=True, slots=True)
class _Facts:
    """What was learned of a content before anything is sketched."""

    content: Content
    layout: _Layout
    total: int | None
    notables: Notables
    watched: str
    note: str
    whole: bytes


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
        seen = f" in the {max(1, watched_bytes >> 20)} MiB of start and end"
        watched = seen if notables.is_exact else f"{seen} and in samples between"
    if notables.tests or {CAUSE, DETAIL, ERROR} & set(notables.kinds):
        layout = _LAYOUTS["tests" if notables.tests else "failure"]
    facts = _Facts(content, layout, lines, notables, watched, note, whole)

    def render(allowance: Allowance) -> Preview:
        return _render_one_line(facts, allowance) if lines == 1 else _render(facts, allowance)

    return render


def _watch(text: bytes) -> Notables:
    watch = Watch()
    watch.feed(text, 1)
    return watch.result()


def _render(facts: _Facts, allowance: Allowance) -> Preview:
    content, layout = facts.content, facts.layout
    most = allowance.tokens if layout.head_lines else _FAILURE_TOKENS
    room = Allowance(min(most, allowance.tokens) - _FRAME.tokens, allowance.bytes - _FRAME.bytes)
    note = {"note": facts.note} if facts.note else {}
    room = less(room, cost(note)) if note else room
    failed = _failed(facts.notables, share(room, _TESTS_PERCENT))
    told = failed | _notable(facts, less(share(room, layout.middle), cost(failed)), 0, 0)
    rest = less(room, cost(told)) if told else room
    head = ends.first_lines(content, share(rest, layout.head), layout.head_lines)
    tail_room = less(rest, cost(head.shown)) if head.lines >= layout.head_lines else share(rest, 100 - layout.head)
    tail = ends.last_lines(content, tail_room, layout.tail_lines, facts.total, head.size)
    first, last = _between(facts, head, tail)
    if told:
        told = failed | _notable(facts, less(share(room, layout.middle), cost(failed)), first, last)
    value: dict[str, Any] = {**note, **told}
    if layout.head_lines:
        omitted = _omitted(facts, head, tail)
        value |= {"head": head.shown, **({"omitted": omitted} if omitted else {})}
    value |= {"tail": tail.shown} if tail.lines else {}
    left_out = _left_out(facts, head, tail)
    return Preview(value, left_out, _suggest(facts, head, tail) if left_out else {})


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


def _suggest(facts: _Facts, head: LineSpan, tail: LineSpan) -> dict[str, str]:
    """Suggest what leads on: all errors if a search finds just them, the first one, or what follows of a long text."""
    first, last = _between(facts, head, tail)
    if head.cut and head.lines <= 1:
        return {"bytes": f"0-{_PAGE_BYTES - 1}"}
    found = [row for row in _ranked(facts.notables) if row[2] not in (SUMMARY, WARNING)]
    for number, text, kind, alike, name in found[:1]:
        words = [name] if name and kind == CAUSE else [word for word in _SOUGHT if word in text]
        for word in words:
            if 1 < (facts.whole.count(word.encode()) or alike) <= _FOUND_MAX:
                return {"grep": word.replace("[", r"\[")}
        if not name and first <= number and (last is None or number <= last):
            return {"lines": f"{max(1, number - 5)}-{number + 15}"}
    if found or facts.layout is not _LAYOUTS["prose"] or (last is not None and last < first):
        return {}
    end = first + _PAGE_LINES - 1
    return {"lines": f"{first}-{end if last is None else min(end, last)}"}


def _ranked(notables: Notables) -> list[tuple[int, str, str, int, str]]:
    """Return (number, text, kind, how many alike, name), what tells most of the cause first."""
    rows = [
        (number, text, kind, alike, name)
        for (number, text), kind, alike, name in zip(
            notables.lines, notables.kinds, notables.alike, notables.names, strict=True
        )
    ]
    kinds = set(notables.kinds)
    ranks = [rank for rank in _RANKS if not kinds & _FOR_WANT_OF.get(rank, set())]
    return sorted((row for row in rows if row[2] in ranks), key=lambda row: (ranks.index(row[2]), row[0]))


def _notable(facts: _Facts, room: Allowance, first: int, last: int | None) -> dict[str, Any]:
    """Return the lines that tell of failures, none before `first` or behind `last`, and how many there are."""
    ranked = _ranked(facts.notables)
    hidden = [row for row in ranked if row[0] >= first and (last is None or not last or row[0] <= last)]
    labels = [_labelled(*row, exact=facts.notables.is_exact) for row in hidden]
    shown = fitting(labels[:_NOTABLE_MAX], room)
    kept = sorted(zip(hidden, shown, strict=False), key=lambda pair: pair[0][0])
    value: dict[str, Any] = {"notable": [label for _, label in kept]} if kept else {}
    seen = {row[4] for row in hidden[: len(shown)]}
    named = zip(facts.notables.names, facts.notables.alike, strict=True)
    others = [f"{name} ×{alike:,}" for name, alike in named if name and name not in seen]
    value |= {"others": ", ".join(others)} if others else {}
    found = facts.notables
    if found.errors > (0 if facts.watched else len(shown)):
        counts = ((found.errors, found.errors_margin, "error"), (found.warnings, found.warnings_margin, "warning"))
        value["notable_total"] = ", ".join(_counted(*count) for count in counts if count[0]) + facts.watched
    elif kept and facts.watched:
        value["notable_total"] = f"found{facts.watched}"
    return value


def _counted(count: int, margin: int, noun: str) -> str:
    """Count things, or say about how many there are and how far that may be off, in figures that mean something."""
    if not margin:
        return plural(count, noun)
    digits = 1 - len(str(margin))
    return f"about {plural(round(count, digits), noun)} (± {math.ceil(margin * 10**digits) * 10**-digits:,})"


def _labelled(number: int, text: str, kind: str, alike: int, name: str, *, exact: bool) -> str:
    return f"{number}: {text}" + (f" (×{alike:,})" if alike > 1 and exact else "")


def _failed(notables: Notables, room: Allowance) -> dict[str, Any]:
    """Return the names of the tests that failed, those of one file or suite in one text."""
    suites: dict[str, Counter[str]] = {}
    for name in dict.fromkeys(notables.tests):
        suite, test = _divided(name)
        suites.setdefault(suite, Counter())[test] += 1
    named: list[tuple[str, int]] = []
    for suite, tests in suites.items():
        names = [test + (f" ×{n}" if n > 1 else "") for test, n in tests.items()]
        for at in range(0, len(names), _NAMES_A_TEXT):
            begins = f"{suite}: " if suite and not at else ""
            counted = sum(list(tests.values())[at : at + _NAMES_A_TEXT])
            named.append((begins + ", ".join(names[at : at + _NAMES_A_TEXT]), counted))
    shown = fitting([text for text, _ in named], room)
    left_out = sum(count for _, count in named[len(shown) :])
    return {"failed": shown + ([f"and {left_out:,} more"] if left_out else [])} if named else {}


def _divided(name: str) -> tuple[str, str]:
    """Divide a test's name into its file or suite and its own; parameters are left out, for they are many."""
    if (place := name.find("[")) > 0 and "::" in name[:place]:
        name = name[:place] + "[…]"
    test, found, suite = name.partition(" (")
    if found and suite.partition(")")[0].endswith("." + test):  # unittest, perhaps with a subtest behind it
        return suite.partition(")")[0].removesuffix("." + test), test
    for divider in ("::", " › ", " > "):
        suite, found, test = name.rpartition(divider)
        if found:
            return suite, test
    return "", name


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
