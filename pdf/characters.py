"""Makes every text drawable: what no font has is replaced as a whole, and every replacement is counted."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

import regex

from .options import Replaced

if TYPE_CHECKING:
    from collections.abc import Callable

    from .options import EmojiPolicy

_CLUSTER = regex.compile(r"\X", regex.DOTALL)
_UNSHAPED = regex.compile(
    r"[\p{Common}\p{Inherited}\p{Latin}\p{Greek}\p{Cyrillic}\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]"
)
"""Scripts in which a joiner does nothing."""

_LINE_ENDS = "\r\x0b\x85\u2028\u2029"
_UNIT = regex.compile(r"[\p{L}\p{M}\u200c\u200d]{2,}|\X", regex.DOTALL)
_EMOJI = regex.compile(
    r"\p{Extended_Pictographic}|\p{Emoji_Presentation}|\p{Regional_Indicator}|\p{Emoji_Modifier}|\u20e3|[\U000e0020-\U000e007f]"
)
_SEQUENCE = regex.compile(r"\p{Regional_Indicator}|\p{Emoji_Modifier}|[\u20e3\u200d]|[\U000e0020-\U000e007f]")
_DAMAGED = "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
_CONTROLLING = "\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff"
_DAMAGE = re.compile(f"[{_DAMAGED}]")
_CONTROLS = re.compile(f"[{_CONTROLLING}]")
_SUSPECT = re.compile(f"[{_DAMAGED}{_CONTROLLING}]")
_INVISIBLE = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{Cs}\u2028\u2029]")
_JOINERS = "\u200c\u200d"
_SPACED = frozenset(("LATIN", "GREEK", "CYRILLIC", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", ""))
_CONTROL_NAMES = {0: "NULL", 7: "BELL", 8: "BACKSPACE", 0x1B: "ESCAPE", 0x7F: "DELETE", 0x80: "PADDING CHARACTER"}
_FFFD = "\ufffd"


class Characters:
    """Decides for each character of a document whether it is drawn, and what stands for it if not."""

    def __init__(
        self, draws: Callable[[str], bool], emoji: EmojiPolicy, joins: Callable[[str], bool] = lambda sequence: False
    ) -> None:
        """Take the question whether a font has a character, the policy for emoji, and whether a sequence is one."""
        self._draws = draws
        self._joins = joins
        self._emoji: EmojiPolicy = emoji
        # No-break and zero-width spaces are for the line breaker; a newline ends a line.
        self._good: set[str] = {" ", "\n", "\u00a0", "\u200b"}
        self._bad: set[str] = set()
        self._known: dict[str, str] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._without_font: Counter[str] = Counter()

    def prepare(self, source: str) -> str:
        """Return the source with one kind of line end, without what must not reach a parser: controls, surrogates."""
        text = source.replace("\r\n", "\n")
        for end in _LINE_ENDS:
            if end in text:
                text = text.replace(end, "\n")
        if _SUSPECT.search(text):
            text = _CONTROLS.sub(self._dropped, _DAMAGE.sub(self._damaged, text))
        if count := text.count("\u200b"):
            self._counts["\u200b", ""] += count
        return text

    def fit(self, text: str) -> str:
        """Return the text with everything replaced that cannot be drawn."""
        if self._good.issuperset(text):
            return text
        return "".join(map(self._unit, _UNIT.findall(text)))

    def report(self) -> tuple[Replaced, ...]:
        """Return what was replaced, the most frequent first."""
        return tuple(
            Replaced(text, _names(text), count, replacement)
            for (text, replacement), count in sorted(self._counts.items(), key=lambda entry: (-entry[1], entry[0]))
        )

    def without_font(self) -> tuple[tuple[str, int], ...]:
        """Return the scripts that no font draws, by the first word of their letters' names, and how many letters."""
        return tuple(self._without_font.most_common())

    def _replace(self, text: str, replacement: str) -> str:
        self._counts[text, replacement] += 1
        return replacement

    def _damaged(self, match: re.Match[str]) -> str:
        return self._replace(match[0], _FFFD if self._draws(_FFFD) else "?")

    def _dropped(self, match: re.Match[str]) -> str:
        return self._replace(match[0], "")

    def _is_good(self, character: str) -> bool:
        if character in self._good:
            return True
        if character in self._bad:
            return False
        good = not (
            _INVISIBLE.match(character)
            or _SEQUENCE.match(character)
            or unicodedata.category(character) in ("Cn", "Co")
            or not self._draws(character)
        )
        (self._good if good else self._bad).add(character)
        return good

    def _unit(self, unit: str) -> str:
        if all(map(self._is_good, unit)):
            return unit
        if len(unit) > 1 and unit[0].isalpha() and not _EMOJI.search(unit):
            return "".join(self._same_script(name, "".join(run)) for name, run in groupby(unit, _Scripts()))
        return "".join(map(self._cluster, _CLUSTER.findall(unit)))

    def _same_script(self, name: str, word: str) -> str:
        """Draw a word in one script, or transliterate it as a whole: single foreign letters inside read badly."""
        if name not in _SPACED and not all(self._is_good(c) or c in _JOINERS for c in word):
            return "".join(map(self._transliterate, word))
        return "".join(map(self._cluster, _CLUSTER.findall(word)))

    def _cluster(self, cluster: str) -> str:
        if cluster == "\t":
            return "    "
        if all(map(self._is_good, cluster)):
            return cluster
        if _EMOJI.search(cluster):
            return self._pictograph(cluster)
        shaped = not _UNSHAPED.match(cluster[0])
        return "".join(c if shaped and c in _JOINERS else self._single(c) for c in cluster)

    def _pictograph(self, cluster: str) -> str:
        kept = cluster.translate({0xFE0E: None, 0xFE0F: None})
        if not _SEQUENCE.search(kept) and all(map(self._is_good, kept)):
            for selector in cluster:
                if selector not in kept:
                    self._replace(selector, "")
            return kept
        if len(cluster) > 1 and self._joins(cluster):
            return cluster
        if self._emoji == "drop":
            return self._replace(cluster, "")
        if self._emoji == "box":
            return self._replace(cluster, "□" if self._draws("□") else "?")
        return self._replace(cluster, f"[{emoji_name(cluster)}]")

    def _single(self, character: str) -> str:
        if self._is_good(character):
            return character
        if _INVISIBLE.match(character):
            return self._replace(character, "")
        return self._transliterate(character)

    def _transliterate(self, character: str) -> str:
        name = script(character)
        if name not in ("", "LATIN") and unicodedata.normalize("NFKC", character) == character:
            self._without_font[name] += 1
        return self._replace(character, self._latin(character))

    def _latin(self, character: str) -> str:
        known = self._known.get(character)
        if known is None:
            known = self._known[character] = self._transliterated(character)
        return known

    def _transliterated(self, character: str) -> str:
        """Return what a reader can make of a character that no font has."""
        from anyascii import anyascii

        for form in ("NFKC", "NFKD"):
            plain = unicodedata.normalize(form, character)
            if plain != character and all(map(self._is_good, plain)):
                return plain
        if unicodedata.category(character) in ("Cn", "Co"):
            return _FFFD if self._draws(_FFFD) else "?"
        latin = anyascii(character)
        if not latin and unicodedata.category(character) in ("Mn", "Me", "Mc"):
            return ""
        return latin.replace("\n", " ") or (_FFFD if self._draws(_FFFD) else "?")


