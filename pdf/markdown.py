"""Markdown and plain text to a tree of blocks: lists of a kind and what belongs to it, as the template reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import regex

from .inline import Inline, Node, Runs, Setting, equation, fitted, plain
from .markdown_rules import DEEPEST, JOINED, parser
from .measure import CELL, cells
from .tables import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markdown_it.token import Token

Blocks = list[Node]

BODY_PT = 10.5
CODE = 0.85
"""Size of code blocks, in sizes of the body."""

INDENT_PT = 19.0
"""What a list takes of the room, and a quotation somewhat less."""

_PADDING_PT = 9.0
"""White on each side of a code block."""

_SHOWN_DEPTH = 12
"""Levels of nesting that are indented; the typesetter itself bounds how deep things may lie in one another."""

_LEAST_ROOM_PT = 90.0
_TOGETHER = 400
"""Lines of code, or pieces of one word, that Typst gets at a time: what many take grows with their square."""

_FRONT = re.compile(r"^(title|author|lang)(?:uage)?[ \t]*:[ \t]*(.+)$", re.MULTILINE | re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\][ \u00a0]")
_NOT_IN_NAMES = regex.compile(r"[^\p{L}\p{M}\p{N}_\- ]")
"""What the name of a heading's place leaves out; marks are a part of words."""

_STRONG = regex.compile(r"[^\W\d_]")
_RTL = regex.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LANGUAGE = re.compile(r"[A-Za-z0-9+#-]{1,20}")
_BULLETS = ("•", "◦", "▪")
_BOXES = re.compile("[\u2500-\u259f]")
_ALIGNED = re.compile(r"\S {3,}\S|\t|[\u2500-\u259f]")
_SAMPLE_CHARACTERS = 200_000


