"""Where a text may be cut without splitting what its reader sees as one character."""

from collections.abc import Iterator

LOOK_AROUND = 256
"""Code points looked at on either side of a cut. Without a bound, text of one class costs up to a second a cut."""

_FLAG_HALVES = "".join(map(chr, range(0x1F1E6, 0x1F200)))


def floor(text: str, at: int) -> int:
    """Return the last grapheme boundary not behind `at`, an index of code points.

    Within a grapheme of more than `LOOK_AROUND` code points it is `at` itself.
    """
    if _is_plain(text, at):
        return at
    best = -1
    for boundary in _boundaries(text, at):
        if boundary > at:
            break
        best = boundary
    return at if best < 0 else best


def ceiling(text: str, at: int) -> int:
    """Return the first grapheme boundary not before `at`, an index of code points.

    Within a grapheme of more than `LOOK_AROUND` code points it is `at` itself.
    """
    if _is_plain(text, at):
        return at
    return next((boundary for boundary in _boundaries(text, at) if boundary >= at), at)


def _is_plain(text: str, at: int) -> bool:
    """Tell for nothing that `at` is a boundary: an end of the text, or between two ASCII characters but CR LF."""
    if at <= 0 or at >= len(text):
        return True
    around = text[at - 1 : at + 1]
    return around.isascii() and around != "\r\n"


def _boundaries(text: str, at: int) -> Iterator[int]:
    """Yield the boundaries around `at` in order.

    Reading may start inside a grapheme and then see false boundaries, but only up to that grapheme's end, which is
    behind `at` only when the grapheme is longer than `LOOK_AROUND`. Flags alone depend on all before them: two flag
    halves make a pair, counted from where their row starts.
    """
    import regex

    start = max(0, at - LOOK_AROUND)
    if text[start] in _FLAG_HALVES:
        before = text[:start]
        start -= (len(before) - len(before.rstrip(_FLAG_HALVES))) % 2
    end = min(len(text), at + LOOK_AROUND)
    if start == 0:
        yield 0
    for grapheme in regex.finditer(r"\X", text[start:end]):
        boundary = start + grapheme.end()
        if boundary < end or end == len(text):
            yield boundary
