"""What a content is by its first bytes, as far as pictures are concerned; decides nothing, only guesses."""

from dataclasses import dataclass

HEAD_BYTES = 64 * 1024
"""How much of a content is worth looking at."""


@dataclass(frozen=True, slots=True)
class Format:
    """How files of a format are named, and the module of Pillow that decodes it; none for what is not decoded."""

    suffix: str
    media_type: str
    plugin: str = ""


# Only these decoders ever see the bytes; Pillow has others that start programs (EPS).
FORMATS = {
    "PNG": Format("png", "image/png", "Png"),
    "JPEG": Format("jpg", "image/jpeg", "Jpeg"),
    "MPO": Format("jpg", "image/jpeg", "Mpo"),
    "GIF": Format("gif", "image/gif", "Gif"),
    "WEBP": Format("webp", "image/webp", "WebP"),
    "AVIF": Format("avif", "image/avif", "Avif"),
    "BMP": Format("bmp", "image/bmp", "Bmp"),
    "TIFF": Format("tiff", "image/tiff", "Tiff"),
    "ICO": Format("ico", "image/x-icon", "Ico"),
    "JPEG2000": Format("jp2", "image/jp2", "Jpeg2K"),
    "HEIF": Format("heic", "image/heic"),
    "SVG": Format("svg", "image/svg+xml"),
}
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"BM", "BMP"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"\x00\x00\x01\x00", "ICO"),
    (b"\x00\x00\x00\x0cjP  ", "JPEG2000"),
    (b"%PDF-", "pdf"),
    (b"%!PS", "postscript"),
    (b"PK\x03\x04", "zip"),
    (b"\x1f\x8b", "gzip"),
)
_HEIC_BRANDS = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1")


def sniff(head: bytes) -> str:
    """Guess from its first bytes what a content is: a Pillow format, `SVG`, or a plain word such as `html`."""
    if not head:
        return "empty"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head[4:8] == b"ftyp":
        brands = head[8 : min(len(head), 64, int.from_bytes(head[:4], "big"))]
        if b"avif" in brands or b"avis" in brands:
            return "AVIF"
        return "HEIF" if any(brand in brands for brand in _HEIC_BRANDS) else "video"
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
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
