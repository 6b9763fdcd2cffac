"""Reads a file for what it is; runs in a worker process, on bytes that may be made to hurt."""

import lzma
import os
import struct
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from email.message import EmailMessage
from email.parser import BytesHeaderParser
from functools import partial
from importlib import import_module
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import ParseError
from zipfile import ZipFile

from ...errors import BursarError
from .. import pdf
from . import archives, book, mail, notebook, opendocument, rtf, sheets, slides, word
from .archives import Member, Members
from .parts import Parts, first
from .text import CHARACTERS_MAX, Text, row, too_large

MEMBER_BYTES = 256 << 20
"""Of what is unpacked: one member, or all of a file that is compressed as a whole."""

MEMBERS_MAX = 200_000
"""Of an archive that are listed."""

_BLOCK_BYTES = 1 << 20
_HEAD_BYTES = 512
_OTHERS_S = 2.0
"""Looked on for another member of the same name, which takes the place of the first when all are unpacked."""

_NEAR_AMONG = 5_000
_NEAR_CHARACTERS = 200
_DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, struct.error, ParseError, EOFError, OSError,
    ValueError, KeyError, IndexError, AttributeError,
)  # fmt: skip
"""What libraries raise for bytes that are not what they should be."""

_OFFICE: dict[str, Callable[[Parts], Text]] = {"word": word.read, "xl": sheets.read, "ppt": slides.read}
_PACKAGES = {
    ".dist-info/METADATA": ("Name", "Version"),
    "META-INF/MANIFEST.MF": ("Implementation-Title", "Implementation-Version"),
    "/control": ("Package", "Version"),
}
"""Where wheels, jars and Debian packages tell what they are: how the name of a file ends, and what stands in it."""

_PACKAGE_BYTES = 64 * 1024


def load() -> None:
    """Load what most calls need."""
    pdf.load()
    import_module("turbohtml.extract")


def run(
    source: str, target: str, form: str, name: str, device: int, inode: int, member: str = "", within_s: float = 8.0
) -> dict[str, str | int]:
    """Write what the file `source` says, or a member of it, into the file `target`.

    Args:
        source: the file.
        target: takes the text, the list of members as CSV, or the bytes of a member.
        form: how the file is read, as `forms.form_of` tells it.
        name: what it is called.
        device: of the file that must lie there.
        inode: likewise.
        member: the path of one in the file; a directory is listed, and of one in a further archive that is written.
        within_s: a list that takes longer ends there, which is told.

    Returns:
        `suffix` of what was written, empty for the bytes of a member or of a compressed file; `rest` of the path behind
        a further archive; and facts.

    Raises:
        BursarError: not_found, no_archive, source_changed, damaged, encrypted or too_large.
    """
    try:
        with Path(source).open("rb") as file, Path(target).open("wb") as out:
            status = os.fstat(file.fileno())
            if (status.st_dev, status.st_ino) != (device, inode):
                raise BursarError("source_changed", "another file has its name", "Call the tool again")
            if form == "pdf":
                return {"suffix": ".md", **pdf.run(source, target)}
            found = _File(file, Path(source), form, name, time.monotonic() + within_s)
            return found.member(member, out) if member else found.whole(out)
    except (RuntimeError, NotImplementedError) as error:
        said = str(error)
        if "password" in said or "encrypted" in said:
            raise BursarError("encrypted", "it is protected by a password", "Unpack it with terminal") from None
        raise BursarError("damaged", f"it cannot be unpacked: {said}", "Try a program of its own") from None
    except _DAMAGED as error:
        raise BursarError(
            "damaged", f"it is damaged or not what it says: {error}", "Try a program of its own"
        ) from None


