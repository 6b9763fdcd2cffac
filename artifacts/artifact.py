"""An artifact as a reader sees it: facts that do not change, and the content at any offset."""

import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..budget.content import Content
from . import errors
from .contents import Contents
from .folder import read_at
from .index import LineIndex
from .records import Record, Source
from .reference import Reference

if TYPE_CHECKING:
    from ..budget.notable import Notables

Opener = Callable[[str], int]
"""Opens a local file for reading by the rules for files, and returns a descriptor that the caller closes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact(Record):
    """One stored output, or a reference to a large local file, as it was when this view was taken: its record and more.

    It is a `budget.content.Content`: `size` and `read`.
    """

    _contents: Contents = field(repr=False)
    _opener: Opener | None = field(default=None, repr=False)

    @classmethod
    def of(cls, record: Record, contents: Contents, opener: Opener | None = None) -> "Artifact":
        """Return what a record tells of, among contents of its session; `opener` opens what it refers to."""
        kept = {name: getattr(record, name) for name in Record.__dataclass_fields__}
        return cls(**kept, _contents=contents, _opener=opener)

    @property
    def name(self) -> str:
        """What it is called within the session, `a7-terminal.log`: of its content file, or its id if it has none."""
        return self.content or self.id

    @property
    def handle(self) -> str:
        """The key to its session."""
        return self._contents.handle

    @property
    def ref(self) -> str:
        """Its self-contained name, `<handle>/a7`: readable wherever the handle is accepted."""
        return str(Reference(self.handle, self.id))

    @property
    def uri(self) -> str:
        """Its address as a resource."""
        return Reference(self.handle, self.id).uri

    @property
    def path(self) -> str:
        """Where the content lies: its own file, or the local file that it refers to."""
        if self.is_reference and self.source is not None:
            return self.source.path
        return os.path.join(self._contents.folder.path, self.content)  # noqa: PTH118 - asked at each call

    @property
    def notable(self) -> "Notables | None":
        """Lines that stand out; None if nobody looked. Complete only if `watched_bytes` is the size."""
        if self.stood_out is None or self._contents.redaction == "off":
            return self.stood_out
        from .redaction import notables

        return notables(self.stood_out)

    @property
    def is_reference(self) -> bool:
        """Whether the content is not stored but read from its source."""
        return not self.content

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
        descriptor = self._open_source() if self.is_reference else self._contents.open(self)
        try:
            redacts = self._contents.redaction != "off"
            yield Opened(self.size, descriptor, may_grow=self.state == "live", redacts=redacts)
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
        return self._contents.index_of(self)

    def keep_index(self, index: LineIndex) -> None:
        """Keep an index for the next readers, if it was completed."""
        self._contents.keep_index(self, index)

    @property
    def tables(self) -> Path | None:
        """Where the tables are kept that were made of the content; None if there are none."""
        return self._contents.tables_of(self)

    def _open_source(self) -> int:
        source = self.source
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

    @property
    def status(self) -> os.stat_result:
        """Which file it is."""
        return os.fstat(self.descriptor)

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
