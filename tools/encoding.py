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

from ._letters import by_letters

HEAD_BYTES = 64 * 1024
"""Looked at from the start: byte order marks, zero bytes, declarations."""

GUESS_BYTES = 256 * 1024
"""Looked at for a guess: enough to meet many of the stray bytes of a log, which are no language."""

SCAN_BYTES = 1 << 20
"""Read at a time while looking for the first byte that is not ASCII."""

_LEAD_IN_BYTES = 512

ASCII_LAST = 127

_MAGIC = (
    b"%PDF-", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf",
    b"\x28\xb5\x2f\xfd", b"RIFF", b"OggS", b"ID3", b"fLaC", b"\x7fELF", b"SQLite format 3", b"wOFF", b"wOF2", b"Rar!",
    b"\x04\x22\x4d\x18", b"!<arch>", b"\xca\xfe\xba\xbe", b"\xd0\xcf\x11\xe0", b"II*\x00", b"MM\x00*", b"OTTO",
)  # fmt: skip

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

_SUPERSETS = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "latin-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030",
    "hz": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs", "cp950": "big5hkscs",
    "tis-620": "cp874", "iso8859-9": "cp1254", "iso8859-11": "cp874", "johab": "cp949", "shift_jis_2004": "cp932",
    "euc_jis_2004": "euc_jp", "euc_jisx0213": "euc_jp", "shift_jisx0213": "cp932", "utf-16": "utf-16-le",
    "utf-32": "utf-32-le",
}  # fmt: skip
"""What WHATWG (encoding.spec.whatwg.org, labels) reads under a narrower label, by the names of Python's codecs."""

_UTF8 = {"utf-8", "utf-8-sig"}


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

_MARKS = (
    (codecs.BOM_UTF32_LE, Encoding("utf-32-le", "utf-32-le", 4)),
    (codecs.BOM_UTF32_BE, Encoding("utf-32-be", "utf-32-be", 4)),
    (codecs.BOM_UTF8, Encoding("utf-8 with BOM")),
    (codecs.BOM_UTF16_LE, Encoding("utf-16-le", "utf-16-le", 2)),
    (codecs.BOM_UTF16_BE, Encoding("utf-16-be", "utf-16-be", 2)),
)


def detect(content: Readable, scan_bytes: int | None = None) -> Encoding:
    """Return the encoding of a content; reads it as far as its first character that is not ASCII.

    Args:
        content: what is to be read.
        scan_bytes: where to stop looking for that character; None for the end.
    """
    head = content.read(0, HEAD_BYTES)
    if by_mark := next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None):
        return by_mark if _is_text(head, by_mark) else BINARY
    if head.startswith(_MAGIC):
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


def _is_text(head: bytes, encoding: Encoding) -> bool:
    """Tell whether what follows a byte order mark is text in its encoding: two bytes of mark may stand by chance."""
    codec = encoding.codec
    return codec is None or _plausible(head[encoding.skip :], codec, strict=False)


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
        codec = _codec(label)
        if codec and codec not in _UTF8 and not codec.startswith(("utf-16", "utf-32")) and _decodes(sample, codec):
            return Encoding(codec, codec)
    return None


def _codec(label: str) -> str | None:
    """Return the codec that reads what is labelled so, the wider one where WHATWG has one."""
    try:
        info = codecs.lookup(label)
    except (LookupError, ValueError):
        return None
    if not getattr(info, "_is_text_encoding", True):
        return None
    name = info.name
    return _SUPERSETS.get(name.replace("-", "_"), _SUPERSETS.get(name, name))


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
