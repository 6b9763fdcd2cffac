"""Removes sessions by age and by size: the longest unused first, never one in use, whatever the clock says."""

import os
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from . import locks, records
from .folder import ABSENT, TEMPORARY, Folder
from .limits import Limits
from .session import DIRECTORY, LOCK, OWNER

_GONE = ".gone-"

_EMPTY_S = 3600.0
"""A session without artifacts that was unused for so long has nothing to come back to; a stateless call that names no
session makes one, whatever becomes of the call."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep removed.

    Attributes:
        sessions: number of sessions.
        bytes: their size.
    """

    sessions: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    used: float
    size: int
    has_owner: bool
    is_empty: bool

    def may_be_idle_s(self, limits: Limits) -> float:
        """Return how many seconds it is kept unused."""
        if not self.has_owner:  # nobody can attach to it
            return limits.settle_s
        return min(_EMPTY_S, limits.idle_s) if self.is_empty else limits.idle_s


def sweep(root: Folder, limits: Limits, now: float) -> Swept:
    """Remove sessions that were idle too long, then more of them until the rest is small enough."""
    for name in [entry.name for entry in root.entries()]:
        if name.startswith(_GONE):  # a sweep was interrupted
            _remove_tree(root, name)
    found = sorted(_sessions(root), key=lambda session: session.used)
    total = sum(session.size for session in found)
    sessions = removed = 0
    for session in found:
        idle_s = now - session.used
        too_old = idle_s > max(limits.settle_s, session.may_be_idle_s(limits))
        too_much = total - removed > limits.total_bytes and abs(idle_s) > limits.settle_s
        if (too_old or too_much) and _remove(root, session):
            sessions += 1
            removed += session.size
        elif idle_s > limits.settle_s:
            _tidy(root, session.name)
    return Swept(sessions, removed)


def remove(root: Folder, name: str) -> None:
    """Remove a session, in use or not: it is gone in one step, and what still writes into it writes into nothing.

    Raises:
        OSError: it is not there, or cannot be removed.
    """
    gone = _GONE + os.urandom(6).hex()
    root.rename(name, gone)
    _remove_tree(root, gone)


def _sessions(root: Folder) -> list[_Found]:
    found: list[_Found] = []
    for entry in root.entries():
        if not DIRECTORY.fullmatch(entry.name) or not entry.is_dir(follow_symlinks=False):
            continue
        with suppress(OSError):
            used = entry.stat(follow_symlinks=False).st_mtime
            size = 0
            has_owner, is_empty = False, True
            folder = root.child(entry.name)
            for file in folder.entries():
                has_owner = has_owner or file.name == OWNER
                is_empty = is_empty and file.name in {OWNER, LOCK}
                try:
                    status = file.stat(follow_symlinks=False)
                except FileNotFoundError:  # a session in use: files come and go
                    continue
                size += status.st_size
                if file.name == LOCK:
                    used = max(used, status.st_mtime, folder.stamped(LOCK))
            folder.close()
            found.append(_Found(entry.name, used, size, has_owner, is_empty))
    return found


def _remove(root: Folder, session: _Found) -> bool:
    """Remove a session unless it is in use; renamed first, so that it is gone in one step."""
    with suppress(OSError), ExitStack() as held:
        folder = root.child(session.name)
        held.callback(folder.close)
        lock = _claim(folder)
        if lock is None:
            return False
        held.callback(os.close, lock)
        if _was_used_since(session, folder, lock):
            return False
        gone = _GONE + os.urandom(6).hex()
        if sys.platform == "win32":  # where a directory with an open file in it, ours or a user's, keeps its name
            held.close()
            root.rename(session.name, gone)
        else:
            root.rename(session.name, gone)
            folder.remove(OWNER)  # whoever waits for the lock finds no session behind it
            held.close()
        _remove_tree(root, gone)
        return True
    return False


def _was_used_since(session: _Found, folder: Folder, lock: int) -> bool:
    """Tell whether somebody used a session between looking at it and locking it, which may have made its lock."""
    if not session.has_owner:
        return any(entry.name == OWNER for entry in folder.entries())
    return max(os.fstat(lock).st_mtime, folder.stamped(LOCK)) > session.used


def _tidy(root: Folder, name: str) -> None:
    """Remove what a crash left of artifacts that never came to exist, from a session that nobody uses."""
    with suppress(OSError):
        folder = root.child(name)
        lock = _claim(folder)
        if lock is None:
            return
        try:
            parts = {entry.name: entry.name.partition("-")[0].partition(".")[0] for entry in folder.entries()}
            parts = {file: artifact for file, artifact in parts.items() if records.ID.fullmatch(artifact)}
            # The next number is the one after the highest, and none is given out twice.
            last = max(map(records.number, parts.values()), default=0)
            for file, artifact in parts.items():
                if file != f"a{last}.json" and not _may_have_record(folder, artifact):
                    folder.remove(file)
            for file in [entry.name for entry in folder.entries() if entry.name.startswith(TEMPORARY)]:
                folder.remove(file)
        finally:
            os.close(lock)
            folder.close()


def _may_have_record(folder: Folder, artifact: str) -> bool:
    """Tell whether there is a record that was finished; a damaged one, or a later version's, is one."""
    try:
        return not records.is_torn(folder.contents(f"{artifact}.json"))
    except OSError as error:
        return error.errno not in ABSENT


def _claim(folder: Folder) -> int | None:
    """Lock a session against use; None if it is in use."""
    try:
        lock = folder.open(LOCK, os.O_RDWR)
    except FileNotFoundError:  # its making was interrupted
        lock = folder.open(LOCK, os.O_RDWR | os.O_CREAT)
    if locks.claim(lock):
        return lock
    os.close(lock)
    return None


def _remove_tree(root: Folder, name: str) -> None:
    """Remove a directory of ours with all that is in it; what was put there by others goes too, links unfollowed."""
    from shutil import rmtree

    with suppress(OSError):
        rmtree(root.path / name, ignore_errors=True)
