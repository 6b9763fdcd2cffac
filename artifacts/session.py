"""A session: a directory of artifacts that belong together and to one owner."""

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from ..errors import BursarError
from . import errors, index, locks, records, usage
from .artifact import Artifact, Opener
from .catalog import Catalog
from .folder import CREATE, Folder, read_at
from .index import BLOCK, INDEX_MAX_BYTES, LineIndex
from .limits import Limits, Redaction
from .ownership import OWNER
from .records import Fact, Record, Source
from .reference import Reference
from .spool import Spool
from .writer import Writer

LOCK = "lock"
DIRECTORY = re.compile(r"[a-z2-7]{12}", re.ASCII)
"""What a session's directory is called: the beginning of a hash of its handle."""

_STOP = ".stop"
"""Ends the name of an empty file beside a live artifact: whoever writes it is asked to stop."""

_TOUCH_EVERY_S = 60.0
_COUNT_EVERY_S = 60.0
"""Other processes may store something in the same session."""

_INDEXES_MAX = 16
_NEIGHBOURS_MAX = 4


class Shelves(Protocol):
    """What a session needs of its store."""

    def attach(self, handle: str, owner: str) -> "Session":
        """Open another session of an owner."""
        ...


class Growing(Protocol):
    """A content that is being written."""

    @property
    def size(self) -> int:
        """How many bytes it has by now."""
        ...


