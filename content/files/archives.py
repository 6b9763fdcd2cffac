"""Members of archives and packages, listed and read one at a time without unpacking the rest."""

import bz2
import gzip
import io
import lzma
import struct
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from typing import IO, Any, cast
from zipfile import ZipFile, ZipInfo

from ...guard.names import written

_MEMORY_BYTES = 512 << 20
"""For undoing xz, whose dictionaries may be as large as they like."""

_AR, _AR_HEAD = b"!<arch>\n", 60
_RPM_LEAD, _RPM_HEAD, _RPM_ENTRY = 96, 16, 16
_CPIO_HEAD, _CPIO_END = 110, "TRAILER!!!"
_NAME_BYTES_MAX = 65_536
_TAR_MARK_AT = 257
_BLOCK_BYTES = 1 << 20
_LINK_MODE, _FILE_MODE, _MODE_MASK = 0o120000, 0o100000, 0o170000
_ENCRYPTED = 1
"""Flag of a member of a ZIP."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive.

    Attributes:
        name: its path in the archive, without a leading `/` or `./`.
        size: in bytes, unpacked.
        modified: as the archive tells it, to the second.
        link: where it leads to, if it is a link.
        open: opens it for reading; until the next member is asked for.
        is_encrypted: it is protected by a password.
    """

    name: str
    size: int
    modified: str
    link: str
    open: Callable[[], IO[bytes]]
    is_encrypted: bool = False


Members = Iterator[Member]


def unpacked(source: IO[bytes]) -> IO[bytes] | None:
    """Return the stream that is compressed in a file; None if none is."""
    head = source.read(6)
    source.seek(0)
    if head.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=source))
    if head.startswith(b"BZh"):
        return bz2.BZ2File(source)
    if head.startswith(b"\xfd7zXZ\x00"):
        return cast("IO[bytes]", _Xz(source))
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
        return cast("IO[bytes]", import_module(name).ZstdFile(source))
    return None


class _Xz(io.RawIOBase):
    """Undoes xz within a bound of memory, which the library's own file does not have."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self._fresh()

    def _fresh(self) -> None:
        self._decoder = lzma.LZMADecompressor(memlimit=_MEMORY_BYTES)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        while True:
            if self._decoder.eof:  # streams may follow one another
                rest = self._decoder.unused_data.lstrip(b"\0") or self._source.read(io.DEFAULT_BUFFER_SIZE)
                if not rest:
                    return 0
                self._fresh()
            else:
                rest = self._source.read(io.DEFAULT_BUFFER_SIZE) if self._decoder.needs_input else b""
                if not rest and self._decoder.needs_input:
                    raise EOFError("the compressed file ends too early")
            if data := self._decoder.decompress(rest, len(buffer)):
                buffer[: len(data)] = data
                return len(data)


def is_tar(head: bytes) -> bool:
    """Tell whether what begins so is a tar archive."""
    return head[_TAR_MARK_AT : _TAR_MARK_AT + 5] == b"ustar"


def of_zip(archive: ZipFile) -> Members:
    """Return the files in a ZIP."""

    def opener(info: ZipInfo) -> Callable[[], IO[bytes]]:
        return lambda: archive.open(info)

    for info in archive.infolist():
        if not info.is_dir():
            is_link = info.external_attr >> 16 & _MODE_MASK == _LINK_MODE
            is_read = is_link and info.file_size < _NAME_BYTES_MAX and not info.flag_bits & _ENCRYPTED
            link = archive.read(info).decode("utf-8", "replace") if is_read else ""
            year, month, day, hour, minute, second = info.date_time
            moment = f"{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
            yield Member(
                _plain(info.filename), info.file_size, moment, link, opener(info), bool(info.flag_bits & _ENCRYPTED)
            )


def of_tar(stream: IO[bytes]) -> Members:
    """Return the files in a tar archive, which is read as it comes."""
    with tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape") as archive:
        seen: list[Any] = vars(archive)["members"]
        for info in archive:
            seen.clear()  # it would keep them all
            if info.isdir():
                continue

            def opened(info: tarfile.TarInfo = info) -> IO[bytes]:
                return archive.extractfile(info) if info.isreg() else io.BytesIO()  # pyright: ignore[reportReturnType]

            link = info.linkname if info.issym() or info.islnk() else ""
            yield Member(_plain(info.name), info.size, _moment(info.mtime), link, opened)


def of_ar(source: IO[bytes]) -> Members:
    """Return the files in an ar archive such as a Debian package, and in place of each tar archive those in it."""
    source.seek(len(_AR))
    while len(head := source.read(_AR_HEAD)) == _AR_HEAD:
        size, start = int(head[48:58]), source.tell()
        if size < 0:
            raise ValueError("a size below zero")
        name = head[:16].decode("utf-8", "surrogateescape").rstrip().rstrip("/")
        part = cast("IO[bytes]", _Section(source, start, size))
        stream = part if name.endswith(".tar") else unpacked(part) if ".tar" in name else None
        if stream is None:
            yield Member(name, size, _moment(int(head[16:28].strip() or 0)), "", lambda part=part: part)
        else:
            for one in of_tar(stream):
                yield Member(f"{name}/{one.name}", one.size, one.modified, one.link, one.open)
        source.seek(start + size + size % 2)


class _Section(io.RawIOBase):
    """A part of a file, as a file."""

    def __init__(self, source: IO[bytes], start: int, size: int) -> None:
        self._source, self._start, self._size, self._at = source, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._source.seek(self._start + self._at)
        data = self._source.read(min(len(buffer), max(0, self._size - self._at)))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


@dataclass(frozen=True, slots=True)
class Rpm:
    """An RPM package: what its head tells, and where the files begin."""

    name: str
    start: int


def rpm(source: IO[bytes]) -> Rpm:
    """Read the head of an RPM package: https://rpm-software-management.github.io/rpm/manual/format_v4.html."""
    source.seek(_RPM_LEAD)
    _rpm_head(source)
    source.seek(-source.tell() % 8, io.SEEK_CUR)
    told = _rpm_head(source)
    return Rpm("-".join(filter(None, (told.get(tag, "") for tag in (1000, 1001, 1002)))), source.tell())


