"""Patterns on raw bytes that search in linear time and let go of nothing: RE2, behind types."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import re2  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType, reportMissingImports]
from re2 import _re2  # pyright: ignore

_module, _engine = cast("Any", re2), cast("Any", _re2)
_ANCHOR = _engine.RE2.Anchor
_ANYWHERE, _BEGINNING, _WHOLE = _ANCHOR.UNANCHORED, _ANCHOR.ANCHOR_START, _ANCHOR.ANCHOR_BOTH


class BytesMatch:
    """Where a pattern matched."""

    __slots__ = ("_spans", "_text")

    def __init__(self, text: bytes, spans: Sequence[tuple[int, int]]) -> None:
        self._text = text
        self._spans = spans

    def start(self, group: int = 0) -> int:
        """Return the offset of the match, or of a group of it; -1 for a group that took no part."""
        return self._spans[group][0]

    def end(self, group: int = 0) -> int:
        """Return the offset behind the match, or behind a group of it."""
        return self._spans[group][1]

    def group(self, group: int = 0) -> bytes:
        """Return what matched."""
        start, end = self._spans[group]
        return self._text[start:end]

    def groups(self) -> tuple[bytes | None, ...]:
        """Return what the groups matched; None for those that took no part."""
        return tuple(self._text[start:end] if start >= 0 else None for start, end in self._spans[1:])


class BytesPattern:
    """A compiled pattern; no input makes it slow.

    It goes past the layer of Python in `re2`, which takes twice as long as a line does.
    """

    def __init__(self, pattern: bytes, options: object) -> None:
        compiled = _engine.RE2(pattern, options)
        if not compiled.ok():
            raise ValueError(compiled.error())
        self._match = compiled.Match

    def search(self, text: bytes, start: int = 0) -> BytesMatch | None:
        """Return the first match from an offset on."""
        spans = self._match(_ANYWHERE, text, start, len(text))
        return BytesMatch(text, spans) if spans[0][0] >= 0 else None

    def match(self, text: bytes) -> BytesMatch | None:
        """Return a match of the beginning."""
        spans = self._match(_BEGINNING, text, 0, len(text))
        return BytesMatch(text, spans) if spans[0][0] >= 0 else None

    def fullmatch(self, text: bytes) -> BytesMatch | None:
        """Return a match of the whole text."""
        spans = self._match(_WHOLE, text, 0, len(text))
        return BytesMatch(text, spans) if spans[0][0] >= 0 else None

    def finditer(self, text: bytes) -> Iterator[BytesMatch]:
        """Yield all matches that do not overlap."""
        at, size = 0, len(text)
        while at <= size and (spans := self._match(_ANYWHERE, text, at, size))[0][0] >= 0:
            yield BytesMatch(text, spans)
            end = spans[0][1]
            at = end if end > at else at + 1


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
    text = f"(?m:{pattern})" if every_line else pattern
    return BytesPattern(text.encode(), _options(any_case=any_case, groups=groups))


class BytesSet:
    """Several patterns looked for at once."""

    def __init__(self, patterns: Sequence[str], *, every_line: bool) -> None:
        self._all = range(len(patterns))
        self._set = _module.Set.SearchSet(_options(groups=False))
        for pattern in patterns:
            self._set.Add((f"(?m:{pattern})" if every_line else pattern).encode())
        self._set.Compile()

    def matches(self, text: bytes) -> Sequence[int]:
        """Return the places of the patterns that may match, in order; all of them if RE2 has not told of any.

        It tells of none also where it lacked the memory to find out.
        """
        found = self._set.Match(text)
        return sorted(found) if found else self._all


def _options(*, any_case: bool = False, groups: bool) -> object:
    options = _module.Options()
    options.encoding = _module.Options.Encoding.LATIN1
    options.case_sensitive = not any_case
    options.never_capture = not groups
    options.log_errors = False  # what it says of its memory goes to standard error, past the log
    return options
