"""Where a text falls apart on its way to a line: at words, where the font changes, where the shaping does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .scripts import CLUSTER, is_joining, is_mark, is_neutral, is_shaped_script, script

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .faces import Face
    from .fonts import Chain


def words(span: str) -> Iterable[tuple[int, int]]:
    """Yield the words of a span and the spaces between them; a word is shaped as a whole, and cached."""
    start = 0
    while start < len(span):
        space = span.find(" ", start)
        if space < 0:
            yield start, len(span)
            return
        if space > start:
            yield start, space
        yield space, space + 1
        start = space + 1


def choices(span: str, chain: Chain) -> Iterable[tuple[int, int, Face | None]]:
    """Yield the words of a span, each with the one font that can draw it; without such a font, its clusters.

    The font of a space is None: it is drawn with the font of the word before.
    """
    for begin, end in words(span):
        if span[begin] == " ":
            yield begin, end, None
        elif (face := chain.find_all(span[begin:end])) is not None:
            yield begin, end, face
        else:
            for match in CLUSTER.finditer(span, begin, end):
                face = chain.find_all(match[0])
                if face is not None:
                    yield match.start(), match.end(), face
                else:
                    yield from ((i, i + 1, chain.face_of[span[i]]) for i in range(match.start(), match.end()))


def kinds_of(text: str, start: int, end: int, levels: list[int] | None) -> list[tuple[str, int]]:
    """Return for each character the script it must be shaped in, empty for none, and its level."""
    kinds: list[str] = []
    previous = ""
    for index in range(start, end):
        character = text[index]
        loose = levels is not None and is_neutral(character) and not is_mark(character)
        if is_shaped_script(character) and not is_joining(character) and not (loose and script(character) == ""):
            previous = script(character) or previous or "SHARED"
        elif is_mark(character) or is_joining(character):
            if not previous:
                previous = "MARKED"
                if kinds and not kinds[-1]:
                    # A mark takes the letter it stands on along.
                    kinds[-1] = "MARKED"
        elif not (character == " " and _goes_on(text, index + 1, end)):
            previous = ""
        kinds.append(previous)
    return [(kind, levels[start + i] if levels is not None else 0) for i, kind in enumerate(kinds)]


def _goes_on(text: str, index: int, end: int) -> bool:
    return index < end and bool(is_shaped_script(text[index]))