def _rpm_head(source: IO[bytes]) -> dict[int, str]:
    """Return the texts of a head by their tags."""
    _, count, size = struct.unpack(">8sII", source.read(_RPM_HEAD))
    index, store = source.read(count * _RPM_ENTRY), source.read(size)
    entries = (struct.unpack_from(">IIII", index, at) for at in range(0, len(index), _RPM_ENTRY))
    return {
        tag: store[at : store.find(b"\0", at)].decode("utf-8", "replace") for tag, kind, at, _ in entries if kind == 6
    }


def of_rpm(source: IO[bytes]) -> Members:
    """Return the files in an RPM package."""
    start = rpm(source).start
    part = cast("IO[bytes]", _Section(source, start, source.seek(0, io.SEEK_END) - start))
    return of_cpio(unpacked(part) or part)


def of_cpio(stream: IO[bytes]) -> Members:
    """Return the files in a cpio archive of the new ASCII form, which is read as it comes."""
    while (head := _taken(stream, _CPIO_HEAD))[:6] in {b"070701", b"070702"}:
        _, mode, _, _, _, mtime, size, _, _, _, _, length, _ = (int(head[at : at + 8], 16) for at in range(6, 110, 8))
        name = _taken(stream, min(length, _NAME_BYTES_MAX)).rstrip(b"\0").decode("utf-8", "surrogateescape")
        _taken(stream, -(_CPIO_HEAD + length) % 4)
        if name == _CPIO_END:
            return
        kind = mode & _MODE_MASK
        link = _taken(stream, min(size, _NAME_BYTES_MAX)).decode("utf-8", "replace") if kind == _LINK_MODE else ""
        body = _Next(stream, 0 if link else size)
        if kind in {_FILE_MODE, _LINK_MODE}:
            yield Member(_plain(name), size, _moment(mtime), link, lambda body=body: cast("IO[bytes]", body))
        while body.read(_BLOCK_BYTES):
            pass
        _taken(stream, -size % 4)


def _taken(stream: IO[bytes], size: int) -> bytes:
    """Read as much as that, or all there is."""
    data = b""
    while len(data) < size and (more := stream.read(size - len(data))):
        data += more
    return data


class _Next(io.RawIOBase):
    """What comes next in a stream, up to a length."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream, self._left = stream, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        data = self._stream.read(min(len(buffer), self._left))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)


def _plain(name: str) -> str:
    return written("/".join(step for step in name.split("/") if step not in {"", "."}))


def _moment(at_s: float) -> str:
    try:
        return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return ""
