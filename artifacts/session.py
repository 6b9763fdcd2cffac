"""A session: a directory of artifacts that belong together and to one owner."""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ..errors import BursarError
from . import calls, errors, records
from .artifact import Artifact, Opener
from .calls import CALLS, Exchange
from .catalog import Catalog
from .contents import Contents
from .folder import Folder
from .limits import Limits, Room
from .ownership import OWNER
from .records import Fact, Record, Source
from .reference import Reference
from .spool import Spool
from .usage import LOCK, InUse
from .writer import Writer

DIRECTORY = re.compile(r"[a-z2-7]{12}", re.ASCII)
"""What a session's directory is called: the beginning of a hash of its handle."""

BESIDE = {LOCK, OWNER, CALLS}
"""Names of the files of a session that are no artifact's."""

_TOUCH_EVERY_S = 60.0
_NEIGHBOURS_MAX = 4


Attach = Callable[[str, str], "Session"]
"""Opens another session by its handle, for an owner."""


class Session:
    """Open while this object is, or an artifact of it: the store never sweeps it.

    Made by `Store.create` and `Store.attach` only. If it is deleted all the same, everything that it is asked for fails
    with `unknown_session`.

    Attributes:
        handle: the key to it, `ses_` and 22 characters; shown to nobody but its owner.
        owner: whom it belongs to.
        catalog: its records.
        room: how much it may still grow.
    """

    def __init__(self, handle: str, owner: str, folder: Folder, in_use: InUse, limits: Limits, attach: Attach) -> None:
        self.handle = handle
        self.owner = owner
        self.catalog = Catalog(folder, fsync=limits.fsync)
        self.room = Room(folder, limits.session_bytes)
        self._contents = Contents(folder, handle, limits.redact, in_use)
        self._folder = folder
        self._in_use = in_use
        self._limits = limits
        self._attach = attach
        self._neighbours: dict[str, Session] = {}
        self._touched = time.monotonic()

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
        return self.room.is_counted

    def survey(self) -> None:
        """Look at what is stored, also by other processes. Blocks.

        Raises:
            BursarError: store_failed.
        """
        self.room.left(anew=True)
        self.catalog.survey()

    @property
    def is_empty(self) -> bool:
        """Whether no artifact is stored in it; reads the directory."""
        with suppress(OSError):
            return {entry.name for entry in self._folder.entries()} <= BESIDE
        return False

    @property
    def size(self) -> int:
        """How many bytes all its files have.

        Raises:
            BursarError: read_failed.
        """
        try:
            return self._folder.size()
        except OSError as error:
            raise errors.unreadable("the session", error) from error

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
        if self._limits.redact == "stored":
            from ..budget.redact import redacted

            label, did = redacted(label), redacted(did)
        return Writer(self.catalog, self._contents, self.room, tool=tool, did=did, label=records.label(label))

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
            return self._view(earlier, opener)

        def record(artifact: str, _: str) -> Record:
            return Record(
                artifact, tool, did, time.time(), "whole", source.size, source=source, facts=dict(facts or {})
            )

        with errors.storing(f"the reference to {path}"):
            return self._view(self.catalog.add("", None, record), opener)

    def artifacts(self, opener: Opener | None = None) -> list[Artifact]:
        """Return all artifacts, oldest first.

        Raises:
            BursarError: unknown_session or read_failed.
        """
        self._touch()
        try:
            return [self._view(record, opener) for record in self.catalog.all()]
        except OSError as error:
            raise errors.unreadable("the list of artifacts", error) from error

    def open(self, reference: str, opener: Opener | None = None) -> Artifact:
        """Return an artifact as it is now.

        Args:
            reference: `a7` or `a7-terminal.log`, also after a handle (of another session of the same owner, too) or
                after `artifact://`; or the path of its content file.
            opener: opens local files by the rules for files, for artifacts that refer to one.

        Raises:
            BursarError: unknown_artifact, in one wording for all that is not there; read_failed for what is.
        """
        self._touch()
        named = Reference.parse(reference)
        if named is not None and named.handle not in {"", self.handle}:
            return self._neighbour(named.handle).open(named.id + named.label, opener)
        artifact = self._of_path(reference) if named is None else named.id
        record = self._find(artifact) if artifact else None
        if record is None or (named is not None and named.label and record.content != named.id + named.label):
            raise errors.unknown_artifact()
        return self._view(record, opener)

    def same_as(self, sha256: str, size: int) -> Artifact | None:
        """Return the first whole artifact with this content, as far as this process knows, if it is untouched; fast."""
        record = self.catalog.with_content(sha256, size)
        return None if record is None or not self._contents.is_untouched(record) else self._view(record)

    def remove(self, artifact: Artifact) -> None:
        """Let an artifact of this session cease to exist."""
        self.catalog.delete(artifact)

    def note(self, exchange: Exchange) -> None:
        """Keep a call with the text it was answered with, if there is room; a failure changes nothing."""
        with suppress(OSError, BursarError):
            if not self.is_gone and self.room.left() > len(exchange.reply) * 4:
                self.room.spend(calls.note(self._folder, exchange, self.handle))

    def ids(self) -> list[str]:
        """Return the ids of all artifacts, oldest first, without reading their records.

        Raises:
            BursarError: read_failed.
        """
        try:
            return self.catalog.ids()
        except OSError as error:
            raise errors.unreadable("the list of artifacts", error) from error

    def exchanges(self) -> Iterator[Exchange]:
        """Yield the calls in the order in which they were answered, with stars in the place of the handle."""
        return calls.noted(self._folder)

    def keep_tables(self, artifact: Artifact, made: Path) -> None:
        """Keep what a query made of an artifact of this session, if there is room: it goes with the artifact."""
        with suppress(OSError):
            if artifact.handle == self.handle and self.room.left() > made.stat().st_size:
                self.room.spend(self._contents.keep_tables(artifact, made))

    def same_source(self, source: Source, opener: Opener | None = None) -> Artifact | None:
        """Return the latest whole artifact made from this state of a local file; fast."""
        self._touch()
        record = self.catalog.with_source(source)
        return None if record is None else self._view(record, opener)

    def close(self) -> None:
        """Let go of it; what is stored stays. Artifacts of it can no longer be read through this object."""
        for neighbour in self._neighbours.values():
            neighbour.close()
        self._neighbours.clear()
        self._folder.close()
        self._in_use.close()

    def _view(self, record: Record, opener: Opener | None = None) -> Artifact:
        return Artifact.of(record, self._contents, opener)

    def _neighbour(self, handle: str) -> "Session":
        known = self._neighbours.get(handle)
        if known is None or known.is_gone:
            try:
                known = self._attach(handle, self.owner)
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
            self._in_use.renew(self._limits)


def source_of(path: str, found: os.stat_result) -> Source:
    """Describe a local file by its status."""
    return Source(path, found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev, found.st_ctime_ns)
