"""Removes sessions by age and by size: the longest unused first, never one in use, whatever the clock says.

The limits are those of who sweeps or those that a session was promised at its last use, whichever keep it longer.
"""

import os
import sys
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from ..errors import BursarError
from . import locks, ownership, records, usage
from .folder import ABSENT, TEMPORARY, Folder, is_local
from .limits import Limits
from .ownership import OWNER
from .session import BESIDE, DIRECTORY
from .usage import LOCK, Usage

_GONE, _SWEPT = ".gone-", ".swept"

_EMPTY_S = 3600.0
"""A session without artifacts that was unused for so long has nothing to come back to; a stateless call that names no
session makes one, whatever becomes of the call."""

_NOT_OURS = OSError, BursarError
"""Raised for a directory that cannot be looked into, or is no session's: the sweep goes on with the next."""

_TRIES = 3
"""Who still writes into a directory may add a file while it is being emptied; once removed, it takes none."""


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
    owner: str | None
    size: int
    is_empty: bool
    used: Usage

    def may_go(self, limits: Limits, now: float) -> bool:
        """Tell whether it was idle for longer than it is kept, and was promised to be kept."""
        idle_s = max(self.used.idle_s, limits.idle_s)
        if self.owner is None:  # nobody can attach to it
            idle_s = limits.settle_s
        elif self.is_empty and self.used.idle_s <= limits.idle_s:  # else somebody was promised more than is usual
            idle_s = min(_EMPTY_S, idle_s)
        return now - self.used.at > max(limits.settle_s, idle_s)


def sweep(root: Folder, limits: Limits, now: float) -> Swept:
    """Remove sessions that were idle too long, then more of them until the rest is small enough.

    None where another machine may use one unseen: locks hold between machines on few file systems, and none tells.
    """
    for name in [entry.name for entry in root.entries()]:
        if name.startswith(_GONE):  # a sweep was interrupted
            _remove_tree(root, name)
    if not is_local(root):
        return Swept()
    found = sorted(_sessions(root), key=lambda session: session.used.at)
    gone = {session.name for session in found if session.may_go(limits, now) and _remove(root, session)}
    gone |= _make_room(root, [session for session in found if session.name not in gone], limits, now)
    for session in found:
        if session.name not in gone and now - session.used.at > limits.settle_s:
            _tidy(root, session.name)
    return Swept(len(gone), sum(session.size for session in found if session.name in gone))


def sweep_if_due(root: Folder, limits: Limits, now: float, every_s: float) -> Swept:
    """Sweep unless a process did so within so many seconds, or is at it."""
    marker = root.open(_SWEPT, os.O_RDWR | os.O_CREAT)
    try:
        if not locks.claim(marker):
            return Swept()
        last = usage.noted(root, _SWEPT)
        if last is not None and 0 <= now - last.at < every_s:
            return Swept()
        swept = sweep(root, limits, now)
        usage.note(root, _SWEPT, Usage(time.time(), 0, 0))
        return swept
    finally:
        os.close(marker)


def _make_room(root: Folder, found: list[_Found], limits: Limits, now: float) -> set[str]:
    """Remove the longest unused of whoever holds most, until all are small enough; nobody loses of an equal share."""
    held = Counter[str | None]()
    candidates = dict[str | None, list[_Found]]()
    for session in found:
        held[session.owner] += session.size
        candidates.setdefault(session.owner, []).append(session)
    owners = len(held)
    gone = set[str]()
    while candidates and held.total() > limits.total_bytes:
        owner = max(candidates, key=lambda name: held[name])
        session = candidates[owner].pop(0)
        if not candidates[owner]:
            del candidates[owner]
        most = max(session.used.total_bytes, limits.total_bytes)
        is_too_much = held.total() > most and held[owner] * owners > most
        if is_too_much and now - session.used.at > limits.settle_s and _remove(root, session):
            gone.add(session.name)
            held[owner] -= session.size
    return gone


