"""Pictures: opened only from the places the caller names, never larger than they are printed, never a failure."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .blocks import Span
from .canvas import PlacedPicture
from .options import Missing
from .paragraph import GREY, LIGHT, SHADE

if TYPE_CHECKING:
    from PIL import Image

    from .blocks import Picture
    from .flow import Flow
    from .layout import Layout, Look
    from .options import Pictures

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF", "JPEG2000")
_MAX_PIXELS = 64_000_000
_PRINTED_DPI = 200
_SCREEN_DPI = 110


@dataclass(frozen=True, slots=True)
class Size:
    """Of a picture, in pixels, as it shall be seen."""

    width: int
    height: int


class Gallery:
    """The pictures of one document.

    Attributes:
        embedded: references that were drawn.
        missing: references that were not, each with its reason.
    """

    def __init__(self, pictures: Pictures) -> None:
        self.embedded: dict[str, None] = {}
        self.missing: dict[str, str] = {}
        self._pictures = pictures
        self._sizes: dict[Path, Size | Missing] = {}

    def draw(self, layout: Layout, block: Picture, look: Look) -> None:
        """Draw a picture, or a box that says why there is none."""
        source = self._pictures.get(block.reference, Missing("nothing was found under this reference"))
        if not isinstance(source, Missing):
            size = self._size(source)
            if isinstance(size, Size):
                self.embedded[block.reference] = None
                self._picture(layout, block, source, size, look)
                return
            source = size
        self.missing[block.reference] = source.reason
        self._placeholder(layout, block, source.reason, look)

    def _size(self, path: Path) -> Size | Missing:
        if path not in self._sizes:
            self._sizes[path] = measure(path)
        return self._sizes[path]

    def height(self, flow: Flow, block: Picture, look: Look) -> float:
        """Return the height that a picture will take, caption included, in points."""
        source = self._pictures.get(block.reference)
        size = self._size(source) if isinstance(source, Path) else None
        if not isinstance(size, Size):
            return look.size * 6
        return self._fitted(flow, block, size, look)[1] + self._room_for_caption(block, look)

    def _room_for_caption(self, block: Picture, look: Look) -> float:
        return look.size * 3 if block.alt else 0

    def _fitted(self, flow: Flow, block: Picture, size: Size, look: Look) -> tuple[float, float]:
        width = min(size.width * 72 / _SCREEN_DPI, flow.width)
        height = width * size.height / size.width
        tallest = flow.page_room - self._room_for_caption(block, look)
        if height > tallest:
            width, height = width * tallest / height, tallest
        return max(width, 1.0), max(height, 1.0)

    def _picture(self, layout: Layout, block: Picture, path: Path, size: Size, look: Look) -> None:
        flow = layout.flow
        width, height = self._fitted(flow, block, size, look)
        flow.need(height + self._room_for_caption(block, look))
        top = flow.take(height)
        left = flow.left + (flow.width - width) / 2
        flow.page.pictures.append(PlacedPicture(path, block.reference, left, top, width, height))
        if block.alt:
            self._caption(layout, block.alt, look)

    def _caption(self, layout: Layout, text: str, look: Look) -> None:
        flow, size = layout.flow, look.size * 0.86
        small = type(look)(size, GREY)
        flow.space(3)
        for paragraph, _ in layout.paragraphs([Span(text)], small):
            for line in paragraph.lines(flow.width):
                top = flow.take(size * 1.4)
                left = flow.left + (flow.width - paragraph.widest(*line)) / 2
                paragraph.draw(flow.page, left, top + size * 1.05, line)

    def _placeholder(self, layout: Layout, block: Picture, reason: str, look: Look) -> None:
        flow, size, padding = layout.flow, look.size * 0.86, 9.0
        head = f"Image not available: {block.alt}" if block.alt else "Image not available"
        shown = block.reference if len(block.reference) <= 120 else block.reference[:119] + "…"
        small = type(look)(size, GREY)
        spans = [Span(head, bold=True), Span(f"\n{shown}\n{reason}")]
        measured = [paragraph for paragraph, _ in layout.paragraphs(spans, small)]
        with flow.inset(padding, padding):
            lines = [(paragraph, line) for paragraph in measured for line in paragraph.lines(flow.width)]
        # A reason is never longer than a page: what is too long is cut here, and whole in the report.
        lines = lines[: max(int((flow.page_room - 2 * padding) // (size * 1.45)), 1)]
        height = len(lines) * size * 1.45 + 2 * padding
        top = flow.take(height)
        flow.page.box(flow.left, top, flow.width, height, SHADE)
        flow.page.frame(flow.left, top, flow.width, height, LIGHT)
        for number, (paragraph, line) in enumerate(lines):
            paragraph.draw(flow.page, flow.left + padding, top + padding + size * (1.45 * number + 1.05), line)


def measure(path: Path) -> Size | Missing:
    """Return the size of a picture as it shall be seen, or why it cannot be."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path, formats=_FORMATS) as image:
            width, height = image.size
            if width * height > _MAX_PIXELS:
                return Missing(f"it has {width} x {height} pixels, more than {_MAX_PIXELS // 1_000_000} million")
            turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
            return Size(height, width) if turned else Size(width, height)
    except UnidentifiedImageError:
        return Missing("the file is not a picture of a kind that can be embedded")
    except Exception as error:  # noqa: BLE001 - whatever a decoder raises about hostile content is a reason
        return Missing(f"the picture cannot be read ({type(error).__name__})")


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


def prepared(path: Path, width_pt: float) -> io.BytesIO:
    """Return the picture upright, as large as its print needs, in a form that PDF has: JPEG or PNG.

    Raises:
        Exception: whatever the decoder raises about a damaged file.
    """
    from PIL import Image, ImageOps

    most = max(int(width_pt / 72 * _PRINTED_DPI), 1)
    with Image.open(path, formats=_FORMATS) as image:
        kind = image.format
        orientation = image.getexif().get(0x0112, 1)
        if kind == "JPEG" and orientation == 1 and image.mode in ("L", "RGB") and image.width <= most * 1.3:
            image.load()
            return io.BytesIO(path.read_bytes())
        if kind == "JPEG":
            upright = orientation not in (5, 6, 7, 8)
            shrink = most / max(image.width if upright else image.height, 1)
            image.draft("RGB", (int(image.width * shrink) + 1, int(image.height * shrink) + 1))
        image.load()
        picture = _eight_bits(ImageOps.exif_transpose(image))
    opaque = picture.mode in ("L", "RGB", "CMYK", "YCbCr", "1")
    picture = picture.convert("RGB" if opaque else "RGBA")
    if picture.width > most:
        picture.thumbnail((most, max(most * picture.height // picture.width, 1)))
    made = io.BytesIO()
    if kind == "JPEG":
        picture.save(made, "JPEG", quality=85)
    else:
        picture.save(made, "PNG")
    made.seek(0)
    return made
