"""Which font draws a character: packaged fonts first, then those for Chinese, Japanese and Korean, then installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import font_files
from .faces import Face, literal
from .scripts import is_east_asian, is_special, is_wide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fpdf import FPDF

    from .font_files import FontFile
    from .paragraph import Style

_SANS = {
    (False, False): (("Noto Sans", "notos"), ("FiraGO", "figo")),
    (True, False): (("Noto Sans Bold", "notosbo"), ("FiraGO Bold", "figbo")),
    (False, True): (("Noto Sans Italic", "notosit"), ("FiraGO Italic", "figit")),
    (True, True): (("Noto Sans Bold Italic", "notosbi"), ("FiraGO Bold Italic", "figbi")),
}
_MONO = {False: ("Fira Mono", "fimo"), True: ("Fira Mono Bold", "fimbo")}
_SYMBOLS = (
    ("Noto Sans Symbols 2", "symbol2"),
    ("Noto Sans Math", "math"),
    ("Noto Sans Symbols", "symbol1"),
    ("Cascadia Mono", "cascadia"),
    ("Noto Music", "music"),
)


_FULL_WIDTH = 1000


def _is_harmless(point: int) -> bool:
    """Tell whether the code point is a common character that is drawn, and nothing else."""
    return 32 <= point < 0x7F or (0xA0 <= point < 0x250 and point != 0xAD) or 0x2010 <= point < 0x2028


class Fonts:
    """All the fonts of one document.

    Attributes:
        locale: which shapes Han characters have: ja, ko, zh-hans or zh-hant.
    """

    def __init__(self, pdf: FPDF, *, locale: str, system: bool) -> None:
        self.locale = locale
        self._pdf = pdf
        self._system = system
        self._faces: dict[FontFile, Face | None] = {}
        self._chains: dict[tuple[bool, bool, bool], Chain] = {}
        self._cjk: list[Face] | None = None
        self._anywhere: dict[int, Face | None] = {}

    def chain(self, *, mono: bool, bold: bool, italic: bool) -> Chain:
        """Return the fonts of one style, in the order in which they are tried."""
        key = (mono, bold, italic)
        if key not in self._chains:
            self._chains[key] = Chain(self, mono=mono, bold=bold, italic=italic)
        return self._chains[key]

    def draws(self, code_point: int) -> bool:
        """Tell whether any font has the character."""
        return self.chain(mono=False, bold=False, italic=False).find(code_point) is not None

    def embedded(self) -> tuple[str, ...]:
        """Return the names of the fonts drawn with, most used first."""
        used = [face for face in self._faces.values() if face is not None and face.drawn]
        return tuple(dict.fromkeys(face.name for face in sorted(used, key=lambda face: -face.drawn)))

    def finish(self) -> None:
        """Make the fonts fit for embedding; nothing is drawn after this."""
        for face in self._faces.values():
            if face is not None:
                face.finish()

    def packaged(self, name: str, key: str) -> Face | None:
        """Return a packaged font."""
        file = font_files.packaged(name, key)
        return self._face(file) if file is not None else None

    def cjk(self) -> list[Face]:
        """Return the fonts for Chinese, Japanese and Korean."""
        if self._cjk is None:
            found = (self._face(file) for file in font_files.cjk(self.locale, system=self._system))
            self._cjk = [face for face in found if face is not None][:2]
        return self._cjk

    def anywhere(self, code_point: int) -> Face | None:
        """Return an installed font that has the character."""
        if not self._system:
            return None
        if code_point not in self._anywhere:
            self._anywhere[code_point] = self._look(code_point)
        return self._anywhere[code_point]

    def _look(self, code_point: int) -> Face | None:
        for file in font_files.installed():
            if file.covers is not None and code_point not in file.covers:
                continue
            face = self._face(file)
            if face is not None and code_point in face.covers:
                return face
        return None

    def _face(self, file: FontFile) -> Face | None:
        if file not in self._faces:
            try:
                self._faces[file] = Face(file, self._pdf)
            except Exception:  # noqa: BLE001 - a damaged font file is as good as none, whatever its reader raises
                self._faces[file] = None
        return self._faces[file]


class Chain:
    """The fonts of one style, and what is known of each character in it.

    Attributes:
        primary: the font that draws most.
        openings: the operators around text of a style in a font, kept for the next time.
        ideographs: characters as wide as high, known to be drawn by the first font for Chinese, Japanese and Korean.
        plain: characters that the primary font is known to draw.
        widths: of characters that are drawn as they stand, in thousandths of the size.
        cell: width of a column in thousandths; 0 when the font is proportional.
    """

    def __init__(self, fonts: Fonts, *, mono: bool, bold: bool, italic: bool) -> None:
        self._fonts = fonts
        self._slots = list(self._sources(mono=mono, bold=bold, italic=italic))
        self._bold, self._italic = bold, italic
        primary = next((face for slot in self._slots for face in slot()), None)
        if primary is None:
            raise LookupError("no font at all: the package pymupdf-fonts is not installed, and no other font was found")
        self.primary: Face = primary
        self.cell = primary.advance(ord("n")) if mono else 0
        self.face_of = _Known(self._choose)
        self.widths = _Widths(self._width)
        self.ideographs: set[str] = set()
        self.plain: set[str] = {chr(point) for point in primary.covers if _is_harmless(point)}
        self._codes: dict[Face, _Codes] = {}
        self.openings: dict[tuple[Style, Face, int], tuple[bytes, bytes, bool]] = {}
        # What is bold and slanted by itself: the first font, and the second of a proportional style.
        self._styled = self._slots[: 1 if mono else 2]

    def find(self, code_point: int) -> Face | None:
        """Return the first font that has the character."""
        for slot in self._order(chr(code_point)):
            for face in slot():
                if code_point in face.covers:
                    return face
        return self._fonts.anywhere(code_point)

    def find_all(self, cluster: str) -> Face | None:
        """Return the first font that can draw the whole text."""
        for slot in self._order(cluster[0]):
            for face in slot():
                if face.covers_cluster(cluster):
                    return face
        face = self._fonts.anywhere(ord(cluster[0]))
        return face if face is not None and face.covers_cluster(cluster) else None

    def known_face(self, text: str) -> tuple[Face, bool] | None:
        """Return the font that is known to draw the whole text as it stands, and whether all is as wide as high.

        Costs next to nothing.
        """
        if self.plain.issuperset(text):
            return self.primary, False
        if self.ideographs and self.ideographs.issuperset(text):
            return self._fonts.cjk()[0], True
        return None

    def one_face(self, text: str) -> Face | None:
        """Return the font that draws the whole text as it stands; None when there are several, or it must be shaped."""
        if is_special(text):
            return None
        faces = set(map(self.face_of.__getitem__, text))
        if len(faces) != 1:
            return None
        face = faces.pop()
        if face is self.primary:
            self.plain.update(text)
        elif face in self._fonts.cjk()[:1]:
            self.ideographs.update(character for character in text if self.widths[character] == _FULL_WIDTH)
        return face

    def encode(self, face: Face, text: str) -> bytes:
        """Return the text as a PDF string of codes of `face`."""
        codes = self._codes.get(face)
        if codes is None:
            codes = self._codes[face] = _Codes(face, self.widths)
        return literal(text.translate(codes))

    def embolden(self, face: Face) -> bool:
        """Tell whether text must be made bold in drawing, because the font is not."""
        return self._bold and not self._is_styled(face)

    def slant(self, face: Face) -> bool:
        """Tell whether text must be slanted in drawing, because the font is not."""
        return self._italic and (bool(self.cell) or not self._is_styled(face))

    def _is_styled(self, face: Face) -> bool:
        return face is self.primary or any(face is own for slot in self._styled for own in slot())

    def _sources(self, *, mono: bool, bold: bool, italic: bool) -> Iterator[Callable[[], list[Face]]]:
        def slot(name: str, key: str) -> Callable[[], list[Face]]:
            return lambda: [face] if (face := self._fonts.packaged(name, key)) is not None else []

        if mono:
            yield slot(*_MONO[bold])
        first, second = _SANS[bold, italic]
        yield slot(*first)
        yield slot(*second)
        for name, key in _SYMBOLS:
            yield slot(name, key)
        yield self._fonts.cjk
        yield lambda: [face] if (face := self._fonts.anywhere(ord("A"))) is not None else []

    def _order(self, character: str) -> list[Callable[[], list[Face]]]:
        return [self._fonts.cjk, *self._slots] if is_east_asian(character) else self._slots

    def _choose(self, character: str) -> Face:
        return self.find(ord(character)) or self.primary

    def _width(self, character: str) -> int:
        if character == "\u200b":
            return 0
        face = self.face_of[character]
        if self.cell and face is not self.primary:
            return self.cell * 2 if is_wide(character) else self.cell
        return face.advance(ord(character))


class _Known(dict[str, Face]):
    """Font of a character, found out once."""

    def __init__(self, choose: Callable[[str], Face]) -> None:
        super().__init__()
        self._choose = choose

    def __missing__(self, character: str) -> Face:
        face = self[character] = self._choose(character)
        return face


class _Widths(dict[str, int]):
    """Width of a character, found out once."""

    def __init__(self, measure: Callable[[str], int]) -> None:
        super().__init__()
        self._measure = measure

    def __missing__(self, character: str) -> int:
        width = self[character] = self._measure(character)
        return width


class _Codes(dict[int, str]):
    """Code of a character in a font, given out once; for `str.translate`."""

    def __init__(self, face: Face, widths: _Widths) -> None:
        super().__init__({0x200B: ""})
        self._face = face
        self._widths = widths

    def __missing__(self, code_point: int) -> str:
        character = chr(code_point)
        code = self[code_point] = self._face.code(character, self._widths[character])
        return code
