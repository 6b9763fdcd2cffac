"""Patterns on raw bytes that search in linear time and let go of nothing: RE2, behind types."""

from collections.abc import Iterator
from typing import Any, Protocol, cast

import re2  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType, reportMissingImports]

_re2 = cast("Any", re2)


class BytesMatch(Protocol):
    """Where a pattern matched."""

    def start(self, group: int = 0) -> int:
        """Return the offset of the match, or of a group of it; -1 for a group that took no part."""
        ...

    def end(self, group: int = 0) -> int:
        """Return the offset behind the match, or behind a group of it."""
        ...

    def group(self, group: int = 0) -> bytes:
        """Return what matched."""
        ...

    def groups(self) -> tuple[bytes | None, ...]:
        """Return what the groups matched; None for those that took no part."""
        ...


class BytesPattern(Protocol):
    """A compiled pattern; no input makes it slow."""

    def search(self, text: bytes) -> BytesMatch | None:
        """Return the first match."""
        ...

    def fullmatch(self, text: bytes) -> BytesMatch | None:
        """Return a match of the whole text."""
        ...

    def finditer(self, text: bytes) -> Iterator[BytesMatch]:
        """Yield all matches that do not overlap."""
        ...


def compile_bytes(
    pattern: str, *, any_case: bool = False, every_line: bool = False, groups: bool = True
) -> BytesPattern:
    """Compile a pattern that is matched with the UTF-8 bytes of a text, each byte one character.

    Args:
        pattern: in RE2's syntax; letters beyond ASCII stand for their UTF-8 bytes.
        any_case: do not tell the case of ASCII letters apart.
        every_line: `^` and `$` match at every line.
        groups: tell what groups match; without, the search is faster.
    """
    options = _re2.Options()
    options.encoding = _re2.Options.Encoding.LATIN1
    options.case_sensitive = not any_case
    options.never_capture = not groups
    options.log_errors = False  # what it says of its memory goes to standard error, past the log
    text = f"(?m:{pattern})" if every_line else pattern
    return cast("BytesPattern", _re2.compile(text.encode(), options))
