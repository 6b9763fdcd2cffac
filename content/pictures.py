"""Tells a picture from what only claims to be one, by decoding it; runs in a worker process, on files nobody trusts."""

import importlib
import re
import struct
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from PIL import Image, ImageOps, UnidentifiedImageError

from ..budget.ceilings import PICTURE_BYTES
from ..budget.formats import is_image
from .picture_kinds import FORMATS, HEAD_BYTES, root_tag, sniff

MAX_PIXELS = 64_000_000
"""Largest picture that is decoded: some 256 MB of memory, and more than the cameras of phones take."""

THUMBNAILS = ((320, 70), (320, 45), (256, 40), (192, 40), (128, 40))
"""Longest side in pixels and JPEG quality of a thumbnail, tried in turn until one is small enough: the last is so for
noise. Photographs, drawings and pages of text mostly fit the first two."""

_COUNT_FRAMES_BYTES = 4_000_000
_ORIENTATION = 0x0112
_SHOWN_INFO = ("icc_profile", "transparency", "gamma")

Found = dict[str, Any]


def load() -> None:
    """Load the decoders."""
    _formats()


def inspect(path: str, *, strip_to: str = "", thumbnail_to: str = "", max_pixels: int = MAX_PIXELS) -> Found:
    """Decode the picture in `path` and describe it.

    Args:
        path: the file.
        strip_to: where to write it again without metadata, if anywhere.
        thumbnail_to: where to write a JPEG or PNG of at most 320 pixels a side and `PICTURE_BYTES`, if anywhere.
        max_pixels: a larger picture is not decoded.

    Returns:
        `format`, `width`, `height` and so on of a picture; of anything else `bad` (`empty`, `not_an_image`,
        `unsupported`, `truncated`, `too_many_pixels`, `corrupt`), `said` (the exception in a line) and `kind`.
    """
    head = _head(path)
    kind = sniff(head)
    if kind == "empty":
        return {"bad": "empty", "kind": kind, "said": ""}
    if is_image(kind):  # and none that Pillow is let see
        return {"bad": "unsupported", "kind": kind, "said": ""}
    if kind not in FORMATS and kind != "binary":
        return {"bad": "not_an_image", "kind": kind, "said": ""}
    if kind == "SVG":
        return _svg(head)
    formats = _formats()
    if kind == "HEIF" and "HEIF" not in formats:
        return {"bad": "unsupported", "kind": "HEIC image", "said": "no decoder for HEIC is installed"}
    Image.MAX_IMAGE_PIXELS = max_pixels
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=formats) as picture:
                return _described(picture, path, strip_to, thumbnail_to)
    except Exception as error:
        if isinstance(error, MemoryError):
            raise
        # Pillow's plugins raise all kinds of exceptions about damaged files.
        return {"bad": _reason(error, kind), "kind": kind, "said": _line(error)}


def _svg(head: bytes) -> Found:
    root = root_tag(head)
    found: Found = {"format": "SVG", "note": "SVG is kept as text and never rendered"}
    box = re.search(rb"viewBox\s*=\s*[\"']\s*[-\d.e]+[\s,]+[-\d.e]+[\s,]+([\d.]+)[\s,]+([\d.]+)", root)
    for number, side in enumerate((b"width", b"height"), 1):
        given = re.search(rb"\s" + side + rb"\s*=\s*[\"']\s*([\d.]{1,12})(?:px)?\s*[\"']", root) or None
        text = given[1] if given else box[number] if box else b""
        if re.fullmatch(rb"\d{1,9}(\.\d*)?", text):
            found[side.decode()] = round(float(text))
    return found


def _formats() -> list[str]:
    """Load the decoders that are allowed, and no others; which there are depends on how Pillow was built."""
    decoded = {name: known.plugin for name, known in FORMATS.items() if known.plugin}
    for plugin in decoded.values():
        importlib.import_module(f"PIL.{plugin}ImagePlugin")
    formats = [name for name in decoded if name in Image.OPEN]
    try:
        importlib.import_module("pi_heif").register_heif_opener()
    except ImportError:
        return formats
    return [*formats, "HEIF"]


def _described(picture: Image.Image, path: str, strip_to: str, thumbnail_to: str) -> Found:
    animated = bool(getattr(picture, "is_animated", False)) and picture.format != "MPO"
    frames = {"frames": _frames(picture, path)} if animated else {}
    orientation = _orientation(picture)
    # Everything up to here only read headers; this decodes, and finds what is missing.
    picture.load()
    found: Found = {
        "format": picture.format or "",
        "width": picture.width,
        "height": picture.height,
        "mode": picture.mode,
        "animated": animated,
        **frames,
        "orientation": orientation,
        "blank": _blank(picture),
        "stripped": bool(strip_to) and not animated,
    }
    if strip_to and not animated:
        _strip(picture, strip_to, orientation)
    if thumbnail_to:
        found["thumbnail"] = _thumbnail(picture, thumbnail_to)
    return found


