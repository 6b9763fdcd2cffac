"""Which font draws a character: those that come with bursar, then any that is installed."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from contextlib import suppress
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .clusters import grouped, joined, subset

if TYPE_CHECKING:
    from collections.abc import Iterator

_FAMILIES = {
    "Noto Sans": ("notos", "notosbo", "notosit", "notosbi"),
    "FiraGO": ("figo", "figbo", "figit", "figbi"),
    "Noto Sans Symbols2": ("symbol2",),
    "Noto Sans Math": ("math",),
    "Noto Sans Symbols": ("symbol1",),
    "Cascadia Mono": ("cascadia",),
    "Noto Music": ("music",),
}
"""Families of the package pymupdf-fonts (open fonts; it has no part of PyMuPDF), in the order they are tried in."""

_SCRIPTS = {
    f"Noto Sans {script}": f"NotoSans{script}[wght].ttf"
    for script in (
        "Armenian Bengali Ethiopic Georgian Gujarati Gurmukhi Kannada Khmer Lao Malayalam Myanmar Oriya Sinhala Tamil "
        "Telugu"
    ).split()
} | {"Noto Emoji": "NotoEmoji[wght].ttf"}
"""Families of the package manimgx-fonts (fonts of the Noto project, and nothing else), and their files."""

_EMOJI = "Noto Emoji"
_WEIGHTS = (400, 700)
"""Of the variable fonts, as regular and bold."""

_NOTO_CJK = "Noto Sans CJK"
_MONO = ("fimo", "fimbo")
_CJK = {"ja": "JP", "ko": "KR", "zh-hans": "SC", "zh-hant": "TC"}
_NO_OUTLINES = frozenset(("fvar", "COLR", "CBDT", "sbix", "SVG "))
"""Tables of fonts that are more than one set of black outlines; those that are installed are not used."""

_PREFERRED = ("notosans", "dejavusans", "arialunicode", "segoeui", "notoserif", "freesans", "unifont")
_UNWANTED = re.compile(r"bold|italic|oblique|condensed|extralight|thin|black|mono|emoji", re.IGNORECASE)
_MOST_IN_A_DIRECTORY = 2000


class Chain(NamedTuple):
    """What the typesetter needs to know of fonts.

    Attributes:
        fonts: a `typst.Fonts`.
        text: families in the order in which they are tried.
        mono: the same for text in columns.
        whole: signs that are not to be put together of two, as the first family would do.
    """

    fonts: Any
    text: list[str]
    mono: list[str]
    whole: str


class Fonts:
    """The fonts of one document."""

    def __init__(self, locale: str) -> None:
        """Take whose shapes Han characters have: ja, ko, zh-hans or zh-hant."""
        self._cjk = f"CJK {_CJK[locale]}"
        self._drawn: Counter[str | Path] = Counter()

    def draws(self, character: str) -> bool:
        """Tell whether any font has the character; if so, the document gets that font."""
        point = ord(character)
        source = next((name for name in _order() if point in _points(name)), None) or _installed_with(point)
        if source is not None:
            self._drawn[source] += 1
        return source is not None

    def joins(self, sequence: str) -> bool:
        """Tell whether a sequence of code points is one emoji of the font; if so, the document gets that font."""
        harfbuzz = cast("Any", import_module("uharfbuzz"))
        buffer = harfbuzz.Buffer()
        buffer.add_str(sequence)
        buffer.guess_segment_properties()
        harfbuzz.shape(harfbuzz.Font(_face(_EMOJI)), buffer, {"liga": False, "clig": False})
        is_one = len(buffer.glyph_infos) == 1 and buffer.glyph_infos[0].codepoint != 0
        self._drawn[_EMOJI] += is_one
        return is_one

    def mono_draws(self, character: str) -> bool:
        """Tell whether the font for text in columns has the character."""
        return ord(character) in coverage("fimo")

    @property
    def names(self) -> list[str]:
        """The families that have most of the document's characters, first the one that has most."""
        return [source.stem if isinstance(source, Path) else source for source, _ in self._drawn.most_common()]

    def put(self, folder: Path, text: str, language: str) -> Chain:
        """Write the files of the fonts that the document needs into a directory.

        Args:
            folder: an empty directory.
            text: the whole text of the document.
            language: of the document: fonts have shapes of their own for some.
        """
        from typst import Fonts as Found

        families = ["Noto Sans", *(name for name in _FAMILIES if name != "Noto Sans" and name in self._drawn)]
        words = grouped(text)
        for key in (*_MONO, *(key for name in families for key in _FAMILIES[name])):
            data = packaged(key)
            (folder / f"{key}.ttf").write_bytes(
                joined(data, text, words, language) if words and key not in _MONO else data
            )
        scripts = [name for name in _SCRIPTS if name in self._drawn]
        for name in scripts:
            for weight in _WEIGHTS[: 1 if name == _EMOJI else 2]:
                data = subset(_face(name), text, weight)
                if words:
                    data = joined(data, text, words, language)
                (folder / f"{name}{weight}.ttf").write_bytes(data)
        installed = [source for source in self._drawn if isinstance(source, Path)]
        for number, path in enumerate(installed):
            data = path.read_bytes()
            if words and path.suffix == ".ttf":
                # A damaged font is used as it is.
                with suppress(Exception):
                    data = joined(data, text, words, language)
            (folder / f"installed{number}{path.suffix}").write_bytes(data)
        places = [folder, *([cjk.parent] if (cjk := _cjk_file()) and _NOTO_CJK in self._drawn else [])]
        fonts = Found(include_system_fonts=False, include_embedded_fonts=True, font_paths=cast("Any", places))
        others = sorted({font.family for font in fonts.fonts() if "installed" in Path(font.path or "").name})
        known = set(fonts.families())
        chosen = [name for name in (*families, f"Noto Sans {self._cjk}", *scripts, *others) if name in known]
        body = coverage(_FAMILIES["Noto Sans"][0])
        whole = "".join(sign for sign in sorted(set(text)) if _is_apart(sign) and ord(sign) not in body)
        return Chain(fonts, chosen, ["Fira Mono", *chosen], whole)


