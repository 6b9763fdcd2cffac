"""Finds tools by what they are for: BM25 over their names, descriptions and arguments, in memory, without a model."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .definition import Definition

_K1 = 1.2
_B = 0.75
"""As Robertson and Zaragoza have them: The Probabilistic Relevance Framework, BM25 and Beyond, 2009, section 3.4."""

_NAME, _ARGUMENT = 2, 0.5
"""Weights of words beside those of a description."""

_QUERY_MAX_CHARACTERS = 500
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "ers", "ed", "es", "er", "s", "e")
_STOP = frozenset(
    "a an and are as at be by can do for from how i in into is it me my of on or that the this to use what which with "
    "you your".split()
)

_SAME = (
    "create add make new insert open",
    "delete remove drop erase unlink",
    "list show enumerate all",
    "get read fetch retrieve view load",
    "find search query look lookup grep",
    "update edit change modify set replace",
    "run execute start launch invoke",
    "send post submit write publish",
    "folder directory dir",
    "file document",
    "picture image photo screenshot",
    "page website site web url",
    "message mail email comment",
    "repository repo project",
    "table database db sql",
    "error log exception failure",
    "stop kill cancel end close",
    "click press tap button",
    "type enter fill input",
    "move rename",
)
"""Words that people use for one another when they ask for a tool; a match by one counts half."""

_SYNONYM = 0.5


@dataclass(frozen=True, slots=True)
class Found:
    """A tool that a query finds."""

    server: str
    definition: Definition


class Finder:
    """An index of the tools of all servers."""

    def __init__(self, offered: Mapping[str, Sequence[Definition]]) -> None:
        self._tools = [Found(server, one) for server, tools in offered.items() for one in tools]
        self._words = [_weighted(found) for found in self._tools]
        self._lengths = [sum(words.values()) for words in self._words]
        self._mean = sum(self._lengths) / max(1, len(self._lengths))
        self._held = Counter(word for words in self._words for word in words)
        self._alike = _alike()

    def find(self, query: str, most: int) -> list[Found]:
        """Return the tools that fit a query best, the best first; equal ones in the order of their servers."""
        wanted: dict[str, float] = {}
        for word in words_of(query[:_QUERY_MAX_CHARACTERS]):
            wanted[word] = 1.0
            for other in self._alike.get(word, ()):
                wanted.setdefault(other, _SYNONYM)
        scores = [
            sum(self._score(at, word) * worth for word, worth in wanted.items()) for at in range(len(self._tools))
        ]
        ranked = sorted(range(len(self._tools)), key=lambda at: -scores[at])
        return [self._tools[at] for at in ranked[:most] if scores[at] > 0]

    def _score(self, at: int, word: str) -> float:
        count = self._words[at].get(word)
        if not count:
            return 0.0
        held = self._held[word]
        rarity = math.log(1 + (len(self._tools) - held + 0.5) / (held + 0.5))
        return rarity * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * self._lengths[at] / self._mean))


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text as they are compared: in parts of joined names, without endings; CJK by character."""
    for run in _WORD.findall(unicodedata.normalize("NFKC", text)):
        for part in _HUMP.sub(" ", run).split():
            word = part.lower()
            if word.isascii():
                if word not in _STOP:
                    yield _stem(word)
            else:
                yield from _by_script(word)


def _by_script(word: str) -> Iterator[str]:
    """Yield characters of scripts without spaces, each with the next, and other words whole."""
    if not any(unicodedata.name(character, "").startswith(("CJK", "HIRAGANA", "KATAKANA")) for character in word):
        yield word
        return
    yield from word
    yield from (word[at : at + 2] for at in range(len(word) - 1))


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            stem = word[: -len(suffix)]
            return stem + "y" if suffix == "ies" else stem
    return word


def _weighted(found: Found) -> Counter[str]:
    words: Counter[str] = Counter()
    one = found.definition
    parts = ((one.name, _NAME), (one.description, 1), (" ".join(one.properties), _ARGUMENT), (found.server, 1))
    for text, weight in parts:
        for word in words_of(text):
            words[word] += weight  # type: ignore[assignment] - halves count too
    return words


def _alike() -> dict[str, set[str]]:
    alike: dict[str, set[str]] = {}
    for group in _SAME:
        words = {_stem(word) for word in group.split()}
        for word in words:
            alike.setdefault(word, set()).update(words - {word})
    return alike
