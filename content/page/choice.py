"""Chooses the blocks of a page that are its main content, and removes the others from its tree."""

from collections.abc import Sequence
from itertools import accumulate

from turbohtml import Element

from .segments import Block, Frame, Picture, Segments, words_of
from .tables import is_layout

_CELLS = frozenset({"td", "th", "body", "html", "#"})
_KEPT_TABLE, _DOUBTFUL_TABLE = 0.2, 0.12
_KEPT_LAYOUT, _DROPPED_LAYOUT = 0.65, 0.15
_SHORT_PAGE_WORDS, _SURELY_AROUND = 120, 0.04
_PICTURE_LEVELS = 3
_MAIN_SHARE, _CONTENT_LIKE, _LINKS_SHARE = 0.95, 0.1, 0.8
_BESIDE = frozenset({"nav", "aside", "footer", "button", "form"})
_NAMING = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dt", "pre"})


def choose(blocks: Sequence[Block], probabilities: Sequence[float]) -> list[bool]:
    """Keep the most probable blocks, as many as make the expected F1 of the kept words highest.

    With p the probability that a word belongs to the main content, F1 of a set S is expected to be
    2·Σ_S p / (|S| + Σ p); it rises with each block in order of p up to one place, and falls behind it.

    Of a page of few words only what is surely not content goes: a reader loses more by a missing line than by a menu.
    """
    sizes = [len(block.words) for block in blocks]
    wanted = sum(p * n for p, n in zip(probabilities, sizes, strict=True))
    order = sorted(range(len(blocks)), key=lambda i: -probabilities[i])
    best, best_count, right, taken = 0.0, 0, 0.0, 0
    for count, i in enumerate(order, 1):
        right += probabilities[i] * sizes[i]
        taken += sizes[i]
        expected = 2 * right / (taken + wanted)
        if expected > best:
            best, best_count = expected, count
    kept = [False] * len(blocks)
    for i in order[:best_count]:
        kept[i] = True
    if sum(sizes) < _SHORT_PAGE_WORDS:
        return [stays or p >= _SURELY_AROUND for stays, p in zip(kept, probabilities, strict=True)]
    return kept


def whole_tables(segments: Segments, kept: list[bool], probabilities: Sequence[float]) -> None:
    """Keep a table whole or not at all, since a row with holes misleads; one that places parts of a page may be cut.

    Bare numbers look like little by themselves: a table that follows kept text is given the benefit of the doubt.
    """
    sizes = [0, *accumulate(len(block.words) for block in segments.blocks)]
    for frame in segments.frames:
        if frame.tag != "table" or frame.last <= frame.first:
            continue
        inside = range(frame.first, frame.last)
        total = sizes[frame.last] - sizes[frame.first]
        share = sum(len(segments.blocks[i].words) for i in inside if kept[i]) / total
        if share == 1:
            continue
        if frame.element is None or is_layout(frame.element):
            stays = share >= _KEPT_LAYOUT
            if not stays and share > _DROPPED_LAYOUT:
                continue
        else:
            stays = share >= _KEPT_TABLE
            if not share and frame.first and kept[frame.first - 1]:
                stays = sum(probabilities[i] * len(segments.blocks[i].words) for i in inside) >= _DOUBTFUL_TABLE * total
        kept[frame.first : frame.last] = [stays] * len(inside)


def keep_heading(segments: Segments, kept: list[bool], title: str) -> None:
    """Keep the first heading of the page if it is the page's title, wherever it stands."""
    words = words_of(title.lower())
    for i, block in enumerate(segments.blocks):
        if block.frame.tag == "h1" and block.words == words:
            kept[i] = True
            return


def words_left_out(segments: Segments, kept: Sequence[bool]) -> int:
    """Count the words of text in the main element, the innermost with nearly all kept words, that are not kept."""
    main = _main_frame(segments, kept)
    inside = zip(segments.blocks[main.first : main.last], kept[main.first : main.last], strict=True)
    return sum(len(block.words) for block, stays in inside if not stays and _is_text(block))


def _main_frame(segments: Segments, kept: Sequence[bool]) -> Frame:
    words = [0, *accumulate(len(block.words) * stays for block, stays in zip(segments.blocks, kept, strict=True))]
    around = (frame for frame in segments.frames if words[frame.last] - words[frame.first] >= _MAIN_SHARE * words[-1])
    return min(around, key=lambda frame: frame.last - frame.first)


def fill(segments: Segments, kept: list[bool], probabilities: Sequence[float]) -> None:
    """Keep all that stands in the main element, as is right for documentation: what is little by itself, too.

    The main element is the innermost that has most of the kept words, or one around it whose further text could be
    content as well. What is mostly links stays as it was judged.
    """
    blocks = segments.blocks
    text = [0, *accumulate(len(block.words) * _is_text(block) for block in blocks)]
    weighed = zip(blocks, probabilities, strict=True)
    likely = [0.0, *accumulate(len(block.words) * p * _is_text(block) for block, p in weighed)]
    main = _main_frame(segments, kept)
    for frame in main.lineage():
        more = text[frame.last] - text[frame.first] - text[main.last] + text[main.first]
        more_likely = likely[frame.last] - likely[frame.first] - likely[main.last] + likely[main.first]
        if more_likely < _CONTENT_LIKE * more:
            break
        main = frame
    for i, block in enumerate(blocks):
        kept[i] |= (main.first <= i < main.last or block.frame.tag == "h1") and _is_text(block)


def _is_text(block: Block) -> bool:
    """Tell text from what stands beside it inside a main element."""
    if block.frame.tag in _NAMING:
        return True
    if block.linked > _LINKS_SHARE * len(block.words):
        return False
    return not any(frame.tag in _BESIDE or frame.hidden for frame in block.frame.lineage())


def prune(segments: Segments, kept: Sequence[bool]) -> None:
    """Remove from the tree what is not kept, and what stands empty afterwards, in place."""
    for block, stays in zip(segments.blocks, kept, strict=True):
        if not stays:
            for node in block.nodes:
                node.extract()
    counts = [0, *accumulate(kept)]
    for picture in segments.pictures:
        if not _stays(picture, kept, counts):
            picture.element.extract()
    gone: set[int] = set()
    for frame in segments.frames:
        if frame.parent is not None and id(frame.parent) in gone:
            gone.add(id(frame))
        elif frame.tag in _NAMING and frame.first == frame.last and _is_between(frame.first, kept):
            # A listing or a term may consist of signs alone.
            continue
        elif counts[frame.last] == counts[frame.first] and frame.tag not in _CELLS and _is_bare(frame.element):
            gone.add(id(frame))
            if frame.element is not None:
                frame.element.extract()


def _is_between(at: int, kept: Sequence[bool]) -> bool:
    return (at == 0 or kept[at - 1]) and (at == len(kept) or kept[at])


def _is_bare(element: Element | None) -> bool:
    return element is not None and element.select_one("img") is None


def _stays(picture: Picture, kept: Sequence[bool], counts: Sequence[int]) -> bool:
    """A picture stays between two kept blocks, or close to kept text that is most of the text around it."""
    at = picture.at
    if at < len(kept) and kept[at] and (at == 0 or kept[at - 1]):
        return True
    frame: Frame | None = picture.frame
    for _ in range(_PICTURE_LEVELS):
        if frame is None:
            return False
        inside = frame.last - frame.first
        if inside:
            return counts[frame.last] - counts[frame.first] > inside / 2
        frame = frame.parent
    return False
