"""What of a text later steps may need by name: paths, identifiers, numbers; errors; what was decided."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

_WORD = re.compile(r"(?<![</\w])[\w~./@-]{3,160}")
"""No tag is a name."""

_SIGN = re.compile(r"[_/.\d]|[a-z][A-Z]")
"""What tells a path or an identifier from a word of a language."""

_NUMBER_MIN_DIGITS = 3
_SCANNED_MAX_CHARACTERS = 1 << 20
_DECIDED = re.compile(
    r"(?i)\b(?:decid\w+|instead|because|must|root cause|the (?:fix|issue|problem|bug) is)\b|决定|改用|因为|必须"
)
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？\n]")
_SENTENCE_MAX_CHARACTERS = 240


def names(text: str) -> Mapping[str, int]:
    """Return the paths, identifiers and numbers of a text with how often each stands there, in order."""
    found: Counter[str] = Counter()
    for word, times in Counter(_WORD.findall(text[:_SCANNED_MAX_CHARACTERS])).items():
        name = word.lstrip(".-@").rstrip("./-@~")
        is_number = name.isdigit() and len(name) >= _NUMBER_MIN_DIGITS
        if is_number or (name[:1] and not name[0].isdigit() and _SIGN.search(name) is not None):
            found[name] += times
    return found


def decided(text: str) -> Iterator[str]:
    """Yield the sentences in which something was decided, or the reason for it given."""
    start = 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        sentence = " ".join(text[start : min(end, start + 4 * _SENTENCE_MAX_CHARACTERS)].split())
        start = end
        if 20 < len(sentence) <= _SENTENCE_MAX_CHARACTERS and _DECIDED.search(sentence):
            yield sentence
