"""Parses a page the way a browser does and takes away what no reader sees; everything after works on that one tree."""

import re

from turbohtml import Document, DocumentFragment, Element, Text, parse, parse_fragment

from .segments import words_of
from .tables import span

_MACHINERY = (
    'script:not([type^="math/"]), style, link, iframe, object, embed, canvas, audio, video, template, noscript, '
    ".mw-editsection"
)
_LABELS = frozenset({"a", "span", "time", "label", "button"})
_NEIGHBOURS = ", ".join(f"{one} + {other}" for one in sorted(_LABELS) for other in sorted(_LABELS))
_EXACT = "pre, code, kbd, samp, dt, .code-header, math, .katex, .MathJax, .MathJax_Preview, mjx-container"
_ENOUGH_WORDS = 40
_MOST_SPANNED = 50_000
_NO_BREAK = re.compile(r"&nbsp;|&#160;|&#xa0;|\u00a0", re.IGNORECASE)
"""A space that keeps words together looks like any other, and no search for words finds it."""

_POSTS = (
    ".twitter-tweet, .twitter-video, .instagram-media, .tiktok-embed, .reddit-embed-bq, .reddit-card, .bluesky-embed, "
    ".mastodon-embed, .text-post-media, .fb-post, .imgur-embed-pub, .flickr-embed"
)
_STREAMED = re.compile(r"S:[0-9a-f]+")


def parse_page(html: str) -> Document:
    """Parse a page as a browser with scripts does: what stands in `noscript` cannot tear the rest apart."""
    html = _NO_BREAK.sub(" ", html)
    return parse(html, scripting=True, allow_declarative_shadow_roots=False, positions=False)


def prepare(document: Document) -> None:
    """Bring hidden content forward and remove machinery, in place.

    Forums that draw themselves with scripts keep the whole thread in `noscript`; web components keep their content
    in a `template`; servers that stream send late parts in a hidden `div` that a script moves to its place.
    """
    for element in document.select("noscript"):
        _open_noscript(element)
    for element in document.select("template[shadowrootmode]"):
        for child in element.children:
            if isinstance(child, DocumentFragment):
                element.replace_with(child)
                break
    for element in document.select("div[hidden][id]"):
        if _STREAMED.fullmatch(element.attr("id") or ""):
            del element.attrs["hidden"]
    for post in document.select(_POSTS):
        # A post that is quoted is a quotation, and no button to share the page.
        del post.attrs["class"]
    document.remove(_MACHINERY)
    _mark_listings(document)
    _bound_spans(document)
    _part_neighbours(document)


def _mark_listings(document: Document) -> None:
    """Make a `pre` of the code of Doxygen and javadoc, which are set as code only by their style."""
    for listing in document.select("div.fragment, div.member-signature"):
        listing.tag = "pre"
        if listing.select_one("div.line") is not None:
            for child in listing.children:
                if isinstance(child, Text) and not child.data.strip():
                    child.extract()


def _part_neighbours(document: Document) -> None:
    """Put a space between labels that only their style keeps apart, such as prices, tags and counts."""
    for element in document.select(_NEIGHBOURS):
        before = element.previous_sibling
        if not isinstance(before, Element) or before.tag not in _LABELS or element.closest(_EXACT) is not None:
            continue
        # Words drawn letter by letter stay words.
        if len(before.text) > 1 and len(element.text) > 1:
            element.insert_before(Text(" "))


def _bound_spans(document: Document) -> None:
    """Cells that claim to span more places than a page can have lose their spans: extractors count each place."""
    cells = document.select("[colspan], [rowspan]")
    if sum(span(cell, "colspan") * span(cell, "rowspan") for cell in cells) > _MOST_SPANNED:
        for cell in cells:
            for name in ("colspan", "rowspan"):
                if name in cell.attrs:
                    del cell.attrs[name]


def _open_noscript(element: Element) -> None:
    if element.closest("head") is not None:
        return
    inside = parse_fragment(element.text)
    if len(words_of(inside.text)) < _ENOUGH_WORDS:
        return
    shown = Element("div", {"class": ["noscript"]})
    shown.extend(list(inside.children))
    element.replace_with(shown)
