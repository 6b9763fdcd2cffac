"""Turns the bytes of a page into text: byte order mark, header, strict UTF-8, the page's own word, and last a guess.

A header is not believed against bytes that are UTF-8 beyond accident.
"""

import codecs
from dataclasses import dataclass

from .letters import by_letters

MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks and the codecs of what follows them; the longer of two that begin alike stands first."""

_WIDER = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "hz": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "johab": "cp949",
    "big5": "big5hkscs", "cp950": "big5hkscs", "euc_jis_2004": "euc_jp", "euc_jisx0213": "euc_jp",
    "shift_jis_2004": "cp932", "shift_jisx0213": "cp932",
}  # fmt: skip
"""What browsers read under a narrower label (encoding.spec.whatwg.org), by the names of Python's codecs."""

_LABELS = {
    "x-sjis": "cp932", "windows-31j": "cp932", "ms_kanji": "cp932", "x-gbk": "gb18030", "gb_2312-80": "gb18030",
    "chinese": "gb18030", "csgb2312": "gb18030", "big5-hkscs": "big5hkscs", "cn-big5": "big5hkscs",
    "x-x-big5": "big5hkscs", "ks_c_5601-1987": "cp949", "ksc5601": "cp949", "korean": "cp949", "windows-949": "cp949",
    "x-cp1250": "cp1250", "x-cp1251": "cp1251", "x-cp1252": "cp1252", "x-mac-cyrillic": "mac-cyrillic",
    "macintosh": "mac-roman", "x-mac-roman": "mac-roman", "dos-874": "cp874", "iso-8859-8-i": "iso8859-8",
    "logical": "iso8859-8", "unicode": "utf-16-le", "utf-16": "utf-16-le", "ucs-2": "utf-16-le",
    "x-euc-jp": "euc_jp", "unicode-1-1-utf-8": "utf-8", "x-user-defined": "cp1252",
}  # fmt: skip
"""Labels of that standard which Python does not know or reads differently."""

_GUESS_BYTES = 60_000
_DECLARED_WITHIN = 8_192
_SURE_BYTES = 3
_TOLERATED = 200
"""A declared encoding is a lie when more than one character in so many is broken."""

_NO_PAGE = {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "utf-7", "undefined", "mbcs", "oem"}
"""Python's own codecs that no browser knows: some fail, some take quadratic time, some give half characters."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A page as text.

    Attributes:
        encoding: the Python codec it was read with.
        told_by: `mark`, `header`, `utf-8`, `page`, `guess` or `nothing`.
        broken: characters that became U+FFFD.
    """

    text: str
    encoding: str
    told_by: str
    broken: int


def decode(data: bytes, header_charset: str = "") -> Decoded:
    """Decode a page; never fails: what is broken becomes U+FFFD."""
    for mark, codec in MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], codec, "mark")
    named = codec_of(header_charset)
    if named and not _surely_utf8(data) and (fits := _try(data, named, "header")):
        return fits
    if (text := _utf8(data)) is not None:
        return Decoded(text, "utf-8", "utf-8", text.count("\ufffd"))
    said = codec_of(_declared(data))
    if said and (fits := _try(data, said, "page")):
        return fits
    guessed = _guess(data)
    return _decoded(data, guessed or named or said or "utf-8", "guess" if guessed else "nothing")


def codec_of(label: str) -> str:
    """Return the codec for a label as browsers understand it; empty for one that nobody knows."""
    label = label.strip().strip("\"'").lower()
    if label in _LABELS:
        return _LABELS[label]
    try:
        info = codecs.lookup(label)
        "".encode(info.name)
    except (LookupError, ValueError):
        return ""
    return "" if info.name in _NO_PAGE else _WIDER.get(info.name, info.name)


def _try(data: bytes, codec: str, told_by: str) -> Decoded | None:
    decoded = _decoded(data, codec, told_by)
    if codec == "utf-8" and decoded.broken:
        foreign = sum(character > "\x7f" for character in decoded.text)
        return decoded if decoded.broken * 4 <= foreign else None
    return decoded if decoded.broken * _TOLERATED <= max(_TOLERATED, len(decoded.text)) else None


def _surely_utf8(data: bytes) -> bool:
    """Servers name their default encoding on pages in UTF-8; three whole sequences and none broken are no accident."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(data) - len(text) >= _SURE_BYTES


def _utf8(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        # A download that was cut may end inside a character.
        if error.start >= len(data) - 3 and error.reason == "unexpected end of data":
            return data.decode("utf-8", "replace")
        return None


def _decoded(data: bytes, codec: str, told_by: str) -> Decoded:
    text = data.decode(codec, "replace")
    return Decoded(text, codec, told_by, text.count("\ufffd"))


def _declared(data: bytes) -> str:
    from bs4.dammit import EncodingDetector

    found = EncodingDetector.find_declared_encoding(data[:_DECLARED_WITHIN], is_html=True, search_entire_document=True)
    label = found or ""
    # A page that could be read so far as to say this is not in a wide encoding, whatever it says.
    return "" if label.lower().startswith(("utf-16", "utf-32", "ucs-")) else label


def _guess(data: bytes) -> str:
    first = next((place for place in range(0, len(data), 4096) if not data[place : place + 4096].isascii()), 0)
    return by_letters(data[first : first + _GUESS_BYTES]) or ""
