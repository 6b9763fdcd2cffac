"""Cuts a parsed page into blocks, the runs of text a reader sees as one, and remembers where each stood."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from turbohtml import Document, Element, Node, Text

_WORD = re.compile(r"\w+")
_WITHOUT_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Thai, Lao, Burmese, Khmer, Kana and Han."""

_IS_WITHOUT_SPACES = re.compile(f"[{_WITHOUT_SPACES}]")
_PIECE = re.compile(f"[{_WITHOUT_SPACES}]{{1,2}}|[^\\W{_WITHOUT_SPACES}]+")

UNSEEN = frozenset({
    "script", "style", "template", "svg", "iframe", "noscript", "head", "title", "object", "embed", "canvas", "audio",
    "video", "select", "datalist", "textarea", "noframes", "frameset",
})  # fmt: skip
"""Elements whose text no reader sees as text."""

_INLINE = (
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark nobr picture q rb rp rt "
    "rtc ruby s samp small source span strike strong sub sup time tt u var wbr input meter output progress math mi mo "
    "mn ms mrow msup msub mfrac semantics annotation mtext mstyle mspace"
)
INLINE = frozenset(_INLINE.split())
"""Elements that do not interrupt a run of text."""

KINDS: tuple[tuple[str, str], ...] = (
    ("navigation", r"nav|menu|breadcrumb|pagination|pager|crumb|tabs?\b|toolbar|skip"),
    ("header", r"head(?!ing|line)|masthead|topbar|hero|banner|branding|logo"),
    ("footer", r"foot(?!note)|copyright|legal|colophon|bottom"),
    ("side", r"side|aside|widget|rail|secondary|complement|drawer|offcanvas"),
    ("comments", r"comment|repl(y|ies)|discuss|disqus|respond|feedback"),
    ("related", r"relat|recommend|recirc|more-|popular|trending|also|similar|upsell|cross-?sell|teaser|promo|suggest"),
    ("advert", r"\bads?\b|advert|sponsor|ad-|-ad\b|dfp|gpt|taboola|outbrain|affiliate"),
    ("notice", r"cookie|consent|gdpr|newsletter|subscri|sign-?up|modal|popup|overlay|toast|alert|notice|paywall|cta"),
    ("social", r"share|social|follow|facebook|twitter|like-|whatsapp"),
    ("byline", r"author|byline|bio|date|time|publish|meta|posted|avatar"),
    ("tags", r"\btags?\b|categor|topic|label|keyword|badge"),
    ("content", r"content|article|entry|post(?!ed|er)|story|\bbody|\bmain|text|prose|markdown|rich|rte\b|wysiwyg|copy"),
    ("product", r"product|price|spec|descr|detail|feature|review|rating|sku|offer|variant|buy|cart"),
    ("thread", r"thread|message|answer|question|topic|forum|reply|post-?body|bbcode|user-?content"),
    ("controls", r"search|filter|facet|sort|form|login|account|button|btn|dropdown|select|option|toggle|control"),
    ("hidden", r"hidden|sr-only|visually|screen-reader|collapse|invisible|offscreen|d-none|display-none|print-only"),
    ("contents", r"toc\b|table-of-contents|contents\b|index|outline|sitemap"),
    ("listing", r"card|grid|item|result|tile|list|gallery|carousel|slider|swiper|collection"),
    ("caption", r"caption|figure|image|photo|media|thumb|gallery|video|credit"),
    ("location", r"section|block|module|container|wrapper|row|col"),
)
"""What class names and ids say about their element: a word of ours, and how page authors spell it."""

_KIND_PATTERNS = tuple((1 << number, re.compile(pattern, re.IGNORECASE)) for number, (_, pattern) in enumerate(KINDS))
_LINES = frozenset({"br", "div", "li", "p", "tr"})
"""What begins a new line in a listing, which is one block however it is built."""

_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_MAX_NAME = 80
_MAX_NAMES = 24
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TOKEN = re.compile(r"[a-z]{3,18}")


