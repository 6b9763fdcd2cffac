"""One font: what it covers, how wide its glyphs are, and its subset in the document."""

from __future__ import annotations

import io
import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from ._harfbuzz import HbFont, harfbuzz, outline
from ._outlines import make_quadratic

if TYPE_CHECKING:
    from pathlib import Path

    from fpdf import FPDF
    from fpdf.fonts import TTFFont

    from .font_files import FontFile

_FEATURES = {"liga": False, "clig": False, "dlig": False}
"""Optional ligatures are off: one code stands for one character, so that every reader copies out what was put in."""


@dataclass(frozen=True, slots=True)
class Shaped:
    """A shaped text, from left to right.

    Attributes:
        array: operands of a TJ operator, without the brackets.
        marks: glyphs that are painted as outlines: (outline, x, y), in thousandths of the size from the start.
        width: in thousandths of the size.
        edges: where each character ends, in logical order from the start of the text, in thousandths of the size.
        missing: the font lacks something that the text needs.
    """

    array: bytes
    marks: tuple[tuple[bytes, float, float], ...]
    width: float
    edges: tuple[float, ...]
    missing: bool


class Face:
    """A font, loaded when it is first asked something, embedded when it is first drawn with.

    Attributes:
        name: as the report shows it.
        drawn: how many pieces of text were drawn with it.
    """

    def __init__(self, file: FontFile, pdf: FPDF) -> None:
        self.name = file.name
        self.drawn = 0
        self._file = file
        self._pdf = pdf
        self._data = file.load() if file.load is not None else None
        hb = harfbuzz()
        blob = hb.Blob(self._data) if self._data is not None else hb.Blob.from_file_path(str(file.path))
        face = hb.Face(blob, file.index)
        self.covers: frozenset[int] = frozenset(face.unicodes)
        self.scale = 1000 / face.upem
        self._hb: HbFont = hb.Font(face)
        self._embedded: TTFFont | None = None
        self.shape = lru_cache(maxsize=20_000)(self._shape)
        self.outline = lru_cache(maxsize=2_000)(self._outline)

    def advance(self, code_point: int) -> int:
        """Return the width of a character in thousandths of the size, as the document will declare it."""
        gid = self._hb.get_nominal_glyph(code_point)
        return round(self._hb.get_glyph_h_advance(gid) * self.scale) if gid else 0

    @property
    def number(self) -> int:
        """Return the number of the font in the document: `/F3` for 3."""
        return self._embed().i

    def code(self, character: str, width: int) -> str:
        """Return the code of a character that is drawn as it stands, `width` thousandths wide."""
        gid = self._hb.get_nominal_glyph(ord(character)) or 0
        return self._code(gid, character, width)

    def unseen(self, character: str, width: int) -> bytes:
        """Return operands of a TJ operator that draw nothing and take no room, but are read as `character`.

        It lies over the last `width` thousandths of what was drawn before: readers lose what has no width at all.
        """
        return b"%d%s" % (width, literal(self._code(self._hb.get_nominal_glyph(32) or 0, character, width)))

    def finish(self) -> None:
        """Make what was drawn fit for embedding; nothing is drawn after this."""
        if self._embedded is not None:
            for table in ("vmtx", "vhea", "VORG"):
                # How the font runs from top to bottom is not needed, and takes long to divide.
                if table in self._embedded.ttfont:
                    del self._embedded.ttfont[table]
            converted = make_quadratic(self._embedded)
            # The boxes around glyphs need not be as tight as they could be for the few that are left.
            self._embedded.ttfont.recalcBBoxes = converted

    def covers_cluster(self, cluster: str) -> bool:
        """Tell whether the cluster can be drawn with this font alone, precomposed glyphs included."""
        return self.covers.issuperset(map(ord, cluster)) or not self._shape(cluster, rtl=False, dry=True).missing

    def _code(self, gid: int, character: str, width: int) -> str:
        font = self._embed()
        if gid == 0:
            return "\0"
        glyph = font.subset.get_glyph(
            glyph=gid, unicode=(ord(character),), glyph_name=font.ttfont.getGlyphName(gid), glyph_width=width
        )
        return chr(font.subset.pick_glyph(glyph) or 0)

    def _embed(self) -> TTFFont:
        if self._embedded is None:
            from fpdf.fonts import TTFFont

            # fpdf2 asks for a path, but reads whatever fontTools can: packaged fonts need no file.
            file = io.BytesIO(self._data) if self._data is not None else self._file.path
            key = f"face{len(self._pdf.fonts)}"
            # It would look up every character of the font; which glyph draws what is told to its subset glyph by glyph.
            self._embedded = TTFFont(
                self._pdf, cast("Path", file), key, "", {0x20}, collection_font_number=self._file.index
            )
            self._pdf.fonts[key] = self._embedded
        return self._embedded

    def _outline(self, gid: int) -> bytes:
        return outline(self._hb, gid)

    def _shape(self, text: str, rtl: bool, dry: bool = False) -> Shaped:
        """Shape a text of one script and direction.

        The text layer gets one code for each character, in visual order and on the base line, so that any reader's
        way back from visual to logical order gives the text. Glyphs beyond that (marks above and below, second halves
        of split vowels) are painted as outlines: a reader sees no text in them.
        """
        hb = harfbuzz()
        buffer = hb.Buffer()
        buffer.add_str(text)
        buffer.guess_segment_properties()
        buffer.direction = "rtl" if rtl else "ltr"
        hb.shape(self._hb, buffer, _FEATURES)
        infos, positions = buffer.glyph_infos, buffer.glyph_positions
        missing = any(info.codepoint == 0 for info in infos)
        if dry:
            return Shaped(b"", (), 0.0, (), missing)
        starts = [*sorted({info.cluster for info in infos}), len(text)]
        ends = dict(itertools.pairwise(starts))
        array, marks, x = _Array(), list[tuple[bytes, float, float]](), 0.0
        advances = [0.0] * len(text)
        for start, glyphs in itertools.groupby(range(len(infos)), key=lambda i: infos[i].cluster):
            told = text[start : ends[start]]
            placed = [
                (infos[i].codepoint, p.x_advance * self.scale, p.x_offset * self.scale, p.y_offset * self.scale)
                for i, p in ((i, positions[i]) for i in glyphs)
            ]
            advances[start] = self._cluster(told[::-1] if rtl else told, placed, x, array, marks)
            x += advances[start]
        return Shaped(array.operands(x), tuple(marks), x, tuple(itertools.accumulate(advances)), missing)

    def _cluster(
        self,
        told: str,
        placed: list[tuple[int, float, float, float]],
        x: float,
        array: _Array,
        marks: list[tuple[bytes, float, float]],
    ) -> float:
        """Add one cluster at `x`; return its width."""
        pen, spacing = 0.0, list[tuple[int, float]]()
        for gid, advance, dx, dy in placed:
            if advance > 1 and abs(dy) < 1 and abs(dx) < 60 and len(spacing) < len(told):
                spacing.append((gid, pen + dx))
            elif path := self.outline(gid):
                marks.append((path, x + pen + dx, dy))
            pen += advance
        space = self._hb.get_nominal_glyph(32) or 0
        edges = [at for _, at in spacing[1:]]
        last = spacing[-1][1] if spacing else 0.0
        rest = max(len(told) - max(len(spacing), 1) + 1, 1)
        edges += [last + (pen - last) * (i + 1) / rest for i in range(rest)]
        at = spacing[0][1] if spacing else 0.0
        for i, (character, edge) in enumerate(zip(told, edges, strict=False)):
            gid = spacing[i][0] if i < len(spacing) else space
            width = max(round(edge - at), 0)
            array.add(self._code(gid, character, width), x + at, width)
            at = edge
        return pen


class _Array:
    """Operands of a TJ operator: codes, and steps back and forth where the pen is not where the next code goes."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._codes: list[str] = []
        self._pen = 0.0

    def add(self, code: str, at: float, width: int) -> None:
        step = round(self._pen - at)
        if step:
            self._flush()
            self._parts.append(b"%d" % step)
            self._pen -= step
        self._codes.append(code)
        self._pen += width

    def operands(self, end: float) -> bytes:
        self._flush()
        step = round(self._pen - end)
        if step:
            self._parts.append(b"%d" % step)
        return b"".join(self._parts)

    def _flush(self) -> None:
        if self._codes:
            self._parts.append(literal("".join(self._codes)))
            self._codes.clear()


def literal(codes: str) -> bytes:
    """Return two-byte codes as a PDF string."""
    raw = codes.encode("utf-16-be", "surrogatepass")
    raw = raw.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)").replace(b"\r", b"\\r")
    return b"(" + raw + b")"
