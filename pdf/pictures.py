"""Pictures: opened only from the places the caller names, never larger than they are printed, never a failure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .blocks import Span
from .canvas import GREY, SHADE, PlacedPicture
from .lines import Look
from .options import Missing

if TYPE_CHECKING:
    from PIL import Image

    from .blocks import Picture
    from .canvas import Page
    from .lines import Lines
    from .options import Pictures

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF", "JPEG2000")
_MAX_PIXELS = 64_000_000
_PRINTED_DPI = 200
_SCREEN_DPI = 110
_ORIENTATION = 0x0112
_LYING = (5, 6, 7, 8)
"""Orientations of a photograph that is shown turned by a quarter."""

_SMALL = 0.86
_REFERENCE_CHARACTERS = 120


class Size(NamedTuple):
    """Of a picture as it shall be seen, in pixels or points."""

    width: float
    height: float


class Gallery:
    """The pictures of one document.

    Attributes:
        embedded: references that were drawn.
        missing: references that were not, each with its reason.
    """

    def __init__(self, pictures: Pictures, lines: Lines) -> None:
        self.embedded: dict[str, None] = {}
        self.missing: dict[str, str] = {}
        self._pictures = pictures
        self._lines = lines
        self._sizes: dict[Path, Size | Missing] = {}

    def height(self, block: Picture, look: Look) -> float:
        """Return the height in points that a picture will take, caption included."""
        size = self._size(block)
        if isinstance(size, Missing):
            return look.size * 6
        return self._fitted(block, size, look).height + self._caption_room(block, look)

    def draw(self, block: Picture, look: Look) -> None:
        """Draw a picture, or a box that says why there is none."""
        flow, size, small = self._lines.flow, self._size(block), Look(look.size * _SMALL, GREY)
        if isinstance(size, Missing):
            self.missing[block.reference] = size.reason
            self._draw_reason(block, size.reason, small)
            return
        self.embedded[block.reference] = None
        path = cast("Path", self._pictures[block.reference])
        width, height = self._fitted(block, size, look)
        flow.need(height + self._caption_room(block, look))
        top = flow.take(height)
        left = flow.left + (flow.width - width) / 2
        flow.page.pictures.append(PlacedPicture(path, block.reference, left, top, width, height))
        if block.alt:
            flow.space(3)
            for paragraph in self._lines.measure([Span(block.alt)], small):
                self._lines.draw(paragraph, small.size, leading=1.4, alignment="center")

    def _size(self, block: Picture) -> Size | Missing:
        source = self._pictures.get(block.reference, Missing("nothing was found under this reference"))
        if isinstance(source, Missing):
            return source
        if source not in self._sizes:
            self._sizes[source] = measure(source)
        return self._sizes[source]

    def _caption_room(self, block: Picture, look: Look) -> float:
        return look.size * 3 if block.alt else 0.0

    def _fitted(self, block: Picture, size: Size, look: Look) -> Size:
        flow = self._lines.flow
        width = min(size.width * 72 / _SCREEN_DPI, flow.width)
        shrink = min((flow.page_room - self._caption_room(block, look)) / (width * size.height / size.width), 1.0)
        return Size(max(width * shrink, 1.0), max(width * shrink * size.height / size.width, 1.0))

    def _draw_reason(self, block: Picture, reason: str, small: Look) -> None:
        flow, padding = self._lines.flow, 9.0
        head = f"Image not available: {block.alt}" if block.alt else "Image not available"
        reference = block.reference
        if len(reference) > _REFERENCE_CHARACTERS:
            reference = reference[: _REFERENCE_CHARACTERS - 1] + "…"
        left, right = flow.left, flow.right

        def ground(page: Page, top: float, bottom: float) -> None:
            page.box(left, top, right - left, bottom - top, SHADE)

        flow.need(small.size * 1.45 * 3 + 2 * padding)
        with flow.behind(ground), flow.inset(padding, padding):
            flow.y += padding
            for paragraph in self._lines.measure([Span(head, bold=True), Span(f"\n{reference}\n{reason}")], small):
                self._lines.draw(paragraph, small.size)
            flow.y += padding


def measure(path: Path) -> Size | Missing:
    """Return the size of a picture as it shall be seen, in pixels, or why it cannot be."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path, formats=_FORMATS) as image:
            width, height = image.size
            if width * height > _MAX_PIXELS:
                return Missing(f"it has {width} x {height} pixels, more than {_MAX_PIXELS // 1_000_000} million")
            return Size(height, width) if image.getexif().get(_ORIENTATION) in _LYING else Size(width, height)
    except UnidentifiedImageError:
        return Missing("the file is not a picture of a kind that can be embedded")
    except Exception as error:  # noqa: BLE001 - whatever a decoder raises about hostile content is a reason
        return Missing(f"the picture cannot be read ({type(error).__name__})")


def prepared(path: Path, width_pt: float) -> Image.Image | bytes:
    """Return the picture upright and no larger than its print needs, or its own bytes where that is what they are.

    Raises:
        Exception: whatever the decoder raises about a damaged file.
    """
    from PIL import Image, ImageOps

    most = max(int(width_pt / 72 * _PRINTED_DPI), 1)
    with Image.open(path, formats=_FORMATS) as image:
        orientation = image.getexif().get(_ORIENTATION, 1)
        if image.format == "JPEG":
            if orientation == 1 and image.mode in ("L", "RGB") and image.width <= most * 1.3:
                image.load()
                return path.read_bytes()
            # Its decoder can halve a picture while it reads it.
            image.draft("RGB", (most, most))
        image.load()
        picture = _eight_bits(ImageOps.exif_transpose(image))
        picture = picture.convert("RGB" if picture.mode in ("L", "RGB", "CMYK", "YCbCr", "1") else "RGBA")
        if picture.width > most:
            picture.thumbnail((most, max(most * picture.height // picture.width, 1)))
        if image.mode not in ("RGB", "RGBA"):
            # The profile was that of other colours.
            picture.info.pop("icc_profile", None)
        # fpdf2 embeds the one as JPEG, and the other without loss.
        picture.format = "JPEG" if image.format == "JPEG" else "PNG"
        return picture


def _eight_bits(picture: Image.Image) -> Image.Image:
    """Return a picture with more than eight bits a pixel as grey ones; the decoder itself would only cut them off."""
    if picture.mode.startswith("I;16"):
        low, high = 0.0, 65535.0
    elif picture.mode in ("I", "F"):
        low, high = cast("tuple[float, float]", picture.getextrema())
    else:
        return picture
    scale = 255 / (high - low) if high > low else 0.0
    # Pillow does not say the type of all that this may be given.
    grey = cast("Any", picture).point(lambda value: value * scale - low * scale)  # pyright: ignore[reportUnknownLambdaType]
    return cast("Image.Image", grey.convert("L"))
