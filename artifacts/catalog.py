"""The records of one session on disk: gives out ids, enters artifacts, reads what is there.

An id is taken by creating `aN.json` exclusively, which holds between processes. All of the record but its last byte
goes in, the content gets its final name, and the last byte follows. No prefix of a record reads as one, so an artifact
exists from that byte on, and a crash before leaves a number that is never used. So does an artifact that is removed.
"""

import errno
import os
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from . import locks, records
from .folder import ABSENT, APPEND, CREATE, READ, SMALL_BYTES, Folder, write
from .records import Record, Source

_LOOK_BACK = 500
"""The latest records of earlier processes that a content or a source is looked for in: some 20 ms, once."""

_KEPT = 2000
"""Records that are kept in memory; of others it costs some 30 µs to read one again."""

_PASSING = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""Numbers of errors that say nothing about a file."""

Name = Callable[[str], None]
"""Gives a content its final name."""


class Catalog:
    """Safe for threads and for several processes on one directory."""

    def __init__(self, folder: Folder, *, fsync: bool) -> None:
        self.folder = folder
        self.fsync = fsync
        self._lock = threading.Lock()
        self._last = -1
        self._settled: dict[str, Record] = {}
        self._by_content: dict[tuple[str, int], str] = {}
        self._by_source: dict[Source, str] = {}
        self._has_looked = False

    def add(self, label: str, name_content: Name | None, record: Callable[[str, str], Record]) -> Record:
        """Make an artifact exist under the next free id.

        Args:
            label: end of the content's file name.
            name_content: gives the content its final name; None for an artifact without a content file.
            record: makes the record from id and content name.

        Raises:
            OSError: nothing was entered.
        """
        artifact, descriptor = self._reserve()
        exists = False
        content = f"{artifact}-{label}" if name_content is not None else ""
        try:
            try:
                entered = record(artifact, content)
                line = entered.dumps()
                if len(line) > SMALL_BYTES:
                    raise OSError(errno.EFBIG, "its record is too large")
                write(descriptor, line[:-1])  # a full disk shows here, while nothing else has happened
                if name_content is not None:
                    name_content(content)
                write(descriptor, line[-1:])
                exists = True
                if self.fsync:
                    os.fsync(descriptor)
                    self.folder.sync()
                entered = replace(entered, entered_ns=os.fstat(descriptor).st_ctime_ns)
            finally:
                os.close(descriptor)
        except BaseException:
            self._erase(artifact, content, existed=exists)
            raise
        self._keep(entered)
        return entered

    def replace(self, record: Record) -> Record:
        """Put a record in the place of the one with its id; return it as it is on the disk.

        Raises:
            OSError: the old one still stands.
        """
        self.folder.replace(f"{record.id}.json", record.dumps(), sync=self.fsync)
        try:
            return self.find(record.id) or record
        except OSError:
            return record

    def delete(self, record: Record) -> None:
        """Let an artifact cease to exist."""
        with self._lock:
            self._forget(record.id)
        self._erase(record.id, record.content, existed=True)

    def find(self, artifact: str) -> Record | None:
        """Read one record as it is now; None if there is none.

        Raises:
            OSError: there may be one, but it could not be read.
        """
        if (known := self._settled.get(artifact)) is not None:
            return known
        record = self._load(artifact)
        if record is None:
            return None
        if record.state == "live":
            return self._as_it_is(record)
        self._keep(record)
        return record

    def all(self) -> list[Record]:
        """Read all records, by id; one that the disk does not give is left out.

        Raises:
            OSError: the directory could not be read, or nothing can be opened just now.
        """
        found: list[Record] = []
        for artifact in self.ids():
            try:
                record = self.find(artifact)
            except OSError as error:
                if error.errno in _PASSING:
                    raise
                continue
            if record is not None:
                found.append(record)
        return found

    def ids(self) -> list[str]:
        """Return the ids of all artifacts, oldest first, without reading their records.

        Raises:
            OSError: the directory could not be read.
        """
        names = [entry.name[:-5] for entry in self.folder.entries() if entry.name.endswith(".json") and _is_used(entry)]
        return sorted((name for name in names if records.ID.fullmatch(name)), key=records.number)

    def survey(self) -> None:
        """Look at what earlier processes stored, so that nothing after takes time that grows with it."""
        self._look()
        with self._lock, suppress(OSError):
            if self._last < 0:
                self._last = self._highest()

    def with_content(self, sha256: str, size: int) -> Record | None:
        """Return the first whole artifact with a content, as far as this process knows."""
        self._look()
        return self._settled.get(self._by_content.get((sha256, size), ""))

    def with_source(self, source: Source) -> Record | None:
        """Return the last whole artifact made from a source, as far as this process knows."""
        self._look()
        return self._settled.get(self._by_source.get(source, ""))

    def _look(self) -> None:
        if not self._has_looked:
            self._has_looked = True
            with suppress(OSError):
                for artifact in self.ids()[-_LOOK_BACK:]:
                    self.find(artifact)

    def _keep(self, record: Record) -> None:
        if record.state == "live":
            return
        with self._lock:
            while len(self._settled) >= _KEPT and record.id not in self._settled:
                self._forget(next(iter(self._settled)))
            self._settled[record.id] = record
            if record.state == "whole":
                if record.sha256:
                    self._by_content.setdefault((record.sha256, record.size), record.id)
                if record.source is not None:
                    self._by_source[record.source] = record.id

    def _forget(self, artifact: str) -> None:
        """Let go of a record in memory."""
        record = self._settled.pop(artifact, None)
        if record is None:
            return
        if self._by_content.get((record.sha256, record.size)) == artifact:
            del self._by_content[record.sha256, record.size]
        if record.source is not None and self._by_source.get(record.source) == artifact:
            del self._by_source[record.source]

    def _erase(self, artifact: str, content: str, *, existed: bool) -> None:
        """Remove an artifact's files.

        Of one that existed the record is emptied, not removed: its number must not be given out again, for another
        process may remember it. Where that cannot be, the artifact stays, whole. The name of a record is free last: by
        then nothing is left to be removed that could be another's.
        """
        record = f"{artifact}.json"
        if existed:
            try:
                os.close(self.folder.open(record, os.O_WRONLY | os.O_TRUNC))
            except OSError as error:
                if error.errno not in ABSENT:
                    return
        for name in (content, f"{artifact}.idx", f"{artifact}.tables"):
            if name:
                self.folder.remove(name)
        if not existed:
            self.folder.remove(record)

    def _load(self, artifact: str) -> Record | None:
        try:
            data, found = self.folder.stated(f"{artifact}.json")
        except OSError as error:
            if error.errno in ABSENT:
                return None
            raise
        return records.loads(artifact, data, found.st_ctime_ns)

    def _as_it_is(self, record: Record) -> Record:
        """Bring a live record up to date: its size, and whether its writer, who holds a lock, is still there."""
        try:
            descriptor = self.folder.open(record.content, READ)
        except OSError:
            return record
        try:
            live = locks.is_claimed(descriptor)
            found = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return record
        if not live:
            # Between reading the record and looking at the lock, the writer may have finished.
            again = self._load(record.id)
            if again is not None and again.state != "live":
                self._keep(again)
                return again
        return replace(record, size=found.st_size, state="live" if live else "partial", mtime_ns=found.st_mtime_ns)

    def _reserve(self) -> tuple[str, int]:
        with self._lock:
            if self._last < 0:
                self._last = self._highest()
            while True:
                artifact = f"a{self._last + 1}"
                try:
                    descriptor = self.folder.open(f"{artifact}.json", CREATE | APPEND)
                except FileExistsError:
                    self._last = max(self._last + 1, self._highest())  # another process was here
                    continue
                self._last += 1
                return artifact, descriptor

    def _highest(self) -> int:
        names = (entry.name.partition(".")[0].partition("-")[0] for entry in self.folder.entries())
        return max((records.number(name) for name in names if records.ID.fullmatch(name)), default=0)


def _is_used(record: os.DirEntry[str]) -> bool:
    """Tell whether a record holds anything: that of an artifact that another process removed is empty."""
    try:
        return record.stat(follow_symlinks=False).st_size > 0
    except OSError:
        return False
