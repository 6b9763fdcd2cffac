"""Pages as they are drawn, before they become a PDF: operators in two layers, links, pictures, places to jump to."""

from dataclasses import dataclass, field
from pathlib import Path


def number(value: float) -> str:
    """Return a coordinate as PDF wants it: short, and never with an exponent."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"


Color = tuple[float, float, float]
"""Red, green and blue from 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Ink:
    """A colour as operators: for filling and for stroking."""

    fill: bytes
    stroke: bytes


def ink(color: Color) -> Ink:
    """Return the operators that choose a colour."""
    told = " ".join(number(part) for part in color)
    return Ink(f"{told} rg".encode(), f"{told} RG".encode())


BLACK = ink((0.13, 0.14, 0.16))
"""The colour that the layer above begins with."""


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
        over: operators of the layer above: text and rules.
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

    def box(self, left: float, top: float, width: float, height: float, fill: Ink) -> None:
        """Fill a rectangle in the layer below."""
        self.under.append(b"%s %.2f %.2f %.2f %.2f re f" % (fill.fill, left, self.height - top - height, width, height))

    def frame(self, left: float, top: float, width: float, height: float, line: Ink, thickness: float = 0.7) -> None:
        """Draw the edge of a rectangle."""
        corner = f"{number(left)} {number(self.height - top - height)} {number(width)} {number(height)} re S"
        self.over.append(b"%s %s w %s" % (line.stroke, number(thickness).encode(), corner.encode()))

    def rule(self, left: float, top: float, right: float, line: Ink, thickness: float = 0.6) -> None:
        """Draw a horizontal line."""
        y = self.height - top
        self.over.append(b"%s %.2f w %.2f %.2f m %.2f %.2f l S" % (line.stroke, thickness, left, y, right, y))

    def dots(self, left: float, top: float, right: float, line: Ink) -> None:
        """Draw a dotted line: no text, so that nobody copies it out."""
        y = number(self.height - top)
        path = f"{number(left)} {y} m {number(right)} {y} l S [] 0 d 0 J"
        self.over.append(b"%s 0.8 w 1 J [0.01 3.6] 0 d %s" % (line.stroke, path.encode()))

    def stroke(self, points: list[tuple[float, float]], line: Ink, thickness: float) -> None:
        """Draw lines from point to point."""
        path = " ".join(f"{number(x)} {number(self.height - y)} {'l' if i else 'm'}" for i, (x, y) in enumerate(points))
        self.over.append(b"%s %s w %s S" % (line.stroke, number(thickness).encode(), path.encode()))

    def contents(self) -> bytes:
        """Return the content stream."""
        return b"\n".join((*self.under, BLACK.fill, *self.over, b""))
