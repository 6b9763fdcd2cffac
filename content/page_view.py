"""Shows a page that does not fit whole: its outline with the line of each heading, and how it begins."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..budget import cut
from ..budget.content import Content
from ..budget.cut import Allowance
from ..budget.json_size import cost, dumps, less
from ..budget.previews.base import Preview, Resume, tokens_of

_LEVELS = 6
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_BRACKET = re.compile(r"\\.|!?\[|\](?:\(<?[^()\s<>]*+(?:\([^()\s]*+\)[^()\s<>]*+)*+>?\))?")
"""What is escaped, what begins a link or a picture, what ends it with its address. No sign is looked at again and
again, however many brackets a stranger opens."""

_MARK = re.compile(r"[\[\]\\*`]")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~&])")
_EMPHASIS = re.compile(r"(?<!\\)(?:\*\*|(?<!\w)\*|\*(?!\w)|`)")
_HEADING_CHARACTERS = 90
_HEADING_READ_CHARACTERS = 1000
"""Of a longer heading the rest is not even looked at."""

_ENTRY_MIN_BYTES = 6
"""Of an outline: two quotes, a line, a space, a letter, a comma."""

_OUTLINE_SHARE = 0.45
"""How much of a preview the outline may take when the page has more headings than fit."""

_LEAD_MIN = 160
"""Tokens kept for the lead however long the outline is."""

_VIEWED_BYTES = 4 << 20
"""Of a longer page only its beginning is looked at."""

_LONG_LINE_BYTES = 1_000
"""Once so much of a line is shown, the next call goes on inside it and does not repeat it."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a Markdown text, and the line it stands on, counted from 1."""

    line: int
    level: int
    text: str


def outline(lines: Sequence[str]) -> list[Heading]:
    """Find the headings of a Markdown text; what stands in code is none."""
    found: list[Heading] = []
    fence = ""
    for number, line in enumerate(lines, 1):
        opened = _FENCE.match(line)
        if opened:
            if not fence:
                fence = opened.group(1)
            elif opened.group(1).startswith(fence):
                fence = ""
        elif not fence and line.startswith("#"):
            titled = line.lstrip("#")
            level = len(line) - len(titled)
            if level <= _LEVELS and titled[:1].isspace() and (text := plain(_title(titled))):
                found.append(Heading(number, level, text))
    return found


def _title(titled: str) -> str:
    """Return the title of a heading, without the signs that may close it."""
    return titled.strip().rstrip("#").rstrip()[:_HEADING_READ_CHARACTERS]


def plain(markdown: str) -> str:
    """Take the addresses and marks out of a line of Markdown."""
    if _MARK.search(markdown) is None:
        return markdown.strip()
    parts: list[str] = []
    opened: list[int] = []
    at = 0
    for bracket in _BRACKET.finditer(markdown):
        sign = bracket.group()
        parts.append(markdown[at : bracket.start()])
        at = bracket.end()
        if sign.endswith("[") and not sign.startswith("\\"):
            opened.append(len(parts))
        elif sign.startswith("]") and opened:
            place = opened.pop()
            if len(sign) > 1:
                parts[place] = sign = ""
        parts.append(sign)
    text = "".join(parts) + markdown[at:]
    return _ESCAPE.sub(r"\1", _EMPHASIS.sub("", text)).strip()


@dataclass(frozen=True, slots=True)
class PageView:
    """Shows a readable page under any allowance.

    Attributes:
        content: the Markdown; read only when it is shown.
        lines: of it; None if nobody counted them.
    """

    content: Content
    lines: int | None = None

    @property
    def size(self) -> int:
        """Bytes of the Markdown."""
        return self.content.size

    def whole(self, allowance: Allowance) -> str | None:
        """Return the page if it fits."""
        if self.size > allowance.bytes:
            return None
        text = self._read()
        return text if cut.fits(text, allowance) else None

    def part(self, allowance: Allowance) -> Preview:
        """Show the outline and the lead, and say at which line to read on."""
        return replace(page_view(self._read(), allowance, self.lines), measures=tokens_of(self.content))

    def _read(self) -> str:
        return self.content.read(0, min(self.size, _VIEWED_BYTES)).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Pointer:
    """Shows of a content that is nothing to read only what to do with it."""

    following: str

    def whole(self, allowance: Allowance) -> str | None:
        """Nothing of it is text."""
        return None

    def part(self, allowance: Allowance) -> Preview:
        """Name the next step, if there is room for it."""
        value = {"next": self.following}
        return Preview(value if cut.fits(dumps(value), allowance) else {})


