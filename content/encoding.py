"""Tells in which encoding a file is written, and turns it into UTF-8 a block at a time.

What is valid UTF-8 or no text at all is never touched. The order of evidence: byte order mark, strict UTF-8, what the
file declares, zero bytes at every second or fourth place, and at last a guess from the letters of languages, which is
called one. Without evidence the bytes stay as they are.
"""

import codecs
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from ..budget.formats import recognise
from .charset import MARKS, codec_of
from .letters import by_letters

HEAD_BYTES = 64 * 1024
"""Looked at from the start: byte order marks, zero bytes, declarations."""

GUESS_BYTES = 256 * 1024
"""Looked at for a guess: enough to meet many of the stray bytes of a log, which are no language."""

SCAN_BYTES = 1 << 20
"""Read at a time while looking for the first byte that is not ASCII."""

_LEAD_IN_BYTES = 512

ASCII_LAST = 127

_CONTROL = bytes({*range(32), 127} - {8, 9, 10, 12, 13, 27})
_CONTROL_SHARE = 0.02
"""Text of any encoding has next to no control characters; compressed bytes have a tenth."""

_DECLARED = re.compile(
    rb"^[ \t\f]*(?:\#|//|;|--|%|/\*|\").{0,80}?(?:coding|encoding)[:=][ \t]*[\"']?([-\w.]{2,40})"
    rb"|<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([-\w.:]{2,40})"
    rb"|<meta[^>]{1,200}?charset\s*=\s*[\"']?([-\w.:]{2,40})"
    rb"|@charset\s+\"([-\w.:]{2,40})\"",
    re.IGNORECASE | re.MULTILINE,
)
_DECLARED_WITHIN = 2048


