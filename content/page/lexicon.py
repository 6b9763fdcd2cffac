"""Weighs the words in class names and in short texts by how often they went with main content."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .segments import Block

NEAR_LEVELS, FAR_LEVELS = 2, 7
"""Frames around a block whose names count as near, and as far."""

SHORT_WORDS = 16
"""Only texts up to this length are weighed; a longer one says enough by itself."""

COLUMNS = ("names_near", "names_far", "names_worst", "names_best", "words_mean", "words_worst")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Log odds of being main content: of words in class names and ids, and of words in short texts."""

    names: Mapping[str, float]
    words: Mapping[str, float]

    def describe(self, block: Block) -> list[float]:
        """Weigh a block; values in the order of `COLUMNS`."""
        near, far = spoken(block)
        return self.weigh(near, far, block.words)

    def weigh(self, near: Sequence[str], far: Sequence[str], words: Sequence[str]) -> list[float]:
        """Weigh the names near and far around a text, and its words."""
        close = _known(near, self.names)
        distant = _known(far, self.names)
        said = _known(words, self.words) if len(words) <= SHORT_WORDS else []
        around = close + distant
        return [
            _mean(close), _mean(distant), min(around, default=0.0), max(around, default=0.0),
            _mean(said), min(said, default=0.0),
        ]  # fmt: skip


def spoken(block: Block) -> tuple[list[str], list[str]]:
    """The words in the names near and far around a block, each once."""
    near: dict[str, None] = {}
    far: dict[str, None] = {}
    for level, frame in enumerate(block.frame.lineage()):
        if level >= FAR_LEVELS:
            break
        (near if level < NEAR_LEVELS else far).update(dict.fromkeys(frame.tokens))
    return list(near), [token for token in far if token not in near]


def _known(tokens: Iterable[str], weights: Mapping[str, float]) -> list[float]:
    return [weights[token] for token in tokens if token in weights]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
