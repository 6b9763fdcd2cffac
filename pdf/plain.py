"""Plain text to blocks: every character counts, and a form feed turns the page."""

import re
from collections.abc import Iterator

from .blocks import Block, PageBreak, Span, Text

_ALIGNED = re.compile(r"\S {3,}\S|\t|[\u2500-\u259f]")
_SAMPLE_CHARACTERS = 200_000


def plain_blocks(source: str) -> Iterator[tuple[Block, float]]:
    """Yield a paragraph for each line, each with how much of the text has been taken, from 0 to 1."""
    is_code, done = _is_aligned(source), 0
    for number, page in enumerate(source.split("\f")):
        if number:
            yield PageBreak(), done / len(source)
        for line in page.split("\n"):
            done += len(line) + 1
            yield Text([Span(line.expandtabs(4), code=is_code)], tight=True), min(done / max(len(source), 1), 1.0)


def _is_aligned(source: str) -> bool:
    """Tell whether columns of the text line up only when all characters are equally wide."""
    lines = [line for line in source[:_SAMPLE_CHARACTERS].split("\n") if line.strip()]
    return sum(1 for line in lines if _ALIGNED.search(line)) * 12 > len(lines) > 0
