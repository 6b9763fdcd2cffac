"""Running text of Markdown to spans."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import quote, unquote

from .blocks import Picture, Span, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from .blocks import Block, Spans

_MARKUP = re.compile(r"[\\`*_\[\]!<&~^]| \n")
_BREAK = re.compile(r"<br\s*/?>[ ]*", re.IGNORECASE)
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


class Note(NamedTuple):
    """A footnote that the text refers to: by its label, or with the text that was written in its place."""

    label: str
    spans: Spans


class Inline:
    """Parses running text.

    Attributes:
        notes: footnotes in the order in which the text refers to them.
        dropped: link targets that are not clickable, each with its reason.
        worded: references of pictures for which their text stands.
    """

    def __init__(self, parser: MarkdownIt, env: dict[str, object]) -> None:
        self.notes: list[Note] = []
        self.dropped: dict[str, str] = {}
        self.worded: dict[str, None] = {}
        self._parser = parser
        self._env = env
        self._numbers: dict[str, int] = {}

    def spans(self, content: str) -> Spans:
        """Return the text of a heading or a cell; for a picture in it stands its text."""
        return self._in_words(self._parts(content))

    def blocks(self, content: str) -> list[Block]:
        """Return a paragraph; pictures inside become blocks of their own, where they stand."""
        blocks: list[Block] = []
        spans: Spans = []
        for part in [*self._parts(content), None]:
            if isinstance(part, Span):
                # What follows a picture begins a paragraph of its own.
                spans.append(part if spans or not blocks else part._replace(text=part.text.lstrip(" ")))
                continue
            if any(span.text.strip() for span in spans) or (part is None and not blocks):
                blocks.append(Text(spans))
            spans = []
            if part is not None:
                blocks.append(part)
        return blocks

    def _parts(self, content: str) -> list[Span | Picture]:
        # Most running text has no markup at all.
        if not _MARKUP.search(content):
            return [*_with_links(Span(content.replace("\n", " ")))]
        tokens: list[Token] = []
        self._parser.inline.parse(content, self._parser, self._env, tokens)
        return self._walk(tokens)

    def _walk(self, tokens: list[Token]) -> list[Span | Picture]:
        looks, parts = [Span("")], list[Span | Picture]()
        for token in tokens:
            look = looks[-1]
            name, _, side = token.type.rpartition("_")
            if side == "close":
                looks.pop()
            elif name in _LOOKS:
                looks.append(look._replace(**{_LOOKS[name]: True}))
            elif name == "link":
                looks.append(look._replace(link=self._target(str(token.attrGet("href") or ""))))
            elif token.type == "image":
                source = str(token.attrGet("src") or "")
                parts.append(Picture(source if _ADDRESS.match(source) else unquote(source), token.content))
            elif token.type in ("footnote_ref", "footnote_anchor"):
                parts.append(self._note(token))
            elif token.type == "softbreak":
                parts.append(look._replace(text=" "))
            elif token.type == "hardbreak":
                parts.append(look._replace(text="\n"))
            elif token.type == "code_inline":
                parts.append(look._replace(text=token.content, code=True))
            elif token.content:
                parts += _with_links(look._replace(text=_BREAK.sub("\n", token.content)))
        return parts

    def _target(self, url: str) -> str:
        """Return what a click on a link may do: a URL, `#name`, or nothing."""
        if url.startswith("#"):
            return "#" + unquote(url[1:]).casefold()
        scheme = _SCHEME.match(url)
        if scheme is None:
            reason = "it is relative, and a PDF has no address of its own"
        elif scheme[1].casefold() not in _CLICKABLE:
            reason = f"the scheme {scheme[1].casefold()[:20]}: is not allowed"
        else:
            return quote(url, safe=_SAFE)
        if url:
            self.dropped.setdefault(url[:300], reason)
        return ""

    def _note(self, token: Token) -> Span:
        """Return the number that refers to a footnote; what is written in its place has no label."""
        spans: Spans = []
        label = str(token.meta.get("label") or "")
        if not label:
            notes = cast("dict[str, dict[object, dict[str, Any]]]", self._env.get("footnotes") or {})
            written = notes.get("list", {}).get(token.meta.get("id"), {})
            spans = self._in_words(self._walk(cast("list[Token]", written.get("tokens", []))))
            label = f"\0{token.meta.get('id')}"
        if label not in self._numbers:
            self.notes.append(Note(label, spans))
            self._numbers[label] = len(self.notes)
        number = self._numbers[label]
        place = "" if token.meta.get("subId") else f"noteref:{number}"
        return Span(str(number), note=True, link=f"#note:{number}", place=place)

    def _in_words(self, parts: list[Span | Picture]) -> Spans:
        spans: Spans = []
        for part in parts:
            if isinstance(part, Picture):
                self.worded[part.reference] = None
                spans.append(Span(f"[{part.alt or part.reference}]", italic=True))
            else:
                spans.append(part)
        return spans


def _with_links(span: Span) -> Iterator[Span]:
    """Yield the span in parts, so that the URLs in it can be clicked."""
    at = 0
    for match in _URL.finditer(span.text) if "http" in span.text and not span.link else ():
        if match.start() > at:
            yield span._replace(text=span.text[at : match.start()])
        yield span._replace(text=match[0], link=quote(match[0], safe=_SAFE))
        at = match.end()
    if at < len(span.text) or not at:
        yield span._replace(text=span.text[at:])