class _Scripts:
    """Key of `groupby` for runs of one script; what all scripts share goes with the letter before."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, character: str) -> str:
        self._last = script(character) or self._last
        return self._last


def emoji_name(cluster: str) -> str:
    """Return such as `grinning face`, `flag FR`, `thumbs up sign, medium skin tone`, `family: man, woman, girl`."""
    tones = {0x1F3FB: "light", 0x1F3FC: "medium-light", 0x1F3FD: "medium", 0x1F3FE: "medium-dark", 0x1F3FF: "dark"}
    regional = [chr(ord(c) - 0x1F1E6 + 65) for c in cluster if 0x1F1E6 <= ord(c) <= 0x1F1FF]
    if regional:
        return "flag " + "".join(regional)
    tags = "".join(chr(ord(c) - 0xE0000) for c in cluster if 0xE0020 <= ord(c) < 0xE007F)
    if tags:
        return f"flag {tags[:2]}-{tags[2:]}".upper().replace("FLAG", "flag", 1)
    if "\u20e3" in cluster:
        return f"keycap {cluster[0]}"
    names = [
        f"{tones[ord(c)]} skin tone" if ord(c) in tones else unicodedata.name(c, f"U+{ord(c):04X}").casefold()
        for c in cluster
        if c not in "\u200d\ufe0e\ufe0f"
    ]
    people = [name for name in names if name in ("man", "woman", "boy", "girl", "adult", "child")]
    return ("family: " if len(people) > 1 and people == names else "") + ", ".join(names)


def _names(text: str) -> str:
    return ", ".join(_name(character) for character in text)


def _name(character: str) -> str:
    point = ord(character)
    kinds = {"Cs": "lone surrogate", "Cc": "control character", "Co": "private use", "Cn": "unassigned"}
    fallback = f"<{kinds.get(unicodedata.category(character), 'unnamed')}>"
    return unicodedata.name(character, "") or _CONTROL_NAMES.get(point, fallback)


@cache
def script(character: str) -> str:
    """Return the script of a letter or mark: the first word of its Unicode name, empty for what all scripts share."""
    if unicodedata.category(character) not in ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nl"):
        return ""
    first = unicodedata.name(character, "").partition(" ")[0].partition("-")[0]
    return "" if first in ("COMBINING", "MODIFIER", "VARIATION", "ZERO") else first
