"""The content files of a session: opened, checked against their records, found into by line; and asked to end."""

import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from . import errors, index
from .folder import ABSENT, CREATE, Folder, read_at, write
from .index import BLOCK, INDEX_MAX_BYTES, LineIndex
from .limits import Redaction
from .records import Record
from .reference import Reference
from .usage import InUse

_STOP = ".stop"
"""Ends the name of an empty file beside a live artifact: whoever writes it is asked to stop."""

_INDEXES_MAX = 16


class Contents:
    """What artifacts read through. Safe for threads.

    Attributes:
        folder: where the files lie.
        handle: of the session.
        redaction: whether credentials are blanked in what is read or stored.
        in_use: keeps the session from being swept as long as an artifact of it is in hand.
    """

    def __init__(self, folder: Folder, handle: str, redaction: Redaction, in_use: InUse) -> None:
        self.folder = folder
        self.handle = handle
        self.redaction: Redaction = redaction
        self.in_use = in_use
        self._indexes: dict[str, LineIndex] = {}
        self._checked: set[tuple[str, int, int, int]] = set()

    def open(self, record: Record) -> int:
        """Open the content of an artifact, and return the descriptor.

        Raises:
            BursarError: unknown_artifact, damaged or read_failed.
        """
        try:
            descriptor = self.folder.open(record.content)
        except OSError as error:
            if error.errno in ABSENT:
                raise errors.unknown_artifact() from error
            raise errors.unreadable(record.id, error) from error
        try:
            if not self._is_as_recorded(record, descriptor):
                raise errors.damaged(str(Reference(self.handle, record.id)))
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OSError):
                raise errors.unreadable(record.id, error) from error
            raise
        return descriptor

    def is_untouched(self, record: Record) -> bool:
        """Tell whether a content is as it was stored, by its size and times alone: one that was touched is not read."""
        with suppress(OSError):
            descriptor = self.folder.open(record.content)
            try:
                return _is_untouched(record, os.fstat(descriptor))
            finally:
                os.close(descriptor)
        return False

    def index_of(self, record: Record) -> LineIndex:
        """Return the line index of a content: the one at hand, the one on disk, or an empty one."""
        known = self._indexes.get(record.id)
        if known is None or len(known.counts) * BLOCK > record.size:  # a process can empty what it writes
            known = self._stored_index(record) or LineIndex()
            while len(self._indexes) >= _INDEXES_MAX:
                self._indexes.pop(next(iter(self._indexes)), None)
            self._indexes[record.id] = known
        return known

    def keep_index(self, record: Record, index: LineIndex) -> None:
        """Keep a complete index beside the record; it is only a shortcut, so a full disk is no failure."""
        self._indexes[record.id] = index
        if index.is_kept or record.state == "live" or record.size <= BLOCK or not index.is_complete(record.size):
            return
        with suppress(OSError):
            self.folder.replace(f"{record.id}.idx", index.dumps(record.size, _mtime_ns(record)))
            index.is_kept = True

    def tables_of(self, record: Record) -> Path | None:
        """Return where the tables of a content are kept; None if they are not."""
        name = f"{record.id}.tables"
        try:
            os.close(self.folder.open(name))
        except OSError:
            return None
        return self.folder.path / name

    def keep_tables(self, record: Record, made: Path) -> int:
        """Keep the tables of a content that will not change beside its record, and return their size.

        They are only a shortcut, so a full disk is no failure.
        """
        if record.state == "live":
            return 0
        with suppress(OSError), made.open("rb") as source:
            descriptor, temporary = self.folder.temporary()
            try:
                while block := source.read(BLOCK):
                    write(descriptor, block)
                self.folder.rename(temporary, f"{record.id}.tables")
            except BaseException:
                self.folder.remove(temporary)
                raise
            finally:
                os.close(descriptor)
            return source.tell()
        return 0

    def ask_to_stop(self, artifact: str) -> None:
        """Ask whichever process writes a live artifact, given by its id, to stop.

        Raises:
            BursarError: disk_full or store_failed.
        """
        with errors.storing("that it is to stop"), suppress(FileExistsError):
            os.close(self.folder.open(f"{artifact}{_STOP}", CREATE))

    def is_asked_to_stop(self, artifact: str) -> bool:
        """Tell whether another process has asked for that since; tells it once."""
        name = f"{artifact}{_STOP}"
        try:
            os.close(self.folder.open(name))
        except OSError:
            return False
        return self.folder.remove(name)

    def _is_as_recorded(self, record: Record, descriptor: int) -> bool:
        """Tell whether an open content is what was recorded.

        Size and times suffice as long as they are as recorded; else the hash decides, once per state of the file. More
        than was recorded is no damage: a process that outlived its call may have added to it, and that is never shown.
        What has no hash yet must have no other name either: it could be a file of another session.

        Raises:
            OSError: it could not be read.
        """
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size < record.size:
            return False
        if not record.sha256:
            return found.st_nlink == 1
        if _is_untouched(record, found):
            return True
        state = (record.id, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if state not in self._checked:
            if _sha256(descriptor, record.size) != record.sha256:
                return False
            self._checked.add(state)
        return True

    def _stored_index(self, record: Record) -> LineIndex | None:
        if record.size <= BLOCK:
            return None
        try:
            data = self.folder.contents(f"{record.id}.idx", INDEX_MAX_BYTES)
        except OSError:
            return None
        stored = index.loads(data, record.size, _mtime_ns(record))
        if stored is not None:
            stored.is_kept = True
        return stored


def _is_untouched(record: Record, found: os.stat_result) -> bool:
    as_recorded = (found.st_size, found.st_mtime_ns, found.st_nlink) == (record.size, record.mtime_ns, 1)
    return as_recorded and found.st_ctime_ns <= record.entered_ns


def _mtime_ns(record: Record) -> int:
    return record.mtime_ns if record.source is None or record.content else record.source.mtime_ns


def _sha256(descriptor: int, size: int) -> str:
    hashed = sha256()
    offset = 0
    while offset < size and (block := read_at(descriptor, offset, min(BLOCK, size - offset))):
        hashed.update(block)
        offset += len(block)
    return hashed.hexdigest()
