"""The fonts of a document: of each only the glyphs that were drawn, under the codes that stand on the pages."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, cast

from fpdf.fonts import Glyph, SubsetMap, TTFFont

from .face import harfbuzz

if TYPE_CHECKING:
    from pathlib import Path

    from fpdf import FPDF

    from .face import Face

_LAYOUT = (b"GSUB", b"GPOS", b"GDEF", b"MATH", b"BASE", b"kern", b"vmtx", b"vhea", b"VORG")
"""Tables for laying out text, which is done when a font is embedded."""


class _Drawn(SubsetMap):
    """The glyphs of a font with the codes that they have already."""

    def __init__(self, font: TTFFont, glyphs: dict[Glyph | None, int]) -> None:
        super().__init__(font)
        self._char_id_per_glyph = glyphs

    def get_all_glyph_names(self) -> list[str]:
        """Return all there are, so that none gets another number."""
        return self.font.ttfont.getGlyphOrder()


def embed(pdf: FPDF, face: Face) -> None:
    """Put what was drawn with a font into the document.

    HarfBuzz divides a font of 65,000 glyphs in milliseconds; what it leaves is hardly any work for fpdf2.
    """
    wanted = harfbuzz.SubsetInput()
    wanted.flags = (
        harfbuzz.SubsetFlags.NO_LAYOUT_CLOSURE
        | harfbuzz.SubsetFlags.NOTDEF_OUTLINE
        | harfbuzz.SubsetFlags.DESUBROUTINIZE
        | harfbuzz.SubsetFlags.NO_HINTING
    )
    wanted.drop_table_tag_set.update(int.from_bytes(tag, "big") for tag in _LAYOUT)
    wanted.glyph_set.update({glyph for glyph, _, _ in face.used})
    # fpdf2 asks for a font that has at least one character.
    wanted.unicode_set.update({0x20, min(face.file.unicodes)})
    plan = harfbuzz.SubsetPlan(face.file, wanted)
    places: dict[int, int] = plan.old_to_new_glyph_mapping
    # It also asks for a path, but reads whatever fontTools can.
    font = TTFFont(pdf, cast("Path", io.BytesIO(plan.execute().blob.data)), f"face{face.number}", "")
    # The boxes around glyphs need not be as tight as they could be for the few that are left.
    font.ttfont.recalcBBoxes = False
    glyphs: dict[Glyph | None, int] = {}
    for (glyph, character, width), code in face.used.items():
        place = places[glyph]
        glyphs[Glyph(place, (ord(character),), font.ttfont.getGlyphName(place), width)] = ord(code)
    font.i = face.number
    font.subset = _Drawn(font, glyphs)
    # Strict readers draw cubic outlines only when they are embedded as those of a CID font.
    font.is_cid_keyed = font.is_cff
    pdf.fonts[font.fontkey] = font
