"""Letters with marks, and letters that join, as glyphs of their own: then the text comes back out of the file.

Typst writes a mark that stands higher or lower than its letter as a text of its own, and each of the two says that it
is both: readers get them twice (https://github.com/typst/typst/issues/8767). So the font gets one glyph for each such
group that the document holds. Where letters run leftwards, poppler and pdfium turn round what such a glyph says.
"""

from __future__ import annotations

import io
import itertools
import re
import unicodedata
import zlib
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import regex

if TYPE_CHECKING:
    from collections.abc import Iterable

FEATURE = "JOIN"
"""The font feature that joins."""

_MOST = 20_000
"""Groups of one font, which can have 65,535 glyphs."""

_FARTHEST = 10_000
"""From the beginning of a group, in units of the font; a glyph has a bound of its own for that."""

_WORD = regex.compile(r"[\p{L}\p{M}\u200c\u200d]++")
_HAS_GROUPS = regex.compile(r"[\p{M}\u0600-\u08ff\ufb50-\ufdff\ufe70-\ufefc]")
_RTL = regex.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_TO_UNICODE = re.compile(rb"/Type ?/CMap[^>]{0,400}>>\s{0,4}stream\r?\n")
_TO_UNICODE_MAX_BYTES = 4 << 20
_SEVERAL = re.compile(rb"(> ?<)([0-9A-Fa-f]{8,})>")

_Group = tuple[list[tuple[int, int, int]], int]
"""The glyphs of a group, each with its place, and how wide it is."""


def grouped(text: str) -> list[str]:
    """Return the different words in which letters have marks or join."""
    if not _HAS_GROUPS.search(text):
        return []
    return [word for word in dict.fromkeys(_WORD.findall(text)) if _HAS_GROUPS.search(word)]


def joined(data: bytes, text: str, words: Iterable[str], language: str) -> bytes:
    """Return a font for a text, in which every group of glyphs that a word needs is a glyph as well.

    Args:
        data: the font (TrueType).
        text: of the document; what it has no need of is left out, so that there is less to do.
        words: those of the text that `grouped` returns.
        language: in which the text is set.
    """
    harfbuzz = cast("Any", import_module("uharfbuzz"))
    data = subset(harfbuzz.Face(harfbuzz.Blob(data)), text)
    groups = _groups(data, words, language)
    if not groups:
        return data
    font: Any = cast("Any", import_module("fontTools.ttLib")).TTFont(io.BytesIO(data), lazy=True)
    if "glyf" not in font or "GSUB" not in font:
        return data
    pens = [cast("Any", import_module(f"fontTools.pens.{name}Pen")) for name in ("filter", "transform", "ttGlyph")]
    names: list[str] = list(font.getGlyphOrder())
    old, glyf, drawn = tuple(names), font["glyf"], font.getGlyphSet()
    sequences: dict[tuple[str, ...], str] = {}
    for number, (key, (parts, width)) in enumerate(groups.items()):
        outline = pens[2].TTGlyphPen(None)
        for part, x, y in parts:
            moved = pens[1].TransformPen(outline, (1, 0, 0, 1, x, y))
            drawn[old[part]].draw(pens[0].DecomposingFilterPen(moved, drawn))
        name = f"group{number}"
        names.append(name)
        sequences[tuple(old[part] for part in key)] = name
        glyf.glyphs[name] = glyph = outline.glyph()
        glyph.recalcBounds(glyf)
        font["hmtx"].metrics[name] = width, glyph.xMin
    font.setGlyphOrder(names)
    glyf.glyphOrder = names
    _add_feature(font["GSUB"].table, sequences)
    output = io.BytesIO()
    font.save(output, reorderTables=False)
    return output.getvalue()


def subset(
    face: Any,  # noqa: ANN401 - uharfbuzz brings no types
    text: str,
    weight: int = 0,
) -> bytes:
    """Return what a text needs of a font; of a variable one in a weight."""
    wanted = cast("Any", import_module("uharfbuzz")).SubsetInput()
    known = {*text, *map(chr, range(0x20, 0x100))}
    # Letters may be taken apart, and put together, where they are shaped.
    for form in ("NFC", "NFKD"):
        known.update(unicodedata.normalize(form, text))
    wanted.unicode_set.update(map(ord, known))
    # Lines do not run downwards, and glyphs that are added have no measures for it.
    wanted.drop_table_tag_set.update(int.from_bytes(tag, "big") for tag in (b"vhea", b"vmtx", b"VORG"))
    if weight:
        wanted.pin_axis_location(face, "wght", weight)
    return cast("Any", import_module("uharfbuzz")).subset(face, wanted).blob.data


