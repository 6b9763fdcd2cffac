"""Plain text to blocks: every character counts, and a form feed turns the page."""

import re
from collections.abc import Iterator

from .blocks import Block, PageBreak, Span, Text

_ALIGNED = re.compile(r"\S {3,}\S|\t|[\u2500-\u259f]")


def blocks(source: str) -> Iterator[tuple[Block, float]]:
    """Yield a paragraph for each line, each with how much of the text has been taken, from 0 to 1."""
    total = max(len(source), 1)
    mono = is_aligned(source)
    done = 0
    for number, page in enumerate(source.split("\f")):
        if number:
            yield PageBreak(), done / total
        for line in page.split("\n"):
            done += len(line) + 1
            yield Text([Span(line.expandtabs(4), code=mono)], tight=True), min(done / total, 1.0)


def is_aligned(source: str) -> bool:
    """Tell whether columns of the text line up only when all characters are equally wide."""
    lines = [line for line in source[:200_000].split("\n") if line.strip()]
    return sum(1 for line in lines if _ALIGNED.search(line)) * 12 > len(lines) > 0
