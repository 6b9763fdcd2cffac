"""Pages as they are drawn, before they become a PDF: operators in two layers, links, pictures, places to jump to."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class Color(NamedTuple):
    """Red, green and blue from 0 to 1."""

    red: float
    green: float
    blue: float

    @property
    def fill(self) -> bytes:
        """Return the operator that chooses it for areas."""
        return b"%.3g %.3g %.3g rg" % self

    @property
    def stroke(self) -> bytes:
        """Return the operator that chooses it for lines."""
        return b"%.3g %.3g %.3g RG" % self


BLACK = Color(0.13, 0.14, 0.16)
"""Of text; the layer above begins with it."""

GREY = Color(0.42, 0.45, 0.49)
LIGHT = Color(0.82, 0.84, 0.87)
BLUE = Color(0.04, 0.35, 0.72)
SHADE = Color(0.95, 0.96, 0.97)


class Style(NamedTuple):
    """How a piece of text looks.

    Attributes:
        size: in points.
        rise: points above the base line.
        link: a URL, `#name`, or empty.
        shaded: on a light ground, as code inside a sentence is.
    """

    size: float
    mono: bool = False
    bold: bool = False
    italic: bool = False
    strike: bool = False
    shaded: bool = False
    rise: float = 0.0
    link: str = ""
    color: Color = BLACK


@dataclass(frozen=True, slots=True)
class Link:
    """A place to click: left, top, width, height from the top left corner, and a URL or `#name`."""

    left: float
    top: float
    width: float
    height: float
    target: str


@dataclass(frozen=True, slots=True)
class PlacedPicture:
    """A picture on a page; `reference` is what stands for it in the source."""

    path: Path
    reference: str
    left: float
    top: float
    width: float
    height: float


@dataclass(slots=True)
class Page:
    """One page; all coordinates are points from its top left corner.

    Attributes:
        height: of the page.
        under: operators of the layer below: backgrounds.
        over: operators of the layer above: text and lines.
        places: names that links may go to, and how far from the top they are.
        sections: (level, title, distance from the top) of the headings on the page.
    """

    height: float
    under: list[bytes] = field(default_factory=list[bytes])
    over: list[bytes] = field(default_factory=list[bytes])
    links: list[Link] = field(default_factory=list[Link])
    pictures: list[PlacedPicture] = field(default_factory=list[PlacedPicture])
    places: dict[str, float] = field(default_factory=dict[str, float])
    sections: list[tuple[int, str, float]] = field(default_factory=list[tuple[int, str, float]])

    def box(self, left: float, top: float, width: float, height: float, fill: Color) -> None:
        """Fill a rectangle in the layer below."""
        self.under.append(b"%s %.2f %.2f %.2f %.2f re f" % (fill.fill, left, self.height - top - height, width, height))

    def line(self, points: list[tuple[float, float]], color: Color, thickness: float = 0.6) -> None:
        """Draw lines from point to point."""
        path = b" l ".join(b"%.2f %.2f" % (x, self.height - y) for x, y in points).replace(b" l ", b" m ", 1)
        self.over.append(b"%s %.2f w %s l S" % (color.stroke, thickness, path))

    def rule(self, left: float, top: float, right: float, color: Color, thickness: float = 0.6) -> None:
        """Draw a horizontal line."""
        y = self.height - top
        self.over.append(b"%s %.2f w %.2f %.2f m %.2f %.2f l S" % (color.stroke, thickness, left, y, right, y))

    def dots(self, left: float, top: float, right: float, color: Color) -> None:
        """Draw a dotted line: no text, so that nobody copies it out."""
        self.over.append(b"q 1 J [0.01 3.6] 0 d")
        self.rule(left, top, right, color, 0.8)
        self.over.append(b"Q")

    def contents(self) -> bytes:
        """Return the content stream."""
        return b"\n".join((*self.under, BLACK.fill, *self.over, b""))


def literal(codes: str) -> bytes:
    """Return two-byte codes, a character of UTF-16 each, as a PDF string."""
    raw = codes.encode("utf-16-be", "surrogatepass")
    raw = raw.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)").replace(b"\r", b"\\r")
    return b"(" + raw + b")"
