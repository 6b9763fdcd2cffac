"""The store: sessions on disk, made and found by their handles."""

import base64
import hashlib
import hmac
import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..errors import BursarError
from . import refusals
from .folder import CREATE, Folder, write
from .limits import Limits
from .session import DIRECTORY, HANDLE_PREFIX, LOCK, Session, take_lock

if TYPE_CHECKING:
    from .retention import Swept

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LENGTH = 22  # of 62 characters each: 131 bits
_HANDLE = re.compile(rf"{HANDLE_PREFIX}[0-9A-Za-z]{{{_LENGTH}}}", re.ASCII)
_OWNER = "owner.json"


class Store:
    """All sessions under one private directory. Any number of processes may use it at a time."""

    def __init__(self, root: Path, limits: Limits | None = None) -> None:
        self._path = root
        self.limits = limits or Limits()
        self._opened: Folder | None = None

    @property
    def root(self) -> Path:
        """Where the sessions lie."""
        return Path(os.path.abspath(self._path))  # noqa: PTH100 - links are not to be resolved

    def create(self, owner: str) -> Session:
        """Make a new session.

        Args:
            owner: whom it belongs to, such as `local:1000`; only he can attach to it later.

        Raises:
            BursarError: data_directory_refused, disk_full or store_failed.
        """
        try:
            while True:
                handle = _mint()
                try:
                    folder = self._folder().child(_directory(handle), create=True)
                except FileExistsError:
                    continue
                lock = _begin(folder, handle, owner)
                return Session(handle, owner, folder, lock, self.limits, self)
        except OSError as error:
            raise refusals.from_os(error, "a new session") from error

    def attach(self, handle: str, owner: str) -> Session:
        """Open the session that a handle is the key to.

        Raises:
            BursarError: unknown_session, in one wording for malformed, unknown, expired and somebody else's handles.
        """
        if not _HANDLE.fullmatch(handle):
            raise refusals.unknown_session()
        try:
            folder = self._folder().child(_directory(handle))
            lock = take_lock(folder, os.O_RDWR)
        except OSError as error:
            raise refusals.unknown_session() from error
        session = Session(handle, owner, folder, lock, self.limits, self)
        try:
            # Read after locking: a session that was being swept has lost this file by now.
            if not _is_owner(folder.contents(_OWNER), handle, owner):
                raise refusals.unknown_session()
            folder.touch(LOCK)
        except OSError as error:
            session.close()
            raise refusals.unknown_session() from error
        except BaseException:
            session.close()
            raise
        return session

    def renew(self, handle: str, owner: str) -> tuple[Folder, int]:
        """Make the directory of a session anew, which somebody has deleted; return it with its lock.

        Raises:
            OSError: it cannot be made.
            BursarError: data_directory_refused, or unknown_session if another process made one that is not his.
        """
        try:
            folder = self._folder().child(_directory(handle), create=True)
        except FileExistsError:
            folder = self._folder().child(_directory(handle))
            if not _is_owner(folder.contents(_OWNER), handle, owner):
                raise refusals.unknown_session() from None
            return folder, take_lock(folder, os.O_RDWR)
        return folder, _begin(folder, handle, owner)

    def sweep(self) -> "Swept":
        """Remove what is too old or too much, never a session in use; call it in a thread, at the start and at times.

        Raises:
            BursarError: store_failed.
        """
        from .retention import sweep  # not needed to answer a call

        try:
            return sweep(self._folder(), self.limits, time.time())
        except OSError as error:
            raise refusals.from_os(error, "less") from error

    def close(self) -> None:
        """Let go of the directory; sessions stay open."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

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
    except OSError:
        return False
    return not found or LOCK in found or _OWNER in found


def _mint() -> str:
    number = int.from_bytes(os.urandom(32), "little")
    characters: list[str] = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        characters.append(_ALPHABET[digit])
    return HANDLE_PREFIX + "".join(characters)


def _directory(handle: str) -> str:
    """Name the directory so that neither a listing nor a log yields the handle."""
    return base64.b32encode(hashlib.sha256(handle.encode()).digest())[:12].decode().lower()


def _begin(folder: Folder, handle: str, owner: str) -> int:
    """Make a new directory one of a session, and return its lock."""
    lock = take_lock(folder, CREATE)
    _write_owner(folder, handle, owner)
    return lock


def _write_owner(folder: Folder, handle: str, owner: str) -> None:
    given = {"handle_sha256": hashlib.sha256(handle.encode()).hexdigest(), "owner": owner, "created": time.time()}
    descriptor = folder.open(_OWNER, CREATE)
    try:
        write(descriptor, json.dumps(given).encode())
    finally:
        os.close(descriptor)


def _is_owner(data: bytes, handle: str, owner: str) -> bool:
    try:
        given = cast("dict[str, Any]", json.loads(data))
        handle_sha256, whose = str(given["handle_sha256"]), str(given["owner"])
    except (ValueError, KeyError, TypeError):
        return False
    same_handle = hmac.compare_digest(handle_sha256, hashlib.sha256(handle.encode()).hexdigest())
    same_owner = hmac.compare_digest(whose.encode(), owner.encode())
    return same_handle and same_owner