class Readable(Protocol):
    """Bytes at any offset."""

    @property
    def size(self) -> int:
        """Length in bytes."""
        ...

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`; fewer only at the end."""
        ...


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the bytes of a file are to be read.

    Attributes:
        name: as it is told: `utf-8`, `utf-8 with BOM`, `utf-16-le`, `cp1252 (guessed)`, `binary`.
        codec: the Python codec that turns them into text; None when they are kept as they are.
        skip: bytes of the byte order mark that the codec must not see.
    """

    name: str
    codec: str | None = None
    skip: int = 0


UTF_8 = Encoding("utf-8")
BINARY = Encoding("binary")


def detect(content: Readable, scan_bytes: int | None = None) -> Encoding:
    """Return the encoding of a content; reads it as far as its first character that is not ASCII.

    Args:
        content: what is to be read.
        scan_bytes: where to stop looking for that character; None for the end.
    """
    head = content.read(0, HEAD_BYTES)
    if by_mark := _by_mark(head):
        return by_mark
    if recognise(head):
        return BINARY
    if b"\0" in head:
        return _by_zero_bytes(head)
    if len(head.translate(None, _CONTROL)) < len(head) * (1 - _CONTROL_SHARE):
        return BINARY
    if b"\x1b$" in head and head.isascii() and _decodes(head, "iso2022_jp"):
        return Encoding("iso2022_jp", "iso2022_jp")
    sample = _from_first_non_ascii(content, head, scan_bytes)
    if not sample or _looks_like_utf8(sample):
        return UTF_8
    return _declared(head, sample) or _guessed(sample)


def declared(data: bytes) -> Encoding:
    """Return the encoding that a text of ASCII alone names for what else may come into it; UTF-8 if it names none."""
    return _declared(data[:HEAD_BYTES], b"") or UTF_8


def _from_first_non_ascii(content: Readable, head: bytes, scan_bytes: int | None) -> bytes:
    """Return what follows the first byte that is not ASCII, with a little before it; empty if there is none."""
    offset, block = 0, head
    while block and block.isascii():
        offset += len(block)
        block = content.read(offset, SCAN_BYTES) if scan_bytes is None or offset < scan_bytes else b""
    if not block:
        return b""
    at = offset + next(place for place, byte in enumerate(block) if byte > ASCII_LAST)
    start = max(0, at - _LEAD_IN_BYTES)
    sample = content.read(start, GUESS_BYTES)
    if len(sample) < GUESS_BYTES:
        return sample
    return sample[: max(sample.rfind(b"\n"), sample.rfind(b" "), at - start + 16)]


def _looks_like_utf8(sample: bytes) -> bool:
    """Tell whether it is UTF-8, be it with some broken bytes: far more whole sequences than broken ones.

    In text of other encodings one pair of bytes in six or fewer happens to be a UTF-8 sequence.
    """
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        text = sample.decode("utf-8", "replace")
        broken = text.count("\ufffd")
        whole = len(text) - len(text.encode("ascii", "ignore")) - broken
        return whole >= 4 * broken
    return True


def _by_mark(head: bytes) -> Encoding | None:
    """Believe a byte order mark if text of its encoding follows: two bytes of mark may stand by chance."""
    for mark, codec in MARKS:
        if head.startswith(mark):
            if codec == "utf-8":
                return Encoding("utf-8 with BOM")
            is_text = _plausible(head[len(mark) :], codec, strict=False)
            return Encoding(codec, codec, len(mark)) if is_text else BINARY
    return None


def _by_zero_bytes(head: bytes) -> Encoding:
    """UTF-16 and UTF-32 without a mark have zero bytes at the same place of most units; else it is no text."""
    zeros = [head[place::4].count(0) for place in range(4)]
    quarter = len(head) / 4
    if zeros[2] + zeros[3] > 1.6 * quarter and zeros[3] >= zeros[0] and _plausible(head, "utf-32-le"):
        return Encoding("utf-32-le", "utf-32-le")
    if zeros[0] + zeros[1] > 1.6 * quarter and _plausible(head, "utf-32-be"):
        return Encoding("utf-32-be", "utf-32-be")
    little, big = zeros[1] + zeros[3], zeros[0] + zeros[2]
    codec = "utf-16-le" if little >= big else "utf-16-be"
    is_even = len(head) == HEAD_BYTES or len(head) % 2 == 0
    rows = Counter(head[1 if codec == "utf-16-le" else 0 :: 2]).most_common(3)
    is_alphabet = rows[0][0] < ord(" ") and sum(number for _, number in rows) > 0.8 * len(head) / 2
    is_other = sum(byte > ASCII_LAST for byte in head) > 0.2 * len(head)  # Chinese, Japanese, Korean
    if is_even and (is_alphabet or is_other) and min(little, big) * 2 <= max(little, big) and _plausible(head, codec):
        return Encoding(codec, codec)
    return BINARY


def _plausible(data: bytes, codec: str, *, strict: bool = True) -> bool:
    """Tell whether bytes are text in a wide encoding: they decode, into assigned characters, hardly any of control."""
    try:
        text = codecs.getincrementaldecoder(codec)("strict" if strict else "replace").decode(data)
    except UnicodeDecodeError:
        return False
    odd = sum(
        1 for character in text if character not in "\t\n\r\f\b\x1b" and unicodedata.category(character)[0] == "C"
    )
    odd += text.count("\ufffd")
    formats = sum(text.count(character) for character in "\u200b\u200c\u200d\u200e\u200f\ufeff\u00ad")
    scripts = {ord(character) >> 8 for character in text}
    # Nearly all values of 16 bits are assigned: bytes at random fill all 256 rows of the table, text does not.
    crowded = len(scripts) > 128 and len(text) < 8 * len(scripts)
    return not crowded and (odd - formats) <= _CONTROL_SHARE * len(text)


def _declared(head: bytes, sample: bytes) -> Encoding | None:
    """Return the encoding that the file itself names, if the file is not a liar."""
    for found in _DECLARED.finditer(head[:_DECLARED_WITHIN]):
        label = next(group for group in found.groups() if group is not None).decode("ascii", "replace")
        codec = codec_of(label)
        if codec and not codec.startswith(("utf-8", "utf-16", "utf-32")) and _decodes(sample, codec):
            return Encoding(codec, codec)
    return None


def _decodes(sample: bytes, codec: str) -> bool:
    """Tell whether a sample, cut anywhere, decodes with at most one broken character in two hundred."""
    try:
        text = codecs.getincrementaldecoder(codec)("replace").decode(sample)
    except (LookupError, UnicodeError):
        return False
    return text.count("\ufffd") * 200 <= sum(1 for character in text if character > "\x7f")


def _guessed(sample: bytes) -> Encoding:
    """Go by common letters; what reads like no language stays as it is."""
    codec = by_letters(sample)
    if codec is None or not _decodes(sample, codec):
        return UTF_8
    return Encoding(f"{codec} (guessed)", codec)


class ToUtf8:
    """Turns bytes of one encoding into UTF-8, block by block, in constant memory.

    Attributes:
        replaced: broken characters so far; each became U+FFFD.
    """

    __slots__ = ("_decoder", "_skip", "replaced")

    def __init__(self, encoding: Encoding) -> None:
        self._decoder = codecs.getincrementaldecoder(encoding.codec)("replace") if encoding.codec else None
        self._skip = encoding.skip
        self.replaced = 0

    def feed(self, block: bytes, *, last: bool = False) -> bytes:
        """Return the next stretch of UTF-8; `last` ends the content."""
        if self._decoder is None:
            return block
        block, self._skip = block[self._skip :], max(0, self._skip - len(block))
        text = self._decoder.decode(block, last)
        self.replaced += text.count("\ufffd")
        return text.encode("utf-8", "replace")