@dataclass(slots=True)
class _File:
    """A file that is read.

    Attributes:
        file: its bytes.
        path: where it lies.
        form: how it is read.
        name: what it is called.
        until: when lists end, on the monotonic clock.
    """

    file: IO[bytes]
    path: Path
    form: str
    name: str
    until: float

    def whole(self, out: IO[bytes]) -> dict[str, str | int]:
        """Write the text of it, or the list of its members."""
        text = self._text()
        if text is not None:
            for piece in text.written():
                out.write(piece.encode("utf-8", "replace"))
            return {**text.facts, "suffix": text.suffix}
        members = self._members()
        if members is not None:
            return self._list(members, out)
        return {"suffix": "", "bytes": _copy(self._stream(), out)}

    def member(self, path: str, out: IO[bytes]) -> dict[str, str | int]:
        """Write the bytes of a member, or the list of those in a directory."""
        members = self._members()
        if members is None:
            raise BursarError("no_archive", f"{self.name} is no archive", "Give its own path alone")
        below: list[Member] = []
        names: list[str] = []
        found: list[Member] = []
        note, until = "", self.until
        for one in members:
            if one.name == path or path.startswith(f"{one.name}/"):
                found.append(one)
                out.seek(out.truncate(0))
                with one.open() as stream:
                    _copy(stream, out)
                until = min(self.until, time.monotonic() + _OTHERS_S)
            elif found and time.monotonic() > until:
                note = "whether a later one has the same name was not looked for to the end"
                break
            if one.name.startswith(f"{path}/") and len(below) < MEMBERS_MAX:
                below.append(one)
            if len(names) < _NEAR_AMONG:
                names.append(one.name)
        if found:
            last = found[-1]
            if last.link:
                what = f"{last.name} is a link to {last.link}"
                raise BursarError("not_found", what, "Name what it leads to, as the list of members has it")
            note = note or (f"{len(found):,} members have this name; the last one is read" if found[1:] else "")
            return {"suffix": "", "rest": path[len(last.name) + 1 :], "note": note}
        if below:
            return self._list(iter(below), out)
        near = get_close_matches(path[:_NEAR_CHARACTERS], names, 1)
        fix = f"Did you mean {near[0]}" if near else f"Read {self.name} alone for the list of what it holds"
        raise BursarError("not_found", f"{self.name} holds no {path}", fix)

    def _text(self) -> Text | None:
        match self.form:
            case "zip":
                parts = Parts(ZipFile(self.file))
                read = _reader(parts)
                return read(parts) if read else None
            case "notebook":
                return notebook.read(self.path.read_bytes())
            case "rtf":
                return rtf.read(self.path.read_bytes())
            case "mail":
                return mail.read(mail.parsed(self.path.read_bytes()))
            case "mailbox":
                return mail.read_all(self.path)
            case _:
                return None

    def _members(self) -> Members | None:
        """Return what the file holds; None if it holds nothing that has a name."""
        match self.form:
            case "zip":
                return _of_zip(ZipFile(self.file))
            case "tar":
                return archives.of_tar(self.file)
            case "packed":
                return archives.of_tar(self._stream()) if archives.is_tar(self._stream().read(_HEAD_BYTES)) else None
            case "ar":
                return archives.of_ar(self.file)
            case "rpm":
                return archives.of_rpm(self.file)
            case "mail":
                return _of_mail(mail.parsed(self.path.read_bytes()))
            case "mailbox":
                return _of_mailbox(self.path)
            case _:
                return None

    def _stream(self) -> IO[bytes]:
        self.file.seek(0)
        return archives.unpacked(self.file) or self.file

    def _list(self, members: Members, out: IO[bytes]) -> dict[str, str | int]:
        listed, size, encrypted, title, names = 0, 0, 0, "", set[str]()
        notes: list[str] = []
        out.write(row(["name", "bytes", "modified", "link"]).encode())
        for one in islice(members, MEMBERS_MAX + 1):
            if listed == MEMBERS_MAX or time.monotonic() > self.until:
                notes.append(f"only the first {listed:,} are listed")
                break
            listed += 1
            size += one.size
            encrypted += one.is_encrypted
            names.add(one.name)
            out.write(row([one.name, str(one.size), one.modified, one.link]).encode("utf-8", "replace"))
            title = title or (_title(one) if self.form in {"zip", "ar"} and not one.is_encrypted else "")
        if len(names) < listed:
            notes.append(f"repeated names: {listed - len(names):,}; the last member of each is read")
        if encrypted:
            notes.append(f"protected by a password: {encrypted:,}")
        if self.form == "rpm":
            title = archives.rpm(self.file).name
        told = {"title": title, "files": listed, "unpacked_bytes": size, "note": "; ".join(notes)}
        return {**told, "suffix": ".csv"}


def _reader(parts: Parts) -> Callable[[Parts], Text] | None:
    """Return what reads a document; None for an archive that is none."""
    if main := parts.main():
        return _OFFICE.get(main.partition("/")[0])
    if {"mimetype", "content.xml"} <= parts.names:
        return opendocument.read
    return book.read if "META-INF/container.xml" in parts.names else None


def _of_zip(archive: ZipFile) -> Members:
    """Return the files in a ZIP, and the sheets of a workbook as tables before them."""
    parts = Parts(archive)
    read = _reader(parts)
    if read is sheets.read:
        book = sheets.Workbook(parts)
        yield from (_as_csv(name, book.rows(name)) for name in book.sheets)
    elif read is opendocument.read:
        spreadsheet = first(parts.tree("content.xml"), "body", "spreadsheet")
        tables = opendocument.tables(spreadsheet) if spreadsheet is not None else {}
        yield from (_as_csv(name, opendocument.rows(one)) for name, one in tables.items())
    yield from archives.of_zip(archive)


def _as_csv(name: str, rows: Iterator[list[str]]) -> Member:
    return Member(f"{name}.csv", 0, "", "", partial(_written, Text(map(row, sheets.padded(rows)), suffix=".csv")))


def _written(text: Text) -> BytesIO:
    """Write a sheet.

    Raises:
        BursarError: too_large; to ask of a part of its rows would give wrong answers.
    """
    data = b"".join(piece.encode("utf-8", "replace") for piece in text.written())
    if "note" in text.facts:
        what = f"the sheet has more than {CHARACTERS_MAX:,} characters"
        raise BursarError("too_large", what, "Convert it with a program, by terminal")
    return BytesIO(data)


def _of_mail(message: EmailMessage) -> Members:
    for name, part in mail.attachments(message):
        data = mail.content(part)
        yield Member(name, len(data), "", "", partial(BytesIO, data))


def _of_mailbox(box: Path) -> Members:
    for number, data in enumerate(mail.messages(box), 1):
        yield Member(f"{number}.eml", len(data), "", "", partial(BytesIO, data))


def _copy(stream: IO[bytes], out: IO[bytes]) -> int:
    """Write all of a stream.

    Raises:
        BursarError: too_large.
    """
    size = 0
    while block := stream.read(_BLOCK_BYTES):
        size += len(block)
        if size > MEMBER_BYTES:
            raise too_large(MEMBER_BYTES)
        out.write(block)
    return size


def _title(member: Member) -> str:
    """Return what a package is, if this is the member that tells it."""
    wanted = next((fields for end, fields in _PACKAGES.items() if member.name.endswith(end)), None)
    if wanted is None:
        return ""
    with member.open() as stream:
        told = BytesHeaderParser().parsebytes(stream.read(_PACKAGE_BYTES))
    return " ".join(filter(None, (" ".join(str(told[field] or "").split()) for field in wanted)))
