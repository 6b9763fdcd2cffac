"""Takes metadata out of picture files by cutting parts out of them: what is drawn stays as it was, bit for bit.

Nothing is decoded. Of what a file says beside its pixels only that stays which changes how they look: colour profiles,
transparency, timing of animations, resolution, and which way is up.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass


class KeptError(ValueError):
    """The metadata of this file cannot be cut out; the message says why."""


_UNUSUAL = "its parts are not where its format has them"
_MOST_PARTS = 200_000


def without_metadata(data: bytes, form: str, orientation: int) -> bytes:
    """Return a picture without what it says beside its pixels.

    Args:
        data: the file.
        form: what Pillow calls its format.
        orientation: of EXIF, 1 to 8; if it is not 1 it is said again, and nothing else.

    Raises:
        KeptError: it cannot be cut out.
    """
    cut = _CUTS.get(form)
    if cut is None:
        raise KeptError(f"metadata of {form} files cannot be cut out without encoding the picture anew")
    try:
        return cut(data, orientation)
    except (struct.error, IndexError) as error:
        raise KeptError(_UNUSUAL) from error


def ends_early(data: bytes, form: str) -> bool:
    """Tell whether a file has not all the bytes that it says it has, as far as its format says so."""
    try:
        match form:
            case "WEBP":
                return len(data) < 8 + int.from_bytes(data[4:8], "little")
            case "AVIF" | "HEIF" | "JPEG2000":
                return any(end > len(data) for *_, end in _boxes(data, stop=len(data) << 8))
            case "JPEG":
                return bool(list(jpeg_segments(data))) and not data.rstrip(b"\0").endswith(b"\xff\xd9")
            case "GIF":
                return not _gif(data, 1)
            case _:
                return False
    except KeptError:
        return False
    except IndexError:
        return True


# ---- PNG
_PNG_START = b"\x89PNG\r\n\x1a\n"
_PNG_SHOWN = frozenset(
    b"IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB iCCP cICP mDCV cLLI bKGD pHYs sBIT acTL fcTL fdAT".split()
)
_PNG_NEEDED = frozenset(b"IHDR PLTE IDAT IEND fcTL fdAT".split())


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a PNG, with its head and its checksum; whether that holds, and whether the file ends in it."""

    name: bytes
    whole: bytes
    holds: bool
    is_cut: bool

    @property
    def is_needed(self) -> bool:
        """Whether the picture cannot be drawn without it."""
        return self.name in _PNG_NEEDED

    @property
    def data(self) -> bytes:
        """What it holds."""
        return self.whole[8:-4]


def png_chunks(data: bytes) -> Iterator[Chunk]:
    """Yield the chunks of a PNG, up to its end or to where it breaks off."""
    at = len(_PNG_START)
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        name, whole = data[at + 4 : at + 8], data[at : at + 12 + size]
        is_cut = len(whole) < 12 + size
        yield Chunk(name, whole, is_cut or zlib.crc32(whole[4:-4]) == int.from_bytes(whole[-4:], "big"), is_cut)
        at += 12 + size
        if name == b"IEND":
            return


def drawn_png(data: bytes) -> bytes:
    """Return a PNG of what is drawn only, so that a damaged or enormous text beside it is nothing to a decoder."""
    chunks = (
        chunk for chunk in png_chunks(data) if chunk.name in {*_PNG_SHOWN, b"eXIf"} and (chunk.holds or chunk.is_needed)
    )
    return _PNG_START + b"".join(chunk.whole for chunk in chunks)


def unpacks_too_far(data: bytes, most: int) -> bool:
    """Tell whether a packed text of a PNG is longer than `most` bytes."""
    for chunk in png_chunks(data):
        if chunk.name in (b"zTXt", b"iTXt"):
            packed = chunk.data.partition(b"\0")[2].lstrip(b"\0\1")
            packed = packed[packed.find(b"x") :] if chunk.name == b"iTXt" else packed
            try:
                if len(zlib.decompressobj().decompress(packed, most + 1)) > most:
                    return True
            except zlib.error:
                continue
    return False


