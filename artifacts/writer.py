"""Streams a content into its artifact in constant memory; it exists when it is complete, or live from the start."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..errors import BursarError
from . import errors, locks, redaction
from .artifact import Artifact
from .catalog import Catalog
from .contents import Contents
from .folder import APPEND, read_at, write
from .index import BLOCK
from .limits import Growing, Room
from .records import Fact, Record, Source, State
from .scan import Scan, scan_of

if TYPE_CHECKING:
    from .follow import Follower

_IN_PLACE_BYTES = 4 * BLOCK
"""Up to this size a commit is done on the event loop; larger contents may need a look at their end."""

_COUNTS = 64
"""How often a session is counted anew while a process fills it."""

_GIVEN_BACK_BYTES = 1 << 18
"""How much of the end is given up on a full disk, so that there is room for the record of the rest."""


class Writer:
    """An artifact in the making.

    As a context manager it commits at the end: as `whole`, or after an exception as `partial` if anything was captured.

    Attributes:
        when_full: called once, in a thread, when a process writes into this and the session is full with all that is
            being written into it; looked at with every MiB, so some more may have been written until then.
    """

    def __init__(self, catalog: Catalog, contents: Contents, room: Room, *, tool: str, did: str, label: str) -> None:
        self._catalog = catalog
        self._contents = contents
        self._room = room
        self._folder = catalog.folder
        self._label = label
        self._tool = tool
        self._did = did
        self._started = time.time()
        self._scan = Scan()
        self._growing: Growing = self._scan
        self._is_scanned = True
        self._follower: Follower | None = None
        self._shared: int | None = None
        self._live: Record | None = None
        self.when_full: Callable[[], None] | None = None
        self._counted_at = 0
        self._failed = False
        self._artifact: Artifact | None = None
        self._temporary = ""
        with errors.storing(self._what):
            nameless = self._folder.nameless()
            if nameless is None:
                nameless, self._temporary = self._folder.temporary()
        self._descriptor: int | None = nameless
        room.growing[self._growing] = self._temporary

    @property
    def size(self) -> int:
        """Bytes captured so far."""
        if self._artifact is not None:
            return self._artifact.size
        if self._live is not None and self._descriptor is not None:
            with suppress(OSError):  # then what is known without the disk
                return os.fstat(self._descriptor).st_size
        return self._scan.size

    @property
    def sha256(self) -> str:
        """Hash of what was written so far with `write`, in hexadecimal; empty while a process writes."""
        if self._artifact is not None:
            return self._artifact.sha256
        return "" if self._live is not None else self._scan.sha256

    @property
    def artifact(self) -> Artifact | None:
        """The artifact, once it exists: committed, or live as it is now."""
        if self._artifact is None and self._live is not None:
            return Artifact.of(replace(self._live, size=self.size), self._contents)
        return self._artifact

    @property
    def is_open(self) -> bool:
        """Whether it is neither committed nor discarded."""
        return self._descriptor is not None

    @property
    def room(self) -> int:
        """How many bytes the session may still grow, with all that is being written into it now."""
        return self._room.left()

    def write(self, data: bytes) -> None:
        """Append; takes about as long as the disk's cache does.

        Raises:
            BursarError: disk_full or quota; what was written before can still be committed.
        """
        descriptor = self._opened()
        if data and len(data) > self._room.left() and len(data) > self._room.left(anew=True):
            self._failed = True
            raise errors.quota(self._room.limit_bytes)
        try:
            write(descriptor, data)
        except OSError as error:
            self._failed = True
            data = data[: os.fstat(descriptor).st_size - self._scan.size]  # what still went in
            raise errors.from_os(error, self._what) from error
        finally:
            if self._live is None:
                self._is_scanned = False  # half a scan, for want of memory perhaps, must not be taken for a whole one
                self._scan.feed(data)
                self._is_scanned = True

    def descriptor(self) -> int:
        """Return a descriptor that a process can write into; the artifact exists from now on, live.

        It appends, is not inherited unless passed on, and belongs to this writer. Nothing here stops the process at the
        quota: whoever starts it ends it after `room` bytes, and before that `when_full`.

        Raises:
            BursarError: quota, disk_full or store_failed.
        """
        descriptor = self._opened()
        if self._shared is not None:
            return self._shared
        if self._room.left() <= 0 and self._room.left(anew=True) <= 0:
            raise errors.quota(self._room.limit_bytes)
        from .follow import Follower

        locks.claim(descriptor)
        with errors.storing(self._what):
            self._live = self._catalog.add(
                self._label, self._name, lambda artifact, content: self._record(artifact, content, "live")
            )
            self._shared = self._folder.open(self._live.content, os.O_WRONLY | APPEND)
        self._room.growing.pop(self._growing, None)
        self._follower = self._growing = Follower(self._opened(), self._look_at_room)
        self._room.growing[self._growing] = self._live.content
        self._follower.start()
        return self._shared

    def commit(
        self, state: State | None = None, *, source: Source | None = None, facts: Mapping[str, Fact] | None = None
    ) -> Artifact:
        """Make the artifact exist, or a live one final; the second time return it again.

        Args:
            state: None for `whole`, or `partial` after a failed write.
            source: the local file that the content was read from.
            facts: short values worth keeping with it, such as an exit code.

        Raises:
            BursarError: unknown_session if that was deleted meanwhile; disk_full or store_failed, and nothing else that
                was stored is touched.
        """
        if self._artifact is not None:
            return self._artifact
        self._opened()
        if self._folder.is_gone():
            self.discard()
            raise errors.unknown_session()
        state = state or ("partial" if self._failed else "whole")
        try:
            with errors.storing(self._what):
                try:
                    record = self._enter(state, source, facts)
                except OSError as error:
                    if error.errno not in errors.FULL or not self._give_back():
                        raise
                    record = self._enter("partial", source, facts)
        finally:
            index = self._scan.index()
            self._close()
        self._artifact = Artifact.of(record, self._contents)
        if record.size > BLOCK:
            self._contents.keep_index(record, index)
        self._room.spend(record.size)
        return self._artifact

    async def finish(
        self, state: State | None = None, *, source: Source | None = None, facts: Mapping[str, Fact] | None = None
    ) -> Artifact:
        """Commit as `commit` does, in a thread if it may take long."""
        if self._artifact is not None or self.size < _IN_PLACE_BYTES:
            return self.commit(state, source=source, facts=facts)
        from anyio import to_thread

        return await to_thread.run_sync(lambda: self.commit(state, source=source, facts=facts))

    def discard(self) -> None:
        """Leave nothing behind; does nothing after a commit."""
        if self._descriptor is None:
            return
        try:
            if self._follower is not None:
                self._follower.finish()
        except OSError:
            self._failed = True
        finally:
            if self._live is not None:
                self._catalog.delete(self._live)
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._descriptor is None:
            return
        if kind is None:
            self.commit()
        elif self.size or self._live is not None:
            self.commit("partial")
        else:
            self.discard()

    def __del__(self) -> None:
        if getattr(self, "_descriptor", None) is not None and self._live is None:
            self._close()

    @property
    def _what(self) -> str:
        return f"the output of {self._tool}"

    def _opened(self) -> int:
        if self._descriptor is None:
            raise ValueError("the writer is closed")
        return self._descriptor

    def _enter(self, state: State, source: Source | None, facts: Mapping[str, Fact] | None) -> Record:
        descriptor = self._opened()
        if self._follower is not None:
            self._scan = self._follower.finish()
            self._follower = None
        elif not self._is_scanned:
            self._scan = scan_of(descriptor)
        if self._contents.redaction == "stored":
            facts = redaction.facts(facts)
            if redaction.in_place(descriptor, self._scan.size):
                self._scan = scan_of(descriptor)
        if self._catalog.fsync:
            os.fsync(descriptor)
        if state == "whole" and os.fstat(descriptor).st_size != self._scan.size:
            state = "partial"  # somebody else writes into it, or has shortened it
        notable, watched = self._scan.notable(lambda offset, length: read_at(descriptor, offset, length))

        def record(artifact: str, content: str) -> Record:
            return replace(
                self._record(artifact, content, state),
                size=self._scan.size,
                lines=self._scan.lines,
                sha256=self._scan.sha256,
                mtime_ns=os.fstat(self._opened()).st_mtime_ns,
                source=source,
                stood_out=notable,
                watched_bytes=watched,
                facts=dict(facts or {}),
            )

        if self._live is None:
            return self._catalog.add(self._label, self._name, record)
        return self._catalog.replace(record(self._live.id, self._live.content))

    def _look_at_room(self) -> None:
        """Have the process ended if the session is full; what other processes stored is counted again now and then."""
        size = self.size
        is_due = size - self._counted_at >= self._room.limit_bytes // _COUNTS
        self._counted_at = size if is_due else self._counted_at
        with suppress(BursarError):  # it cannot be counted just now
            if self._room.left(anew=is_due) < 0 and self._room.left(anew=True) < 0:
                tell, self.when_full = self.when_full, None
                if tell is not None:
                    tell()

    def _record(self, artifact: str, content: str, state: State) -> Record:
        return Record(artifact, self._tool, self._did, self._started, state, self._scan.size, content)

    def _name(self, content: str) -> None:
        if not self._temporary:
            self._folder.name(self._opened(), content)
            return
        if sys.platform == "win32":  # an open file cannot be renamed there
            os.close(self._opened())
            self._descriptor = None
        self._folder.rename(self._temporary, content)
        self._temporary = ""
        if self._descriptor is None:
            self._descriptor = self._folder.open(content, os.O_RDWR | APPEND)
            locks.claim(self._descriptor)

    def _give_back(self) -> bool:
        """Shorten the content on a full disk; tell whether that is worth another attempt."""
        descriptor = self._opened()
        size = os.fstat(descriptor).st_size
        if size <= _GIVEN_BACK_BYTES:
            return False
        os.ftruncate(descriptor, size - _GIVEN_BACK_BYTES)
        self._scan = scan_of(descriptor)
        return True

    def _close(self) -> None:
        self._room.growing.pop(self._growing, None)
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            if self._live is not None:
                locks.release(descriptor)
            os.close(descriptor)
        shared, self._shared = self._shared, None
        if shared is not None:
            os.close(shared)
        if self._temporary:
            self._folder.remove(self._temporary)
