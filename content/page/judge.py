"""Judges how probably each block of a page is main content."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from .features import describe
from .forest import Forest
from .lexicon import Lexicon
from .segments import Segments
from .traits import PageTraits
from .votes import Candidate


@dataclass(frozen=True, slots=True)
class Judge:
    """The trees, and the lexicon that gives some of their columns."""

    forest: Forest
    lexicon: Lexicon

    def probabilities(self, segments: Segments, candidates: Sequence[Candidate], declared: PageTraits) -> list[float]:
        """Return the probability of each block; `candidates` in the order of `features.VOTERS`."""
        rows = describe(segments, candidates, declared)
        weighed = [self.lexicon.describe(block) for block in segments.blocks]
        return self.forest.probabilities([row + more for row, more in zip(rows, weighed, strict=True)])


@cache
def judge() -> Judge:
    """Return the judge trained by `bench/train_blocks.py`; its weights are read once per process."""
    text = resources.files(__package__ or __name__).joinpath("blocks.json").read_text("utf-8")
    weights = json.loads(text)
    return Judge(Forest.parse(weights), Lexicon(weights["lexicon"]["names"], weights["lexicon"]["words"]))
