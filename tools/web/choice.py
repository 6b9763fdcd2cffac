"""Chooses the blocks of a page that are its main content, and removes the others from its tree."""

from collections.abc import Sequence
from itertools import accumulate

from turbohtml import Element

from .segments import Block, Frame, Picture, Segments

_CELLS = frozenset({"td", "th", "body", "html", "#"})
_KEPT_TABLE, _DROPPED_TABLE = 0.65, 0.15
_PICTURE_LEVELS = 3


def choose(blocks: Sequence[Block], probabilities: Sequence[float]) -> list[bool]:
    """Keep the most probable blocks, as many as make the expected F1 of the kept words highest.

    With p the probability that a word belongs to the main content, F1 of a set S is expected to be
    2·Σ_S p / (|S| + Σ p); it rises with each block in order of p up to one place, and falls behind it.
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
    return kept


def whole_tables(segments: Segments, kept: list[bool]) -> None:
    """A table most of which is kept is kept whole, and one that is hardly kept goes: a row with holes says nothing."""
    sizes = [0, *accumulate(len(block.words) for block in segments.blocks)]
    for frame in segments.frames:
        if frame.tag != "table" or frame.last <= frame.first:
            continue
        total = sizes[frame.last] - sizes[frame.first]
        share = sum(len(segments.blocks[i].words) for i in range(frame.first, frame.last) if kept[i]) / total
        if share >= _KEPT_TABLE or share <= _DROPPED_TABLE:
            kept[frame.first : frame.last] = [share >= _KEPT_TABLE] * (frame.last - frame.first)


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
        elif counts[frame.last] == counts[frame.first] and frame.tag not in _CELLS and _is_bare(frame.element):
            gone.add(id(frame))
            if frame.element is not None:
                frame.element.extract()


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
