"""Where characters begin, in bytes that may or may not be UTF-8."""

from ..budget.content import Content


def boundary(content: Content, offset: int) -> int:
    """Return `offset`, or the end of the character that lies across it: a character belongs to where it begins."""
    if not 0 < offset < content.size:
        return min(max(offset, 0), content.size)
    start = max(0, offset - 3)
    return offset + _overhang(content.read(start, offset - start + 3), offset - start)


def boundary_in(data: bytes, offset: int) -> int:
    """As `boundary`, within bytes at hand."""
    if not 0 < offset < len(data):
        return min(max(offset, 0), len(data))
    start = max(0, offset - 3)
    return offset + _overhang(data[start : offset + 3], offset - start)


def valid_length(data: bytes) -> int:
    """Return the length of the longest beginning that is valid UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return len(data)


def count_invalid(data: bytes) -> int:
    """Count the bytes that are not part of a valid character."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return sum("\udc80" <= character <= "\udcff" for character in data.decode("utf-8", "surrogateescape"))
    return 0


def _overhang(around: bytes, at: int) -> int:
    """Return how many bytes after `at` belong to a valid character that begins before it."""
    for start in range(at - 1, max(-1, at - 4), -1):
        lead = around[start]
        if lead & 0xC0 == 0x80:
            continue  # inside a character, or stray
        length = 2 if lead & 0xE0 == 0xC0 else 3 if lead & 0xF0 == 0xE0 else 4 if lead & 0xF8 == 0xF0 else 1
        end = start + length
        if end <= at or valid_length(around[start:end]) != length:
            return 0
        return end - at
    return 0
