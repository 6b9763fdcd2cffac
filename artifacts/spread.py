"""Tells in a few words how many matches are spread: by their most frequent texts, or else by their lines."""

from collections import Counter
from collections.abc import Iterable

MATCHES_MAX = 100_000
"""Looked at in some tenths of a second; of more nothing is told."""

_TEXTS_MAX = 10_000
_SHOWN = 6
_TEXT_CHARACTERS = 60


def spread(matches: Iterable[tuple[int, bytes]]) -> dict[str, int] | str:
    """Tell how matches are spread; empty if there are too many or none.

    Args:
        matches: the line of each and its text, or that of its group, in order.

    Returns:
        How often each of the most frequent texts occurs, if they make up at least half of all; else on which lines the
        first, the last and the one in the middle are.
    """
    texts: Counter[bytes] = Counter()
    lines: list[int] = []
    for line, text in matches:
        if len(lines) == MATCHES_MAX:
            return ""
        lines.append(line)
        if text in texts or len(texts) < _TEXTS_MAX:
            texts[text] += 1
    frequent = texts.most_common(_SHOWN)
    if len(texts) > 1 and 2 * sum(count for _, count in frequent) >= len(lines):
        return _counted(frequent, len(texts), len(lines))
    return f"lines {lines[0]}-{lines[-1]}, half of them by {lines[len(lines) // 2]}" if lines else ""


def _counted(frequent: list[tuple[bytes, int]], different: int, total: int) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for raw, count in frequent:
        text = raw.decode("utf-8", "replace")
        counts[text if len(text) <= _TEXT_CHARACTERS else f"{text[:_TEXT_CHARACTERS]}…"] += count
    if different > len(frequent):
        others = "others" if different == _TEXTS_MAX else f"{different - len(frequent)} others"
        counts[others] += total - counts.total()
    return dict(counts)
