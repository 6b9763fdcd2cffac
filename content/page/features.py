"""Describes each block of a page in numbers, for the trees that decide which blocks are main content."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from .segments import KINDS, Block, Frame, Segments
from .traits import TYPES, PageTraits
from .votes import Candidate, agreement, shares

_TAGS = {
    "p": 1, "h1": 2, "h2": 3, "h3": 4, "h4": 5, "h5": 6, "h6": 6, "li": 7, "td": 8, "th": 9, "dt": 10, "dd": 11,
    "pre": 12, "blockquote": 13, "figcaption": 14, "caption": 14, "summary": 15, "div": 16, "section": 17,
    "article": 18, "main": 18, "header": 19, "footer": 20, "nav": 21, "aside": 22, "button": 23, "option": 23,
    "legend": 24, "form": 24, "fieldset": 24, "address": 25, "body": 26, "ul": 7, "ol": 7,
}  # fmt: skip
_NEAR = ("nav", "header", "footer", "aside", "main", "article", "form", "table", "ul", "figure", "blockquote",
         "section", "details", "li", "button", "dl", "pre")  # fmt: skip
_NEAR_OF = {tag: number for number, tag in enumerate(_NEAR)} | {"ol": _NEAR.index("ul"), "dialog": _NEAR.index("form")}
_PHRASES: tuple[tuple[str, str], ...] = (
    (
        "legal",
        r"cookie|privacy|terms (of|and|&)|©|copyright|all rights|gdpr|disclaimer|affiliate|版权|隐私|备案|许可证",
    ),
    (
        "sign",
        (
            r"subscri|sign ?(up|in)|log ?in|newsletter|register|account|password|e-?mail address|"
            r"download (the|our) app|登录|注册|订阅|客户端"
        ),
    ),
    (
        "more",
        (
            r"read more|learn more|see (all|more|also)|view (all|more)|show more|load more|related|you (may|might) |"
            r"recommended|trending|more (from|in|about)|continue reading|next|previous|back to|"
            r"更多|相关|推荐|热门|排行|下一|上一|返回"
        ),
    ),
    (
        "share",
        (
            r"share|tweet|facebook|twitter|linkedin|whatsapp|instagram|pinterest|follow us|copy link|print|"
            r"分享|微信|微博|转发|二维码"
        ),
    ),
    (
        "byline",
        (
            r"^\s*(by|written by|posted|published|updated|last (updated|modified|edited))\b|\b\d+ min(ute)?s? read|"
            r"\bago\b|来源|作者|编辑|记者|发布"
        ),
    ),
    (
        "comment",
        r"comment|repl(y|ies)|leave a|join the (discussion|conversation)|upvote|votes?\b|points?\b|评论|回复|跟帖|点赞",
    ),
    (
        "shop",
        (
            r"add to (cart|bag|basket|wish)|in stock|out of stock|shipping|free delivery|quantity|\bqty\b|checkout|"
            r"buy now|wishlist|returns"
        ),
    ),
    ("price", r"[$€£¥]\s?\d|\d\s?[€£¥]|\b(usd|eur|gbp)\b"),
    ("rating", r"\d(\.\d)? (out of|stars?|reviews?|ratings?)|\(\d+\)|customer reviews?"),
    ("list", r"sort by|filter|\bresults\b|showing \d|per page|\d+ (items|products|results)|refine|compare"),
    ("ad", r"advert|sponsored|promoted|广告|推广"),
    ("date", r"\b(19|20)\d\d\b|\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d|\d年"),
    ("skip", r"skip to|jump to|accessibility|menu|close|toggle|loading|javascript|browser"),
)
"""What short texts beside the main content tend to say."""

_PHRASE_PATTERNS = tuple(re.compile(pattern) for _, pattern in _PHRASES)
_SENTENCE = re.compile(r"[.!?…。！？؟][\"'”’)\]]*(?:\s|$)|[。！？]")
_SECTIONS = frozenset({"section", "article", "main", "aside", "nav", "footer", "header", "form", "table", "body"})
_LEVELS = 5
_LONG_WORDS = 60
_SAYS_NOTHING = [0.0] * len(_PHRASES)
_WINDOWS = (1, 3, 8)
_FAR = 12
VOTERS = ("trafilatura", "readability", "resiliparse", "body")


def _names() -> list[str]:
    names = ["words", "word_length", "link_density", "strong", "images", "sentences", "ends_sentence", "upper_start",
             "digits", "commas", "capitals", "repeats", "bars", "questions", "colon", "tag", "depth", "hidden",
             "peers0", "peers1", "peers2", "peers_max"]  # fmt: skip
    names += [f"near_{tag}" for tag in _NEAR] + [f"kind_{kind}" for kind, _ in KINDS]
    names += [f"says_{name}" for name, _ in _PHRASES]
    names += ["index", "before", "after_h1", "from_h1", "from_end", "n_blocks"]
    names += [f"vote_{voter}" for voter in VOTERS] + ["votes"]
    names += [f"span_{voter}" for voter in VOTERS]
    for offset in (-2, -1, 1, 2):
        names += [f"{what}{offset:+d}" for what in ("words", "links", "tag", "votes", "kin")]
    for window in _WINDOWS:
        names += [f"{what}_w{window}" for what in ("words", "links", "votes")]
    for level in range(_LEVELS):
        names += [
            f"{what}_l{level}" for what in ("words", "links", "share", "blocks", "votes", "trafilatura", "readability")
        ]
    names += ["section_words", "section_links", "section_votes", "heading_level", "heading_votes", "heading_says"]
    names += ["page_words", "page_links", "page_paragraphs", "page_cells", "page_items", "page_code", "page_h2",
              "page_article", "page_path"]  # fmt: skip
    names += [f"page_{kind}" for kind in TYPES]
    names += [f"page_share_{voter}" for voter in VOTERS]
    names += ["agree_tr", "agree_tz", "agree_rz"]
    return names


NAMES = _names()
"""The columns, in the order in which `describe` gives them."""


class _Sums:
    """Running totals over the blocks, so that any stretch of the page is summed at once."""

    def __init__(self, blocks: Sequence[Block], votes: Sequence[Sequence[float]]) -> None:
        sizes = [len(block.words) for block in blocks]
        self.words = [0, *accumulate(sizes)]
        self.linked = [0, *accumulate(block.linked for block in blocks)]
        self.votes = [[0.0, *accumulate(v * n for v, n in zip(vote, sizes, strict=True))] for vote in votes]
        mean = [sum(vote[i] for vote in votes) / len(votes) for i in range(len(blocks))]
        self.mean = mean
        self.agreed = [0.0, *accumulate(m * n for m, n in zip(mean, sizes, strict=True))]
        self.seen = [
            [math.log1p(size), block.linked / size, _TAGS.get(block.frame.tag, 0), agreed]
            for block, size, agreed in zip(blocks, sizes, mean, strict=True)
        ]
        self._stretches: dict[tuple[int, int], list[float]] = {}

    def links(self, first: int, last: int) -> float:
        return (self.linked[last] - self.linked[first]) / max(1, self.words[last] - self.words[first])

    def agreed_share(self, first: int, last: int) -> float:
        return (self.agreed[last] - self.agreed[first]) / max(1, self.words[last] - self.words[first])

    def stretch(self, first: int, last: int) -> list[float]:
        """Describe a stretch: size, links, share of the page, blocks, votes, and the two best voters' votes."""
        known = self._stretches.get((first, last))
        if known is None:
            size = self.words[last] - self.words[first]
            known = self._stretches[first, last] = [
                math.log1p(size), self.links(first, last), size / max(1, self.words[-1]), math.log1p(last - first),
                self.agreed_share(first, last),
                *((votes[last] - votes[first]) / max(1, size) for votes in self.votes[:2]),
            ]  # fmt: skip
        return known


