"""A history on disk: one checked line of JSON for each record, only ever appended to; damage costs its own lines."""

import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from pydantic_core import from_json

from ..artifacts import locks
from ..budget.request.wire import dumps
from ..errors import BursarError

Record = Mapping[str, Any]
"""What a line holds: its number `n`, its kind `t`, the time `at`, and what is kept under names of its kind."""

_CHECKED = re.compile(rb',"c":"([0-9a-f]{8})"\}')
_CHECK_BYTES = 16
_START = b'{"n":'
_STARTS_TRIED = 64
_TALLY = re.compile(rb"(\d{20}) ([0-9a-f]{8})\n")


@dataclass(frozen=True, slots=True)
class Damage:
    """What is wrong with a history.

    Attributes:
        line: where, from 1; 0 for what stands nowhere.
        bytes: how much cannot be read.
        what: it in words.
    """

    line: int
    bytes: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}" if self.line else self.what


@dataclass(slots=True)
class Contents:
    """What was read of a history.

    Attributes:
        records: those that are whole, in the order of their numbers.
        damage: all else that is there, and what should be and is not.
        is_torn: the file ends within a line.
    """

    records: list[Record] = field(default_factory=list[Record])
    damage: list[Damage] = field(default_factory=list[Damage])
    is_torn: bool = False


def read(path: Path) -> Contents:
    """Read a history; whoever writes it may go on meanwhile.

    Raises:
        BursarError: history_unreadable.
    """
    contents = Contents()
    tallied = _tallied(path)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                contents.is_torn = not line.endswith(b"\n")
                _take(line.removesuffix(b"\n"), number, contents)
    except FileNotFoundError:
        if not tallied:
            raise _unreadable(path, "it does not exist") from None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    _put_in_order(contents, tallied)
    return contents


def _unreadable(path: Path, why: str) -> BursarError:
    return BursarError("history_unreadable", f"{path} cannot be read: {why}", "Name a history that you can read")


def _take(line: bytes, number: int, contents: Contents) -> None:
    """Take the records of a line; what is none of them is damage."""
    if not line:
        return
    taken, good = 0, _record(line)
    if good is not None:
        contents.records.append(good)
        return
    for start, end, record in _salvaged(line):
        contents.records.append(record)
        taken += end - start
    if taken < len(line):
        contents.damage.append(Damage(number, len(line) - taken, f"{len(line) - taken:,} bytes are no record"))
    else:
        contents.damage.append(Damage(number, 0, "several records are on one line"))


def _record(line: bytes) -> Record | None:
    """Return the record that a text is; None if it is none, or not as it was written."""
    end = (
        _CHECKED.fullmatch(line, len(line) - _CHECK_BYTES)
        if len(line) > _CHECK_BYTES and line.startswith(_START)
        else None
    )
    if end is None or zlib.crc32(memoryview(line)[:-_CHECK_BYTES]) != int(end[1], 16):
        return None
    try:
        return cast("Record", from_json(line))
    except ValueError:  # half of a pair of surrogates, which only Python takes
        return cast("Record", json.loads(line))


def _salvaged(line: bytes) -> Iterator[tuple[int, int, Record]]:
    """Yield the records within a line that is damaged, or that several were written on."""
    behind = 0
    for checked in _CHECKED.finditer(line):
        start, tried = line.find(_START, behind, checked.end()), 0
        while start >= 0 and tried < _STARTS_TRIED:
            if (record := _record(line[start : checked.end()])) is not None:
                yield start, checked.end(), record
                behind = checked.end()
                break
            start, tried = line.find(_START, start + 1, checked.end()), tried + 1


def _put_in_order(contents: Contents, tallied: int) -> None:
    """Put records in the order of their numbers, and tell which stand twice, elsewhere, or nowhere."""
    by_number: dict[int, Record] = {}
    last = -1
    for record in contents.records:
        number = int(record["n"])
        if number in by_number:
            contents.damage.append(Damage(0, 0, f"record {number} is there twice"))
            continue
        if number < last:
            contents.damage.append(Damage(0, 0, f"record {number} stands behind record {last}"))
        by_number[number], last = record, max(last, number)
    contents.records = [by_number[number] for number in sorted(by_number)]
    expected = 0
    for number in [*sorted(by_number), max(last + 1, tallied)]:
        if number > expected:
            which = f"records {expected} to {number - 1} are" if number - expected > 1 else f"record {expected} is"
            contents.damage.append(Damage(0, 0, f"{which} missing"))
        expected = number + 1


