"""Text whose letters change with their neighbours: shaped by HarfBuzz, drawn so that it can be copied out again."""

from __future__ import annotations

import itertools
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .canvas import literal
from .face import harfbuzz

if TYPE_CHECKING:
    from .face import Face

_FEATURES = {"liga": False, "clig": False, "dlig": False}
"""Optional ligatures are off: one code stands for one character, so that every reader copies out what was put in."""

_FARTHEST = 60
"""How far from the pen, in thousandths of the size, a glyph may stand and still be a letter and no mark."""

_OPERATORS = {"moveTo": b"m", "lineTo": b"l", "curveTo": b"c", "qCurveTo": b"c", "closePath": b"h", "endPath": b"h"}

Point = tuple[float, float]


class Shaped(NamedTuple):
    """A shaped text, from left to right; all lengths are thousandths of the size.

    Attributes:
        operands: of a TJ operator, without the brackets.
        marks: glyphs that are painted as outlines: (outline, x, y).
        width: of the whole.
        edges: where each character ends, in logical order, from the start of the text.
    """

    operands: bytes
    marks: tuple[tuple[bytes, float, float], ...]
    width: float
    edges: tuple[float, ...]


class _Glyph(NamedTuple):
    number: int
    cluster: int
    advance: float
    dx: float
    dy: float


class _Operands:
    """Operands of a TJ operator: codes, and steps back and forth where the pen is not where the next code goes."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._codes = ""
        self._pen = 0.0

    def step(self, x: float) -> None:
        """Move the pen to `x`."""
        if back := round(self._pen - x):
            self._flush()
            self._parts.append(b"%d" % back)
            self._pen -= back

    def add(self, code: str, width: int) -> None:
        """Draw a glyph where the pen is."""
        self._codes += code
        self._pen += width

    def finish(self, x: float) -> bytes:
        """Return the operands, with the pen at `x` after them."""
        self.step(x)
        self._flush()
        return b"".join(self._parts)

    def _flush(self) -> None:
        if self._codes:
            self._parts.append(literal(self._codes))
            self._codes = ""


def can_shape(face: Face, text: str) -> bool:
    """Tell whether the font has all that the text needs; a letter with its mark may be one glyph of its own."""
    return face.has(text) or all(glyph.number for glyph in _glyphs(face, text, rtl=False))


@lru_cache(maxsize=20_000)
def shape(face: Face, text: str, *, rtl: bool) -> Shaped:
    """Shape a text of one script and direction.

    The text of the document gets one code for each character, in visual order and on the base line, so that any
    reader's way back from visual to logical order gives the text. Glyphs beyond that (marks above and below, second
    halves of split vowels) are painted as outlines: a reader sees no text in them.
    """
    glyphs = _glyphs(face, text, rtl=rtl)
    starts = [*sorted({glyph.cluster for glyph in glyphs}), len(text)]
    ends = dict(itertools.pairwise(starts))
    operands, marks, x = _Operands(), list[tuple[bytes, float, float]](), 0.0
    advances = [0.0] * len(text)
    for start, cluster in itertools.groupby(glyphs, key=lambda glyph: glyph.cluster):
        pen, letters = x, list[tuple[int, float]]()
        characters = text[start : ends[start]]
        for glyph in cluster:
            on_line = glyph.advance > 1 and abs(glyph.dy) < 1 and abs(glyph.dx) < _FARTHEST
            if on_line and len(letters) < len(characters):
                letters.append((glyph.number, pen + glyph.dx))
            elif path := _outline(face, glyph.number):
                marks.append((path, pen + glyph.dx, glyph.dy))
            pen += glyph.advance
        _write(face, characters[::-1] if rtl else characters, letters, (x, pen), operands)
        advances[start], x = pen - x, pen
    return Shaped(operands.finish(x), tuple(marks), x, tuple(itertools.accumulate(advances)))


def unseen(face: Face, character: str, width: int) -> bytes:
    """Return operands that draw nothing and take no room, but are read as `character`.

    It lies over the last `width` thousandths of what was drawn before: readers lose what has no width at all.
    """
    code, declared = face.code(face.glyphs[0x20], character, width)
    return b"%d%s%d" % (width, literal(code), declared - width)


def _glyphs(face: Face, text: str, *, rtl: bool) -> list[_Glyph]:
    buffer = harfbuzz.Buffer()
    buffer.add_str(text)
    buffer.guess_segment_properties()
    buffer.direction = "rtl" if rtl else "ltr"
    harfbuzz.shape(face.font, buffer, _FEATURES)
    scale = face.scale
    return [
        _Glyph(info.codepoint, info.cluster, at.x_advance * scale, at.x_offset * scale, at.y_offset * scale)
        for info, at in zip(buffer.glyph_infos, buffer.glyph_positions, strict=True)
    ]


def _write(
    face: Face, characters: str, letters: list[tuple[int, float]], room: tuple[float, float], operands: _Operands
) -> None:
    """Write a cluster's characters: with its letters, and where it has fewer of them, with spaces over the last."""
    space = face.glyphs[0x20]
    start, end = room
    xs = [x for _, x in letters] or [start]
    rest = len(characters) - len(xs) + 1
    xs += [xs[-1] + (end - xs[-1]) * (i + 1) / rest for i in range(rest)]
    for i, character in enumerate(characters):
        glyph = letters[i][0] if i < len(letters) else space
        operands.step(xs[i])
        operands.add(*face.code(glyph, character, max(round(xs[i + 1] - xs[i]), 0)))


@lru_cache(maxsize=2_000)
def _outline(face: Face, glyph: int) -> bytes:
    """Return the outline of a glyph as PDF path operators in font units, without painting it."""
    pen = cast("Any", import_module("fontTools.pens.recordingPen")).RecordingPen()
    face.font.draw_glyph_with_pen(glyph, pen)
    parts: list[bytes] = []
    x, y = 0.0, 0.0
    for name, points in cast("list[tuple[str, tuple[Point, ...]]]", pen.value):
        if name == "qCurveTo":
            # A curve with one point of control is one with two, each two thirds of the way there.
            (cx, cy), end = points
            thirds = ((x + 2 * cx) / 3, (y + 2 * cy) / 3), ((end[0] + 2 * cx) / 3, (end[1] + 2 * cy) / 3)
            points = (*thirds, end)  # noqa: PLW2901
        parts += [b"%.6g %.6g" % point for point in points] + [_OPERATORS[name]]
        x, y = points[-1] if points else (x, y)
    return b" ".join(parts)