def describe(segments: Segments, candidates: Sequence[Candidate], traits: PageTraits) -> list[list[float]]:
    """Describe every block; `candidates` in the order of `VOTERS`."""
    blocks = segments.blocks
    if not blocks:
        return []
    votes = [list(column) for column in zip(*(shares(block, candidates) for block in blocks), strict=True)]
    sums = _Sums(blocks, votes)
    lines = [" ".join(block.words) for block in blocks]
    repeats = Counter(lines)
    says = [_says(block) for block in blocks]
    page = _page(blocks, candidates, sums, traits)
    around = _around(segments, sums)
    headings = _headings(blocks, sums, says)
    first_h1 = next((i for i, block in enumerate(blocks) if block.frame.tag == "h1"), -1)
    spans = [_span(vote) for vote in votes]
    rows: list[list[float]] = []
    total, count = sums.words[-1], len(blocks)
    frames: dict[int, list[float]] = {}
    for i, block in enumerate(blocks):
        key = id(block.frame)
        lineage = frames.get(key)
        if lineage is None:
            lineage = frames[key] = _lineage(block.frame)
        row = _own(block, repeats[lines[i]])
        row += lineage
        row += says[i]
        row += [i / count, sums.words[i] / total, float(first_h1 >= 0 and i >= first_h1),
                max(-50, min(50, i - first_h1)) if first_h1 >= 0 else -99, min(99, count - i), count]  # fmt: skip
        row += [vote[i] for vote in votes]
        row.append(sums.mean[i])
        row += [_within(i, span) for span in spans]
        row += _neighbours(blocks, sums, i)
        row += around[key]
        row += headings[i]
        row += page
        rows.append(row)
    return rows


def _says(block: Block) -> list[float]:
    if len(block.words) >= _LONG_WORDS:
        return _SAYS_NOTHING
    text = block.text.lower()
    return [1.0 if pattern.search(text) else 0.0 for pattern in _PHRASE_PATTERNS]


