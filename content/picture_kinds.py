"""What a content is by its first bytes, as far as pictures are concerned; decides nothing, only guesses."""

from dataclasses import dataclass

from ..budget.formats import recognise

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
    "HEIF": Format("HEIC image", "heic", "image/heic"),
    "SVG": Format("SVG image", "svg", "image/svg+xml"),
}
"""By the names that Pillow has for them."""

_BY_NAME = {known.name: pillow for pillow, known in FORMATS.items()}


def sniff(head: bytes) -> str:
    """Guess from its first bytes what a content is.

    Returns:
        A key of `FORMATS`; the name of any other format, such as `ZIP archive`; or `empty`, `html`, `json`, `text`,
        `binary`.
    """
    if not head:
        return "empty"
    if found := recognise(head):
        return _BY_NAME.get(found, found)
    return _sniff_text(head)


def _sniff_text(head: bytes) -> str:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if b"\x00" in head[:1024]:
        return "binary"
    if text[:1] in (b"{", b"["):
        return "json"
    if text[:1] != b"<":
        return "text" if text.isascii() or not _undecodable(head) else "binary"
    return "SVG" if root_tag(head).startswith(b"svg") else "html"


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
