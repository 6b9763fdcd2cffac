"""bubblewrap: makes a view where the system lets it and not the server, as Ubuntu's rules for AppArmor do."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from shutil import which

from ..forkserver.view import Mount, View


def program(writable: Iterable[str] = ()) -> str:
    """Return where bubblewrap is installed, or nothing; `writable` by commands it must not be, as it runs outside."""
    places = [place for place in writable if place != "/"]
    for folder in os.get_exec_path() if sys.platform == "linux" else ():
        found = which("bwrap", path=folder)
        real = (os.path.realpath(folder), os.path.realpath(found or folder))
        if found and not any(Path(path).is_relative_to(place) for path in real for place in places):
            return found
    return ""


def prefix(bwrap: str, view: View) -> list[str]:
    """Return the arguments that run a program in a view, where bubblewrap is at `bwrap`.

    The process ids are its own, and all of them end with their first, which ends with the server.
    """
    mounts = [word for mount in view.mounts for word in _words(mount)]
    alone = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", *([] if view.network else ["--unshare-net"])]
    return [bwrap, *mounts, *alone, "--die-with-parent", "--cap-drop", "ALL", "--"]


def _words(mount: Mount) -> list[str]:
    words = {
        "read": ["--ro-bind", mount.source or mount.at],
        "write": ["--bind", mount.source or mount.at],
        "empty": ["--size", str(mount.size_bytes), "--perms", f"{mount.mode:o}", "--tmpfs"],
        "devices": ["--dev"],
        "processes": ["--proc"],
    }
    return [*words[mount.kind], mount.at]
