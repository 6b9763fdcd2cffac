"""The store: sessions on disk, made and found by their handles."""

import base64
import hashlib
import os
import secrets
import string
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BursarError
from . import errors, ownership, usage
from .folder import ABSENT, TEMPORARY, Folder, is_local, write
from .limits import Limits
from .ownership import OWNER
from .reference import HANDLE, HANDLE_CHARACTERS, HANDLE_PREFIX
from .session import DIRECTORY, Session
from .usage import LOCK, InUse

if TYPE_CHECKING:
    from .listing import Listed
    from .retention import Swept

_ALPHABET = string.ascii_letters + string.digits

_TRIAL_BYTES = 64 << 10


class Store:
    """All sessions under one private directory. Any number of processes may use it at a time."""

    def __init__(self, root: Path, limits: Limits) -> None:
        self._path = root
        self.limits = limits
        self._opened: Folder | None = None

    @property
    def root(self) -> Path:
        """Where the sessions lie."""
        return Path(os.path.abspath(self._path))  # noqa: PTH100 - links are not to be resolved

    def create(self, owner: str) -> Session:
        """Make a new session.

        Args:
            owner: whom it belongs to, such as `local:1000`; nobody else can attach to it later.

        Raises:
            BursarError: data_directory_refused, disk_full or store_failed.
        """
        with errors.storing("a new session", in_session=False):
            while True:
                handle = HANDLE_PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(HANDLE_CHARACTERS))
                try:
                    folder, in_use = self._make(handle, owner)
                except (FileExistsError, BlockingIOError):  # a sweep may look at it before it is locked
                    continue
                session = Session(handle, owner, folder, in_use, self.limits, self.attach)
                session.survey()
                return session

    def attach(self, handle: str, owner: str) -> Session:
        """Open the session that a handle is the key to.

        Raises:
            BursarError: unknown_session, in one wording for malformed, unknown, expired and somebody else's handles;
                session_locked while it is being swept, and read_failed when it cannot be told just now.
        """
        if not HANDLE.fullmatch(handle):
            raise errors.unknown_session()
        try:
            folder = self._folder().child(_directory(handle))
            in_use = InUse(folder)
        except OSError as error:
            raise _not_attached(error) from error
        session = Session(handle, owner, folder, in_use, self.limits, self.attach)
        try:
            # Read after locking: a session that was being swept has lost this file by now.
            if not ownership.read(folder).is_for(handle, owner):
                raise errors.unknown_session()
        except OSError as error:
            session.close()
            raise _not_attached(error) from error
        except BaseException:
            session.close()
            raise
        with suppress(OSError):  # a disk that can only be read
            usage.renew(folder, LOCK, self.limits)
        return session

    def listed(self) -> "list[Listed]":
        """List all sessions, the last used first, for whoever may read the disk anyway: no tool lists them. Blocks.

        Raises:
            BursarError: data_directory_refused or read_failed.
        """
        from .listing import listed

        return listed(self._folder())

    def visit(self, name: str) -> Session:
        """Open a session by the name of its directory, for whoever may read the disk anyway: no tool does.

        It has no handle, and being looked at does not count as being used.

        Raises:
            BursarError: unknown_session, session_locked or read_failed.
        """
        if not DIRECTORY.fullmatch(name):
            raise errors.unknown_session()
        try:
            folder = self._folder().child(name)
            in_use = InUse(folder)
            return Session("", ownership.read(folder).name, folder, in_use, self.limits, self.attach)
        except OSError as error:
            raise _not_attached(error) from error

    def discard(self, name: str) -> None:
        """Remove a session by the name of its directory, for whoever may write the disk anyway: no tool does. Blocks.

        Raises:
            BursarError: unknown_session, store_failed.
        """
        from .retention import remove

        if not DIRECTORY.fullmatch(name):
            raise errors.unknown_session()
        with errors.storing("less"):
            remove(self._folder(), name)

    def remove(self, handle: str, owner: str) -> None:
        """Remove a session and everything in it, because its owner wants it gone. Blocks.

        Whatever is asked of it fails from now on, in all processes.

        Raises:
            BursarError: unknown_session, as `attach` has it; store_failed.
        """
        from .retention import remove

        self.attach(handle, owner).close()
        with errors.storing("less"):
            remove(self._folder(), _directory(handle))

    def sweep(self, *, every_s: float | None = None) -> "Swept":
        """Remove what is too old or too much, never a session in use; call it in a thread, at the start and at times.

        Args:
            every_s: do nothing if a process did so within so many seconds, or is at it; None to do it in any case.

        Raises:
            BursarError: store_failed.
        """
        from .retention import sweep, sweep_if_due  # not needed to answer a call

        with errors.storing("less", in_session=False):
            if every_s is None:
                return sweep(self._folder(), self.limits, time.time())
            return sweep_if_due(self._folder(), self.limits, time.time(), every_s)

    def sizes(self) -> Counter[str]:
        """Add up the bytes of all sessions by their owners. Blocks.

        Raises:
            BursarError: data_directory_refused or store_failed.
        """
        from .retention import sizes

        with errors.storing("anything", in_session=False):
            return sizes(self._folder())

    def check(self) -> None:
        """Try to store something as a writer does; nothing is left of it, and nothing else is touched. Blocks.

        Raises:
            BursarError: data_directory_refused, disk_full or store_failed.
        """
        root = self._folder()
        with errors.storing("anything", in_session=False):
            name, descriptor = TEMPORARY + os.urandom(9).hex(), root.nameless()
            is_named = descriptor is None
            if descriptor is None:
                descriptor, name = root.temporary()
            try:
                write(descriptor, bytes(_TRIAL_BYTES))
                if not is_named:
                    root.name(descriptor, name)
            finally:
                os.close(descriptor)
                root.remove(name)

    @property
    def is_local(self) -> bool:
        """Whether nobody reaches it but through this machine; where others may, nothing is ever swept.

        Raises:
            BursarError: data_directory_refused.
        """
        return is_local(self._folder())

    def private(self, name: str) -> Path:
        """Return a directory in the store that is no session, made if missing; `name` begins with a dot.

        Raises:
            BursarError: data_directory_refused, disk_full or store_failed.
        """
        with errors.storing(f"anything in {name}", in_session=False):
            with suppress(FileExistsError):
                self._folder().child(name, create=True).close()
            folder = self._folder().child(name)
        folder.close()
        return folder.path

    def close(self) -> None:
        """Let go of the directory; sessions stay open."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _make(self, handle: str, owner: str) -> tuple[Folder, InUse]:
        """Make the directory of a session; return it locked.

        Raises:
            FileExistsError: there is such a directory.
            OSError: it cannot be made; nothing of it is left.
        """
        root, name = self._folder(), _directory(handle)
        folder = root.child(name, create=True)
        try:
            in_use = InUse(folder)
            usage.renew(folder, LOCK, self.limits)
            ownership.write(folder, handle, owner, fsync=self.limits.fsync)
            if self.limits.fsync:
                root.sync()
        except BaseException:
            with suppress(OSError):
                folder.remove(OWNER)
                folder.remove(LOCK)
                root.remove_folder(name)
            raise
        return folder, in_use

    def _folder(self) -> Folder:
        if self._opened is None or self._opened.is_gone():
            try:
                self._opened = Folder.root(self._path, _is_store)
            except OSError as error:
                raise BursarError(
                    "data_directory_refused",
                    f"{self._path} cannot hold the artifacts: {error.strerror or error}",
                    "Give a directory that you can write with --data-dir",
                ) from error
        return self._opened


def _is_store(folder: Folder) -> bool:
    """Tell whether a directory holds sessions, or nothing to be seen."""
    is_empty = True
    for entry in folder.entries():
        if not entry.name.startswith("."):
            is_empty = False
            if _is_session(folder.path / entry.name):
                return True
    return is_empty


def _is_session(place: Path) -> bool:
    if not DIRECTORY.fullmatch(place.name):
        return False
    try:
        found = {file.name for file in place.iterdir()}
    except PermissionError:
        return True  # somebody has closed it to the user himself; opening it mends that
    except OSError:
        return False
    return not found or LOCK in found or OWNER in found


def _directory(handle: str) -> str:
    """Name the directory so that neither a listing nor a log yields the handle."""
    return base64.b32encode(hashlib.sha256(handle.encode()).digest())[:12].decode().lower()


def _not_attached(error: OSError) -> BursarError:
    """Tell that there is no such session, or that the system could not say."""
    if isinstance(error, BlockingIOError):
        return errors.session_locked()
    return errors.unknown_session() if error.errno in ABSENT else errors.unreadable("the session", error)


def default_data_dir() -> Path:
    """Return where artifacts are kept unless told otherwise: the platform's directory for application data."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