@dataclass(slots=True, eq=False)
class Frame:
    """One block element around text: what it says about itself and which blocks lie inside it.

    Attributes:
        kinds: bits of `KINDS` found in its own class, id and role.
        tokens: words out of its class and id, lower case.
        first: number of the first block inside it.
        last: number of the last block inside it plus one; set when it closes.
        peers: how many siblings share its tag and class.
    """

    tag: str
    element: Element | None
    parent: "Frame | None"
    depth: int
    kinds: int
    hidden: bool
    tokens: tuple[str, ...]
    signature: str
    first: int
    last: int = 0
    peers: int = 0
    children: dict[str, int] = field(default_factory=dict[str, int])

    def lineage(self) -> Iterator["Frame"]:
        """Itself and the frames around it, innermost first."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.parent


@dataclass(slots=True, eq=False)
class Block:
    """A run of text in one block element.

    Attributes:
        words: its words, lower case.
        linked: how many of them are inside links.
        strong: how many of them are in bold or emphasised.
        nodes: the text nodes it consists of.
        images: how many images stand in it.
    """

    frame: Frame
    text: str
    words: list[str]
    linked: int
    strong: int
    nodes: list[Text]
    images: int


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """An image: the frame it stands in, and the number of the block it belongs to or comes before."""

    element: Element
    frame: Frame
    at: int


@dataclass(slots=True)
class _Open:
    """The run of text being collected."""

    frame: Frame
    parts: list[str] = field(default_factory=list[str])
    nodes: list[Text] = field(default_factory=list[Text])
    linked: int = 0
    strong: int = 0
    images: int = 0


@dataclass(slots=True)
class _Visit:
    """One level of the walk."""

    children: Iterator[Node]
    frame: Frame
    is_block: bool
    linked: bool
    strong: bool


class _Walk:
    """Walks a document once, without recursion, and fills the list of blocks."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.frames: list[Frame] = []
        self.pictures: list[Picture] = []

    def run(self, root: Node) -> None:
        top = Frame("#", None, None, 0, 0, False, (), "#", 0)
        self.frames.append(top)
        run = _Open(top)
        stack = [_Visit(iter(root.children), top, True, False, False)]
        while stack:
            here = stack[-1]
            child = next(here.children, None)
            if child is None:
                stack.pop()
                if here.is_block:
                    run = self._flush(run, stack[-1].frame if stack else top)
                    here.frame.last = len(self.blocks)
            elif isinstance(child, Text):
                self._take(run, here, child)
            elif isinstance(child, Element):
                run = self._enter(stack, run, here, child)

    def _enter(self, stack: list[_Visit], run: _Open, here: _Visit, child: Element) -> _Open:
        tag = child.tag
        if tag in UNSEEN:
            return run
        if tag in INLINE or here.frame.tag == "pre":
            if tag in _LINES:
                run.parts.append("\n")
            if tag == "img":
                run.images += 1
                self.pictures.append(Picture(child, here.frame, len(self.blocks)))
            linked = here.linked or tag == "a"
            strong = here.strong or tag in {"b", "strong", "em", "i"}
            stack.append(_Visit(iter(child.children), here.frame, False, linked, strong))
            return run
        frame = self._frame(child, tag, here.frame)
        run = self._flush(run, frame)
        stack.append(_Visit(iter(child.children), frame, True, here.linked, False))
        return run

    def _frame(self, element: Element, tag: str, parent: Frame) -> Frame:
        kinds, tokens, signature, hidden = 0, (), tag, parent.hidden
        attributes = element.attrs.copy()
        if attributes:
            classes = _names(attributes.get("class"))
            names = classes + _names(attributes.get("id")) + _names(attributes.get("role"))
            for name in names[:_MAX_NAMES]:
                bits, spoken = _classify(name[:_MAX_NAME])
                kinds |= bits
                tokens += spoken
            signature = f"{tag}.{' '.join(classes)}"
            style = attributes.get("style")
            hidden = (
                hidden
                or "hidden" in attributes
                or attributes.get("aria-hidden") == "true"
                or (isinstance(style, str) and _HIDING.search(style) is not None)
            )
        frame = Frame(tag, element, parent, parent.depth + 1, kinds, hidden, tokens, signature, len(self.blocks))
        parent.children[signature] = parent.children.get(signature, 0) + 1
        self.frames.append(frame)
        return frame

    def _take(self, run: _Open, here: _Visit, node: Text) -> None:
        data = node.data
        run.parts.append(data)
        run.nodes.append(node)
        if here.linked or here.strong:
            count = len(words_of(data))
            run.linked += count if here.linked else 0
            run.strong += count if here.strong else 0

    def _flush(self, run: _Open, following: Frame) -> _Open:
        text = "".join(run.parts)
        words = words_of(text.lower())
        if words:
            self.blocks.append(Block(run.frame, text, words, run.linked, run.strong, run.nodes, run.images))
        return _Open(following)


def words_of(text: str) -> list[str]:
    """Return the words of a text; in scripts that put no spaces between them, pairs of characters."""
    has_spaces = text.isascii() or not _IS_WITHOUT_SPACES.search(text)
    return (_WORD if has_spaces else _PIECE).findall(text)


def _names(value: str | list[str] | None) -> list[str]:
    return value.split() if isinstance(value, str) else value or []


@lru_cache(maxsize=50_000)
def _classify(name: str) -> tuple[int, tuple[str, ...]]:
    spread = _CAMEL.sub("-", name)
    bits = sum(bit for bit, pattern in _KIND_PATTERNS if pattern.search(spread))
    return bits, tuple(_TOKEN.findall(spread.lower()))


@dataclass(frozen=True, slots=True)
class Segments:
    """The blocks of a page in reading order, and the frames around them."""

    blocks: Sequence[Block]
    frames: Sequence[Frame]
    pictures: Sequence[Picture] = ()


def segment(document: Document | Element) -> Segments:
    """Cut a parsed page into blocks; text that no reader sees (scripts, styles, vector drawings) is left out."""
    walk = _Walk()
    walk.run(document)
    for frame in walk.frames:
        frame.peers = frame.parent.children[frame.signature] if frame.parent else 1
    return Segments(walk.blocks, walk.frames, walk.pictures)