class Markdown:
    """A parsed document.

    Attributes:
        front: title, author and lang of the front matter, if it has one.
        is_too_deep: lists and quotations are nested so deeply that the parser left text out.
        inline: what the running text holds: links that were dropped, and so on.
    """

    def __init__(self, source: str, setting: Setting) -> None:
        """Parse text that was prepared."""
        parse, self._env = parser(), dict[str, object]()
        self.inline = Inline(parse, self._env, setting)
        tokens = parse.parse(source.replace("\f", "\n"), self._env)
        self.is_too_deep = any(token.level >= DEEPEST - 1 for token in tokens)
        self.front: dict[str, str] = {}
        if tokens and tokens[0].type == "front_matter":
            self.front = {name.casefold(): _bare(value.strip()) for name, value in _FRONT.findall(tokens[0].content)}
        self._setting = setting
        # The next one last, so that memory is given back as they are taken.
        self._tokens = tokens[::-1]
        self._slugs: dict[str, int] = {}
        self._notes: dict[str, Blocks] = {}
        self._divided: dict[str, None] = {}

    def blocks(self) -> Blocks:
        """Return all blocks; to be called once."""
        blocks = Blocks()
        while self._tokens:
            blocks += self._next(0, 0, self._setting.room)
        items: list[Node] = []
        # A footnote may refer to further ones: the list grows while it is gone through.
        for number, note in enumerate(self.inline.notes, 1):
            text: Blocks = [["text", *with_direction(note.runs)]] if note.runs else self._notes.get(note.label, [])
            if not (text and text[-1][0] == "text"):
                text.append(["text", False, []])
            if number in self.inline.marked:
                text[-1][-1] += ["\u00a0", ["back", number, self._setting.fit("↩")]]
            items.append([f"{number}.", text])
        return [*blocks, ["notes", items]] if items else blocks

    def notes(self) -> list[str]:
        """Return sentences about what was left out, divided or joined, once all blocks were taken."""
        notes = list(self._divided)
        if unused := len(self._notes.keys() - {note.label for note in self.inline.notes}):
            notes.append(f"Left out: {_counted(unused, 'footnote')} that nothing refers to.")
        if joined := cast("int", self._env.get(JOINED, 0)):
            notes.append(f"Joined in the last column: the cells that {_counted(joined, 'table row')} had too many.")
        return notes

    def _next(self, lists: int, depth: int, room: float) -> Iterator[Node]:
        """Yield what comes next: in so many lists, so deep in other blocks, with so much room in points."""
        token = self._tokens.pop()
        match token.type:
            case "heading_open":
                yield self._heading(int(token.tag[1]), room)
            case "inline":
                # A paragraph, or the same in a list without space between its items.
                yield from _paragraph(self.inline.runs(token.content, room), room)
            case "fence" | "code_block" | "html_block":
                yield from code_blocks(token.content.removesuffix("\n"), token.info, self._setting, room)
            case "blockquote_open":
                shown = depth < _SHOWN_DEPTH
                # Only lists change the bullets of the lists in them.
                inner = self._until("blockquote_close", lists, depth + 1, _less(room, 15.0) if shown else room)
                yield from [["quote", _is_rtl(inner), inner]] if shown else inner
            case "bullet_list_open" | "ordered_list_open":
                yield from self._listing(token, lists, depth, room)
            case "table":
                yield from self._table(token, room)
            case "dl_open":
                yield self._definitions(lists, depth, room)
            case "equation":
                shown = equation(token.content, f"$${token.content}$$", self._setting)
                yield ["equation", *shown[1:]] if isinstance(shown, list) else ["text", False, [shown]]
            case "hr":
                yield ["rule"]
            case "page_break":
                yield ["turn"]
            case "footnote_reference_open":
                blocks = self._until("footnote_reference_close", lists, depth + 1, _less(room, INDENT_PT))
                self._notes.setdefault(str(token.meta["label"]), blocks)
            case _:
                pass

    def _until(self, close: str, lists: int, depth: int, room: float) -> Blocks:
        blocks = Blocks()
        while self._tokens and self._tokens[-1].type != close:
            blocks.extend(self._next(lists, depth, room))
        if self._tokens:
            self._tokens.pop()
        return blocks

    def _heading(self, level: int, room: float) -> Node:
        runs = self.inline.runs(self._tokens.pop().content, room, is_once=False)
        self._tokens.pop()
        slug = _NOT_IN_NAMES.sub("", " ".join(self.inline.written.split()).casefold()).strip().replace(" ", "-")
        place, count = slug, self._slugs.get(slug, 0)
        while place in self._slugs:
            count += 1
            place = f"{slug}-{count}"
        self._slugs[slug] = count
        self._slugs[place] = 0
        return ["heading", level, place, *with_direction(fitted(runs, room / BODY_PT / 2.05))]

    def _listing(self, token: Token, lists: int, depth: int, room: float) -> Iterator[Node]:
        close, shown = token.type.replace("open", "close"), depth < _SHOWN_DEPTH
        start = token.attrGet("start")
        number = 1 if start is None else int(start)
        items: list[Node] = []
        tight = True
        while self._tokens and self._tokens.pop().type != close:
            following = self._tokens[-1] if self._tokens else None
            tight = tight and not (following and following.type == "paragraph_open" and not following.hidden)
            blocks = self._until("list_item_close", lists + 1, depth + 1, _less(room, INDENT_PT) if shown else room)
            marker = f"{number + len(items)}." if token.type == "ordered_list_open" else _BULLETS[lists % 3]
            items.append(_task(blocks, self._setting.fit(marker), self._setting.fit))
        if shown:
            yield ["list", tight, bool(items and _is_rtl(items[0][1])), items]
        else:
            for marker, blocks in items:
                if blocks and blocks[0][0] == "text":
                    blocks[0][-1].insert(0, f"{marker} ")
                yield from blocks or [["text", False, [marker]]]

    def _definitions(self, lists: int, depth: int, room: float) -> Node:
        items: list[Node] = []
        inner = _less(room, INDENT_PT)
        while self._tokens and (token := self._tokens.pop()).type != "dl_close":
            if token.type == "dt_open":
                items.append([[run for block in self._until("dt_close", lists, depth, room) for run in block[-1]], []])
            elif token.type == "dd_open" and items:
                items[-1][1] += self._until("dd_close", lists, depth + 1, inner)
        return ["terms", bool(items and with_direction(items[0][0])[0]), items]

    def _table(self, token: Token, room: float) -> Iterator[Node]:
        rows: list[list[Runs]] = []
        for row in cast("list[list[str]]", token.meta["rows"]):
            room_of_picture = room / max(len(token.meta["alignments"]), 1) - 11
            rows.append([self.inline.runs(cell, room_of_picture) for cell in row])
            rows[-1] += [Runs() for _ in range(len(rows[0]) - len(row))]
        parts, note = parts_of(rows, cast("list[str]", token.meta["alignments"]), room, BODY_PT)
        if note:
            self._divided[note] = None
        for part in parts:
            yield [*part[:-1], _is_rtl([["text", *with_direction(cell)] for cell in rows[0]]), part[-1]]


def plain_blocks(source: str, setting: Setting) -> Blocks:
    """Return plain text as blocks: every character counts, and a form feed turns the page."""
    blocks, aligned = Blocks(), _is_aligned(source)
    for number, page in enumerate(source.split("\f")):
        if number:
            blocks.append(["turn"])
        text = page.expandtabs(4)
        if aligned:
            lines = _lines(text, setting, setting.room, BODY_PT * CODE)[0]
            has_boxes = bool(_BOXES.search(text))
            blocks += (["lines", lines[at : at + _TOGETHER], has_boxes, []] for at in range(0, len(lines), _TOGETHER))
            continue
        for line in text.split("\n"):
            blocks += _texts(fitted([setting.fit(line)], setting.room / BODY_PT))
    return blocks


