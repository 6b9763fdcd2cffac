"""Tells a picture from what only claims to be one, by decoding it; runs in a worker process, on files nobody trusts."""

import importlib
import io
import math
import re
import struct
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from PIL import Image, ImageChops, ImageFile, ImageOps, UnidentifiedImageError

from ..budget.ceilings import PICTURE_BYTES
from ..budget.formats import is_image
from .picture_kinds import FORMATS, HEAD_BYTES, root_tag, said, sniff
from .picture_metadata import (
    KeptError,
    drawn_png,
    ends_early,
    jpeg_segments,
    png_chunks,
    unpacks_too_far,
    without_metadata,
)

MAX_PIXELS = 64_000_000
"""Largest picture that is decoded: some 256 MB of memory, and more than the cameras of phones take."""

THUMBNAILS = ((320, 70), (320, 45), (256, 40), (192, 40), (128, 40))
"""Longest side in pixels and JPEG quality of a thumbnail, tried in turn until one is small enough: the last is so for
noise. Photographs, drawings and pages of text mostly fit the first two."""

_TEXT_BYTES = 1_000_000
_FRAMES_S = 4.0
"""Longest time for the frames of an animation behind the first."""

_ORIENTATION = 0x0112
_FRAMES_OF_JPEG = frozenset((*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0)))
_LOSSLESS = frozenset((0xC3, 0xC7, 0xCB, 0xCF))
"""Markers of frames in ITU-T T.81, table B.1."""

_CUT_SHORT = ("truncated", "unexpected end", "not enough", "eof", "premature", "not a complete", "incomplete")
"""What decoders say of files that end early."""

Found = dict[str, Any]


def load() -> None:
    """Load the decoders."""
    _formats()


def inspect(path: str, *, strip_to: str = "", thumbnail_to: str = "", max_pixels: int = MAX_PIXELS) -> Found:
    """Decode the picture in `path`, every frame of it, and describe it.

    Args:
        path: the file.
        strip_to: where to write it again without metadata, if anywhere.
        thumbnail_to: where to write a JPEG or PNG of at most 320 pixels a side and `PICTURE_BYTES`, if anywhere.
        max_pixels: a larger picture is not decoded.

    Returns:
        `format`, `width`, `height` and so on of a picture; of anything else `bad` (`empty`, `not_an_image`,
        `unsupported`, `truncated`, `too_many_pixels`, `corrupt`), `error` (the exception in a line), `kind`, `there`
        (what there is of one that is truncated) and `says` (what the content says of itself).
    """
    head = _head(path)
    kind = sniff(head)
    if kind == "empty":
        return {"bad": "empty", "kind": kind, "error": ""}
    if is_image(kind):  # and none that Pillow is let see
        return {"bad": "unsupported", "kind": kind, "error": ""}
    if kind not in FORMATS and kind != "binary":
        return {"bad": "not_an_image", "kind": kind, "error": "", "says": said(head, kind)}
    if kind == "SVG":
        return _svg(head)
    formats = _formats()
    if kind == "HEIF" and "HEIF" not in formats:
        return {"bad": "unsupported", "kind": "HEIC image", "error": "no decoder for HEIC is installed"}
    data = Path(path).read_bytes()
    if odd := _odd_jpeg(data) if kind == "JPEG" else "":
        return {"bad": "unsupported", "kind": odd, "error": ""}
    Image.MAX_IMAGE_PIXELS = max_pixels
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(_drawn(data, kind)), formats=formats) as picture:
                found = _described(picture, thumbnail_to)
    except Exception as error:
        if isinstance(error, MemoryError):
            raise
        # Pillow's plugins raise all kinds of exceptions about damaged files.
        bad = _reason(error, kind)
        if bad == "corrupt" and ends_early(data, kind):
            bad = "truncated"
        there = _there(data, formats) if bad == "truncated" else ""
        return {"bad": bad, "kind": kind, "error": _line(error), "there": there}
    if kind == "PNG" and unpacks_too_far(data, _TEXT_BYTES):
        found["note"] = f"a packed text in it is longer than {_TEXT_BYTES:,} bytes; strip leaves it out"
    return found | (_stripped(data, found, strip_to) if strip_to else {})


def _drawn(data: bytes, kind: str) -> bytes:
    """Return what a decoder is to see.

    Raises:
        SyntaxError: a checksum of what is drawn does not hold.
        EOFError: the file ends before its end.
    """
    if kind != "PNG":
        return data
    chunks = list(png_chunks(data))
    if broken := next((chunk for chunk in chunks if chunk.is_needed and not chunk.holds), None):
        raise SyntaxError(f"the checksum of {broken.name.decode('ascii', 'replace')} does not hold")
    if chunks and (chunks[-1].is_cut or chunks[-1].name != b"IEND") and chunks[0].name == b"IHDR":
        raise EOFError("truncated: the file ends before IEND")
    return drawn_png(data)


