"""Markdown to blocks, one top-level block at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import regex
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from .blocks import (
    Block,
    Code,
    Heading,
    Item,
    Listing,
    Notes,
    PageBreak,
    Quote,
    Rule,
    Table,
    Text,
)
from .inline import Inline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

    from .blocks import Alignment

_DEEPEST = 100
"""Levels of nesting; a list takes two, and the parser calls itself for each."""

_PAGE_BREAK = re.compile(r"\\(?:pagebreak|newpage)|<!--\s*page-?\s?break\s*-->", re.IGNORECASE)
_UNNAMED = regex.compile(r"[^\p{L}\p{M}\p{N}_\- ]")
"""What the name of a heading's place leaves out; marks are a part of words."""
_TASK = re.compile(r"\[([ xX])\][ \u00a0]")
_FRONT = re.compile(r"^(title|author|lang|language)\s*:\s*(.+?)\s*$", re.MULTILINE | re.IGNORECASE)
_RULER = re.compile(r"[|:\-\s]*-[|:\-\s]*")
_MARK = re.compile(r":?-+:?")
_BAR = re.compile(r"(?<!\\)\|")
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_JOINED = "rows that were joined"
_SILENT = frozenset(("paragraph_open", "paragraph_close"))
_BULLETS = ("•", "◦", "▪")


class Markdown:
    """A parsed document.

    Attributes:
        front: title, author and lang of the front matter, if it has one.
        is_too_deep: lists and quotations are nested so deeply that the parser left text out.
        inline: what the running text holds: links that were dropped, and so on.
    """

    def __init__(self, source: str) -> None:
        self._parser = _parser()
        self._env: dict[str, object] = {}
        self.inline = Inline(self._parser, self._env)
        # Running text is parsed when its block is drawn: the tokens of all of it at once would be most of the memory.
        self._tokens = self._parser.parse(source, self._env)
        self.is_too_deep = any(token.level >= _DEEPEST - 1 for token in self._tokens)
        self._slugs: dict[str, int] = {}
        self._notes: dict[str, list[Block]] = {}
        self.front: dict[str, str] = {}
        if self._tokens and self._tokens[0].type == "front_matter":
            for name, value in _FRONT.findall(self._tokens[0].content):
                self.front["lang" if name.casefold() == "language" else name.casefold()] = _bare(value)

    def blocks(self) -> Iterator[tuple[Block, float]]:
        """Yield the blocks, each with how much of the document has been taken, from 0 to 1."""
        tokens, self._tokens = self._tokens, []
        total = max(len(tokens), 1)
        tokens.reverse()
        stack = _Stack(tokens)
        while stack.more:
            if stack.next_type in _SILENT:
                stack.take()
                continue
            for block in self._block(stack, depth=0):
                yield block, 1 - len(tokens) / total
        notes = self._footnotes()
        if notes is not None:
            yield notes, 1.0

    def notes(self) -> list[str]:
        """Return sentences about what was left out or joined, once all blocks were taken."""
        told: list[str] = []
        if unused := len(self._notes.keys() - {note.label for note in self.inline.notes}):
            told.append(f"Left out: {_counted(unused, 'footnote')} that nothing refers to.")
        if joined := cast("int", self._env.get(_JOINED, 0)):
            told.append(f"Joined in the last column: the cells that {_counted(joined, 'table row')} had too many.")
        return told

    def _block(self, stack: _Stack, depth: int) -> Iterator[Block]:
        token = stack.take()
        kind = token.type
        if kind == "heading_open":
            yield self._heading(token, stack)
        elif kind == "inline":
            # A paragraph, or the same in a list without space between its items.
            yield from self.inline.blocks(token.content)
        elif kind in ("fence", "code_block"):
            yield Code(token.content.removesuffix("\n").expandtabs(4))
        elif kind == "html_block":
            yield Code(token.content)
        elif kind == "blockquote_open":
            # Only lists change the bullets of the lists in them.
            yield Quote(self._until(stack, "blockquote_close", depth - 1))
        elif kind in ("bullet_list_open", "ordered_list_open"):
            yield self._listing(token, stack, depth)
        elif kind == "table":
            yield self._table(token)
        elif kind == "hr":
            yield Rule()
        elif kind == "page_break":
            yield PageBreak()
        elif kind == "footnote_reference_open":
            blocks = self._until(stack, "footnote_reference_close", depth)
            self._notes.setdefault(str(token.meta["label"]), blocks)

    def _until(self, stack: _Stack, close: str, depth: int) -> list[Block]:
        blocks: list[Block] = []
        while stack.more and (kind := stack.next_type) != close:
            if kind in _SILENT:
                stack.take()
            else:
                blocks.extend(self._block(stack, depth + 1))
        if stack.more:
            stack.take()
        return blocks

    def _heading(self, token: Token, stack: _Stack) -> Heading:
        spans = self.inline.spans(stack.take().content)
        stack.take()
        heading = Heading(int(token.tag[1]), spans)
        slug = _UNNAMED.sub("", heading.text.casefold()).strip().replace(" ", "-")
        place, count = slug, self._slugs.get(slug, 0)
        while place in self._slugs:
            count += 1
            place = f"{slug}-{count}"
        self._slugs[slug] = count
        self._slugs[place] = 0
        return Heading(heading.level, spans, place)

    def _listing(self, token: Token, stack: _Stack, depth: int) -> Listing:
        close = token.type.replace("open", "close")
        ordered = token.type == "ordered_list_open"
        number = int(token.attrGet("start") or 1) if ordered and token.attrGet("start") is not None else 1
        items: list[Item] = []
        tight = True
        while stack.more and stack.next_type != close:
            stack.take()
            tight = tight and not stack.is_loose()
            blocks = self._until(stack, "list_item_close", depth)
            marker = f"{number}." if ordered else _BULLETS[depth % 3]
            items.append(_task(blocks, marker))
            number += 1
        if stack.more:
            stack.take()
        return Listing(items, tight)

    def _table(self, token: Token) -> Table:
        rows = [[self.inline.spans(cell) for cell in row] for row in cast("list[list[str]]", token.meta["rows"])]
        return Table(rows[0], rows[1:], cast("list[Alignment | None]", token.meta["alignments"]))

    def _footnotes(self) -> Notes | None:
        items: list[Item] = []
        places: list[str] = []
        number = 0
        # A footnote may refer to further ones: the list grows while it is gone through.
        while number < len(self.inline.notes):
            note = self.inline.notes[number]
            blocks: list[Block] = [Text(note.spans)] if note.spans else self._notes.get(note.label, [])
            number += 1
            items.append(Item(f"{number}.", blocks))
            places.append(f"note:{number}")
        return Notes(items, places) if items else None


