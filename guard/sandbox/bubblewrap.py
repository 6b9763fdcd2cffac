"""bubblewrap: a view of the file system without the other sessions, and of the processes without the server."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from shutil import which

from .policy import Policy

TEMPORARY = "/tmp"  # noqa: S108 - inside, it is a private directory
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - likewise
_KERNEL = ("/sys", "/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
_SHARED_MEMORY_BYTES = 256 * 1024**2


def program(writable: Iterable[Path] = ()) -> str:
    """Return where bubblewrap is installed, or nothing; `writable` by commands it must not be, as it runs outside."""
    places = [place for place in map(os.path.realpath, writable) if place != "/"]
    for folder in os.get_exec_path() if sys.platform == "linux" else ():
        found = which("bwrap", path=folder)
        real = (os.path.realpath(folder), os.path.realpath(found or folder))
        if found and not any(Path(path).is_relative_to(place) for path in real for place in places):
            return found
    return ""


def prefix(bwrap: str, policy: Policy, hidden: Iterable[str], session: Path, private: Path) -> tuple[list[str], str]:
    """Return the arguments that run a program in its own view of the machine, and where `private` is in it.

    Everything can be read as outside, but the places to hide are empty, `/tmp` is private, and only the places to
    write can be written. The process ids are its own, and all of them end with their first, which ends with the server.

    Args:
        bwrap: where bubblewrap is.
        policy: what commands may do.
        hidden: every path to what is to be hidden.
        session: directory of the own session; to be read.
        private: directory that becomes `/tmp`, unless `/tmp` itself may be written.
    """
    mounts: dict[str, list[str]] = {}
    for path in _kept_in_temporary():
        mounts[path] = ["--ro-bind", path, path]
    for path in map(os.path.realpath, (*policy.roots, *policy.writes)):
        mounts[path] = ["--bind", path, path]
        for place in hidden:
            mounts |= {above: ["--bind", above, above] for above in between(path, place)}
    for path in hidden:
        if Path(path).is_dir():
            mounts[path] = ["--size", "1048576", "--perms", "0700", "--tmpfs", path]
        elif Path(path).exists():
            mounts[path] = ["--ro-bind", os.devnull, path]
    # Where the real one may be written, it is there, and the private one where it is outside.
    within = str(private) if TEMPORARY in mounts else TEMPORARY
    mounts[within] = ["--bind", str(private), within]
    own = os.path.realpath(session)
    mounts[own] = ["--ro-bind", own, own]
    whole = mounts.pop("/", ["--ro-bind", "/", "/"])
    # What is deeper is mounted later, or it would be covered.
    ordered = [word for path in sorted(mounts, key=lambda path: path.count("/")) for word in mounts[path]]
    memory = ["--size", str(_SHARED_MEMORY_BYTES), "--perms", "1777", "--tmpfs", SHARED_MEMORY]
    alone = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", *([] if policy.network else ["--unshare-net"])]
    end = ["--die-with-parent", "--cap-drop", "ALL", "--"]
    return [bwrap, *whole, "--dev", "/dev", *memory, "--proc", "/proc", *_kernel(), *ordered, *alone, *end], within


def between(writable: str, hidden: str) -> list[str]:
    """Return the directories on the way from one that may be written to one in it that is hidden.

    Each is mounted on itself: what is mounted on cannot be renamed, or the hidden one would turn up elsewhere.
    """
    above = Path(hidden).parents
    return [str(path) for path in above if path.is_relative_to(writable) and path != Path(writable)]


def _kernel() -> list[str]:
    """Keep root, who needs no capability for it, from changing through files of the kernel what that runs."""
    return [word for path in _KERNEL if Path(path).exists() for word in ("--ro-bind", path, path)]


def _kept_in_temporary() -> list[str]:
    """Return what is needed of the real `/tmp`, where somebody has put it there."""
    needed = [sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(__file__).parents[1])]
    needed += [os.environ.get("HOME", ""), *os.environ.get("PATH", "").split(os.pathsep)]
    real = {os.path.realpath(path) for path in needed if path}
    return [path for path in real if path.startswith(TEMPORARY + "/") and Path(path).is_dir()]
