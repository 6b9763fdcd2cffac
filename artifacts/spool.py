"""A temporary file beside a session's artifacts: for what has to be looked at before it is known what it is."""

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from . import errors
from .folder import APPEND, Folder, read_at, write
from .index import BLOCK


class Sink(Protocol):
    """What bytes can be written to, such as a `Writer`."""

    def write(self, data: bytes) -> None:
        """Append."""
        ...


class Spool:
    """Takes bytes as they arrive, or lends its path to a worker process; removed at the end of its `with`.

    A crash leaves it under a name that marks it as unfinished, and the next sweep removes it. It has a descriptor open
    only once something was written or read here.

    Attributes:
        path: where it lies; a process of the same user may read it or write into it.
    """

    def __init__(self, folder: Folder, what: str) -> None:
        self._folder = folder
        self._what = what
        self._descriptor: int | None = None
        try:
            descriptor, self._name = folder.temporary()
        except OSError as error:
            raise errors.from_os(error, what) from error
        os.close(descriptor)
        self.path: Path = folder.path / self._name

    @property
    def size(self) -> int:
        """How many bytes it holds now, whoever wrote them.

        Raises:
            BursarError: store_failed.
        """
        try:
            return os.fstat(self._opened()).st_size
        except OSError as error:
            raise errors.from_os(error, self._what) from error

    def write(self, data: bytes) -> None:
        """Append.

        Raises:
            BursarError: disk_full or store_failed.
        """
        descriptor = self._opened()
        try:
            write(descriptor, data)
        except OSError as error:
            raise errors.from_os(error, self._what) from error

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`; fewer only at the end.

        Raises:
            BursarError: store_failed.
        """
        descriptor = self._opened()
        try:
            return read_at(descriptor, offset, length)
        except OSError as error:
            raise errors.from_os(error, self._what) from error

    def pour(self, sink: Sink) -> None:
        """Write all of it into a writer or a file of the workspace; takes as long as copying a file does.

        Raises:
            BursarError: as the sink refuses, or store_failed.
        """
        offset = 0
        while block := self.read(offset, BLOCK):
            sink.write(block)
            offset += len(block)

    def close(self) -> None:
        """Remove it; does nothing the second time."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                os.close(descriptor)
        self._folder.remove(self._name)

    def _opened(self) -> int:
        if self._descriptor is None:
            try:
                self._descriptor = self._folder.open(self._name, os.O_RDWR | APPEND)
            except OSError as error:
                raise errors.from_os(error, self._what) from error
        return self._descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
