"""Where fonts come from: packages that bring them, and files that are installed on this machine."""

import ctypes
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import ClassVar, cast

from ..font_places import directories


@dataclass(frozen=True)
class FontFile:
    """A font that can be loaded.

    Attributes:
        name: as the report shows it.
        load: returns the bytes of a packaged font; None for a file.
        path: the file; None for a packaged font.
        index: number of the font in a collection.
        covers: code points, when they are known without opening it.
    """

    name: str
    load: Callable[[], bytes] | None = None
    path: Path | None = None
    index: int = 0
    covers: frozenset[int] | None = field(default=None, compare=False, repr=False)


@cache
def packaged(name: str, key: str) -> FontFile | None:
    """Return a font of the package pymupdf-fonts (open fonts; it has no part of PyMuPDF), if it is installed."""
    try:
        package = import_module("pymupdf_fonts")
    except ImportError:
        return None
    return FontFile(name, load=cache(lambda: cast("bytes", package.myfont(key))))


_CJK_INDEXES = {"ja": 0, "ko": 1, "zh-hans": 2, "zh-hant": 3}
_CJK_PLACES = (
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/google-noto-cjk/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/google-noto-sans-cjk-fonts/NotoSansCJK-Regular.ttc",
    "/usr/local/share/fonts/NotoSansCJK-Regular.ttc",
)
_CJK_ELSEWHERE = {
    "ja": ("ヒラギノ角ゴシック W3.ttc", "Hiragino Sans GB.ttc", "YuGothR.ttc", "msgothic.ttc"),
    "ko": ("AppleSDGothicNeo.ttc", "malgun.ttf"),
    "zh-hans": ("PingFang.ttc", "Hiragino Sans GB.ttc", "STHeiti Light.ttc", "msyh.ttc", "simsun.ttc"),
    "zh-hant": ("PingFang.ttc", "STHeiti Light.ttc", "msjh.ttc", "mingliu.ttc"),
}


def cjk(locale: str, *, system: bool) -> Iterator[FontFile]:
    """Yield fonts for Chinese, Japanese and Korean, the best first.

    Args:
        locale: ja, ko, zh-hans or zh-hant: the same code point has different shapes in each.
        system: look outside the packages too.
    """
    paths: list[Path] = []
    with suppress(ImportError):
        # The extra [cjk]: the collection of Debian's fonts-noto-cjk, in the same order.
        paths.append(Path(str(import_module("noto_cjk_sans_otc").FONT_PATH)))
    if system:
        paths += [Path(place) for place in _CJK_PLACES]
    for path in paths:
        if path.is_file():
            yield FontFile("Noto Sans CJK", path=path, index=_CJK_INDEXES[locale])
    if system and sys.platform != "linux":
        for name in _CJK_ELSEWHERE[locale]:
            for directory in directories():
                if (directory / name).is_file():
                    yield FontFile(Path(name).stem, path=directory / name)


_PREFERRED = ("notosans", "dejavusans", "arialunicode", "segoeui", "notoserif", "freesans", "unifont")
_UNWANTED = re.compile(r"bold|italic|oblique|condensed|extralight|thin|black|mono", re.IGNORECASE)


@cache
def installed() -> tuple[FontFile, ...]:
    """Return the outline fonts that are installed here, the more neutral ones first; 14 ms where fontconfig is."""
    found = _fontconfig() if sys.platform not in ("win32", "darwin") else None
    files = list(_scan()) if found is None else found
    return tuple(sorted(files, key=_rank))


def _rank(file: FontFile) -> tuple[int, int, str]:
    plain = re.sub(r"[^a-z0-9]", "", Path(str(file.path)).stem.casefold())
    liking = next((i for i, start in enumerate(_PREFERRED) if plain.startswith(start)), len(_PREFERRED))
    return (1 if _UNWANTED.search(plain) else 0, liking, str(file.path))


_FORM = b"%{file}\t%{index}\t%{color}\t%{fontformat}\t%{variable}\t%{fullname[0]}\t%{charset}\n"
_SHOWN = (b"file", b"index", b"color", b"fontformat", b"variable", b"fullname", b"charset")


class _FontSet(ctypes.Structure):
    _fields_: ClassVar = [
        ("count", ctypes.c_int),
        ("room", ctypes.c_int),
        ("fonts", ctypes.POINTER(ctypes.c_void_p)),
    ]


def _fontconfig() -> list[FontFile] | None:
    try:
        told = b"".join(_listed(ctypes.CDLL("libfontconfig.so.1")))
    except (OSError, AttributeError):
        return None
    files: list[FontFile] = []
    for line in told.decode("utf-8", "replace").splitlines():
        fields = line.split("\t")
        if len(fields) != 7 or fields[2] == "True" or fields[3] not in ("TrueType", "CFF") or fields[4] == "True":
            continue
        path = Path(fields[0])
        if path.suffix.casefold() in (".ttf", ".otf", ".ttc", ".otc") and int(fields[1]) < 1 << 16:
            files.append(FontFile(fields[5] or path.stem, path=path, index=int(fields[1]), covers=_ranges(fields[6])))
    return files


def _listed(library: ctypes.CDLL) -> Iterator[bytes]:
    """Yield a line for each font as `fc-list` would; no program can be run here."""
    for name in ("FcPatternCreate", "FcObjectSetCreate", "FcFontList", "FcPatternFormat"):
        getattr(library, name).restype = ctypes.c_void_p
    pattern, shown = ctypes.c_void_p(library.FcPatternCreate()), ctypes.c_void_p(library.FcObjectSetCreate())
    for name in _SHOWN:
        library.FcObjectSetAdd(shown, name)
    listed = library.FcFontList(None, pattern, shown)
    if not listed:
        return
    fonts = _FontSet.from_address(listed)
    for place in range(fonts.count):
        line = ctypes.c_void_p(library.FcPatternFormat(ctypes.c_void_p(fonts.fonts[place]), _FORM))
        if line:
            yield ctypes.string_at(line)
            library.FcStrFree(line)
    library.FcFontSetDestroy(ctypes.c_void_p(listed))
    library.FcObjectSetDestroy(shown)
    library.FcPatternDestroy(pattern)


def _ranges(text: str) -> frozenset[int]:
    points: set[int] = set()
    for span in text.split():
        first, _, last = span.partition("-")
        points.update(range(int(first, 16), int(last or first, 16) + 1))
    return frozenset(points)


def _scan() -> Iterator[FontFile]:
    """Yield font files of the known directories, for machines without fontconfig."""
    most = 400
    for directory in directories():
        try:
            paths = sorted(directory.rglob("*.[to]t[fc]"))
        except OSError:
            continue
        for path in paths[:most]:
            if "emoji" not in path.name.casefold():
                yield FontFile(path.stem, path=path)
