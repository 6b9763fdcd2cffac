"""Running text of Markdown to spans."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, unquote

from .blocks import Block, Picture, Span, Spans, Text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_BREAK = re.compile(r"<br\s*/?>[ ]*", re.IGNORECASE)
_URL = re.compile(
    r"https?://[^\s<>\"'`|{}\\^\[\]\u3000-\u303f\uff00-\uffef]*[^\s<>\"'`|{}\\^\[\]\u3000-\u303f\uff00-\uffef.,;:!?)*_~]"
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:")
"""How a picture begins that is no file; a single letter is a drive."""

_ALLOWED = frozenset(("http", "https", "mailto", "tel"))


@dataclass(frozen=True, slots=True)
class Note:
    """A footnote that the text refers to: by its label, or written where it is referred to."""

    label: str
    spans: Spans


class Inline:
    """Parses running text.

    Attributes:
        notes: footnotes in the order in which the text refers to them.
        dropped: link targets that are not clickable, each with its reason.
        worded: references of pictures that are told in words.
    """

    def __init__(self, parser: MarkdownIt, env: dict[str, object]) -> None:
        self.notes: list[Note] = []
        self.dropped: dict[str, str] = {}
        self.worded: dict[str, None] = {}
        self._parser = parser
        self._env = env
        self._numbers: dict[str, int] = {}

    def spans(self, content: str) -> Spans:
        """Return the text of a heading or a cell; a picture in it is told in words."""
        return self._in_words(self._parts(content))

    def blocks(self, content: str) -> list[Block]:
        """Return a paragraph; pictures inside become blocks of their own, where they stand."""
        blocks: list[Block] = []
        spans: Spans = []
        for part in self._parts(content):
            if isinstance(part, Span):
                # What follows a picture begins a paragraph of its own.
                spans.append(part if spans or not blocks else part._replace(text=part.text.lstrip(" ")))
                continue
            if any(span.text.strip() for span in spans):
                blocks.append(Text(spans))
            spans = []
            blocks.append(part)
        if any(span.text.strip() for span in spans) or not blocks:
            blocks.append(Text(spans))
        return blocks

    def target(self, url: str) -> str:
        """Return what a click on a link may do: a URL, `#name`, or nothing."""
        if url.startswith("#"):
            return "#" + unquote(url[1:]).casefold()
        scheme = _SCHEME.match(url)
        if scheme is None:
            reason = "it is relative, and a PDF has no address of its own"
        elif scheme[1].casefold() not in _ALLOWED:
            reason = f"the scheme {scheme[1].casefold()[:20]}: is not allowed"
        else:
            return quote(url, safe="%/:=&?~#+!$,;'@()*[]")
        if url:
            self.dropped.setdefault(url[:300], reason)
        return ""

    def _parts(self, content: str) -> list[Span | Picture]:
        # Most running text has no markup at all.
        if not _MARKUP.search(content) and " \n" not in content:
            plain = Span(content.replace("\n", " "))
            return [*_linked(plain)] if "http" in content else [plain]
        tokens: list[Token] = []
        self._parser.inline.parse(content, self._parser, self._env, tokens)
        return self._walk(tokens)

    def _walk(self, tokens: list[Token]) -> list[Span | Picture]:
        look, parts = Span(""), list[Span | Picture]()
        depth = {"strong": 0, "em": 0, "s": 0}
        links: list[str] = []
        for token in tokens:
            kind = token.type
            name, _, side = kind.rpartition("_")
            if name in depth and side in ("open", "close"):
                depth[name] += 1 if side == "open" else -1
                look = look._replace(bold=depth["strong"] > 0, italic=depth["em"] > 0, strike=depth["s"] > 0)
            elif kind == "link_open":
                links.append(self.target(str(token.attrGet("href") or "")))
                look = look._replace(link=links[-1])
            elif kind == "link_close":
                links.pop()
                look = look._replace(link=links[-1] if links else "")
            elif kind == "image":
                source = str(token.attrGet("src") or "")
                parts.append(Picture(source if _ADDRESS.match(source) else unquote(source), token.content, look.link))
            elif kind in ("footnote_ref", "footnote_anchor"):
                parts.append(self._reference(token))
            else:
                self._text(token, look, parts)
        return parts

    def _text(self, token: Token, look: Span, parts: list[Span | Picture]) -> None:
        if token.type == "softbreak":
            parts.append(look._replace(text=" "))
        elif token.type == "hardbreak":
            parts.append(look._replace(text="\n"))
        elif token.type == "code_inline":
            parts.append(look._replace(text=token.content, code=True))
        elif token.content:
            text = look._replace(text=_BREAK.sub("\n", token.content))
            parts.extend([text] if look.link or "http" not in text.text else _linked(text))

    def _reference(self, token: Token) -> Span:
        inline = self._inline_note(token)
        label = str(token.meta.get("label") or f"\0{token.meta.get('id')}")
        if label not in self._numbers:
            self.notes.append(Note(label, inline))
            self._numbers[label] = len(self.notes)
        number = self._numbers[label]
        again = int(token.meta.get("subId") or 0)
        return Span(str(number), note=True, link=f"#note:{number}", place="" if again else f"noteref:{number}")

    def _inline_note(self, token: Token) -> Spans:
        """Return the text of a footnote that was written in its place; nothing for one with a label."""
        if token.meta.get("label"):
            return []
        notes = cast("dict[str, dict[object, dict[str, Any]]]", self._env.get("footnotes") or {})
        told = notes.get("list", {}).get(token.meta.get("id"), {})
        return self._in_words(self._walk(cast("list[Token]", told.get("tokens", []))))

    def _in_words(self, parts: list[Span | Picture]) -> Spans:
        spans: Spans = []
        for part in parts:
            if isinstance(part, Span):
                spans.append(part)
                continue
            self.worded[part.reference] = None
            spans.append(Span(f"[{part.alt or part.reference}]", italic=True))
        return spans


_MARKUP = re.compile(r"[\\`*_\[\]!<&~^]")


def _linked(span: Span) -> list[Span]:
    """Return the span with the URLs in it made clickable."""
    parts: list[Span] = []
    at = 0
    for match in _URL.finditer(span.text):
        if match.start() > at:
            parts.append(span._replace(text=span.text[at : match.start()]))
        parts.append(span._replace(text=match[0], link=quote(match[0], safe="%/:=&?~#+!$,;'@()*[]")))
        at = match.end()
    if at < len(span.text):
        parts.append(span._replace(text=span.text[at:]))
    return parts