class HistoryFile:
    """A history that this process alone writes.

    Beside it lies `NAME.lock`, with how many records were acknowledged: without it a cut at the end of a line would
    look like a shorter history.

    Attributes:
        path: where it is.
        contents: what was in it when it was opened.
    """

    def __init__(self, path: Path, *, fsync: bool = False) -> None:
        """Open a history, or begin one.

        Args:
            path: of the file.
            fsync: wait for the disk before a record counts as stored: safe from a power cut too, some 8 ms a record.

        Raises:
            BursarError: history_busy, history_unreadable, history_not_written.
        """
        self.path, self._fsync = path, fsync
        self._lock = self._file = -1
        try:
            self._lock = os.open(_lock_of(path), os.O_RDWR | os.O_CREAT, 0o600)
            if not locks.claim(self._lock):
                fix = "End the other program, or open another history"
                raise BursarError("history_busy", f"{path} is being written by another program", fix)
            is_new = not path.exists() and not _tallied(path)
            self.contents = Contents() if is_new else read(path)
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            self.close()
            raise self._not_written(error) from error
        except BaseException:
            self.close()
            raise
        self._is_torn = self.contents.is_torn
        numbers = (int(record["n"]) for record in self.contents.records)
        self._next = max(max(numbers, default=-1) + 1, _tallied(path))

    def append(self, *given: tuple[str, Mapping[str, Any]]) -> None:
        """Append records, each a kind and what is kept; they are stored when this returns.

        Raises:
            BursarError: history_not_written: none of them counts, though the first may be there.
        """
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        lines = [
            _line({"n": self._next + place, "t": kind, "at": at, **kept}) for place, (kind, kept) in enumerate(given)
        ]
        data = (b"\n" if self._is_torn else b"") + b"".join(lines)
        written = 0
        try:
            # One call of the system, so that a kill leaves all of it or nothing; only a full disk splits it.
            written = os.write(self._file, data)
            if written < len(data):
                written += os.write(self._file, data[written:])
            if self._fsync:
                os.fsync(self._file)
        except OSError as error:
            raise self._not_written(error) from error
        finally:
            done = data[:written]
            self._next += done.lstrip(b"\n").count(b"\n")
            self._is_torn = not done.endswith(b"\n") if done else self._is_torn
        with suppress(OSError):  # it only tells of a cut that may never happen
            os.lseek(self._lock, 0, os.SEEK_SET)
            os.write(self._lock, _tally(self._next))

    def close(self) -> None:
        """Let go of it; does nothing the second time."""
        for descriptor in (self._file, self._lock):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._lock = -1

    def __del__(self) -> None:
        with suppress(OSError, AttributeError, TypeError):  # the interpreter may be ending
            self.close()

    def _not_written(self, error: OSError) -> BursarError:
        why = error.strerror or type(error).__name__
        fix = "Free some space or mend the disk; what was stored before is untouched"
        return BursarError("history_not_written", f"{self.path} cannot be written: {why}", fix)


def _line(record: Record) -> bytes:
    text = dumps(record)[:-1]
    try:
        body = text.encode()
    except UnicodeEncodeError:  # half of a pair, which JSON can only escape
        body = json.dumps(json.loads(text + "}"), separators=(",", ":"))[:-1].encode()
    return body + b',"c":"%08x"}\n' % zlib.crc32(body)


def _lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _tally(count: int) -> bytes:
    text = b"%020d" % count
    return text + b" %08x\n" % zlib.crc32(text)


def _tallied(path: Path) -> int:
    """Return how many records were acknowledged as far as that is known."""
    try:
        found = _TALLY.fullmatch(_lock_of(path).read_bytes())
    except OSError:
        return 0
    return int(found[1]) if found and zlib.crc32(found[1]) == int(found[2], 16) else 0


def remove(path: Path) -> None:
    """Remove a history and what lies beside it.

    Raises:
        BursarError: history_unreadable: it is not there, or cannot be removed.
    """
    try:
        path.unlink()
        _lock_of(path).unlink(missing_ok=True)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