class _Stack:
    """Tokens of a document, the next one last, so that memory is given back as they are taken."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens

    @property
    def more(self) -> bool:
        return bool(self._tokens)

    @property
    def next_type(self) -> str:
        return self._tokens[-1].type

    def take(self) -> Token:
        return self._tokens.pop()

    def is_loose(self) -> bool:
        """Tell whether the item whose tokens come next has paragraphs with space around them."""
        following = self._tokens[-1] if self._tokens else None
        return following is not None and following.type == "paragraph_open" and not following.hidden


def _task(blocks: list[Block], marker: str) -> Item:
    """Return the item; `[x]` at its start becomes its marker."""
    if blocks and isinstance(first := blocks[0], Text) and first.spans:
        head = first.spans[0]
        ticked = _TASK.match(head.text)
        if ticked is not None and not head.code:
            rest = Text([head._replace(text=head.text[ticked.end() :]), *first.spans[1:]])
            return Item("☐" if ticked[1] == " " else "☑", [rest, *blocks[1:]])
    return Item(marker, blocks)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _bare(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _page_break(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    first = state.bMarks[start] + state.tShift[start]
    # Nearly all lines are turned away here.
    if state.src[first : first + 1] not in ("\\", "<") or state.is_code_block(start):
        return False
    line = state.src[first : state.eMarks[start]].strip()
    if not _PAGE_BREAK.fullmatch(line):
        return False
    if not silent:
        state.push("page_break", "", 0)
        state.line = start + 1
    return True


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table of GitHub's kind into one token; the parser's own rule makes five for every cell."""
    # Nearly all lines are turned away here.
    if state.src.find("|", state.bMarks[start], state.eMarks[start]) < 0:
        return False
    if start + 2 > end or state.sCount[start + 1] < state.blkIndent or state.is_code_block(start + 1):
        return False
    ruler = _line(state, start + 1)
    if not _RULER.fullmatch(ruler):
        return False
    marks = _cells(ruler)
    names = _cells(_line(state, start))
    if state.is_code_block(start) or len(marks) != len(names) or not all(map(_MARK.fullmatch, marks)):
        return False
    if silent:
        return True
    rows = [names]
    line = start + 2
    enders = state.md.block.ruler.getRules("blockquote")
    while line < end and state.sCount[line] >= state.blkIndent and not state.is_code_block(line):
        text = _line(state, line)
        # A line that begins with a bar begins nothing else.
        if not text or (text[0] != "|" and any(rule(state, line, end, True) for rule in enders)):
            break
        rows.append(_fitted(text, len(names), state))
        line += 1
    token = state.push("table", "table", 0)
    token.meta = {"rows": rows, "alignments": [_alignment(mark) for mark in marks]}
    state.line = line
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()


def _cells(line: str) -> list[str]:
    """Split a row at its bars; a bar after a backslash is text, also in code."""
    cells = _BAR.split(line) if "\\" in line else line.split("|")
    if not cells[0].strip():
        cells = cells[1:]
    if cells and not cells[-1].strip():
        cells = cells[:-1]
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _fitted(line: str, columns: int, state: StateBlock) -> list[str]:
    """Split a row of the body; no text is lost when it has more bars than the table has columns."""
    cells = _cells(line)
    if len(cells) > columns:
        cells = _cells(_CODE.sub(lambda code: _BAR.sub(r"\\|", code[0]), line))
    if len(cells) > columns:
        state.env[_JOINED] = state.env.get(_JOINED, 0) + 1
        cells[columns - 1 :] = [" | ".join(cells[columns - 1 :])]
    return cells


def _alignment(mark: str) -> Alignment | None:
    if mark.endswith(":"):
        return "center" if mark.startswith(":") else "right"
    return "left" if mark.startswith(":") else None


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST}).enable("strikethrough")
    parser.use(footnote_plugin)
    parser.use(front_matter_plugin)
    parser.disable(["inline", "text_join", "footnote_tail", "html_block"])
    parser.block.ruler.before(
        "fence", "page_break", _page_break, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.block.ruler.before("page_break", "own_table", _table, {"alt": ["paragraph", "reference"]})
    # Every link is parsed; which of them may be clicked is decided where they are drawn, and said in the report.
    parser.validateLink = lambda url: True
    return parser