def remove(root: Folder, name: str) -> None:
    """Remove a session, in use or not: it is gone in one step, and what still writes into it writes into nothing.

    Raises:
        OSError: it is not there, or cannot be removed.
    """
    gone = _GONE + os.urandom(6).hex()
    root.rename(name, gone)
    _remove_tree(root, gone)


def sizes(root: Folder) -> Counter[str]:
    """Add up the bytes of all sessions by their owners, those that nobody owns left out."""
    held = Counter[str]()
    for session in _sessions(root):
        if session.owner is not None:
            held[session.owner] += session.size
    return held


def _sessions(root: Folder) -> list[_Found]:
    found: list[_Found] = []
    for entry in root.entries():
        if not DIRECTORY.fullmatch(entry.name) or not entry.is_dir(follow_symlinks=False):
            continue
        with suppress(*_NOT_OURS):
            folder = root.child(entry.name)
            try:
                found.append(_look_at(folder, entry.name))
            finally:
                folder.close()
    return found


def _look_at(folder: Folder, name: str) -> _Found:
    is_empty = {file.name for file in folder.entries()} <= BESIDE
    return _Found(name, _owner_of(folder), folder.size(), is_empty, _used(folder))


def _used(folder: Folder) -> Usage:
    """Tell when a session was used last; at a time that cannot be, it counts as used now, and is not kept for ever."""
    used = usage.noted(folder, LOCK)
    if used is not None and used.at <= time.time():
        return used
    lock = _claim(folder)
    if lock is not None:  # else whoever uses it notes it
        try:
            usage.set_right(folder, LOCK)
        finally:
            os.close(lock)
    return usage.noted(folder, LOCK) or Usage(time.time(), 0, 0)


def _owner_of(folder: Folder) -> str | None:
    """Name whoever a session belongs to; nobody if it was never finished."""
    try:
        return ownership.read(folder).name
    except OSError as error:
        if error.errno in ABSENT:
            return None
        raise


def _remove(root: Folder, session: _Found) -> bool:
    """Remove a session unless it is in use; renamed first, so that it is gone in one step."""
    with suppress(*_NOT_OURS), ExitStack() as held:
        folder = root.child(session.name)
        held.callback(folder.close)
        lock = _claim(folder)
        if lock is None:
            return False
        held.callback(os.close, lock)
        if _was_used_since(session, folder):
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


def _was_used_since(session: _Found, folder: Folder) -> bool:
    """Tell whether somebody used a session between looking at it and locking it, or has just made it."""
    return usage.noted(folder, LOCK) != session.used or _owner_of(folder) != session.owner


def _tidy(root: Folder, name: str) -> None:
    """Remove what a crash left of artifacts that never came to exist, from a session that nobody uses."""
    with suppress(*_NOT_OURS), ExitStack() as held:
        folder = root.child(name)
        held.callback(folder.close)
        # Its owner need not wait until every record was read: only what is suspect is judged with the lock in hand.
        suspects = _leftovers(folder, [entry.name for entry in folder.entries()])
        if not suspects:
            return
        lock = _claim(folder)
        if lock is None:
            return
        held.callback(os.close, lock)
        for file in _leftovers(folder, suspects):
            folder.remove(file)


def _leftovers(folder: Folder, files: list[str]) -> list[str]:
    """Return those of some files that belong to no artifact and never will, as long as nobody uses the session."""
    parts = {entry.name: entry.name.partition("-")[0].partition(".")[0] for entry in folder.entries()}
    # The next number is the one after the highest, and none is given out twice.
    last = max((records.number(artifact) for artifact in parts.values() if records.ID.fullmatch(artifact)), default=0)
    suspects = {artifact for file in files if records.ID.fullmatch(artifact := parts.get(file, ""))}
    torn = {artifact for artifact in suspects if not _may_have_record(folder, artifact)}
    kept = f"a{last}.json"
    return [file for file in files if file.startswith(TEMPORARY) or (parts.get(file) in torn and file != kept)]


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

    for _ in range(_TRIES):
        with suppress(OSError):
            rmtree(root.path / name, ignore_errors=True)
        if not os.path.lexists(root.path / name):
            return
