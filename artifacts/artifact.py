"""An artifact as a reader sees it: facts that do not change, and the content at any offset."""

import os
import stat
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..budget.content import Content
from . import errors
from .contents import Contents
from .folder import read_at
from .index import LineIndex, Progress
from .records import Fact, Record, Source, State
from .reference import Reference

if TYPE_CHECKING:
    from ..budget.notable import Notables

Opener = Callable[[str], int]
"""Opens a local file for reading by the rules for files, and returns a descriptor that the caller closes."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One stored output, or a reference to a large local file, as it was when this view was taken.

    It is a `budget.content.Content`: `size` and `read`.
    """

    record: Record
    _contents: Contents = field(repr=False)
    _opener: Opener | None = field(default=None, repr=False)

    @property
    def id(self) -> str:
        """Its name within the session, such as `a7`."""
        return self.record.id

    @property
    def name(self) -> str:
        """What it is called within the session, `a7-terminal.log`: of its content file, or its id if it has none."""
        return self.record.content or self.id

    @property
    def handle(self) -> str:
        """The key to its session."""
        return self._contents.handle

    @property
    def ref(self) -> str:
        """Its self-contained name, `<handle>/a7`: readable wherever the handle is accepted."""
        return str(self._reference)

    @property
    def uri(self) -> str:
        """Its address as a resource."""
        return self._reference.uri

    @property
    def path(self) -> str:
        """Where the content lies: its own file, or the local file that it refers to."""
        source = self.record.source
        if self.is_reference and source is not None:
            return source.path
        return os.path.join(self._contents.folder.path, self.record.content)  # noqa: PTH118 - asked at each call

    @property
    def size(self) -> int:
        """Length in bytes; of a live artifact, at the time of this view."""
        return self.record.size

    @property
    def lines(self) -> int | None:
        """Number of lines, an unfinished last one included; None if nobody counted them yet."""
        return self.record.lines

    @property
    def sha256(self) -> str:
        """Hash of the content in hexadecimal; empty while live, for references, and for what a crash left."""
        return self.record.sha256

    @property
    def state(self) -> State:
        """`whole`, `live` or `partial`."""
        return self.record.state

    @property
    def tool(self) -> str:
        """The tool that made it."""
        return self.record.tool

    @property
    def did(self) -> str:
        """What was done, in one line."""
        return self.record.did

    @property
    def created(self) -> float:
        """When it was stored, in seconds since 1970."""
        return self.record.created

    @property
    def facts(self) -> Mapping[str, Fact]:
        """Short values that the tool noted when it was done, such as an exit code."""
        return self.record.facts

    @property
    def notable(self) -> "Notables | None":
        """Lines that stand out; None if nobody looked. Complete only if `watched_bytes` is the size."""
        kept = self.record.notable
        if kept is None or self._contents.redaction == "off":
            return kept
        from .redaction import notables

        return notables(kept)

    @property
    def watched_bytes(self) -> int:
        """How many bytes, at the beginning and the end, `notable` was found in."""
        return self.record.watched_bytes

    @property
    def source(self) -> Source | None:
        """The local file that the content was read from, or that it refers to."""
        return self.record.source

    @property
    def is_reference(self) -> bool:
        """Whether the content is not stored but read from its source."""
        return not self.record.content

    @property
    def _reference(self) -> Reference:
        return Reference(self._contents.handle, self.record.id)

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`; fewer only at the end.

        Raises:
            BursarError: damaged, source_changed or unknown_artifact.
        """
        with self.opened() as content:
            return content.read(offset, length)

    @contextmanager
    def opened(self) -> "Generator[Opened]":
        """Hold the content open for many reads; what is open stays readable whatever happens to its name.

        Raises:
            BursarError: damaged, source_changed, read_failed or unknown_artifact; from the opener whatever it refuses
                with.
        """
        descriptor = self._open_source() if self.is_reference else self._contents.open(self.record)
        try:
            yield Opened(
                self.size, descriptor, may_grow=self.state == "live", redacts=self._contents.redaction != "off"
            )
        finally:
            os.close(descriptor)

    def ask_to_stop(self) -> None:
        """Ask whichever process writes it, while it is live, to stop; `is_asked_to_stop` tells it there.

        Raises:
            BursarError: disk_full or store_failed.
        """
        self._contents.ask_to_stop(self.id)

    def is_asked_to_stop(self) -> bool:
        """Tell whether another process has asked for that since; tells it once. Looks at the disk."""
        return self._contents.is_asked_to_stop(self.id)

    def index(self) -> LineIndex:
        """Return the line index as far as it is known; using it may extend it."""
        return self._contents.index_of(self.record)

    def keep_index(self, index: LineIndex) -> None:
        """Keep an index for the next readers, if it was completed."""
        self._contents.keep_index(self.record, index)

    def count_lines(self, progress: Progress | None = None) -> int:
        """Count the lines if nobody did; reads all of a content that was never indexed, so call it in a thread."""
        if self.lines is not None:
            return self.lines
        index = self.index()
        with self.opened() as content:
            total = index.lines(content, progress)
        self.keep_index(index)
        return total

    def _open_source(self) -> int:
        source = self.record.source
        if source is None or self._opener is None:
            raise errors.unknown_artifact()
        descriptor = self._opener(source.path)
        try:
            _check_source(source, os.fstat(descriptor))
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OSError):
                raise errors.unreadable(source.path, error) from error
            raise
        return descriptor


class Opened:
    """A content held open, cut off at the size that its artifact has; without its credentials if that is asked for.

    Attributes:
        descriptor: open for reading the bytes that are stored.
        may_grow: the file may be longer by now, or soon.
        is_redacted: `read` gives other bytes than the descriptor.
    """

    def __init__(self, size: int, descriptor: int, *, may_grow: bool, redacts: bool = False) -> None:
        self._size = size
        self.descriptor = descriptor
        self.may_grow = may_grow
        self.is_redacted = redacts
        self._redacted = _redacted(Opened(size, descriptor, may_grow=may_grow)) if redacts else None

    @property
    def size(self) -> int:
        """Length in bytes."""
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`; fewer only at the end."""
        if self._redacted is not None:
            return self._redacted.read(offset, length)
        length = min(length, self._size - offset)
        try:
            return read_at(self.descriptor, offset, length) if length > 0 else b""
        except OSError as error:
            raise errors.unreadable("the content", error) from error


def _redacted(content: Content) -> Content:
    from ..budget.redact import Redacted

    return Redacted(content)


def _check_source(source: Source, found: os.stat_result) -> None:
    what = ""
    if found.st_ino != source.inode or found.st_dev != source.device or not stat.S_ISREG(found.st_mode):
        what = "another file has its name"
    elif found.st_size != source.size:
        what = f"{source.size:,} bytes then, {found.st_size:,} now"
    elif found.st_mtime_ns != source.mtime_ns:
        what = "written to since"
    elif source.ctime_ns and found.st_ctime_ns != source.ctime_ns:
        what = "changed since"
    if what:
        raise errors.source_changed(source.path, what)
