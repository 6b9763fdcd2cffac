"""Whole lines from places spread over a content that is too large to be read."""

from ..content import Content

_WINDOWS = 8
_WINDOW_BYTES = 256 << 10


def sampled_lines(content: Content) -> list[bytes]:
    """Return whole lines from eight places, the first and the last line of the content included."""
    step = max(1, (content.size - _WINDOW_BYTES) // (_WINDOWS - 1))
    lines: list[bytes] = []
    for window in range(_WINDOWS):
        block = content.read(window * step, _WINDOW_BYTES).split(b"\n")
        lines += block[1 if window else 0 : None if window == _WINDOWS - 1 else -1]
    return lines
