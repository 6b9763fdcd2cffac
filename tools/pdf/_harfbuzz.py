"""The part of uharfbuzz that is used here, with types, which the package does not bring."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, cast


class GlyphInfo(Protocol):
    """One glyph of a shaped text: its id, and the index of the first character it stands for."""

    codepoint: int
    cluster: int


class GlyphPosition(Protocol):
    """Where a glyph goes, in font units."""

    x_advance: int
    x_offset: int
    y_offset: int


class HbFace(Protocol):
    """A font file as HarfBuzz reads it."""

    upem: int
    unicodes: Iterable[int]


class HbFont(Protocol):
    """A face at a size; left at font units here."""

    def get_nominal_glyph(self, unicode: int) -> int | None:
        """Return the glyph of a code point."""
        ...

    def get_glyph_h_advance(self, gid: int) -> int:
        """Return the advance of a glyph in font units."""
        ...

    def draw_glyph(self, gid: int, draw_funcs: object, draw_data: object) -> None:
        """Send the outline of a glyph to the pen functions."""
        ...


class HbBuffer(Protocol):
    """A text on its way to being glyphs."""

    direction: str
    language: str
    glyph_infos: Sequence[GlyphInfo]
    glyph_positions: Sequence[GlyphPosition]

    def add_str(self, text: str) -> None:
        """Append text."""
        ...

    def guess_segment_properties(self) -> None:
        """Find script and direction."""
        ...


class _Blobs(Protocol):
    def __call__(self, data: bytes) -> object: ...
    def from_file_path(self, path: str) -> object: ...


class _Module(Protocol):
    def Buffer(self) -> HbBuffer: ...  # noqa: N802
    def Face(self, blob: object, index: int = 0) -> HbFace: ...  # noqa: N802
    def Font(self, face: HbFace) -> HbFont: ...  # noqa: N802
    @property
    def DrawFuncs(self) -> Callable[[], Any]: ...  # noqa: N802
    def shape(self, font: HbFont, buffer: HbBuffer, features: dict[str, bool]) -> None: ...
    @property
    def Blob(self) -> _Blobs: ...  # noqa: N802


def harfbuzz() -> _Module:
    """Import uharfbuzz."""
    import uharfbuzz  # pyright: ignore[reportMissingTypeStubs]

    return cast("_Module", uharfbuzz)


def outline(font: HbFont, gid: int) -> bytes:
    """Return the outline of a glyph as PDF path operators in font units, without painting it."""
    operators: list[str] = []
    at = [0.0, 0.0]

    def move(x: float, y: float, _: object) -> None:
        operators.append(f"{x:g} {y:g} m")
        at[:] = x, y

    def line(x: float, y: float, _: object) -> None:
        operators.append(f"{x:g} {y:g} l")
        at[:] = x, y

    def cubic(ax: float, ay: float, bx: float, by: float, x: float, y: float, _: object) -> None:
        operators.append(f"{ax:g} {ay:g} {bx:g} {by:g} {x:g} {y:g} c")
        at[:] = x, y

    def quadratic(cx: float, cy: float, x: float, y: float, _: object) -> None:
        ax, ay = at[0] + (cx - at[0]) * 2 / 3, at[1] + (cy - at[1]) * 2 / 3
        bx, by = x + (cx - x) * 2 / 3, y + (cy - y) * 2 / 3
        operators.append(f"{ax:.0f} {ay:.0f} {bx:.0f} {by:.0f} {x:g} {y:g} c")
        at[:] = x, y

    def close(_: object) -> None:
        operators.append("h")

    pen = harfbuzz().DrawFuncs()
    pen.set_move_to_func(move)
    pen.set_line_to_func(line)
    pen.set_cubic_to_func(cubic)
    pen.set_quadratic_to_func(quadratic)
    pen.set_close_path_func(close)
    font.draw_glyph(gid, pen, None)
    return " ".join(operators).encode()
