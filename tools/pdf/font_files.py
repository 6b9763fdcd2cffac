"""Where fonts come from: packages that bring them, and files that are installed on this machine."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import cast


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
            for directory in _directories():
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


def _fontconfig() -> list[FontFile] | None:
    form = "%{file}\t%{index}\t%{color}\t%{fontformat}\t%{variable}\t%{fullname[0]}\t%{charset}\n"
    try:
        told = subprocess.run(["fc-list", "--format", form], capture_output=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    files: list[FontFile] = []
    for line in told.stdout.decode("utf-8", "replace").splitlines():
        fields = line.split("\t")
        if len(fields) != 7 or fields[2] == "True" or fields[3] not in ("TrueType", "CFF") or fields[4] == "True":
            continue
        path = Path(fields[0])
        if path.suffix.casefold() in (".ttf", ".otf", ".ttc", ".otc") and int(fields[1]) < 1 << 16:
            files.append(FontFile(fields[5] or path.stem, path=path, index=int(fields[1]), covers=_ranges(fields[6])))
    return files


def _ranges(text: str) -> frozenset[int]:
    points: set[int] = set()
    for span in text.split():
        first, _, last = span.partition("-")
        points.update(range(int(first, 16), int(last or first, 16) + 1))
    return frozenset(points)


def _directories() -> list[Path]:
    home = Path.home()
    if sys.platform == "darwin":
        return [Path("/System/Library/Fonts"), Path("/System/Library/Fonts/Supplemental"), Path("/Library/Fonts")]
    if sys.platform == "win32":
        return [Path("C:/Windows/Fonts"), home / "AppData/Local/Microsoft/Windows/Fonts"]
    return [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), home / ".local/share/fonts", home / ".fonts"]


def _scan() -> Iterator[FontFile]:
    """Yield font files of the known directories, for machines without fontconfig."""
    most = 400
    for directory in _directories():
        try:
            paths = sorted(directory.rglob("*.[to]t[fc]"))
        except OSError:
            continue
        for path in paths[:most]:
            if "emoji" not in path.name.casefold():
                yield FontFile(path.stem, path=path)
