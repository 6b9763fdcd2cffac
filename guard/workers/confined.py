"""What a worker is left with: Python, its own files, and the system calls that computing needs."""

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence

if sys.platform == "win32":
    raise ImportError("these walls are made of what Linux has")

from ..forkserver import seccomp
from ..forkserver.view import is_within
from ..forkserver.walls import Walls, raise_walls
from .calls import program

_SYSTEM = (
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/share",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/timezone",
    "/nix/store",
    "/sys/devices/system/cpu",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
)
"""Shared libraries, fonts, time zones, and what the C library asks when it is asked about the machine."""

_DISCARD = "/dev/null"


def confine(reads: Sequence[str], writes: Sequence[str], hidden: Sequence[str], *, landlock: bool = True) -> None:
    """Leave the calling process, which must have one thread only, with these files, for ever.

    Args:
        reads: files and directories that may be read.
        writes: files that may also be changed, and directories in which files may be made.
        hidden: directories of which nothing else may be read, whatever holds them.
        landlock: False where the kernel cannot wall off files; then only system calls are refused.

    Raises:
        OSError: the kernel lacks the means, or a path cannot be reached. The process may be confined in part.
        ValueError: a path is to be granted and hidden.
    """
    walls = Walls(
        reads=tuple(reads),
        writes=(_DISCARD, *writes),
        execute=False,
        hidden=tuple(hidden),
        devices=False,
        network=False,
        unix_sockets=False,
        landlock=landlock,
        limits=(),
    )
    raise_walls(walls)
    seccomp.enforce(program())


def python_places() -> list[str]:
    """Return the files and directories from which Python, its packages and the libraries of the system are loaded.

    A directory in which the user's own files lie is none of them, even if Python was told to look there.
    """
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111
    found: dict[str, None] = {}
    for place in _named():
        real = os.path.realpath(place)
        if os.path.exists(real) and real != "/" and os.path.commonpath([real, home]) != real:  # noqa: PTH110
            found[real] = None
    return [place for place in found if not any(place != other and is_within(place, other) for other in found)]


def _named() -> Iterator[str]:
    yield from _SYSTEM
    yield from sysconfig.get_paths().values()
    yield from (os.path.join(prefix, "lib") for prefix in (sys.prefix, sys.base_prefix))  # noqa: PTH118
    yield from filter(None, sys.path)
    yield from filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    for module in list(sys.modules.values()):
        # Packages that are looked for elsewhere, as those of a project under development are.
        yield from getattr(module, "__path__", ())