def code_blocks(text: str, info: str, setting: Setting, room: float) -> Iterator[Node]:
    """Yield a block of code in parts: with the language it is in, or in lines when some are too long for the room."""
    text = text.expandtabs(4)
    lines, simple = _lines(text, setting, room - 2 * _PADDING_PT, BODY_PT * CODE)
    has_boxes = bool(_BOXES.search(text))
    language = _LANGUAGE.match(info.strip()) if len(lines) <= _TOGETHER else None
    for at in range(0, len(lines), _TOGETHER):
        part, edges = lines[at : at + _TOGETHER], [at == 0, at + _TOGETHER >= len(lines)]
        if simple and not has_boxes:
            yield ["raw", language[0] if language else "", "\n".join(line for line, _ in part), edges]
        else:
            yield ["lines", part, has_boxes, edges]


def _lines(text: str, setting: Setting, room: float, size: float) -> tuple[list[list[Any]], bool]:
    """Return lines, each with whether it goes on below, and whether all of them are simple text.

    What the font does not have stands as a list of the character and its columns.
    """
    most, lines, simple = max(int(room / (size * CELL)), 1), list[list[Any]](), True
    for line in setting.fit(text).split("\n"):
        if line.isascii() and len(line) <= most:
            lines.append([line, False])
            continue
        for part, goes_on in _broken(line, most):
            odd = [c for c in part if not setting.in_columns(c)]
            simple = simple and not odd and not goes_on
            lines.append([_in_columns(part, setting) if odd else part, goes_on])
    return lines, simple


def _broken(line: str, most: int) -> Iterator[tuple[str, bool]]:
    """Yield a line in parts of at most so many columns, cut after a space where one is near, and if more follows."""
    start = columns = 0
    for at, character in enumerate(line):
        if columns + cells(character) > most and at > start:
            space = line.rfind(" ", start + (at - start) // 2, at)
            cut = space + 1 if space >= 0 else at
            yield line[start:cut], True
            start, columns = cut, sum(map(cells, line[cut:at]))
        columns += cells(character)
    yield line[start:], False


def _in_columns(text: str, setting: Setting) -> Node:
    parts: list[Any] = []
    for cluster in cast("list[str]", regex.findall(r"\X", text)):
        if not all(map(setting.in_columns, cluster)):
            parts.append([cluster, sum(map(cells, cluster))])
        elif parts and isinstance(parts[-1], str):
            parts[-1] += cluster
        else:
            parts.append(cluster)
    return parts


def _paragraph(runs: Runs, room: float) -> Iterator[Node]:
    """Yield a paragraph; pictures that stand alone in it are blocks of their own."""
    is_alone = all(run == " " or (isinstance(run, list) and run[0] in ("picture", "missing")) for run in runs)
    if runs and is_alone:
        yield from (["figure", run] for run in runs if run != " ")
    else:
        yield from _texts(fitted(runs, room / BODY_PT))


def _texts(runs: Runs) -> Iterator[Node]:
    """Yield a paragraph; as several, if there is an endless word in it."""
    start = 0
    rooms = [at for at, run in enumerate(runs) if run == ["room"]]
    for at in rooms[_TOGETHER * 4 :: _TOGETHER * 4]:
        yield ["text", *with_direction(runs[start:at])]
        start = at + 1
    yield ["text", *with_direction(runs[start:])]


def with_direction(runs: Runs) -> tuple[bool, Runs]:
    """Return runs, and before them whether they run from right to left: as their first letter does."""
    first = _STRONG.search(plain(runs)[:1000])
    return bool(first and _RTL.match(first[0])), runs


def _is_rtl(blocks: Blocks) -> bool:
    """Tell whether the first text in the blocks runs from right to left."""
    return next((bool(block[-2]) for block in blocks if block[0] in ("text", "heading") and plain(block[-1])), False)


def _less(room: float, points: float) -> float:
    return max(room - points, _LEAST_ROOM_PT)


def _task(blocks: Blocks, marker: str, fit: Callable[[str], str]) -> Node:
    """Return an entry of a list; one that begins with a box has the box for its marker."""
    runs: Runs = blocks[0][-1] if blocks and blocks[0][0] == "text" else []
    if runs and isinstance(runs[0], str) and (box := _TASK.match(runs[0])):
        rest = [runs[0][box.end() :], *runs[1:]]
        return [fit("☐" if box[1] == " " else "☑"), [["text", *with_direction(rest)], *blocks[1:]]]
    return [marker, blocks]


def _is_aligned(source: str) -> bool:
    """Tell whether columns of the text line up only when all characters are equally wide."""
    lines = [line for line in source[:_SAMPLE_CHARACTERS].split("\n") if line.strip()]
    return sum(1 for line in lines if _ALIGNED.search(line)) * 12 > len(lines) > 0


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("s" if count > 1 else "")


def _bare(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
