"""A temporary file beside a session's artifacts: for what has to be looked at before it is known what it is."""

import os
from contextlib import suppress
from pathlib import Path
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
        with errors.storing(what):
            descriptor, self._name = folder.temporary()
        os.close(descriptor)
        self.path: Path = folder.path / self._name

    @property
    def size(self) -> int:
        """How many bytes it holds now, whoever wrote them.

        Raises:
            BursarError: store_failed.
        """
        with errors.storing(self._what):
            return os.fstat(self._opened()).st_size

    def write(self, data: bytes) -> None:
        """Append.

        Raises:
            BursarError: disk_full or store_failed.
        """
        with errors.storing(self._what):
            write(self._opened(), data)

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`; fewer only at the end.

        Raises:
            BursarError: store_failed.
        """
        with errors.storing(self._what):
            return read_at(self._opened(), offset, length)

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
            self._descriptor = self._folder.open(self._name, os.O_RDWR | APPEND)
        return self._descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
