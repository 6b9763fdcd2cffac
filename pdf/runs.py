"""Where a paragraph falls apart before it is drawn: runs of one style, one font, one script and one direction."""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from .scripts import CLUSTER, is_joining, is_mark, is_neutral, is_shaped_script, needs_shaping, script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .canvas import Style
    from .face import Face
    from .fonts import Chain

words = re.compile(" |[^ ]+").findall
"""The words of a text and the spaces between them; a word is shaped as a whole, and remembered."""


class Run(NamedTuple):
    """A piece of a paragraph that is drawn with one font in one direction.

    Attributes:
        level: of embedding; odd ones run from right to left.
        shaped: its letters change with their neighbours.
        turns: it begins with punctuation or a space, after text that runs the other way.
    """

    start: int
    end: int
    style: Style
    chain: Chain
    face: Face
    level: int = 0
    shaped: bool = False
    turns: bool = False


def runs_of(text: str, start: int, end: int, style: Style, chain: Chain, levels: list[int] | None) -> Iterator[Run]:
    """Yield the runs of a part of a paragraph that is in one style.

    Args:
        text: of the whole paragraph.
        start: of the part.
        end: of the part.
        style: of the part.
        chain: the fonts of that style.
        levels: of embedding of each character; None when all runs from left to right.
    """
    if levels is None and (text.isascii() or not needs_shaping(text, start, end)):
        yield from _simple(text, start, end, style, chain, 0)
        return
    kinds = _kinds(text, start, end, levels)
    at = start
    for (kind, level), same in groupby(kinds):
        stop = at + len(list(same))
        if kind or level % 2:
            turns = bool(levels and at and level % 2 and not levels[at - 1] % 2 and is_neutral(text[at]))
            for face, pieces in groupby(_pieces(text[at:stop], chain), itemgetter(1)):
                length = sum(len(piece) for piece, _ in pieces)
                yield Run(at, at + length, style, chain, face, level, shaped=True, turns=turns)
                at, turns = at + length, False
        else:
            yield from _simple(text, at, stop, style, chain, level)
        at = stop


def _simple(text: str, start: int, end: int, style: Style, chain: Chain, level: int) -> Iterator[Run]:
    part = text[start:end]
    if len(faces := set(map(chain.face_of.__getitem__, part))) == 1:
        yield Run(start, end, style, chain, faces.pop(), level)
        return
    for face, same in groupby(map(chain.face_of.__getitem__, part)):
        end = start + len(list(same))
        yield Run(start, end, style, chain, face, level)
        start = end


def _pieces(part: str, chain: Chain) -> Iterator[tuple[str, Face]]:
    """Yield words, each with the font that can draw it whole; without such a font clusters, or single characters."""
    last = None
    for word in words(part):
        face = last if word == " " and last is not None and last.has(" ") else chain.find_shaping(word)
        if face is not None:
            yield word, face
        else:
            for cluster in CLUSTER.findall(word):
                if whole := chain.find_shaping(cluster):
                    yield cluster, whole
                else:
                    yield from ((character, chain.face_of[character]) for character in cluster)
        last = face


def _kinds(text: str, start: int, end: int, levels: list[int] | None) -> list[tuple[str, int]]:
    """Return for each character the script it must be shaped in, empty for none, and its level."""
    kinds: list[str] = []
    last = ""
    for index in range(start, end):
        character = text[index]
        shared = levels is not None and is_neutral(character) and not is_mark(character) and not script(character)
        if is_shaped_script(character) and not is_joining(character) and not shared:
            last = script(character) or last or "SHARED"
        elif is_mark(character) or is_joining(character):
            if not last:
                last = "MARKED"
                if kinds:
                    # A mark takes the letter it stands on along.
                    kinds[-1] = last
        elif character != " " or index + 1 == end or not is_shaped_script(text[index + 1]):
            last = ""
        kinds.append(last)
    return [(kind, levels[start + i] if levels is not None else 0) for i, kind in enumerate(kinds)]
