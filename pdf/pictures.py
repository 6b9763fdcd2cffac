"""Pictures: opened only from the places the caller names, never larger than they are printed, never a failure."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

from .options import Missing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .inline import Node
    from .options import Pictures

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF", "JPEG2000")
_MAX_PIXELS = 64_000_000
_PRINTED_DPI = 200
_SCREEN_DPI = 110
_ORIENTATION = 0x0112
_LYING = (5, 6, 7, 8)
"""Orientations of a photograph that is shown turned by a quarter."""

_REFERENCE_CHARACTERS = 120
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}">'
    '<image width="{0}" height="{1}" preserveAspectRatio="none" href="data:image/{2};base64,{3}"/></svg>'
)
"""How a picture travels in a text, which is all that the template is given."""


class Gallery:
    """The pictures of one document.

    Attributes:
        drawn: as the template gets them.
        embedded: references that were drawn.
        missing: references that were not, each with its reason.
    """

    def __init__(self, pictures: Pictures, height: float, fit: Callable[[str], str]) -> None:
        """Take the pictures, how high one may be in points, and what makes a text one that can be drawn."""
        self.drawn: list[str] = []
        self.embedded: dict[str, None] = {}
        self.missing: dict[str, str] = {}
        self._pictures = pictures
        self._height = height
        self._fit = fit
        self._known: dict[tuple[Path, int], list[float] | Missing] = {}

    def show(self, reference: str, alt: str, room: float) -> Node:
        """Return the node of a picture that is at most `room` points wide, or of what says why there is none."""
        source = self._pictures.get(reference, Missing("nothing was found under this reference"))
        if not isinstance(source, Missing):
            key = source, round(room)
            if key not in self._known:
                self._known[key] = self._drawn(source, room)
            shown = self._known[key]
            if not isinstance(shown, Missing):
                self.embedded[reference] = None
                return ["picture", *shown, alt]
            source = shown
        self.missing[reference] = source.reason
        short = reference if len(reference) <= _REFERENCE_CHARACTERS else reference[: _REFERENCE_CHARACTERS - 1] + "…"
        return ["missing", alt, self._fit(short), self._fit(source.reason)]

    def _drawn(self, path: Path, room: float) -> list[float] | Missing:
        """Return number, width and height in points of a picture, or why it cannot be shown."""
        from PIL import Image, UnidentifiedImageError

        try:
            with Image.open(path, formats=_FORMATS) as image:
                width, height = image.size
                if width * height > _MAX_PIXELS:
                    return Missing(f"it has {width} x {height} pixels, more than {_MAX_PIXELS // 1_000_000} million")
                if image.getexif().get(_ORIENTATION) in _LYING:
                    width, height = height, width
            shrink = min(1.0, room / (width * 72 / _SCREEN_DPI), self._height / (height * 72 / _SCREEN_DPI))
            size = [max(side * 72 / _SCREEN_DPI * shrink, 1.0) for side in (width, height)]
            data, kind = prepared(path, size[0])
        except UnidentifiedImageError:
            return Missing("the file is not a picture of a kind that can be embedded")
        except Exception as error:  # noqa: BLE001 - whatever a decoder raises about hostile content is a reason
            return Missing(f"the picture cannot be decoded ({type(error).__name__})")
        self.drawn.append(_SVG.format(width, height, kind, base64.b64encode(data).decode()))
        return [len(self.drawn) - 1, *size]


def prepared(path: Path, width_pt: float) -> tuple[bytes, str]:
    """Return the picture upright and no larger than its print needs, and whether it is `jpeg` or `png`.

    Raises:
        Exception: whatever the decoder raises about a damaged file.
    """
    from PIL import Image, ImageOps

    from ..content.pictures import eight_bits

    most = max(int(width_pt / 72 * _PRINTED_DPI), 1)
    with Image.open(path, formats=_FORMATS) as image:
        kind = "jpeg" if image.format == "JPEG" else "png"
        orientation = image.getexif().get(_ORIENTATION, 1)
        if kind == "jpeg":
            if orientation == 1 and image.mode in ("L", "RGB") and image.width <= most * 1.3:
                image.load()
                return path.read_bytes(), kind
            # Its decoder can halve a picture while it reads it.
            image.draft("RGB", (most, most))
        image.load()
        picture = eight_bits(ImageOps.exif_transpose(image))
        picture = picture.convert("RGB" if picture.mode in ("L", "RGB", "CMYK", "YCbCr", "1") else "RGBA")
        if picture.width > most:
            picture.thumbnail((most, max(most * picture.height // picture.width, 1)))
        # The profile of other colours is none of these.
        profile = image.info.get("icc_profile") if image.mode in ("RGB", "RGBA") else None
        output = io.BytesIO()
        picture.save(output, kind, icc_profile=profile, quality=88)
        return output.getvalue(), kind