def _groups(data: bytes, words: Iterable[str], language: str) -> dict[tuple[int, ...], _Group]:
    """Return the groups in the words, each by its glyphs in the order in which a font's features see them."""
    harfbuzz = cast("Any", import_module("uharfbuzz"))
    font = harfbuzz.Font(harfbuzz.Face(harfbuzz.Blob(data)))
    found: dict[tuple[int, ...], _Group] = {}
    for word in words:
        buffer = harfbuzz.Buffer()
        buffer.add_str(word)
        buffer.guess_segment_properties()
        buffer.language = language
        harfbuzz.shape(font, buffer, {"liga": False, "clig": False})
        glyphs = zip(buffer.glyph_infos, buffer.glyph_positions, strict=True)
        for _, run in itertools.groupby(glyphs, key=lambda glyph: glyph[0].cluster):
            parts, pen = list[tuple[int, int, int]](), 0
            for info, at in run:
                parts.append((info.codepoint, pen + at.x_offset, at.y_offset))
                pen += at.x_advance
            is_near = all(part and abs(x) < _FARTHEST and abs(y) < _FARTHEST for part, x, y in parts)
            if len(parts) > 1 and len(found) < _MOST and is_near:
                key = tuple(part for part, _, _ in parts)
                found[key[::-1] if buffer.direction == "rtl" else key] = parts, pen
    return found


def _add_feature(
    table: Any,  # noqa: ANN401 - fontTools brings no types
    sequences: dict[tuple[str, ...], str],
) -> None:
    """Add a feature, for all scripts and languages of the font and after all others, that puts glyphs for sequences."""
    builder = cast("Any", import_module("fontTools.otlLib.builder"))
    tables = cast("Any", import_module("fontTools.ttLib.tables.otTables"))
    lookups = table.LookupList.Lookup
    lookups.append(builder.buildLookup([builder.buildLigatureSubstSubtable(sequences)]))
    table.LookupList.LookupCount = len(lookups)
    record, feature = tables.FeatureRecord(), tables.Feature()
    feature.FeatureParams, feature.LookupListIndex, feature.LookupCount = None, [len(lookups) - 1], 1
    record.FeatureTag, record.Feature = FEATURE, feature
    records = table.FeatureList.FeatureRecord
    records.append(record)
    table.FeatureList.FeatureCount = len(records)
    for script in (one.Script for one in table.ScriptList.ScriptRecord):
        for language in (script.DefaultLangSys, *(one.LangSys for one in script.LangSysRecord)):
            if language is not None:
                language.FeatureIndex.append(len(records) - 1)
                language.FeatureCount = len(language.FeatureIndex)


def readable(pdf: bytes) -> bytes:
    """Return the document with what its glyphs say in the order in which they stand, where that is leftwards."""
    parts: list[bytes] = []
    at = 0
    for head in _TO_UNICODE.finditer(pdf):
        start, end = head.end(), pdf.find(b"endstream", head.end(), head.end() + _TO_UNICODE_MAX_BYTES)
        if at <= start <= end:
            parts += [pdf[at:start], _turned(pdf[start:end])]
            at = end
    return b"".join([*parts, pdf[at:]])


def _turned(stream: bytes) -> bytes:
    """Turn what one table says; it stays as long as it is, so that nothing in the file moves."""
    try:
        said = zlib.decompressobj().decompress(stream)
    except zlib.error:
        return stream
    turned = _SEVERAL.sub(lambda one: one[1] + _backwards(one[2]) + b">", said)
    # What follows the packed data is ignored, up to a line end that belongs before `endstream`.
    line_end = b"\n" if stream.endswith(b"\n") else b""
    room = len(stream) - len(line_end)
    packed = zlib.compress(turned, 9)
    return packed.ljust(room, b"\0") + line_end if turned != said and len(packed) <= room else stream


def _backwards(points: bytes) -> bytes:
    text = bytes.fromhex(points.decode()).decode("utf-16-be", "surrogatepass")
    return text[::-1].encode("utf-16-be", "surrogatepass").hex().upper().encode() if _RTL.search(text) else points
