"""What each extractor said about each block of a page."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .segments import Block, words_of


@dataclass(frozen=True, slots=True)
class Candidate:
    """The main text as one extractor sees it, ready to be asked about blocks."""

    words: list[str]
    lines: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    triples: frozenset[tuple[str, str, str]]

    @classmethod
    def of(cls, text: str) -> "Candidate":
        """Index a candidate's text."""
        low = text.lower()
        words = words_of(low)
        return cls(
            words,
            frozenset(" ".join(found) for line in low.split("\n") if (found := words_of(line)) and len(found) < 4),
            frozenset(pairwise(words)),
            frozenset(zip(words, words[1:], words[2:], strict=False)),
        )


def shares(block: Block, candidates: Sequence[Candidate]) -> list[float]:
    """The share of a block that each candidate kept, 0 to 1; short blocks count fully only as a line of their own."""
    words = block.words
    if len(words) >= 3:
        grams = list(zip(words, words[1:], words[2:], strict=False))
        return [sum(map(candidate.triples.__contains__, grams)) / len(grams) for candidate in candidates]
    line = " ".join(words)
    if len(words) == 2:
        pair = (words[0], words[1])
        return [1.0 if line in one.lines else 0.5 * (pair in one.pairs) for one in candidates]
    return [float(line in one.lines) for one in candidates]


def agreement(one: Sequence[str], other: Sequence[str]) -> float:
    """How far two lists of words are the same bag, as F1: 0 to 1."""
    if not one or not other:
        return 0.0
    common = (Counter(one) & Counter(other)).total()
    return 2 * common / (len(one) + len(other))
