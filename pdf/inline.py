"""Running text of Markdown to runs: texts, and lists of a kind and what belongs to it, as the template reads them."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import quote, unquote

from .formulas import NotUnderstoodError, formula
from .measure import breaking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Node = list[Any]
"""A kind, and what belongs to it."""

Runs = list[Any]
"""Texts and nodes."""

_Stack = list[tuple[str, Runs]]
"""What was begun and has not ended, each with its runs."""

_MARKUP = re.compile(r"[\\`*_\[\]!<&~^$]| \n")
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)\b([^<>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""\b(href|src|alt)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_URL = re.compile(
    r"https?://[^\s<>\"'`|{}\\^\[\]\u3000-\u303f\uff00-\uffef]*[^\s<>\"'`|{}\\^\[\]\u3000-\u303f\uff00-\uffef.,;:!?)*_~]"
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:")
"""How a picture begins that is no file; a single letter is a drive."""

_CLICKABLE = frozenset(("http", "https", "mailto", "tel"))
_SAFE = "%/:=&?~#+!$,;'@()*[]"
"""What stays as it is in an address that becomes part of a PDF."""

_LOOKS = {"strong": "bold", "em": "italic", "s": "strike"}
_TAGS = {
    "b": "bold", "strong": "bold", "summary": "bold", "i": "italic", "em": "italic", "s": "strike", "del": "strike",
    "code": "typed", "tt": "typed", "samp": "typed", "sub": "lowered", "sup": "raised", "kbd": "key", "mark": "marked",
    "u": "underlined", "ins": "underlined",
}  # fmt: skip
"""What elements of HTML mean in running text."""

_BARE = frozenset(("details", "div", "p", "span", "center", "small", "font", "abbr", "picture", "section", "article"))
"""Elements of which the text is all that is left."""

_HOLDING = frozenset(("link", "goto", *_LOOKS.values(), *_TAGS.values()))
"""Kinds of runs whose last part is runs again."""


class Setting(NamedTuple):
    """What the making of a tree asks of the document.

    Attributes:
        fit: returns a text with everything replaced that cannot be drawn.
        in_columns: tells whether the font for text in columns has a character.
        show: returns the node of a picture, by reference, alternative text and room in points.
        room: width for text in points.
    """

    fit: Callable[[str], str]
    in_columns: Callable[[str], bool]
    show: Callable[[str, str, float], Node]
    room: float


class Note(NamedTuple):
    """A footnote that the text refers to: by its label, or with the text that was written in its place."""

    label: str
    runs: Runs


class Inline:
    """Parses running text.

    Attributes:
        notes: footnotes in the order in which the text refers to them.
        dropped: link targets that are not clickable, each with its reason.
        marked: numbers of those to whose use their note can lead back.
        written: what was parsed last, as it was written.
    """

    def __init__(self, parser: MarkdownIt, env: dict[str, object], setting: Setting) -> None:
        self.notes: list[Note] = []
        self.dropped: dict[str, str] = {}
        self.marked: set[int] = set()
        self.written = ""
        self._is_once = True
        self._parser = parser
        self._env = env
        self._setting = setting
        self._numbers: dict[str, int] = {}

    def runs(self, content: str, room: float, *, is_once: bool = True) -> Runs:
        """Return the runs of a paragraph, a heading or a cell.

        Args:
            content: Markdown.
            room: for pictures, in points.
            is_once: the runs stand in the document but once; a heading is also in the table of contents.
        """
        self.written, self._is_once = "", is_once
        # Most running text has no markup at all.
        if not _MARKUP.search(content):
            self.written = content
            return list(self._text(content.replace("\n", " "), linked="http" in content))
        tokens: list[Token] = []
        self._parser.inline.parse(content, self._parser, self._env, tokens)
        return self._walk(tokens, room)

    def _walk(self, tokens: list[Token], room: float) -> Runs:
        stack: _Stack = [("", Runs())]
        was_tag = True
        for token in tokens:
            name, _, side = token.type.rpartition("_")
            here = stack[-1][1]
            if side == "close":
                _end(stack, name)
            elif name in _LOOKS:
                _begin(stack, name, [_LOOKS[name], []])
            elif name == "link":
                _begin(stack, name, self._link(str(token.attrGet("href") or "")))
            elif token.type == "html_inline":
                self._tag(token.content, stack, room)
            elif token.type == "image":
                here.append(self._picture(str(token.attrGet("src") or ""), token.content, room))
            elif token.type in ("footnote_ref", "footnote_anchor"):
                here.append(self._note(token, room))
            elif token.type == "softbreak":
                if not was_tag or (here and here[-1] != ["break"]):
                    here.append(" ")
            elif token.type == "hardbreak":
                here.append(["break"])
            elif token.type == "code_inline":
                self.written += token.content
                here.append(["code", self._setting.fit(token.content)])
            elif token.type == "formula":
                self.written += token.content
                here.append(equation(token.content, token.markup, self._setting))
            elif token.content:
                self.written += token.content
                begins = was_tag and (not here or here[-1] == ["break"] or str(here[-1]).endswith(" "))
                is_link = any(name in ("link", "a") for name, _ in stack)
                here += self._text(token.content.lstrip(" ") if begins else token.content, linked=not is_link)
            # Where a line was broken, or a comment stood, no two spaces meet.
            was_tag = token.type == "html_inline"
        return stack[0][1]

    def _tag(self, tag: str, stack: _Stack, room: float) -> None:
        """Take an element of HTML for what it means; one that means nothing here is text."""
        found = _TAG.fullmatch(tag)
        name = found[2].casefold() if found else ""
        said = {one[1].casefold(): one[2] or one[3] or "" for one in _ATTRIBUTE.finditer(found[3])} if found else {}
        here = stack[-1][1]
        if name == "br":
            here.append(["break"])
        elif name == "img" and "src" in said:
            here.append(self._picture(said["src"], said.get("alt", ""), room))
        elif found and found[1] and any(name == begun for begun, _ in stack):
            _end(stack, name)
            if name == "summary":
                stack[-1][1].append(["break"])
        elif found and not found[1] and name in _TAGS:
            _begin(stack, name, [_TAGS[name], []])
        elif found and not found[1] and name == "a":
            _begin(stack, name, self._link(unescape(said.get("href", ""))))
        elif name not in _BARE and not tag.startswith("<!--"):
            self.written += tag
            here.append(self._setting.fit(tag))

    def _picture(self, source: str, alt: str, room: float) -> Node:
        reference = source if _ADDRESS.match(source) else unquote(source)
        return self._setting.show(reference, self._setting.fit(alt), room)

    def _text(self, text: str, *, linked: bool) -> Iterator[Any]:
        """Yield a text in parts, so that its lines end, and the URLs in it can be clicked."""
        for number, line in enumerate(text.split("\n")):
            if number:
                yield ["break"]
            at = 0
            for match in _URL.finditer(line) if linked else ():
                if match.start() > at:
                    yield self._setting.fit(line[at : match.start()])
                yield ["link", quote(match[0], safe=_SAFE), [self._setting.fit(match[0])]]
                at = match.end()
            if at < len(line):
                yield self._setting.fit(line[at:])

    def _link(self, url: str) -> Node | None:
        """Return what a click may do; None if nothing."""
        if url.startswith("#"):
            return ["goto", unquote(url[1:]).casefold(), []]
        scheme = _SCHEME.match(url)
        if scheme is None:
            reason = "it is relative, and a PDF has no address of its own"
        elif scheme[1].casefold() not in _CLICKABLE:
            reason = f"the scheme {scheme[1].casefold()[:20]}: is not allowed"
        else:
            return ["link", quote(url, safe=_SAFE), []]
        if url:
            self.dropped.setdefault(url[:300], reason)
        return None

    def _note(self, token: Token, room: float) -> Node:
        """Return the number that refers to a footnote; what is written in its place has no label."""
        runs = Runs()
        label = str(token.meta.get("label") or "")
        if not label:
            notes = cast("dict[str, dict[object, dict[str, Any]]]", self._env.get("footnotes") or {})
            written = notes.get("list", {}).get(token.meta.get("id"), {})
            runs = self._walk(cast("list[Token]", written.get("tokens", [])), room)
            label = f"\0{token.meta.get('id')}"
        if label not in self._numbers:
            self.notes.append(Note(label, runs))
            self._numbers[label] = len(self.notes)
        number = self._numbers[label]
        is_mark = self._is_once and number not in self.marked
        if is_mark:
            self.marked.add(number)
        return ["note", number, is_mark]


def equation(tex: str, written: str, setting: Setting) -> Any:  # noqa: ANN401 - a node, or a text
    """Return the node of a formula; as it is written, if it is none."""
    try:
        return ["formula", tex, formula(tex, setting.fit)]
    except NotUnderstoodError:
        return setting.fit(written)


def _begin(stack: _Stack, name: str, node: Node | None) -> None:
    """Begin what holds runs; without a node they go on where they are."""
    here = stack[-1][1]
    if node:
        here.append(node)
    stack.append((name, node[-1] if node else here))


def _end(stack: _Stack, name: str) -> None:
    """End what was begun last by that name, and all that was begun in it."""
    while len(stack) > 1 and stack.pop()[0] != name:
        pass


def plain(runs: Runs) -> str:
    """Return what can be read in runs, without numbers of footnotes."""
    parts: list[str] = []
    for run in runs:
        match run:
            case str():
                parts.append(run)
            case ["code", text] | ["formula", text, _]:
                parts.append(text)
            case ["picture", *_, alt] | ["missing", alt, _, _]:
                parts.append(f"[{alt}]")
            case ["break"]:
                parts.append("\n")
            case [kind, *_, inner] if kind in _HOLDING:
                parts.append(plain(inner))
            case _:
                pass
    return "".join(parts)


def broadest(runs: Runs) -> float:
    """Return the width in points of the broadest picture in runs."""
    widths = [0.0]
    for run in runs:
        match run:
            case ["picture", _, width, *_]:
                widths.append(width)
            case [kind, *_, inner] if kind in _HOLDING:
                widths.append(broadest(inner))
            case _:
                pass
    return max(widths)


def fitted(runs: Runs, room: float) -> Runs:
    """Return runs in which a line may break also within words that are wider than `room` sizes."""
    made = Runs()
    for run in runs:
        match run:
            case str():
                made += (["room"] if piece is None else piece for piece in breaking(run, room))
            case ["code", text]:
                made += (
                    ["room"] if piece is None else ["code", piece] for piece in breaking(text, room) if piece != ""
                )
            case [kind, *rest, inner] if kind in _HOLDING:
                made.append([kind, *rest, fitted(inner, room)])
            case _:
                made.append(run)
    return made
