"""What a content is by its first bytes, as far as pictures are concerned; decides nothing, only guesses."""

import json
import re
from dataclasses import dataclass
from html import unescape
from typing import cast

from ..budget.formats import recognise

_NETPBM = re.compile(rb"P[1-6][ \t\r\n]+[#\d]")
_LFS = b"version https://git-lfs.github.com/spec/"
_MESSAGES = ("message", "error_description", "error", "errors", "detail", "title", "reason", "description", "msg")
_LEVELS = 4
_SAID_CHARACTERS = 160

HEAD_BYTES = 64 * 1024
"""How much of a content is worth looking at."""


@dataclass(frozen=True, slots=True)
class Format:
    """What files of a format are called, how they are named, and the module of Pillow that decodes it, if one may."""

    name: str
    suffix: str
    media_type: str
    plugin: str = ""


# Only these decoders ever see the bytes; Pillow has others that start programs (EPS).
FORMATS = {
    "PNG": Format("PNG image", "png", "image/png", "Png"),
    "JPEG": Format("JPEG image", "jpg", "image/jpeg", "Jpeg"),
    "MPO": Format("JPEG image of several pictures", "jpg", "image/jpeg", "Mpo"),
    "GIF": Format("GIF image", "gif", "image/gif", "Gif"),
    "WEBP": Format("WebP image", "webp", "image/webp", "WebP"),
    "AVIF": Format("AVIF image", "avif", "image/avif", "Avif"),
    "BMP": Format("BMP image", "bmp", "image/bmp", "Bmp"),
    "TIFF": Format("TIFF image", "tiff", "image/tiff", "Tiff"),
    "ICO": Format("ICO image", "ico", "image/x-icon", "Ico"),
    "JPEG2000": Format("JPEG 2000 image", "jp2", "image/jp2", "Jpeg2K"),
    "PPM": Format("Netpbm image", "ppm", "image/x-portable-anymap", "Ppm"),
    "TGA": Format("TGA image", "tga", "image/x-tga", "Tga"),
    "PCX": Format("PCX image", "pcx", "image/x-pcx", "Pcx"),
    "DDS": Format("DDS image", "dds", "image/vnd-ms.dds", "Dds"),
    "QOI": Format("QOI image", "qoi", "image/qoi", "Qoi"),
    "ICNS": Format("ICNS image", "icns", "image/icns", "Icns"),
    "CUR": Format("CUR image", "cur", "image/x-icon", "Cur"),
    "PSD": Format("Photoshop image", "psd", "image/vnd.adobe.photoshop", "Psd"),
    "HEIF": Format("HEIC image", "heic", "image/heic"),
    "SVG": Format("SVG image", "svg", "image/svg+xml"),
}
"""By the names that Pillow has for them."""

_BY_NAME = {known.name: pillow for pillow, known in FORMATS.items()}


def sniff(head: bytes) -> str:
    """Guess from its first bytes what a content is.

    Returns:
        A key of `FORMATS`; the name of any other format, such as `ZIP archive`; or `empty`, `html`, `xml`, `json`,
        `text`, `binary`.
    """
    if not head:
        return "empty"
    if found := recognise(head):
        return _BY_NAME.get(found, found)
    return _sniff_text(head)


def _sniff_text(head: bytes) -> str:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if _NETPBM.match(head):
        return "PPM"
    if b"\x00" in head[:1024]:
        return "TGA" if _is_tga(head) else "binary"
    if head.startswith(_LFS):
        return "Git LFS pointer"
    if text[:1] in (b"{", b"["):
        return "json"
    if text[:1] != b"<":
        return "text" if text.isascii() or not _undecodable(head) else "binary"
    root = root_tag(head)
    if root.startswith(b"svg"):
        return "SVG"
    return "xml" if text.startswith(b"<?xml") and not root.lower().startswith(b"html") else "html"


def _is_tga(head: bytes) -> bool:
    """Tell by the few values that its head may have; the format has no sign of its own at the beginning."""
    if len(head) < 18:
        return False
    mapped, kind, depth = head[1], head[2], head[16]
    depths = {1: (8,), 2: (15, 16, 24, 32), 3: (8, 16)}.get(kind & 7, ())
    is_size = any(head[12:14]) and any(head[14:16])
    return kind & ~8 in (1, 2, 3) and depth in depths and mapped == (kind & 7 == 1) and is_size and not head[17] & 0xC0


def said(head: bytes, kind: str) -> str:
    """Return what a content that is no picture says of itself: its title, message or first line, if anything."""
    text = head.decode("utf-8", "replace")
    if kind == "html":
        found = _between(text, "<title", "</title") or _between(text, "<h1", "</h1")
    elif kind == "xml":
        found = ": ".join(filter(None, (_between(text, "<Code", "</Code"), _between(text, "<Message", "</Message"))))
    elif kind == "json":
        found = _message(text)
    elif kind == "Git LFS pointer":
        found = "the picture lies elsewhere, " + ", ".join(text.split("\n")[1:3])
    else:
        found = text.lstrip().partition("\n")[0] if kind == "text" else ""
    return " ".join(unescape(found).split())[:_SAID_CHARACTERS]


def _between(text: str, start: str, end: str) -> str:
    low = text.lower()
    opened = low.find(">", low.find(start.lower())) + 1 if start.lower() in low else 0
    closed = low.find(end.lower(), opened) if opened else -1
    return text[opened:closed] if closed >= 0 else ""


def _message(text: str) -> str:
    """Find the message in what services answer instead of a picture."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    for _ in range(_LEVELS):
        if isinstance(found, str):
            return found
        if isinstance(found, list) and found:
            found = cast("list[object]", found)[0]
        if not isinstance(found, dict):
            return ""
        known = cast("dict[str, object]", found)
        found = next((known[name] for name in _MESSAGES if known.get(name)), None)
    return ""


def _undecodable(head: bytes) -> bool:
    try:
        head[:-4].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start < len(head) - 8
    return False


def root_tag(text: bytes) -> bytes:
    """Find the first element behind declarations and comments, as `svg width="10" …`."""
    text = text.removeprefix(b"\xef\xbb\xbf").lstrip()
    position = 0
    while (start := text.find(b"<", position)) >= 0:
        if text.startswith(b"<!--", start):
            end = text.find(b"-->", start)
        elif text[start + 1 : start + 2] in (b"?", b"!"):
            subset = text.find(b"[", start, text.find(b">", start) + 1)
            end = text.find(b">", text.find(b"]", subset)) if subset >= 0 else text.find(b">", start)
        else:
            return text[start + 1 :].split(b">", 1)[0].removeprefix(b"svg:")
        if end < 0:
            break
        position = end + 1
    return b""
