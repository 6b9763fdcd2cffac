"""Finds the pictures of a document: artifacts, workspace files, addresses; each is copied before it is decoded."""

import base64
import binascii
import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Protocol

import anyio
import anyio.to_thread

from ..artifacts import SCHEME, Artifact, Reference, Spool
from ..errors import BursarError
from .base import Call
from .fetched import longer

MAX_PICTURES = 200
"""Pictures of one document; further ones are missing."""

_MAX_BYTES = 25_000_000
_BLOCK_BYTES = 1 << 20
_AT_ONCE = 4
_URL_S = 20.0
_DATA = re.compile(r"data:image/[a-z0-9.+-]+;base64,", re.IGNORECASE)

Found = dict[str, tuple[str, str]]
"""For each reference `("path", path)` or `("missing", reason)`."""


class _Content(Protocol):
    def read(self, offset: int, length: int) -> bytes: ...


@dataclass(slots=True)
class PictureFinder:
    """Resolves the references of one document.

    Attributes:
        call: gives the session, the workspace and the network.
        spools: what keeps the copies until the document is written.
    """

    call: Call
    spools: ExitStack
    found: Found = field(default_factory=Found)

    async def find(self, references: Sequence[str], *, within_s: float) -> Found:
        """Return for each reference a copy of the picture, or why there is none; raises nothing but cancellation."""
        limiter = anyio.CapacityLimiter(_AT_ONCE)
        for reference in references[MAX_PICTURES:]:
            self.found[reference] = ("missing", f"it is beyond the first {MAX_PICTURES} pictures of the document")
        with anyio.move_on_after(within_s):
            async with anyio.create_task_group() as group:
                for reference in references[:MAX_PICTURES]:
                    group.start_soon(self._one, reference, limiter)
        for reference in references:
            self.found.setdefault(
                reference, ("missing", f"it was not there within {within_s:.2g} s: {longer(self.call)}")
            )
        return self.found

    async def _one(self, reference: str, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            try:
                copy = await self._copy(reference)
                self.found[reference] = ("path", str(copy.path))
            except BursarError as error:
                self.found[reference] = ("missing", error.message)
            except OSError as error:
                self.found[reference] = ("missing", f"it could not be read: {error.strerror or 'input/output error'}")
            except Exception as error:  # noqa: BLE001 - one picture never fails the document, whatever its source does
                self.found[reference] = ("missing", f"it could not be read ({type(error).__name__})")

    async def _copy(self, reference: str) -> Spool:
        if reference.startswith(("http://", "https://")):
            return await self._fetched(reference)
        if (data := _DATA.match(reference)) is not None:
            return await self._written(_Bytes(_decoded(reference[data.end() :])))
        if Reference.parse(reference) is not None or reference.startswith(SCHEME):
            return await self._written(self._stored(reference))
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", reference):
            scheme = reference.partition(":")[0]
            raise BursarError("bad_picture", f"pictures are not read from {scheme[:20]}: addresses", "Use a path")
        with await anyio.to_thread.run_sync(self.call.workspace.open, reference) as file:
            return await self._written(file)

    def _stored(self, reference: str) -> Artifact:
        artifact = self.call.session.open(reference, self.call.workspace.descriptor)
        if artifact.tool == "download_image" and "format" not in artifact.facts:
            what = f"its download failed ({artifact.did[:200]}), and what came instead is no picture"
            raise BursarError("bad_picture", what, "Use another source")
        return artifact

    async def _written(self, content: _Content) -> Spool:
        spool = self._spool()
        await anyio.to_thread.run_sync(_write, content, spool)
        return spool

    async def _fetched(self, url: str) -> Spool:
        """Fetch through the one gate to the network."""
        spool = self._spool()
        limits = replace(self.call.net.settings.limits, total_s=_URL_S)
        response = await self.call.net.fetch(url, spool, limits=limits)
        if response.failure is not None:
            status = f"HTTP {response.status}: " if response.status is not None else ""
            raise BursarError(response.failure.code, status + response.failure.message, response.failure.fix)
        return spool

    def _spool(self) -> Spool:
        return self.spools.enter_context(self.call.session.spool("a picture"))


@dataclass(frozen=True, slots=True)
class _Bytes:
    data: bytes

    def read(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]


def _write(content: _Content, spool: Spool) -> None:
    offset = 0
    while data := content.read(offset, _BLOCK_BYTES):
        offset += len(data)
        if offset > _MAX_BYTES:
            raise BursarError("too_large", f"it has more than {_MAX_BYTES:,} bytes", "Use a smaller picture")
        spool.write(data)


def _decoded(data: str) -> bytes:
    if len(data) > _MAX_BYTES * 4 // 3:
        raise BursarError("too_large", f"it has more than {_MAX_BYTES:,} bytes", "Use a smaller picture")
    try:
        return base64.b64decode(data.replace("%2B", "+").replace("%2F", "/").replace("%3D", "="), validate=False)
    except (binascii.Error, ValueError) as error:
        raise BursarError("bad_picture", "its data: address is damaged", "Use a file") from error
