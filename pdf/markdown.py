"""Markdown to blocks, one top-level block at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import regex

from .blocks import Code, Heading, Item, Listing, Notes, PageBreak, Quote, Rule, Span, Table, Text, plain_text
from .inline import Inline
from .markdown_rules import DEEPEST, JOINED, parser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

    from .blocks import Alignment, Block

_FRONT = re.compile(r"^(title|author|lang)(?:uage)?[ \t]*:[ \t]*(.+)$", re.MULTILINE | re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\][ \u00a0]")
_NOT_IN_NAMES = regex.compile(r"[^\p{L}\p{M}\p{N}_\- ]")
"""What the name of a heading's place leaves out; marks are a part of words."""

_BULLETS = ("•", "◦", "▪")


class Markdown:
    """A parsed document.

    Attributes:
        front: title, author and lang of the front matter, if it has one.
        is_too_deep: lists and quotations are nested so deeply that the parser left text out.
        inline: what the running text holds: links that were dropped, and so on.
    """

    def __init__(self, source: str) -> None:
        """Parse text that was prepared."""
        parse, self._env = parser(), dict[str, object]()
        self.inline = Inline(parse, self._env)
        tokens = parse.parse(source.replace("\f", "\n"), self._env)
        self.is_too_deep = any(token.level >= DEEPEST - 1 for token in tokens)
        self.front: dict[str, str] = {}
        if tokens and tokens[0].type == "front_matter":
            self.front = {name.casefold(): _bare(value.strip()) for name, value in _FRONT.findall(tokens[0].content)}
        # The next one last, so that memory is given back as they are taken.
        self._tokens = tokens[::-1]
        self._slugs: dict[str, int] = {}
        self._notes: dict[str, list[Block]] = {}

    def blocks(self) -> Iterator[tuple[Block, float]]:
        """Yield the blocks, each with how much of the document has been taken, from 0 to 1."""
        total = max(len(self._tokens), 1)
        while self._tokens:
            for block in self._next(depth=0):
                yield block, 1 - len(self._tokens) / total
        items: list[Item] = []
        # A footnote may refer to further ones: the list grows while it is gone through.
        for number, note in enumerate(self.inline.notes, 1):
            blocks: list[Block] = [Text(note.spans)] if note.spans else self._notes.get(note.label, [])
            items.append(Item(f"{number}.", _linked(number, blocks)))
        if items:
            yield Notes(items), 1.0

    def notes(self) -> list[str]:
        """Return sentences about what was left out or joined, once all blocks were taken."""
        notes: list[str] = []
        if unused := len(self._notes.keys() - {note.label for note in self.inline.notes}):
            notes.append(f"Left out: {_counted(unused, 'footnote')} that nothing refers to.")
        if joined := cast("int", self._env.get(JOINED, 0)):
            notes.append(f"Joined in the last column: the cells that {_counted(joined, 'table row')} had too many.")
        return notes

    def _next(self, depth: int) -> Iterator[Block]:
        token = self._tokens.pop()
        match token.type:
            case "heading_open":
                yield self._heading(token)
            case "inline":
                # A paragraph, or the same in a list without space between its items.
                yield from self.inline.blocks(token.content)
            case "fence" | "code_block" | "html_block":
                yield Code(token.content.removesuffix("\n").expandtabs(4))
            case "blockquote_open":
                # Only lists change the bullets of the lists in them.
                yield Quote(self._until("blockquote_close", depth - 1))
            case "bullet_list_open" | "ordered_list_open":
                yield self._listing(token, depth)
            case "table":
                rows = [
                    [self.inline.spans(cell) for cell in row] for row in cast("list[list[str]]", token.meta["rows"])
                ]
                yield Table(rows[0], rows[1:], cast("list[Alignment]", token.meta["alignments"]))
            case "hr":
                yield Rule()
            case "page_break":
                yield PageBreak()
            case "footnote_reference_open":
                self._notes.setdefault(str(token.meta["label"]), self._until("footnote_reference_close", depth))
            case _:
                pass

    def _until(self, close: str, depth: int) -> list[Block]:
        blocks: list[Block] = []
        while self._tokens and self._tokens[-1].type != close:
            blocks.extend(self._next(depth + 1))
        if self._tokens:
            self._tokens.pop()
        return blocks

    def _heading(self, token: Token) -> Heading:
        spans = self.inline.spans(self._tokens.pop().content)
        self._tokens.pop()
        slug = _NOT_IN_NAMES.sub("", plain_text(spans).casefold()).strip().replace(" ", "-")
        place, count = slug, self._slugs.get(slug, 0)
        while place in self._slugs:
            count += 1
            place = f"{slug}-{count}"
        self._slugs[slug] = count
        self._slugs[place] = 0
        return Heading(int(token.tag[1]), spans, place)

    def _listing(self, token: Token, depth: int) -> Listing:
        close = token.type.replace("open", "close")
        start = token.attrGet("start")
        number = 1 if start is None else int(start)
        items: list[Item] = []
        tight = True
        while self._tokens and self._tokens.pop().type != close:
            following = self._tokens[-1] if self._tokens else None
            tight = tight and not (following and following.type == "paragraph_open" and not following.hidden)
            blocks = self._until("list_item_close", depth)
            marker = f"{number + len(items)}." if token.type == "ordered_list_open" else _BULLETS[depth % 3]
            items.append(_task(blocks, marker))
        return Listing(items, tight)


def _linked(number: int, blocks: list[Block]) -> list[Block]:
    """Return the blocks of a footnote with its name at the start, and at the end a way back to where it is used."""
    here, back = Span("", place=f"note:{number}"), [Span("\u00a0"), Span("↩", link=f"#noteref:{number}")]
    first, *more = blocks if blocks and isinstance(blocks[0], Text) else [Text([]), *blocks]
    first = Text([here, *cast("Text", first).spans])
    *before, last = [first, *more]
    return [*before, Text([*last.spans, *back])] if isinstance(last, Text) else [*before, last, Text(back[1:])]


def _task(blocks: list[Block], marker: str) -> Item:
    """Return an entry of a list; one that begins with a box has the box for its marker."""
    if blocks and isinstance(first := blocks[0], Text) and first.spans:
        head = first.spans[0]
        if not head.code and (box := _TASK.match(head.text)):
            rest = head._replace(text=head.text[box.end() :])
            return Item("☐" if box[1] == " " else "☑", [Text([rest, *first.spans[1:]]), *blocks[1:]])
    return Item(marker, blocks)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("s" if count > 1 else "")


def _bare(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