def _is_apart(sign: str) -> bool:
    """Tell whether it is a mathematical sign that is the same as two others, as ≠ is."""
    return unicodedata.category(sign) == "Sm" and bool(unicodedata.decomposition(sign))


def preload() -> None:
    """Read all packaged fonts, which takes as long as setting many pages."""
    for package in ("typst", "fontTools.ttLib.tables.otTables", "fontTools.otlLib.builder"):
        import_module(package)
    for family in _order():
        _points(family)
    for key in (*_MONO, *(key for keys in _FAMILIES.values() for key in keys)):
        packaged(key)
    advances()


def _order() -> Iterator[str]:
    yield from _FAMILIES
    yield _NOTO_CJK
    yield from _SCRIPTS


@cache
def _points(family: str) -> frozenset[int]:
    if family in _FAMILIES:
        return coverage(_FAMILIES[family][0])
    if family in _SCRIPTS:
        return frozenset(_face(family).unicodes)
    path = _cjk_file()
    return _covered(path) if path is not None else frozenset()


@cache
def _face(family: str) -> Any:  # noqa: ANN401 - uharfbuzz brings no types
    """Return a variable font."""
    harfbuzz = cast("Any", import_module("uharfbuzz"))
    file = resources.files("manimgx_fonts").joinpath(_SCRIPTS[family])
    return harfbuzz.Face(harfbuzz.Blob(file.read_bytes()))


@cache
def packaged(key: str) -> bytes:
    """Return a font of the package pymupdf-fonts."""
    return cast("bytes", import_module("pymupdf_fonts").myfont(key))


@cache
def coverage(key: str) -> frozenset[int]:
    """Return the code points that a packaged font has."""
    harfbuzz = cast("Any", import_module("uharfbuzz"))
    return frozenset(harfbuzz.Face(harfbuzz.Blob(packaged(key))).unicodes)


@cache
def advances() -> dict[str, float]:
    """Return how wide the characters of the body font are when they are bold, in sizes."""
    harfbuzz = cast("Any", import_module("uharfbuzz"))
    face = harfbuzz.Face(harfbuzz.Blob(packaged("notosbo")))
    font = harfbuzz.Font(face)
    return {
        chr(point): font.get_glyph_h_advance(font.get_nominal_glyph(point)) / face.upem for point in coverage("notosbo")
    }


@cache
def _covered(path: Path) -> frozenset[int]:
    """Return the code points of a font file; none if it is damaged or has no plain outlines."""
    harfbuzz = cast("Any", import_module("uharfbuzz"))
    try:
        face = harfbuzz.Face(harfbuzz.Blob.from_file_path(str(path)))
        tables = frozenset(face.table_tags)
        usable = not tables & _NO_OUTLINES and bool(tables & {"glyf", "CFF "})
        return frozenset(face.unicodes) if usable else frozenset()
    except Exception:  # noqa: BLE001 - a damaged font file is as good as none, whatever its reader raises
        return frozenset()


@cache
def _cjk_file() -> Path | None:
    try:
        return Path(str(import_module("noto_cjk_sans_otc").FONT_PATH))
    except ImportError:
        return None


@cache
def _installed_with(point: int) -> Path | None:
    return next((path for path in _installed() if point in _covered(path)), None)


@cache
def _installed() -> list[Path]:
    """Return the fonts that are installed on this machine, the more neutral ones first."""
    found: list[Path] = []
    for directory in directories():
        # A directory that cannot be read has no fonts.
        with suppress(OSError):
            found += sorted(directory.rglob("*.[to]t[fc]"))[:_MOST_IN_A_DIRECTORY]
    return sorted(found, key=_rank)


def _rank(path: Path) -> tuple[bool, int, str]:
    plain = re.sub(r"[^a-z0-9]", "", path.stem.casefold())
    liking = next((i for i, start in enumerate(_PREFERRED) if plain.startswith(start)), len(_PREFERRED))
    return bool(_UNWANTED.search(plain)), liking, str(path)


def directories() -> list[Path]:
    """Return the directories in which this system looks for fonts, whether or not they exist."""
    home = Path.home()
    if sys.platform == "darwin":
        return [Path("/System/Library/Fonts"), Path("/System/Library/Fonts/Supplemental"), Path("/Library/Fonts")]
    if sys.platform == "win32":
        return [Path("C:/Windows/Fonts"), home / "AppData/Local/Microsoft/Windows/Fonts"]
    return [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), home / ".local/share/fonts", home / ".fonts"]


def readable_places() -> list[Path]:
    """Return the existing directories that a process must be allowed to read to find and use fonts."""
    home = Path.home()
    # Not a home directory that somebody calls his fonts.
    return [place for place in directories() if place.exists() and not home.is_relative_to(place)]
