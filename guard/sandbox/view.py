"""What commands see where they have namespaces of their own: the machine without the other sessions."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from ..forkserver.view import Mount, View
from .policy import Policy

TEMPORARY = "/tmp"  # noqa: S108 - inside, it is a private directory
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - likewise
_SHARED_MEMORY_BYTES = 256 * 1024**2

_KERNEL = ("/sys", *(f"/proc/{name}" for name in ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "mtrr", "scsi")))
"""What root could change of the kernel without any capability; bubblewrap's list and Docker's."""


def view(policy: Policy, hidden: Iterable[str], session: Path, private: Path) -> tuple[View, str]:
    """Return what a session's commands see, and where `private` is in it.

    Everything can be read as outside, but the places to hide are empty, `/tmp` is private, and only the places to
    write can be written.

    Args:
        policy: what commands may do.
        hidden: every path to what is to be hidden.
        session: directory of the own session; to be read.
        private: directory that becomes `/tmp`, unless `/tmp` itself may be written.
    """
    mounts = {path: Mount("read", path) for path in _kept_in_temporary()}
    for path in policy.writable:
        mounts[path] = Mount("write", path)
        for place in hidden:
            mounts |= {above: Mount("write", above) for above in between(path, place)}
    for path in hidden:
        if Path(path).is_dir():
            mounts[path] = Mount("empty", path)
        elif Path(path).exists():
            mounts[path] = Mount("read", path, os.devnull)
    # Where the real one may be written, it is there, and the private one where it is outside.
    within = str(private) if TEMPORARY in mounts else TEMPORARY
    mounts[within] = Mount("write", within, str(private))
    own = os.path.realpath(session)
    mounts[own] = Mount("read", own)
    whole = mounts.pop("/", Mount("read", "/"))
    fresh = (
        Mount("devices", "/dev", mode=0o755),
        Mount("empty", SHARED_MEMORY, size_bytes=_SHARED_MEMORY_BYTES, mode=0o1777),
        Mount("processes", "/proc"),
        *(Mount("read", path) for path in _KERNEL if Path(path).exists()),
    )
    # What is deeper is mounted later, or it would be covered.
    ordered = sorted(mounts.values(), key=lambda mount: mount.at.count("/"))
    return View((whole, *fresh, *ordered), policy.network), within


def between(writable: str, hidden: str) -> list[str]:
    """Return the directories on the way from one that may be written to one in it that is hidden.

    Each is mounted on itself: what is mounted on cannot be renamed, or the hidden one would turn up elsewhere.
    """
    above = Path(hidden).parents
    return [str(path) for path in above if path.is_relative_to(writable) and path != Path(writable)]


def _kept_in_temporary() -> list[str]:
    """Return what is needed of the real `/tmp`, where somebody has put it there."""
    needed = [sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(__file__).parents[1])]
    needed += [os.environ.get("HOME", ""), *os.environ.get("PATH", "").split(os.pathsep)]
    real = {os.path.realpath(path) for path in needed if path}
    return [path for path in real if path.startswith(TEMPORARY + "/") and Path(path).is_dir()]
