"""Takes a long message of JSON apart: what is long in it goes into a file, the rest stays small; in a worker."""

import json
import mmap
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..budget.clean import utf8
from ..errors import BursarError

LONG_BYTES = 64 * 1024
"""Longer texts are taken out."""

SKELETON_MAX_BYTES = 2 * 1024**2

_BLOCK = 1 << 20
_TEXT = rb'"(?:[^"\\]++|\\.)*+"'
_TOKEN = re.compile(_TEXT + rb"|[{}\[\]]", re.DOTALL)


def _flat(inner: bytes = b"") -> bytes:
    """Match all that is no bracket, and containers of what `inner` matches."""
    within = rb"|[\[{]" + inner + rb"[\]}]" if inner else b""
    return rb"(?:[^\"{}\[\]]++|" + _TEXT + within + rb")*+"


_BRACKET = re.compile(_flat(_flat(_flat())) + rb"([{}\[\]])", re.DOTALL)
"""The next bracket, but for those of containers in which no more than two levels are: most of a table in one step."""

_ONE_MEMBER = re.compile(rb'\{\s*"[^"\\]{0,100}"\s*:\s*"')
_ESCAPE_BYTES = 6
_HIGH_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")


class _Part(NamedTuple):
    """A stretch of the message that is taken out, without the quotes of a text."""

    start: int
    end: int
    is_text: bool


def take_apart(path: str, target: str, mark: str, whole: str = "") -> dict[str, Any]:
    """Write what is long in a message into a file, one behind the other: texts unescaped, values as they are.

    Args:
        path: the message, in UTF-8.
        target: the file, which exists.
        mark: begins the text that stands for a part, `mark:3`; nothing else in the message begins so.
        whole: a member of `result` that is taken out whole if it is long, such as `structuredContent`.

    Returns:
        `skeleton`, the message with marks; `parts`, a list of offset and length, both 0 for a value whose only member
        is a text that is there besides; `replaced`, how many halves of characters became U+FFFD.

    Raises:
        BursarError: bad_message; it is no JSON, or what is left of it is too long.
    """
    skeleton, places, replaced = bytearray(), list[tuple[int, int]](), 0
    with Path(path).open("rb") as file, Path(target).open("wb") as out:
        if not file.seek(0, 2):
            raise _bad("is empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            done = 0
            parts = list(_long(data, whole.encode()))
            texts = [part for part in parts if part.is_text]
            for part in parts:
                skeleton += data[done : part.start]
                begin = out.tell()
                is_repeated = not part.is_text and _repeats(data, part, texts)
                replaced += 0 if is_repeated else _copied(data, part, out)
                stands = f"{mark}:{len(places)}".encode()
                skeleton += stands if part.is_text else b'"' + stands + b'"'
                places.append((0, 0) if is_repeated else (begin, out.tell() - begin))
                done = part.end
                if len(skeleton) > SKELETON_MAX_BYTES:
                    break
            if len(skeleton) + len(data) - done > SKELETON_MAX_BYTES:
                raise _bad(f"has more than {SKELETON_MAX_BYTES:,} bytes beside its long texts")
            skeleton += data[done:]
    return {"skeleton": skeleton.decode("utf-8", "replace"), "parts": places, "replaced": replaced}


def _long(data: mmap.mmap, whole: bytes) -> Iterator[_Part]:
    """Yield what is to be taken out, in order."""
    depth, opened, key, at = 0, -1, b"", 0
    while found := (_TOKEN.search if opened < 0 else _BRACKET.match)(data, at):
        start, end = found.span(found.re.groups)
        at = end
        first = data[start : start + 1]
        if first in b"{[":
            if depth == 2 and whole and key == whole:
                opened = start
            depth += 1
        elif first in b"}]":
            depth -= 1
            if depth == 2 and opened >= 0:
                if end - opened > LONG_BYTES:
                    yield _Part(opened, end, is_text=False)
                opened = -1
        else:
            if end - start > LONG_BYTES:
                yield _Part(start + 1, end - 1, is_text=True)
            key = data[start + 1 : min(end - 1, start + 65)] if depth == 2 else b""


def _repeats(data: mmap.mmap, part: _Part, texts: list[_Part]) -> bool:
    """Tell whether all that a value has is one member, a text that is there besides."""
    opened = _ONE_MEMBER.match(data, part.start, part.end)
    if opened is None:
        return False
    text = data[opened.end() : part.end].rstrip(b"} \t\r\n")
    return any(len(text) == one.end - one.start + 1 and text == data[one.start : one.end + 1] for one in texts)


def _copied(data: mmap.mmap, part: _Part, out: BinaryIO) -> int:
    """Write a part; return how many halves of characters were replaced."""
    at, replaced = part.start, 0
    while at < part.end:
        end = min(at + _BLOCK, part.end)
        if end < part.end:
            end = _boundary(data, at, end)
        block = data[at:end]
        if part.is_text and b"\\" in block:
            try:
                text = json.loads(b'"' + block + b'"', strict=False)
            except ValueError as error:
                raise _bad(f"is no JSON: {error}") from None
            clean = utf8(text)
            replaced += sum(before != after for before, after in zip(text, clean, strict=True)) if clean != text else 0
            block = clean.encode()
        out.write(block)
        at = end
    return replaced


def _boundary(data: mmap.mmap, start: int, end: int) -> int:
    """Return the last place not behind `end` at which a text may be cut: in no character, escape or pair of them."""
    place = data.rfind(b"\\", max(start, end - 2 * _ESCAPE_BYTES), end)
    if place >= 0:
        # Of a row of backslashes every second one is escaped.
        run = start + len(data[start:place].rstrip(b"\\"))
        if place > run:
            place -= (place - run) % 2
        if place + _ESCAPE_BYTES > end or data[place + 1 : place + 2] == b"u":
            before = place - _ESCAPE_BYTES
            if before > start and _HIGH_SURROGATE.match(data[before:place]):
                place = before
            if place > start:
                return place
    while end > start + 1 and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


def _bad(why: str) -> BursarError:
    return BursarError("bad_message", f"the message {why}", "See what was received")
