"""Where fonts come from: packages that bring them, and files that are installed on this machine."""

import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import cast

_CJK_INDEXES = {"ja": 0, "ko": 1, "zh-hans": 2, "zh-hant": 3}
"""Places of the four languages in the collection Noto Sans CJK."""

_PREFERRED = ("notosans", "dejavusans", "arialunicode", "segoeui", "notoserif", "freesans", "unifont")
_UNWANTED = re.compile(r"bold|italic|oblique|condensed|extralight|thin|black|mono|emoji", re.IGNORECASE)
_MOST_IN_A_DIRECTORY = 2000


@dataclass(frozen=True, slots=True)
class FontFile:
    """A font that can be opened.

    Attributes:
        name: as the report shows it.
        source: a file, or the name that the package pymupdf-fonts has for the font.
        index: number of the font in a collection.
    """

    name: str
    source: Path | str
    index: int = 0


@cache
def packaged(key: str) -> bytes:
    """Return a font of the package pymupdf-fonts (open fonts; it has no part of PyMuPDF).

    Raises:
        ImportError: the package is not installed.
    """
    return cast("bytes", import_module("pymupdf_fonts").myfont(key))


@cache
def cjk(locale: str) -> FontFile | None:
    """Return the font for Chinese, Japanese and Korean of the package noto-cjk-sans-otc, if it is installed.

    Args:
        locale: ja, ko, zh-hans or zh-hant: the same code point has different shapes in each.
    """
    try:
        path = Path(str(import_module("noto_cjk_sans_otc").FONT_PATH))
    except ImportError:
        return None
    return FontFile("Noto Sans CJK", path, _CJK_INDEXES[locale])


@cache
def installed() -> list[FontFile]:
    """Return the fonts that are installed on this machine, the more neutral ones first."""
    found: list[Path] = []
    for directory in directories():
        # A directory that cannot be read has no fonts.
        with suppress(OSError):
            found += sorted(directory.rglob("*.[to]t[fc]"))[:_MOST_IN_A_DIRECTORY]
    return [FontFile(path.stem, path) for path in sorted(found, key=_rank)]


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
