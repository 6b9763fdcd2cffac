"""Right-to-left text: embedding levels of a paragraph and the visual order of a line (Unicode Annex 9)."""

from collections.abc import Sequence
from typing import TypeVar

from .scripts import needs_rtl

T = TypeVar("T")


def levels(text: str) -> list[int] | None:
    """Return the embedding level of each character, the paragraph's own level last; None when all run left to right.

    Explicit embeddings and overrides are not in the text any more when it gets here.
    """
    if not needs_rtl(text):
        return None
    from fpdf.bidi import BidiParagraph

    paragraph = BidiParagraph(text)
    known = {character.character_index: character.embedding_level for character in paragraph.get_characters()}
    found: list[int] = []
    level = paragraph.base_embedding_level
    for index in range(len(text)):
        # Joiners have no level of their own; they stay with the letter before.
        level = known.get(index, level)
        found.append(level)
    return [*found, paragraph.base_embedding_level]


def visual(items: Sequence[tuple[int, T]]) -> list[T]:
    """Return the items of a line from left to right; each comes with its level, in logical order."""
    order = list(items)
    odd = [level for level, _ in order if level % 2]
    if not odd:
        return [item for _, item in order]
    for level in range(max(at for at, _ in order), min(odd) - 1, -1):
        start = 0
        while start < len(order):
            if order[start][0] < level:
                start += 1
                continue
            end = start
            while end < len(order) and order[end][0] >= level:
                end += 1
            order[start:end] = order[start:end][::-1]
            start = end
    return [item for _, item in order]
