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
    level = paragraph.base_embedding_level
    # Joiners have no level of their own; they stay with the letter before.
    found = [level := known.get(index, level) for index in range(len(text))]
    return [*found, paragraph.base_embedding_level]


def is_rtl(text: str) -> bool:
    """Tell whether a paragraph runs from right to left."""
    found = levels(text)
    return found is not None and found[-1] % 2 == 1


def visual(items: Sequence[tuple[int, T]]) -> list[T]:
    """Return the items of a line from left to right; each comes with its level, in logical order.

    From the highest level down to the lowest odd one, what stands at that level or above is turned round (rule L2).
    """
    order = list(items)
    odd = [level for level, _ in order if level % 2]
    highest = max((level for level, _ in order), default=0)
    for level in range(highest, min(odd, default=highest + 1) - 1, -1):
        start = 0
        while start < len(order):
            end = start
            while end < len(order) and order[end][0] >= level:
                end += 1
            order[start:end] = reversed(order[start:end])
            start = end + 1
    return [item for _, item in order]