def _frames(picture: Image.Image, path: str) -> int | None:
    """Count the frames of an animation; None where that would take reading a large file to its end."""
    if Path(path).stat().st_size > _COUNT_FRAMES_BYTES:
        return None
    count = cast("int", getattr(picture, "n_frames", 1))
    picture.seek(0)
    return count


def _orientation(picture: Image.Image) -> int:
    try:
        value: object = picture.getexif().get(_ORIENTATION, 1)
    except (OSError, ValueError, SyntaxError, KeyError, TypeError, struct.error):
        return 1
    return value if isinstance(value, int) and 1 <= value <= 8 else 1


def _blank(picture: Image.Image) -> bool:
    """Tell whether all pixels are the same, or all transparent."""
    extrema = cast("Sequence[Any]", picture.getextrema())
    bands = cast("list[tuple[float, float]]", list(extrema) if isinstance(extrema[0], tuple) else [extrema])
    transparent = picture.mode in ("LA", "RGBA", "PA") and bands[-1][1] == 0
    return transparent or all(low == high for low, high in bands)


def _strip(picture: Image.Image, path: str, orientation: int) -> None:
    """Write the picture without EXIF, GPS, XMP, comments and texts; turned upright, as nothing says so any more."""
    kept = {name: picture.info[name] for name in _SHOWN_INFO if name in picture.info}
    upright = ImageOps.exif_transpose(picture)
    upright.info = cast("dict[str | tuple[int, int], Any]", kept)
    options: dict[str, Any] = {"icc_profile": kept["icc_profile"]} if "icc_profile" in kept else {}
    name = "JPEG" if picture.format == "MPO" else picture.format
    if name == "JPEG":
        # The same quantisation as before keeps the loss too small to see; it needs the untouched original.
        options |= {"quality": 95} if orientation != 1 or picture.format == "MPO" else {"qtables": _tables(picture)}
    elif name in ("WEBP", "AVIF"):
        options |= {"quality": 90, "lossless": True} if name == "WEBP" and picture.mode == "RGBA" else {"quality": 90}
    upright.save(path, format=name, exif=b"", **options)


def _tables(picture: Image.Image) -> Mapping[int, Sequence[int]]:
    return cast("Mapping[int, Sequence[int]]", getattr(picture, "quantization", {}))


def _thumbnail(picture: Image.Image, path: str) -> str:
    """Write a small picture for the eye and return its media type."""
    small = ImageOps.exif_transpose(picture)
    if small.mode not in ("RGB", "RGBA", "L"):
        small = small.convert("RGBA" if small.mode in ("LA", "PA", "La") or "transparency" in small.info else "RGB")
    small.thumbnail((THUMBNAILS[0][0], THUMBNAILS[0][0]), reducing_gap=2.0)
    small.info = {}
    if small.mode == "RGBA" and small.getextrema()[-1] != (255, 255):
        small.save(path, format="PNG", optimize=True)
        if Path(path).stat().st_size <= PICTURE_BYTES:
            return "image/png"
        white = Image.new("RGB", small.size, "white")
        white.paste(small, mask=small.getchannel("A"))
        small = white
    small = small.convert("RGB")
    for side, quality in THUMBNAILS:
        small.thumbnail((side, side))
        small.save(path, format="JPEG", quality=quality, optimize=True)
        if Path(path).stat().st_size <= PICTURE_BYTES:
            break
    return "image/jpeg"


def _reason(error: Exception, kind: str) -> str:
    if isinstance(error, Image.DecompressionBombWarning | Image.DecompressionBombError):
        return "too_many_pixels"
    if isinstance(error, UnidentifiedImageError):
        return "corrupt" if kind in FORMATS else "not_an_image"
    said = str(error).lower()
    if "decompressed data too large" in said or "decompression bomb" in said:
        return "too_many_pixels"
    if isinstance(error, OSError | EOFError | SyntaxError) and any(
        word in said for word in ("truncated", "unexpected end", "not enough", "eof")
    ):
        return "truncated"
    return "corrupt"


def _line(error: Exception) -> str:
    said = re.sub(r"\s+", " ", str(error)).strip()
    # Pillow names the file that it was given; that name is ours and says nothing.
    said = re.sub(r" ?'/[^']*'", " the file", said)
    return f"{type(error).__name__}: {said}"[:200]


def _head(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(HEAD_BYTES)
