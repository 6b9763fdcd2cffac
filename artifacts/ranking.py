"""Ranks lines of artifacts by words: those that have the most of them, and the rarest, come first."""

import math
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..budget.page import Page, Piece
from ..errors import BursarError
from .artifact import Artifact, Opened
from .index import Progress
from .matches import Layout, Query, Stretch
from .search import Searching

if TYPE_CHECKING:
    from .engines import Hit, Hits

WORDS_MAX = 8
SHOWN = 10
BYTES_MAX = 1 << 30
"""Searched in all, of the first artifacts that are given."""

_PASSAGE_BYTES = 500
"""A longer line is taken for several."""

_HITS_MAX = 5000
"""Looked at in one artifact. Of more, each word gets its share: a rare one is found behind frequent ones."""

_TEXT_CHARACTERS = 256


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best lines, or passages of long lines.

    Attributes:
        page: `a7:120:text` for each, the best first.
        searched: number of artifacts that were searched.
        left_out: number of those that were not, for want of time or because they cannot be read.
    """

    page: Page
    searched: int
    left_out: int


@dataclass(frozen=True, slots=True)
class _Passage:
    artifact: Artifact
    hit: "Hit"
    words: frozenset[str]


async def ranked(artifacts: Sequence[Artifact], text: str, deadline_s: float, progress: Progress) -> Ranking:
    """Search for the words of a text, in a thread and a process; what was found in time is ranked.

    Args:
        artifacts: where, the most important first.
        text: of its words, runs of letters and digits, the first eight are searched for, without regard to case.
        deadline_s: within which to search.
        progress: given how many artifacts were searched, of how many.

    Raises:
        BursarError: bad_argument; there is no word.
    """
    from anyio import to_thread

    # Letters, marks and numbers: none of them means anything in a pattern.
    parted = "".join(sign if unicodedata.category(sign)[0] in "LMN" else " " for sign in text[:_TEXT_CHARACTERS])
    words = list(dict.fromkeys(parted.casefold().split()))[:WORDS_MAX]
    if not words:
        raise BursarError("bad_argument", "there is no word to search for", "Give words; grep searches for signs")
    search = _Search(artifacts, words, progress)
    await search.within(deadline_s)
    return await to_thread.run_sync(search.ranking)


class _Search(Searching[None]):
    """Searches one artifact after the other."""

    def __init__(self, artifacts: Sequence[Artifact], words: Sequence[str], progress: Progress) -> None:
        self._artifacts = artifacts
        self._progress = progress
        self._words = words
        self._pattern = f"(?i){'|'.join(self._words)}"
        self._searched = 0
        self._passages: list[_Passage] = []
        self._alike: Counter[frozenset[str]] = Counter()

    def report(self, done: int, total: int) -> None:
        """Tell nothing: `run` tells of whole artifacts."""

    def run(self) -> None:
        left = BYTES_MAX
        for place, artifact in enumerate(self._artifacts):
            self._progress(place, len(self._artifacts))
            if artifact.size > left:
                continue
            left -= artifact.size
            try:
                found = self._in(artifact)
            except BursarError:
                continue  # damaged or changed: it is counted among those that are left out
            if self._is_stopped:
                return
            self._searched += 1
            for passage in found:
                self._alike[passage.words] += 1
                if self._alike[passage.words] <= SHOWN:
                    self._passages.append(passage)

    def ranking(self) -> Ranking:
        """Rank what was found."""
        passages, alike = list(self._passages), dict(self._alike)
        total = sum(alike.values())
        having = {word: sum(count for words, count in alike.items() if word in words) for word in self._words}
        worth = {word: math.log(1 + total / count) if count else 0.0 for word, count in having.items()}
        passages.sort(key=lambda passage: -sum(worth[word] for word in passage.words))
        shown: dict[str, None] = {}
        for passage in passages:
            if len(shown) < SHOWN:
                shown[self._shown(passage)] = None
        pieces = [Piece(text, {}) for text in shown if text]
        return Ranking(Page(pieces), self._searched, len(self._artifacts) - self._searched)

    def _in(self, artifact: Artifact) -> list[_Passage]:
        begins: dict[int, int] = {}
        first: dict[tuple[int, int], Hit] = {}
        with artifact.opened() as content:
            found = self._hits(content, self._pattern, _HITS_MAX)
            hits = found.found
            if not found.is_all:
                share = _HITS_MAX // len(self._words)
                apart = {hit for word in self._words for hit in self._hits(content, f"(?i){word}", share).found}
                hits = sorted(apart, key=lambda hit: hit.offset)
            for hit in hits:
                begin = begins.setdefault(hit.line, hit.offset)
                first.setdefault((hit.line, (hit.offset - begin) // _PASSAGE_BYTES), hit)
            return [_Passage(artifact, hit, self._words_about(content, hit.offset)) for hit in first.values()]

    def _hits(self, content: Opened, pattern: str, most: int) -> "Hits":
        return self._engine_for(pattern, content, 0, content.size).hits(most, most)

    def _words_about(self, content: Opened, offset: int) -> frozenset[str]:
        """Return the words on the line of a match, as far as they are near it."""
        begin = max(0, offset - _PASSAGE_BYTES)
        around = content.read(begin, 2 * _PASSAGE_BYTES)
        start, end = around.rfind(b"\n", 0, offset - begin) + 1, around.find(b"\n", offset - begin)
        text = around[start : end if end >= 0 else None].decode("utf-8", "replace").casefold()
        return frozenset(word for word in self._words if word in text)

    def _shown(self, passage: _Passage) -> str:
        from .engines import Hits

        try:
            with passage.artifact.opened() as content:
                layout = Layout(content, Query(self._pattern), Stretch(0, content.size, 1))
                page, _ = layout.page(Hits([passage.hit], is_all=True), 1)
        except BursarError:
            return ""
        return f"{passage.artifact.id}:{''.join(piece.text for piece in page.pieces)}"
