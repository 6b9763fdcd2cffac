"""One font: which characters it has, how wide they are, and by which codes the pages call its glyphs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .font_files import packaged
from .memo import Memo
from .scripts import is_wide

if TYPE_CHECKING:
    from .font_files import FontFile

# The package brings no types.
harfbuzz = cast("Any", import_module("uharfbuzz"))

_NO_OUTLINES = frozenset(("fvar", "COLR", "CBDT", "sbix", "SVG "))
"""Tables of fonts that are more than one set of black outlines; they are not used."""


class Face:
    """A font, and the codes that the pages of one document use for its glyphs.

    Attributes:
        name: as the report shows it.
        number: what the font is called in the document: `/F3` for 3.
        drawn: how many pieces of text were drawn with it.
        scale: thousandths of the size per font unit.
        file: HarfBuzz's view of the file.
        font: HarfBuzz's view of the font at the size of its own units.
        used: the code of each glyph that is drawn, by glyph, character and width.
        glyphs: glyph of a code point, 0 when the font has none.
        advances: width of a character in thousandths of the size, as the document declares it.
        codes: code of a code point that is drawn as it stands, for `str.translate`.
    """

    def __init__(self, file: FontFile, number: int, cell: int = 0) -> None:
        """Open a font.

        Args:
            file: where it is.
            number: what it is called in the document.
            cell: width of a column in thousandths of the size when text is set in columns, else 0.

        Raises:
            Exception: whatever HarfBuzz raises about a damaged file.
        """
        self.name, self.number, self.drawn = file.name, number, 0
        path = isinstance(file.source, Path)
        blob = harfbuzz.Blob.from_file_path(str(file.source)) if path else harfbuzz.Blob(packaged(str(file.source)))
        self.file = harfbuzz.Face(blob, file.index)
        tables = frozenset(self.file.table_tags)
        self.is_usable = not tables & _NO_OUTLINES and bool(tables & {"glyf", "CFF "})
        # In such fonts a width belongs to the glyph, in others to the code.
        self._is_cff = "CFF " in tables
        self.scale: float = 1000 / self.file.upem
        self.font = harfbuzz.Font(self.file)
        self._cell = cell
        self.used: dict[tuple[int, str, int], str] = {}
        self.glyphs: Memo[int, int] = Memo(lambda point: self.font.get_nominal_glyph(point) or 0)
        self.advances: Memo[str, int] = Memo(self._advance)
        self.codes: Memo[int, str] = Memo(lambda point: self.code(self.glyphs[point], chr(point))[0])

    def has(self, text: str) -> bool:
        """Tell whether the font has a glyph for each character."""
        return all(map(self.glyphs.__getitem__, map(ord, text)))

    def code(self, glyph: int, character: str, width: int | None = None) -> tuple[str, int]:
        """Return what stands on the page for a glyph that is read as `character`, and the width it is declared with.

        Args:
            glyph: number of the glyph in the font.
            character: what is read in its place.
            width: how wide it shall be, in thousandths of the size; fonts in which each glyph has but one width do not
                heed it.
        """
        if not glyph:
            return "\0", 0
        if width is None or self._is_cff:
            as_it_stands = self.glyphs[ord(character)] == glyph
            width = self.advances[character] if as_it_stands else self._natural(glyph)
        key = glyph, character, width
        if key not in self.used:
            self.used[key] = chr(len(self.used) + 1)
        return self.used[key], width

    def _natural(self, glyph: int) -> int:
        return round(self.font.get_glyph_h_advance(glyph) * self.scale)

    def _advance(self, character: str) -> int:
        if character == "\u200b":
            return 0
        if self._cell:
            return self._cell * 2 if is_wide(character) else self._cell
        glyph = self.glyphs[ord(character)]
        return self._natural(glyph) if glyph else 0
