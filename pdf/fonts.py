"""Which font draws a character: packaged fonts first, then those for Chinese, Japanese and Korean, then installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import font_files
from .face import Face
from .font_files import FontFile
from .memo import Memo
from .scripts import is_east_asian
from .shaping import can_shape

if TYPE_CHECKING:
    from collections.abc import Iterator

_SANS = {
    (False, False): (FontFile("Noto Sans", "notos"), FontFile("FiraGO", "figo")),
    (True, False): (FontFile("Noto Sans Bold", "notosbo"), FontFile("FiraGO Bold", "figbo")),
    (False, True): (FontFile("Noto Sans Italic", "notosit"), FontFile("FiraGO Italic", "figit")),
    (True, True): (FontFile("Noto Sans Bold Italic", "notosbi"), FontFile("FiraGO Bold Italic", "figbi")),
}
"""For each style, bold and italic or not, its fonts."""

_MONO = {False: FontFile("Fira Mono", "fimo"), True: FontFile("Fira Mono Bold", "fimbo")}
_SYMBOLS = (
    FontFile("Noto Sans Symbols 2", "symbol2"),
    FontFile("Noto Sans Math", "math"),
    FontFile("Noto Sans Symbols", "symbol1"),
    FontFile("Cascadia Mono", "cascadia"),
    FontFile("Noto Music", "music"),
)


class Fonts:
    """All the fonts of one document."""

    def __init__(self, locale: str) -> None:
        """Take whose shapes Han characters have: ja, ko, zh-hans or zh-hant."""
        self._locale = locale
        self._faces: dict[tuple[FontFile, int], Face | None] = {}
        self._chains: dict[tuple[bool, bool, bool], Chain] = {}
        self._anywhere = Memo(self._find_installed)

    def chain(self, *, mono: bool, bold: bool, italic: bool) -> Chain:
        """Return the fonts of one style."""
        key = mono, bold, italic
        if key not in self._chains:
            self._chains[key] = Chain(self, mono=mono, bold=bold, italic=italic)
        return self._chains[key]

    def draws(self, character: str) -> bool:
        """Tell whether any font has the character."""
        return self.chain(mono=False, bold=False, italic=False).find(character) is not None

    def used(self) -> list[Face]:
        """Return the fonts that something was drawn with, the most used first."""
        used = [face for face in self._faces.values() if face is not None and face.used]
        return sorted(used, key=lambda face: -face.drawn)

    def face(self, file: FontFile, cell: int = 0) -> Face | None:
        """Return a font, or None when it cannot be had.

        In columns it is a font of its own: a glyph has one width in a document, and there it may be another.

        Args:
            file: where it is.
            cell: width of a column in thousandths of the size, 0 for text that is not set in columns.
        """
        if (file, cell) not in self._faces:
            try:
                face = Face(file, len(self._faces) + 1, cell)
            except Exception:  # noqa: BLE001 - a damaged font file is as good as none, whatever its reader raises
                face = None
            self._faces[file, cell] = face if face is not None and face.is_usable else None
        return self._faces[file, cell]

    def cjk(self, cell: int) -> Face | None:
        """Return the font for Chinese, Japanese and Korean."""
        file = font_files.cjk(self._locale)
        return self.face(file, cell) if file is not None else None

    def anywhere(self, character: str, cell: int) -> Face | None:
        """Return an installed font that has the character."""
        file = self._anywhere[character]
        return self.face(file, cell) if file is not None else None

    def _find_installed(self, character: str) -> FontFile | None:
        found = ((file, self.face(file)) for file in font_files.installed())
        return next((file for file, face in found if face is not None and face.has(character)), None)


class Chain:
    """The fonts of one style, in the order in which they are tried, and what is known of each character.

    Attributes:
        primary: the font that draws most.
        cell: width of a column in thousandths of the size; 0 when letters are as wide as they like.
        face_of: the font that draws a character.
        widths: of a character that is drawn as it stands, in thousandths of the size.
    """

    def __init__(self, fonts: Fonts, *, mono: bool, bold: bool, italic: bool) -> None:
        """Open the first font.

        Raises:
            LookupError: there is no font at all on this machine.
        """
        self._fonts = fonts
        self._bold, self._italic = bold, italic
        self._files = [*([_MONO[bold]] if mono else []), *_SANS[bold, italic], *_SYMBOLS]
        self._styled = {file.name for file in self._files[: 1 if mono else 2]}
        self.cell = 0
        primary = next(self._candidates("n"), None)
        if primary is None:
            raise LookupError("no font at all: the package pymupdf-fonts is not installed, and no other font was found")
        self.primary = primary
        self.cell = primary.advances["n"] if mono else 0
        self.face_of: Memo[str, Face] = Memo(lambda character: self.find(character) or self.primary)
        self.widths: Memo[str, int] = Memo(lambda character: self.face_of[character].advances[character])

    def find(self, text: str) -> Face | None:
        """Return the first font that has all the characters."""
        return next((face for face in self._candidates(text[0]) if face.has(text)), None)

    def find_shaping(self, cluster: str) -> Face | None:
        """Return the first font that can draw a text that is shaped."""
        return next((face for face in self._candidates(cluster[0]) if can_shape(face, cluster)), None)

    def embolden(self, face: Face) -> bool:
        """Tell whether text must be made bold in drawing, because the font is not."""
        return self._bold and face.name not in self._styled

    def slant(self, face: Face) -> bool:
        """Tell whether text must be slanted in drawing, because the font is not."""
        return self._italic and (bool(self.cell) or face.name not in self._styled)

    def _candidates(self, character: str) -> Iterator[Face]:
        cjk = self._fonts.cjk(self.cell)
        if cjk is not None and is_east_asian(character):
            yield cjk
        for number, file in enumerate(self._files):
            if face := self._fonts.face(file, self.cell if number else 0):
                yield face
        if cjk is not None:
            yield cjk
        if face := self._fonts.anywhere(character, self.cell):
            yield face
