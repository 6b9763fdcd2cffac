"""Fonts with cubic outlines, made fit for embedding: only the glyphs that are used, with quadratic outlines."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from fontTools.ttLib import TTFont  # pyright: ignore[reportMissingTypeStubs]
    from fpdf.fonts import TTFFont

_ERROR_PER_MILLE = 0.6
"""How far an outline may be off, in thousandths of the size: a twentieth of a pixel on a screen."""


def make_quadratic(font: TTFFont) -> bool:
    """Replace the outlines of a font that is CFF without CIDs, and tell whether it was one.

    fpdf2 embeds such a font as one with quadratic outlines, which strict readers refuse to draw. Fonts with CIDs, and
    fonts with quadratic outlines, are left alone.
    """
    if not font.is_cff or font.is_cid_keyed:
        return False
    names = list(dict.fromkeys([".notdef", *font.subset.get_all_glyph_names()]))
    _convert(font.ttfont, [name for name in names if name in font.ttfont.getReverseGlyphMap()])
    font.is_cff = False
    return True


def _convert(font: TTFont, names: list[str]) -> None:
    subset = cast("Any", import_module("fontTools.subset"))
    new_pen = cast("Any", import_module("fontTools.pens.ttGlyphPen")).TTGlyphPen
    quadratic = cast("Any", import_module("fontTools.pens.cu2quPen")).Cu2QuPen
    new_table = cast("Any", import_module("fontTools.ttLib")).newTable
    options = subset.Options(
        notdef_outline=True, glyph_names=True, layout_features=[], drop_tables=["GSUB", "GPOS", "GDEF", "MATH"]
    )
    subsetter = subset.Subsetter(options)
    subsetter.populate(glyphs=names)
    subsetter.subset(font)
    tables = cast("Any", font)
    order: list[str] = tables.getGlyphOrder()
    outlines = tables.getGlyphSet()
    error = _ERROR_PER_MILLE * tables["head"].unitsPerEm / 1000
    glyphs: dict[str, Any] = {}
    for name in order:
        pen = new_pen(outlines)
        outlines[name].draw(quadratic(pen, error, reverse_direction=True))
        glyphs[name] = pen.glyph()
    tables["loca"] = new_table("loca")
    glyf: Any = new_table("glyf")
    tables["glyf"] = glyf
    glyf.glyphOrder = order
    glyf.glyphs = glyphs
    for name in ("CFF ", "CFF2", "VORG"):
        if name in font:
            del font[name]
    glyf.compile(font)
    for name, (advance, _) in list(tables["hmtx"].metrics.items()):
        tables["hmtx"].metrics[name] = (advance, getattr(glyphs.get(name), "xMin", 0) or 0)
    _profile(tables["maxp"], len(order))
    post = tables["post"]
    post.formatType, post.extraNames, post.mapping, post.glyphOrder = 2.0, [], {}, order
    font.sfntVersion = "\x00\x01\x00\x00"


def _profile(maxp: object, glyphs: int) -> None:
    known = {"tableVersion": 0x00010000, "numGlyphs": glyphs, "maxZones": 1}
    unused = (
        *("maxTwilightPoints", "maxStorage", "maxFunctionDefs", "maxInstructionDefs", "maxStackElements"),
        *("maxSizeOfInstructions", "maxComponentElements"),
    )
    for name, value in {**known, **dict.fromkeys(unused, 0)}.items():
        setattr(maxp, name, value)
