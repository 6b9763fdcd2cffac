"""A history on disk: one checked line of JSON for each record, only ever appended to; damage costs its own lines."""

import json
import os
import re
import zlib
from bisect import bisect_left
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
_START = re.compile(rb'\{"n":\d{1,19},"t":"')
LINE_MAX_BYTES = 64 << 10
"""What a conversation writes in one line."""

_TRIED_TIMES = 512
"""Of a damaged line so many times its bytes are read to find the records in it, whatever they pretend to be."""

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
        _CHECKED.fullmatch(line, len(line) - _CHECK_BYTES) if len(line) > _CHECK_BYTES and _START.match(line) else None
    )
    if end is None or zlib.crc32(memoryview(line)[:-_CHECK_BYTES]) != int(end[1], 16):
        return None
    try:
        return cast("Record", from_json(line))
    except ValueError:  # half of a pair of surrogates, which only Python takes
        with suppress(ValueError, RecursionError):
            return cast("Record", json.loads(line))
    return None


def _salvaged(line: bytes) -> Iterator[tuple[int, int, Record]]:
    """Yield the records within a line that is damaged, or that several were written on."""
    starts = [found.start() for found in _START.finditer(line)]
    first, left = 0, _TRIED_TIMES * len(line)
    for checked in _CHECKED.finditer(line):
        end = checked.end()
        # The nearest first: what looks like the start of a record may stand within one.
        for place in reversed(range(max(first, bisect_left(starts, end - LINE_MAX_BYTES)), bisect_left(starts, end))):
            left -= end - starts[place]
            if left < 0:
                return
            if (record := _record(line[starts[place] : end])) is not None:
                yield starts[place], end, record
                first = bisect_left(starts, end)
                break


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

    def __init__(self, path: Path, *, fsync: bool = False, may_begin: bool = True) -> None:
        """Open a history, or begin one; a file without any record of ours is somebody else's, and is left alone.

        Args:
            path: of the file.
            may_begin: a file that is not there is made.
            fsync: wait for the disk before a record counts as stored: safe from a power cut too, some 8 ms a record.

        Raises:
            BursarError: history_busy, history_unreadable, history_not_written.
        """
        self.path, self._fsync = path, fsync
        self._lock = self._file = -1
        try:
            _refuse_others(path, may_begin=may_begin)
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
            BursarError: history_not_written: nothing was added.
        """
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        lines = [
            _line({"n": self._next + place, "t": kind, "at": at, **kept}) for place, (kind, kept) in enumerate(given)
        ]
        data = (b"\n" if self._is_torn else b"") + b"".join(lines)
        try:
            size, written = os.fstat(self._file).st_size, 0
            try:
                # One call of the system, so that a kill leaves all of it or nothing; only a full disk splits it.
                while written < len(data):
                    written += os.write(self._file, data[written:])
                if self._fsync:
                    os.fsync(self._file)
            except OSError:
                self._take_back(size, len(given))
                raise
        except OSError as error:
            raise self._not_written(error) from error
        self._next += len(given)
        self._is_torn = False
        with suppress(OSError):  # it only tells of a cut that may never happen
            os.lseek(self._lock, 0, os.SEEK_SET)
            os.write(self._lock, _tally(self._next))

    def _take_back(self, size: int, count: int) -> None:
        """Remove what a failed call wrote; where that fails too, its numbers are given to no other record."""
        try:
            os.ftruncate(self._file, size)
        except OSError:
            self._next += count
            self._is_torn = True

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


def _refuse_others(path: Path, *, may_begin: bool) -> None:
    if not path.exists() and not may_begin:
        raise _unreadable(path, "it does not exist")
    # The tally tells of records that damage took; without one, a record must be there.
    if path.exists() and path.stat().st_size and not _tallied(path) and not read(path).records:
        fix = "Name a history of bursar's, or a file that is not there yet"
        raise BursarError("history_unreadable", f"{path} is no history: it holds no record of one", fix)


def encoded(value: object) -> bytes:
    """Write a value as it stands in a history."""
    # Half of a pair of surrogates can only be escaped, as JSON has it too.
    return dumps(value).encode("utf-8", "backslashreplace")


def _line(record: Record) -> bytes:
    body = encoded(record)[:-1]
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