def _odd_jpeg(data: bytes) -> str:
    """Name the JPEG that no decoder here knows, though it is a JPEG."""
    with suppress(KeptError):
        for marker, start, _ in jpeg_segments(data):
            if marker in _FRAMES_OF_JPEG:
                return (
                    "lossless JPEG image"
                    if marker in _LOSSLESS
                    else (
                        f"JPEG image of {data[start + 4]} bits a colour"
                        if data[start + 4 : start + 5] > b"\x08"
                        else ""
                    )
                )
    return ""


def _there(data: bytes, formats: list[str]) -> str:
    """Tell what there is of a picture that ends early: how many of its rows, or of its frames."""
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        with Image.open(io.BytesIO(data), formats=formats) as picture:
            width, height, form = picture.width, picture.height, picture.format
            picture.load()
            last = cast("Any", picture.crop((0, height - 1, width, height))).resize(picture.size)
            drawn = ImageChops.difference(picture.convert("RGB"), last.convert("RGB")).getbbox()
            rows = drawn[3] if drawn else 0
            return f"some {rows:,} of {height:,} rows of a {form} image of {width:,} x {height:,} pixels are there"
    except Exception:  # noqa: BLE001 - there is too little of it to tell anything
        return ""
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = False


def _stripped(data: bytes, found: Found, path: str) -> Found:
    try:
        Path(path).write_bytes(without_metadata(data, found["format"], found["orientation"]))
    except KeptError as error:
        return {"stripped": False, "note": f"metadata is still in it: {error}"}
    return {"stripped": True}


def _svg(head: bytes) -> Found:
    root = root_tag(head)
    found: Found = {"format": "SVG", "note": "SVG is kept as text, with all that it says, and never rendered"}
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


def _described(picture: Image.Image, thumbnail_to: str) -> Found:
    animated = bool(getattr(picture, "is_animated", False)) and picture.format != "MPO"
    orientation = _orientation(picture)
    # Everything up to here only read headers; this decodes, and finds what is missing.
    picture.load()
    found: Found = {
        "format": picture.format or "",
        "width": picture.width,
        "height": picture.height,
        "mode": picture.mode,
        "animated": animated,
        "orientation": orientation,
        "blank": _blank(picture),
    }
    if thumbnail_to:
        found["thumbnail"] = _thumbnail(picture, thumbnail_to)
    return found | (_frames(picture) if animated else {})


def _frames(picture: Image.Image) -> Found:
    """Decode the further frames, as many as there is time for, and count them."""
    started, count = time.monotonic(), cast("int", getattr(picture, "n_frames", 1))
    for number in range(1, count):
        if time.monotonic() - started > _FRAMES_S:
            return {"frames": count, "note": f"the first {number} frames were decoded"}
        picture.seek(number)
        picture.load()
    return {"frames": count}


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


def _thumbnail(picture: Image.Image, path: str) -> str:
    """Write a small picture for the eye and return its media type."""
    small = eight_bits(ImageOps.exif_transpose(picture))
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


def eight_bits(picture: Image.Image) -> Image.Image:
    """Return a picture with more than eight bits a pixel as grey ones; the decoder itself would only cut them off.

    Whole numbers of 16 bits have all of their range, unless they use no more than 12 bits; others have what they use.
    """
    if picture.mode.startswith("I;16"):
        picture = picture.convert("I")
        most = cast("tuple[int, int]", picture.getextrema())[1]
        low, high = 0.0, 4095.0 if most <= 4095 else 65535.0
    elif picture.mode in ("I", "F"):
        low, high = cast("tuple[float, float]", picture.getextrema())
        if not (math.isfinite(low) and math.isfinite(high)):
            low, high = 0.0, 1.0
    else:
        return picture
    scale = 255 / (high - low) if high > low else 0.0
    # Pillow does not say the type of all that this may be given.
    grey = cast("Any", picture).point(lambda value: value * scale - low * scale)  # pyright: ignore[reportUnknownLambdaType]
    return cast("Image.Image", grey.convert("L"))


def _reason(error: Exception, kind: str) -> str:
    if isinstance(error, Image.DecompressionBombWarning | Image.DecompressionBombError):
        return "too_many_pixels"
    if isinstance(error, UnidentifiedImageError):
        return "corrupt" if kind in FORMATS else "not_an_image"
    told = str(error).lower()
    if "decompression bomb" in told:
        return "too_many_pixels"
    if isinstance(error, EOFError) or any(word in told for word in _CUT_SHORT):
        return "truncated"
    return "corrupt"


def _line(error: Exception) -> str:
    told = re.sub(r"\s+", " ", str(error)).strip()
    # Pillow names what it was given; that is ours and says nothing.
    told = re.sub(r" ?<_io\.BytesIO[^>]*>", " the file", told)
    return f"{type(error).__name__}: {told}"[:200]


def _head(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(HEAD_BYTES)