def _own(block: Block, repeats: int) -> list[float]:
    text, words = block.text.strip(), block.words
    count = len(words)
    return [
        math.log1p(count), sum(map(len, words)) / count, block.linked / count, block.strong / count, block.images,
        len(_SENTENCE.findall(text)), float(text[-1:] in ".!?…。！？\"”"), float(text[:1].isupper()),
        sum(word.isdigit() for word in words) / count, sum(map(text.count, ",，、،")) / count,
        sum(map(str.isupper, text[:200])) / max(1, len(text[:200])), repeats,
        text.count("|") + text.count("•") + text.count("·"), text.count("?"), float(text[-1:] == ":"),
    ]  # fmt: skip


def _lineage(frame: Frame) -> list[float]:
    """The frame itself, and what stands around it: how close the next element of each tag and kind is."""
    peers: list[float] = []
    near = [0.0] * len(_NEAR)
    kinds = [0.0] * len(KINDS)
    seen = 0
    for distance, level in enumerate(frame.lineage()):
        closeness = float(max(1, _FAR - distance))
        peers.append(min(99, level.peers))
        number = _NEAR_OF.get(level.tag)
        if number is not None and not near[number]:
            near[number] = closeness
        fresh = level.kinds & ~seen
        if fresh and level.tag not in {"body", "html"}:
            seen |= fresh
            for bit in range(len(KINDS)):
                if fresh >> bit & 1:
                    kinds[bit] = closeness
    itself = [_TAGS.get(frame.tag, 0), frame.depth, float(frame.hidden)]
    return [*itself, *[*peers, 0, 0][:3], max(peers), *near, *kinds]


def _span(vote: Sequence[float]) -> tuple[int, int]:
    kept = [i for i, share in enumerate(vote) if share > 0.6]
    return (kept[0], kept[-1]) if kept else (1, 0)


def _within(i: int, span: tuple[int, int]) -> float:
    first, last = span
    if first > last:
        return -30.0
    return float(max(-20, min(i - first, last - i, 5)))


def _neighbours(blocks: Sequence[Block], sums: _Sums, i: int) -> list[float]:
    row: list[float] = []
    count = len(blocks)
    here = blocks[i].frame
    for offset in (-2, -1, 1, 2):
        at = i + offset
        if 0 <= at < count:
            other = blocks[at]
            row += sums.seen[at]
            row.append(2.0 * (other.frame.signature == here.signature) + (other.frame.parent is here.parent))
        else:
            row += [-1.0, -1.0, -1.0, -1.0, -1.0]
    for window in _WINDOWS:
        first, last = max(0, i - window), min(count, i + window + 1)
        row += [
            math.log1p((sums.words[last] - sums.words[first]) / (last - first)),
            sums.links(first, last),
            sums.agreed_share(first, last),
        ]
    return row


def _around(segments: Segments, sums: _Sums) -> dict[int, list[float]]:
    """The stretches of page that enclose each frame, from the innermost that holds more than the frame itself."""
    known: dict[int, list[float]] = {}
    for block in segments.blocks:
        if id(block.frame) in known:
            continue
        row: list[float] = []
        section: list[float] = []
        last_range = (block.frame.first, block.frame.last)
        for level in block.frame.lineage():
            stretch = (level.first, level.last)
            if stretch != last_range and len(row) < _LEVELS * 7:
                last_range = stretch
                row += sums.stretch(*stretch)
            if not section and level.tag in _SECTIONS:
                size, links, _, _, agreed, _, _ = sums.stretch(*stretch)
                section = [size, links, agreed]
            if section and len(row) == _LEVELS * 7:
                break
        row += [-1.0] * (_LEVELS * 7 - len(row))
        known[id(block.frame)] = row + (section or [-1.0, -1.0, -1.0])
    return known


_LEVEL_OF = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}


def _headings(blocks: Sequence[Block], sums: _Sums, says: Sequence[Sequence[float]]) -> list[list[float]]:
    """The heading each block stands under: its level, how it was voted, and whether it announces something else."""
    rows: list[list[float]] = []
    current = [0.0, -1.0, 0.0]
    for i, block in enumerate(blocks):
        level = _LEVEL_OF.get(block.frame.tag)
        rows.append(current)
        if level:
            said = sum(number * found for number, found in enumerate(says[i][:6], 1))
            current = [float(level), sums.mean[i], said]
    return rows


def _page(blocks: Sequence[Block], candidates: Sequence[Candidate], sums: _Sums, traits: PageTraits) -> list[float]:
    total = max(1, sums.words[-1])
    by_tag: Counter[str] = Counter()
    for block in blocks:
        by_tag[block.frame.tag] += len(block.words)
    words = [candidate.words for candidate in candidates]
    row = [
        math.log1p(total), sums.links(0, len(blocks)), by_tag["p"] / total, (by_tag["td"] + by_tag["th"]) / total,
        by_tag["li"] / total, by_tag["pre"] / total, float(sum(block.frame.tag == "h2" for block in blocks)),
        float(traits.article), float(traits.path_depth),
    ]  # fmt: skip
    row += [float(kind in traits.types) for kind in TYPES]
    row += [len(one) / total for one in words]
    row += [agreement(words[0], words[1]), agreement(words[0], words[2]), agreement(words[1], words[2])]
    return row