class Session:
    """Open while this object is: the store never sweeps it. Made by `Store.create` and `Store.attach` only.

    If it is deleted all the same, everything that it is asked for fails with `unknown_session`.

    Attributes:
        handle: the key to it, `ses_` and 22 characters; shown to nobody but its owner.
        owner: whom it belongs to.
        catalog: its records; for the writers of this room.
        growing: what is being written here, each with the name of its file, empty where it has none yet.
    """

    def __init__(self, handle: str, owner: str, folder: Folder, lock: int, limits: Limits, store: Shelves) -> None:
        self.handle = handle
        self.owner = owner
        self.catalog = Catalog(folder, fsync=limits.fsync)
        self._folder = folder
        self._locks = [lock]
        self._limits = limits
        self._store = store
        self._neighbours: dict[str, Session] = {}
        self._indexes: dict[str, LineIndex] = {}
        self._checked: set[tuple[str, int, int, int]] = set()
        self._used: int | None = None
        self._counted = 0.0
        self.growing: dict[Growing, str] = {}
        self._touched = time.monotonic()
        self._close: Callable[[int], None] = os.close

    @property
    def directory(self) -> Path:
        """Where its artifacts lie; private to the user."""
        return self._folder.path

    @property
    def is_gone(self) -> bool:
        """Whether it was deleted: nothing can be stored in it or read from it again."""
        return self._folder.is_gone()

    @property
    def is_surveyed(self) -> bool:
        """Whether what is stored was looked at lately: if not, the next use takes time that grows with it."""
        return self._used is not None and time.monotonic() - self._counted < _COUNT_EVERY_S

    def survey(self) -> None:
        """Previewer at what is stored, also by other processes. Blocks.

        Raises:
            BursarError: store_failed.
        """
        self.room(anew=True)
        self.catalog.survey()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is stored in it; reads the directory."""
        with suppress(OSError):
            return {entry.name for entry in self._folder.entries()} <= {LOCK, OWNER}
        return False

    def writer(self, *, tool: str, did: str, label: str = "output") -> Writer:
        """Open an artifact to stream content into.

        Args:
            tool: name of the tool that makes it.
            did: what is done, in one line.
            label: end of the content's file name, such as `terminal.log`.

        Raises:
            BursarError: unknown_session, disk_full or store_failed.
        """
        self._touch()
        return Writer(self, tool=tool, did=did, label=records.label(self._shown(label)))

    def spool(self, what: str) -> Spool:
        """Make a temporary file beside the artifacts, to be used as a context manager.

        Args:
            what: what goes into it, for errors, such as `the image`.

        Raises:
            BursarError: unknown_session, disk_full or store_failed.
        """
        self._touch()
        return Spool(self._folder, what)

    def refer(
        self,
        path: str,
        found: os.stat_result,
        *,
        tool: str,
        did: str,
        opener: Opener,
        facts: Mapping[str, Fact] | None = None,
    ) -> Artifact:
        """Enter a large local file as an artifact without copying or reading it.

        Args:
            path: absolute, as the file rules resolved it.
            found: its status, from the descriptor that was checked.
            tool: name of the tool that read it.
            did: what was done, in one line.
            opener: opens the file by the rules for files; asked anew at every reading.
            facts: short values worth keeping with it, such as its encoding.

        Returns:
            The earlier artifact if the file was entered before and has not changed.

        Raises:
            BursarError: unknown_session, disk_full or store_failed.
        """
        self._touch()
        source = source_of(path, found)
        earlier = self.catalog.with_source(source)
        if earlier is not None and not earlier.content:
            return self.view(earlier, opener)
        try:
            record = self.catalog.add(
                "",
                None,
                lambda artifact, _: Record(
                    artifact, tool, did, time.time(), "whole", source.size, source=source, facts=dict(facts or {})
                ),
            )
        except OSError as error:
            raise errors.from_os(error, f"the reference to {path}") from error
        return self.view(record, opener)

    def artifacts(self, opener: Opener | None = None) -> list[Artifact]:
        """Return all artifacts, oldest first.

        Raises:
            BursarError: unknown_session or read_failed.
        """
        self._touch()
        try:
            return [self.view(record, opener) for record in self.catalog.all()]
        except OSError as error:
            raise errors.unreadable("the list of artifacts", error) from error

    def open(self, reference: str, opener: Opener | None = None) -> Artifact:
        """Return an artifact as it is now.

        Args:
            reference: `a7`, `<handle>/a7` (also of another session of the same owner), either after `artifact://`, or
                the path of its content file.
            opener: opens local files by the rules for files, for artifacts that refer to one.

        Raises:
            BursarError: unknown_artifact, in one wording for all that is not there; read_failed for what is.
        """
        self._touch()
        named = Reference.parse(reference)
        if named is not None and named.handle not in {"", self.handle}:
            return self._neighbour(named.handle).open(named.id, opener)
        artifact = self._of_path(reference) if named is None else named.id
        if not artifact or (record := self._find(artifact)) is None:
            raise errors.unknown_artifact()
        return self.view(record, opener)

    def same_as(self, sha256: str, size: int) -> Artifact | None:
        """Return the first whole artifact with this content, as far as this process knows, if it is untouched; fast."""
        record = self.catalog.with_content(sha256, size)
        if record is None:
            return None
        try:
            descriptor = self._folder.open(record.content)
        except OSError:
            return None
        try:
            # Nothing is hashed here: a content of gigabytes that was touched counts as another one.
            return self.view(record) if _is_untouched(record, os.fstat(descriptor)) else None
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def remove(self, artifact: Artifact) -> None:
        """Let an artifact of this session cease to exist."""
        self.catalog.delete(artifact.record)

    def ask_to_stop(self, artifact: str) -> None:
        """Ask whichever process writes a live artifact, given by its id, to stop.

        Raises:
            BursarError: disk_full or store_failed.
        """
        try:
            os.close(self._folder.open(f"{artifact}{_STOP}", CREATE))
        except FileExistsError:
            return
        except OSError as error:
            raise errors.from_os(error, "that it is to stop") from error

    def is_asked_to_stop(self, artifact: str) -> bool:
        """Tell whether another process has asked for that since; tells it once."""
        name = f"{artifact}{_STOP}"
        try:
            os.close(self._folder.open(name))
        except OSError:
            return False
        return self._folder.remove(name)

    def same_source(self, source: Source, opener: Opener | None = None) -> Artifact | None:
        """Return the latest whole artifact made from this state of a local file; fast."""
        self._touch()
        record = self.catalog.with_source(source)
        return None if record is None else self.view(record, opener)

    def close(self) -> None:
        """Let go of it; what is stored stays. Artifacts of it can no longer be read through this object."""
        for neighbour in self._neighbours.values():
            neighbour.close()
        self._neighbours.clear()
        self._folder.close()
        while self._locks:
            self._close(self._locks.pop())

    def __del__(self) -> None:
        if getattr(self, "_locks", None):
            self.close()

    # For the other modules of this room.

    def view(self, record: Record, opener: Opener | None = None) -> Artifact:
        """Return a record's artifact."""
        return Artifact(record, self, opener)

    def room(self, *, anew: bool = False) -> int:
        """Return how many bytes the session may still grow.

        What the open writers of this process hold counts as used, and so does all that other processes have stored by
        the time it is counted, which `anew` does.

        Raises:
            BursarError: store_failed.
        """
        if self._used is None or anew:
            try:
                self._used = self.catalog.stored_bytes(but=set(self.growing.values()))
                self._counted = time.monotonic()
            except OSError as error:
                raise errors.from_os(error, "more in this session") from error
        return self._limits.session_bytes - self._used - sum(part.size for part in tuple(self.growing))

    @property
    def redaction(self) -> Redaction:
        """Whether credentials are blanked in what is read or stored."""
        return self._limits.redact

    @property
    def limit_bytes(self) -> int:
        """How much the session may hold."""
        return self._limits.session_bytes

    def spend(self, size: int) -> None:
        """Count what was stored."""
        if self._used is not None:
            self._used += size

    def open_content(self, name: str) -> int:
        """Open a content file."""
        return self._folder.open(name)

    def check_content(self, record: Record, descriptor: int) -> bool:
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

    def index_of(self, artifact: Artifact) -> LineIndex:
        """Return the line index of an artifact: the one at hand, the one on disk, or an empty one."""
        known = self._indexes.get(artifact.id)
        if known is None or len(known.counts) * BLOCK > artifact.size:  # a process can empty what it writes
            known = self._stored_index(artifact) or LineIndex()
            while len(self._indexes) >= _INDEXES_MAX:
                self._indexes.pop(next(iter(self._indexes)), None)
            self._indexes[artifact.id] = known
        return known

    def keep_index(self, artifact: Artifact, index: LineIndex) -> None:
        """Keep a complete index beside the record; it is only a shortcut, so a full disk is no failure."""
        self._indexes[artifact.id] = index
        if index.is_kept or artifact.state == "live" or artifact.size <= BLOCK or not index.is_complete(artifact.size):
            return
        try:
            self._folder.replace(f"{artifact.id}.idx", index.dumps(artifact.size, _mtime_ns(artifact.record)))
        except OSError:
            return
        index.is_kept = True

    def _stored_index(self, artifact: Artifact) -> LineIndex | None:
        if artifact.size <= BLOCK:
            return None
        try:
            data = self._folder.contents(f"{artifact.id}.idx", INDEX_MAX_BYTES)
        except OSError:
            return None
        stored = index.loads(data, artifact.size, _mtime_ns(artifact.record))
        if stored is not None:
            stored.is_kept = True
        return stored

    def _shown(self, label: str) -> str:
        """Return a name for a file without credentials, if they are to be in nothing that is stored."""
        if self._limits.redact != "stored":
            return label
        from ..budget.redact import redacted

        return redacted(label)

    def _neighbour(self, handle: str) -> "Session":
        known = self._neighbours.get(handle)
        if known is None or known.is_gone:
            try:
                known = self._store.attach(handle, self.owner)
            except BursarError as error:
                raise errors.unknown_artifact() if error.code == "unknown_session" else error from None
            while len(self._neighbours) >= _NEIGHBOURS_MAX:
                self._neighbours.pop(next(iter(self._neighbours)), None)  # closed when its last artifact is let go
            self._neighbours[handle] = known
        return known

    def _of_path(self, path: str) -> str:
        """Return the id of the artifact whose content file `path` is; empty if there is none."""
        parent, name = os.path.split(os.path.abspath(path.strip()))  # noqa: PTH100 - links are not to be resolved
        artifact = name.partition("-")[0]
        if parent != str(self.directory) or not records.ID.fullmatch(artifact):
            return ""
        record = self._find(artifact)
        return artifact if record is not None and record.content == name else ""

    def _find(self, artifact: str) -> Record | None:
        try:
            return self.catalog.find(artifact)
        except OSError as error:
            raise errors.unreadable(artifact, error) from error

    def _touch(self) -> None:
        """Have a directory that is private, and say on disk that the session is in use, now and then.

        Raises:
            BursarError: unknown_session if it was deleted.
        """
        if self.is_gone:
            raise errors.unknown_session()
        with suppress(OSError):
            self._folder.restore_mode()
        now = time.monotonic()
        if now - self._touched < _TOUCH_EVERY_S:
            return
        self._touched = now
        with suppress(OSError):
            self._hold()
            usage.renew(self._folder, LOCK, self._limits)

    def _hold(self) -> None:
        """Lock the session anew if its lock was deleted: who sweeps asks for the one that is there."""
        lock = take_lock(self._folder, os.O_RDWR | os.O_CREAT)
        if self._locks and not os.path.samestat(os.fstat(lock), os.fstat(self._locks[-1])):
            self._locks.append(lock)
        else:
            os.close(lock)


def source_of(path: str, found: os.stat_result) -> Source:
    """Describe a local file by its status."""
    return Source(path, found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev, found.st_ctime_ns)


def take_lock(folder: Folder, flags: int) -> int:
    """Open a session's lock file and mark the session as used.

    Raises:
        OSError: it cannot be opened, or somebody keeps the lock.
    """
    try:
        descriptor = folder.open(LOCK, flags)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        try:
            descriptor = folder.open(LOCK)  # what was stored can still be read
        except FileNotFoundError:
            raise error from None
    try:
        locks.share(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


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
