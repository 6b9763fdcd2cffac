"""Where the fonts of a machine lie: what a process must be allowed to read to find and use them."""

import sys
from pathlib import Path


def directories() -> list[Path]:
    """Return the directories in which this system looks for fonts, whether or not they exist."""
    home = Path.home()
    if sys.platform == "darwin":
        return [Path("/System/Library/Fonts"), Path("/System/Library/Fonts/Supplemental"), Path("/Library/Fonts")]
    if sys.platform == "win32":
        return [Path("C:/Windows/Fonts"), home / "AppData/Local/Microsoft/Windows/Fonts"]
    return [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), home / ".local/share/fonts", home / ".fonts"]


def places() -> list[Path]:
    """Return the directories of fonts, of fontconfig's settings and of its caches that exist."""
    home = Path.home()
    settings = [Path("/etc/fonts"), home / ".config/fontconfig", home / ".fonts.conf"]
    caches = [Path("/var/cache/fontconfig"), home / ".cache/fontconfig", home / ".fontconfig"]
    # Not a home directory that somebody calls his fonts.
    return [
        place for place in (*directories(), *settings, *caches) if place.exists() and not home.is_relative_to(place)
    ]