def page_view(markdown: str, allowance: Allowance, whole_lines: int | None = None) -> Preview:
    """Show the outline and the lead of a page within an allowance.

    Args:
        markdown: the page, or as much of its start as is worth looking at.
        allowance: of the compact JSON of what is shown.
        whole_lines: lines of the page, if `markdown` is not all of it.
    """
    lines = markdown.split("\n")
    total = whole_lines or len(lines) - (not lines[-1])
    headings = outline(lines)
    room = Allowance(int(allowance.tokens * _OUTLINE_SHARE), int(allowance.bytes * _OUTLINE_SHARE))
    shown = _outline(headings, room) if allowance.tokens > _LEAD_MIN else {}
    if not cut.fits(dumps({**shown, "lead": ""}), allowance):
        shown = {}
    first = _lead_start(lines, headings)
    lead = cut.head("\n".join(lines[first:]), less(allowance, cost({**shown, "lead": ""})))
    return Preview({**shown, "lead": lead}, *_rest(lines, first, lead, total))


def _rest(lines: Sequence[str], first: int, lead: str, total: int) -> tuple[str, Resume]:
    """Say what follows the lead that began at index `first`, and how to read on there."""
    following = first + lead.count("\n") + 1
    begun = lead.rpartition("\n")[2]
    if not begun:
        return f"lines {following}-{total} of {total} not shown", {"lines": f"{following}-"}
    behind = f" and lines {following + 1}-{total}" if following < total else ""
    left_out = f"the rest of line {following}{behind} of {total} not shown"
    if len(begun.encode()) < _LONG_LINE_BYTES:
        return left_out, {"lines": f"{following}-"}
    before = sum(len(line.encode()) + 1 for line in lines[:first])
    return left_out, {"bytes": f"{before + len(lead.encode())}-"}


def _lead_start(lines: Sequence[str], headings: Sequence[Heading]) -> int:
    """The lead starts below the page's own heading, whose text is a fact of the reply already."""
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if headings and headings[0].line == first + 1 and headings[0].level == 1:
        first = next((number for number in range(first + 1, len(lines)) if lines[number].strip()), first)
    return first


def _outline(headings: Sequence[Heading], room: Allowance) -> dict[str, Any]:
    """As many levels as fit; when not even the highest does, its first headings and how to list the others."""
    if not headings:
        return {}
    most = room.bytes // _ENTRY_MIN_BYTES
    for deepest in range(_LEVELS, 0, -1):
        chosen = [heading for heading in headings if heading.level <= deepest]
        if 0 < len(chosen) <= most and cut.fits(dumps(_entries(chosen)), room):
            hidden = len(headings) - len(chosen)
            return {"outline": _entries(chosen)} | ({"deeper": hidden} if hidden else {})
    highest = min(heading.level for heading in headings)
    chosen = [heading for heading in headings if heading.level == highest]
    fitting = cut.longest(min(len(chosen), most), lambda count: cut.fits(dumps(_entries(chosen[:count])), room))
    if not fitting:
        return {}
    return {"outline": _entries(chosen[:fitting]), "more_headings": f'{len(headings) - fitting}: grep="^#"'}


def _entries(headings: Sequence[Heading]) -> list[str]:
    """Each as `line text`, indented by its level below the highest."""
    highest = min(heading.level for heading in headings)
    return [
        f"{heading.line} {'·' * (heading.level - highest)}{cut_text(heading.text, _HEADING_CHARACTERS)}"
        for heading in headings
    ]


def cut_text(text: str, most: int) -> str:
    """Cut a short text for show."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