def _png(data: bytes, orientation: int) -> bytes:
    parts = [data[: len(_PNG_START)]]
    for chunk in png_chunks(data):
        if chunk.name in _PNG_SHOWN and (chunk.holds or chunk.is_needed):
            if chunk.name == b"IDAT" and orientation != 1:
                exif = b"eXIf" + _exif(orientation)
                parts.append(struct.pack(">I", len(exif) - 4) + exif + struct.pack(">I", zlib.crc32(exif)))
                orientation = 1
            parts.append(chunk.whole)
    return b"".join(parts)


def _exif(orientation: int) -> bytes:
    """Return EXIF that says which way is up, and nothing else."""
    return struct.pack("<2sHIHHHIII", b"II", 42, 8, 1, 0x0112, 3, 1, orientation, 0)


# ---- JPEG
_JPEG_KEPT = frozenset((0xE0, 0xEE))
_JPEG_PROFILE = b"ICC_PROFILE\0"
_JPEG_BARE = frozenset((0x01, *range(0xD0, 0xD8)))


def jpeg_segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield marker, start and end of the segments of the first picture in a JPEG; a scan belongs to its head."""
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            raise KeptError(_UNUSUAL)
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker == 0xD9:
            break
        end = at + 2 if marker in _JPEG_BARE else at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == 0xDA:
            end = _after_scan(data, end)
        yield marker, at, end
        at = end


def _after_scan(data: bytes, at: int) -> int:
    while (at := data.find(b"\xff", at)) >= 0 and at + 1 < len(data):
        if data[at + 1] not in (0x00, 0xFF) and not 0xD0 <= data[at + 1] <= 0xD7:
            return at
        at += 1
    return len(data)


def _jpeg(data: bytes, orientation: int) -> bytes:
    exif = b"Exif\0\0" + _exif(orientation)
    parts = [data[:2]]
    if orientation != 1:
        parts.append(b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif)
    for marker, start, end in jpeg_segments(data):
        is_profile = marker == 0xE2 and data.startswith(_JPEG_PROFILE, start + 4)
        is_said = 0xE0 <= marker <= 0xEF or marker == 0xFE
        is_frame = marker == 0xE0 and not data.startswith(b"JFIF\0", start + 4)
        if not is_said or is_profile or (marker in _JPEG_KEPT and not is_frame):
            parts.append(data[start:end])
    return b"".join([*parts, b"\xff\xd9"])


# ---- WebP
_WEBP_SHOWN = frozenset(b"VP8X:VP8 :VP8L:ALPH:ANIM:ANMF:ICCP".split(b":"))
_WEBP_EXIF, _WEBP_XMP = 0x08, 0x04


def _webp(data: bytes, orientation: int) -> bytes:
    parts: list[bytes] = []
    at, end = 12, min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    while at + 8 <= end:
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        whole = data[at : at + 8 + size + size % 2]
        if name == b"VP8X":
            flags = whole[8] & ~(_WEBP_EXIF | _WEBP_XMP) | (_WEBP_EXIF if orientation != 1 else 0)
            whole = whole[:8] + bytes([flags]) + whole[9:]
        if name in _WEBP_SHOWN:
            parts.append(whole)
        at += 8 + size + size % 2
    if orientation != 1 and parts and parts[0].startswith(b"VP8X"):
        exif = _exif(orientation)
        parts.append(b"EXIF" + struct.pack("<I", len(exif)) + exif)
    body = b"WEBP" + b"".join(parts)
    return b"RIFF" + struct.pack("<I", len(body)) + body


# ---- GIF
_GIF_LOOPS = (b"NETSCAPE2.0", b"ANIMEXTS1.0")


def _gif(data: bytes, orientation: int) -> bytes:
    def colours(flags: int) -> int:
        return 3 << ((flags & 7) + 1) if flags & 0x80 else 0

    def blocks_end(at: int) -> int:
        while data[at]:
            at += 1 + data[at]
        return at + 1

    at = 13 + colours(data[10])
    parts = [data[:at]]
    for _ in range(_MOST_PARTS):
        if data[at] == 0x3B:
            return b"".join([*parts, b"\x3b"])
        if data[at] == 0x2C:
            end = blocks_end(at + 11 + colours(data[at + 9]))
        elif data[at] == 0x21:
            end = blocks_end(at + 2)
        else:
            raise KeptError(_UNUSUAL)
        kind = data[at + 1] if data[at] == 0x21 else 0xF9
        if kind == 0xF9 or (kind == 0xFF and data[at + 3 : at + 14] in _GIF_LOOPS):
            parts.append(data[at:end])
        at = end
    raise KeptError(f"it has more than {_MOST_PARTS:,} parts")


# ---- TIFF
_TIFF_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
_TIFF_SHOWN = frozenset((
    *range(254, 260), *range(262, 267), *range(273, 285), *range(290, 294), 296, 297, 301, *range(317, 326), 332, 334,
    336, *range(338, 343), 347, *range(512, 522), *range(529, 533), 33421, 33422, 34675,
))  # fmt: skip
"""Tags of TIFF 6.0 and its supplements that say how the pixels are stored or look, with the colour profile."""

_TIFF_RAW = 50706
_TIFF_FURTHER = frozenset((34665, 34853, 40965, 330))
"""Tags that lead to further directories: EXIF, GPS, interoperability, and smaller versions of the picture."""


def _tiff(data: bytes, orientation: int) -> bytes:
    """Take entries out of the directories, and blank what they point at; nothing else moves."""
    order = "<" if data[:2] == b"II" else ">"
    if struct.unpack_from(order + "H", data, 2)[0] != 42:
        raise KeptError("metadata of BigTIFF files cannot be cut out")
    made = bytearray(data)
    (at,) = struct.unpack_from(order + "I", data, 4)
    seen: set[int] = set()
    while at and at not in seen and len(seen) < _MOST_PARTS:
        seen.add(at)
        at = _directory(made, at, order, seen, is_shown=True)
    return bytes(made)


def _directory(made: bytearray, at: int, order: str, seen: set[int], *, is_shown: bool) -> int:
    """Cut down a directory, to nothing if it is not shown; return where the next one is."""
    (count,) = struct.unpack_from(order + "H", made, at)
    end = at + 2 + 12 * count
    (following,) = struct.unpack_from(order + "I", made, end)
    kept: list[bytes] = []
    for start in range(at + 2, end, 12):
        tag, kind, number, value = struct.unpack_from(order + "HHII", made, start)
        if tag == _TIFF_RAW:
            raise KeptError("raw photographs need what they say beside their pixels")
        if is_shown and tag in _TIFF_SHOWN:
            kept.append(bytes(made[start : start + 12]))
            continue
        if tag in _TIFF_FURTHER:
            for further in _values(made, start, order, number):
                if further not in seen and len(seen) < _MOST_PARTS:
                    seen.add(further)
                    _directory(made, further, order, seen, is_shown=False)
        if (size := number * _TIFF_SIZES.get(kind, 1)) > 4:
            made[value : value + size] = bytes(len(made[value : value + size]))
    entries = b"".join(kept)
    made[at : end + 4] = (
        struct.pack(order + "H", len(kept)) + entries + struct.pack(order + "I", following if is_shown else 0)
    ).ljust(end + 4 - at, b"\0")
    return following


def _values(made: bytearray, start: int, order: str, number: int) -> list[int]:
    if number == 1:
        return [struct.unpack_from(order + "I", made, start + 8)[0]]
    (place,) = struct.unpack_from(order + "I", made, start + 8)
    return list(struct.unpack_from(f"{order}{min(number, 16)}I", made, place))


# ---- boxes: JPEG 2000
def _jp2(data: bytes, orientation: int) -> bytes:
    if data[4:8] != b"jP  ":
        return data  # a bare codestream, which has a comment at most
    kept = [data[start:end] for name, start, _, end in _boxes(data) if name not in (b"xml ", b"uuid", b"uinf", b"free")]
    return b"".join(kept)


def _boxes(data: bytes, at: int = 0, stop: int = 0) -> Iterator[tuple[bytes, int, int, int]]:
    """Yield name, start, start of the content and end of boxes of ISO media files."""
    stop = stop or len(data)
    while at + 8 <= stop:
        size, head = int.from_bytes(data[at : at + 4], "big"), 8
        if size == 1:
            size, head = int.from_bytes(data[at + 8 : at + 16], "big"), 16
        end = stop if size == 0 else at + size
        if end < at + head or end > stop:
            raise KeptError(_UNUSUAL)
        yield data[at + 4 : at + 8], at, at + head, end
        at = end


# ---- AVIF, HEIC
_NO_EXIF = struct.pack("<I2sHIHI", 0, b"II", 42, 8, 0, 0)


def _items(data: bytes, orientation: int) -> bytes:
    """Blank the items of EXIF and XMP where they lie; which way is up is no part of them in these formats."""
    made = bytearray(data)
    for name, _, inner, end in _boxes(data):
        if name != b"meta":
            continue
        parts = {kind: (start, last) for kind, _, start, last in _boxes(data, inner + 4, end)}
        if b"iinf" in parts and b"iloc" in parts:
            said = set(_said_items(data, *parts[b"iinf"]))
            for number, start, size in _places(data, parts):
                if number in said:
                    there = len(made[start : start + size])
                    made[start : start + size] = _NO_EXIF[:there].ljust(there, b"\0")
    return bytes(made)


def _said_items(data: bytes, at: int, end: int) -> Iterator[int]:
    wide = data[at] != 0
    for name, _, start, last in _boxes(data, at + (8 if wide else 6), end):
        if name == b"infe" and data[start] in (2, 3):
            size = 2 if data[start] == 2 else 4
            number = int.from_bytes(data[start + 4 : start + 4 + size], "big")
            kind = data[start + 6 + size : start + 10 + size]
            if kind == b"Exif" or (kind == b"mime" and b"rdf+xml" in data[start:last]):
                yield number


def _places(data: bytes, parts: dict[bytes, tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield number, start and size of the items' pieces."""
    at = parts[b"iloc"][0]
    version, sizes = data[at], int.from_bytes(data[at + 4 : at + 6], "big")
    offset_size, length_size, base_size = sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15
    index_size = sizes & 15 if version else 0
    at += 6

    def number(size: int) -> int:
        nonlocal at
        at += size
        return int.from_bytes(data[at - size : at], "big")

    for _ in range(min(number(4 if version == 2 else 2), _MOST_PARTS)):
        item = number(4 if version == 2 else 2)
        method = number(2) & 15 if version else 0
        number(2)
        base = number(base_size)
        if method == 1:
            base += parts.get(b"idat", (0, 0))[0]
        for _ in range(min(number(2), _MOST_PARTS)):
            number(index_size)
            start, size = number(offset_size) + base, number(length_size)
            if method < 2:
                yield item, start, size


def _as_it_is(data: bytes, orientation: int) -> bytes:
    return data


_CUTS: dict[str, Callable[[bytes, int], bytes]] = {
    "PNG": _png, "JPEG": _jpeg, "MPO": _jpeg, "WEBP": _webp, "GIF": _gif, "TIFF": _tiff, "JPEG2000": _jp2,
    "AVIF": _items, "HEIF": _items, "BMP": _as_it_is, "QOI": _as_it_is, "PCX": _as_it_is,
}  # fmt: skip
