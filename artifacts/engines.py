"""The two ways to find a pattern: ripgrep in a process of its own, or RE2 in this one where ripgrep is missing.

Both take time linear in the content whatever the pattern is, and neither knows look-around or back-references.
"""

import os
import select
import shutil
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from ..errors import BursarError
from .artifact import Opened
from .index import BLOCK, Progress

PATTERN_MAX_CHARACTERS = 2000

_OUTPUT_BYTES = 1 << 16
_TEXT_BYTES = 200
_REPORT_EVERY_S = 0.5
_MEMORY_BYTES = 1 << 30
_LINE_MAX_BYTES = 64 * BLOCK
_OPTIONS = "--no-config --text --encoding=none --crlf --no-filename --color=never --regex-size-limit=10M".split()


@dataclass(frozen=True, slots=True)
class Hit:
    """A match.

    Attributes:
        line: number of its line, from 1 at the start of the range that is searched.
        offset: where it begins, in bytes from the start of that range.
    """

    line: int
    offset: int


@dataclass(frozen=True, slots=True)
class Hits:
    """Matches in order.

    Attributes:
        found: the first of them.
        is_all: there are no others.
    """

    found: list[Hit]
    is_all: bool


class Engine(ABC):
    """Searches one range of one content."""

    def __init__(self, pattern: str, content: Opened, start: int, end: int, progress: Progress) -> None:
        self._pattern = pattern
        self._content = content
        self._start = start
        self._end = end
        self._progress = progress
        self._is_stopped = False

    @abstractmethod
    def hits(self, lines: int, most: int) -> "Hits":
        """Return the matches of the first lines that have any.

        Args:
            lines: how many such lines are enough.
            most: how many matches are enough, on however few lines.

        Raises:
            BursarError: bad_pattern or search_failed.
        """

    @abstractmethod
    def count(self, *, lines: bool) -> int:
        """Count all matches, or all lines that have one.

        Raises:
            BursarError: search_failed.
        """

    @abstractmethod
    def texts(self) -> Generator[tuple[int, bytes]]:
        """Find all matches; yield the line of each and its text, or that of its group if it has one; cut if long.

        Raises:
            BursarError: search_failed.
        """

    def stop(self) -> None:
        """End a search that runs in another thread; what it returns is worth nothing then."""
        self._is_stopped = True


def engine(pattern: str, content: Opened, start: int, end: int, progress: Progress) -> Engine:
    """Choose the engine for the bytes from `start` to before `end`.

    Args:
        pattern: what to search for.
        content: where.
        start: of the range.
        end: of the range.
        progress: given now and then how many bytes of the range were searched.

    Raises:
        BursarError: bad_pattern.
    """
    if len(pattern) > PATTERN_MAX_CHARACTERS:
        raise bad_pattern(f"it has more than {PATTERN_MAX_CHARACTERS:,} characters")
    if not pattern or "\0" in pattern or "\n" in pattern:
        raise bad_pattern(
            "it is empty" if not pattern else "it has a line break or NUL, and lines are searched one by one"
        )
    if any("\ud800" <= character <= "\udfff" for character in pattern):
        raise bad_pattern("it has half a character (a lone surrogate)")
    kind = _Re2 if ripgrep() is None else _Ripgrep
    return kind(pattern, content, start, end, progress)


@cache
def ripgrep() -> str | None:
    """Return the path of the `rg` installed with bursar, or None; commands may have put another on the PATH."""
    return shutil.which("rg", path=str(Path(sys.executable).parent))


def bad_pattern(reason: str) -> BursarError:
    """Refuse a pattern."""
    return BursarError(
        "bad_pattern",
        f"the pattern is not a regular expression that can be searched for: {reason}",
        "Escape special characters with a backslash, use (?i) to ignore case, and no look-around or back-references",
    )


class _Ripgrep(Engine):
    """Asks for line numbers and offsets only, never for text: a match can be in a line of 200 MB."""

    _process: "subprocess.Popen[bytes] | None" = None
    _fed: int | None = None

    def hits(self, lines: int, most: int) -> Hits:
        # With a limit of one column each match is shown as its place and a remark.
        with self._output("--line-number", "--byte-offset", "--only-matching", "--max-columns=1") as output:
            hits = _first(_placed(self._read(output)), lines, most)
            if not hits.is_all:
                self._kill()
        return hits

    def count(self, *, lines: bool) -> int:
        with self._output("--count" if lines else "--count-matches") as output:
            return int(b"".join(self._read(output)) or b"0")

    def texts(self) -> Generator[tuple[int, bytes]]:
        # A text that is too long is replaced by a remark.
        shown = ("--only-matching", f"--max-columns={_TEXT_BYTES}", "--replace=$1\1$0")
        with self._output("--line-number", *shown) as output:
            for row in _rows(self._read(output)):
                line, _, text = row.removesuffix(b"\r").partition(b":")
                group, _, match = text.partition(b"\1")
                yield int(line), group or match

    def stop(self) -> None:
        super().stop()
        self._kill()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def _read(self, output: IO[bytes]) -> Iterator[bytes]:
        """Read what ripgrep says, which may be nothing for long; tell meanwhile how far it is."""
        while True:
            while not _readable(output, _REPORT_EVERY_S):
                # It shares the position in the file with this process.
                position = os.lseek(self._content.descriptor, 0, os.SEEK_CUR) if self._fed is None else self._fed
                self._progress(position - self._start, self._end - self._start)
            if not (block := output.read(_OUTPUT_BYTES)):
                return
            yield block

    @contextmanager
    def _output(self, *options: str) -> Generator[IO[bytes]]:
        """Run ripgrep on the range; one that ends before the file does, or soon may, is fed through a pipe."""
        is_whole = self._end >= os.fstat(self._content.descriptor).st_size and not self._content.may_grow
        # What may not be shown must not be found either: matches would tell it letter by letter.
        is_fed = self._content.is_redacted or not is_whole
        self._fed = self._start if is_fed else None
        os.lseek(self._content.descriptor, self._start, os.SEEK_SET)
        process = subprocess.Popen(
            [str(ripgrep()), *_OPTIONS, *options, "-e", self._pattern, "-"],
            stdin=subprocess.PIPE if is_fed else self._content.descriptor,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        self._process = process
        if self._is_stopped:
            process.kill()
        _limit_memory(process.pid)
        feeder = threading.Thread(target=self._feed, args=(process.stdin,), daemon=True) if process.stdin else None
        with process:
            try:
                if feeder is not None:
                    feeder.start()
                if process.stdout is not None:
                    yield process.stdout
            except BaseException:
                process.kill()
                raise
            said = process.stderr.read() if process.stderr is not None else b""
            if feeder is not None:
                feeder.join()
        _judge(process.returncode, said)

    def _feed(self, pipe: IO[bytes]) -> None:
        with suppress(OSError, ValueError), pipe:
            position = self._start
            while position < self._end and (block := self._content.read(position, min(BLOCK, self._end - position))):
                view = memoryview(block)
                while view:
                    view = view[pipe.write(view) :]
                self._fed = position = position + len(block)


def _readable(pipe: IO[bytes], within_s: float) -> bool:
    """Wait for something to read; on Windows, where a pipe cannot be watched, reading it is the wait."""
    if sys.platform == "win32":
        return True
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    return bool(poll.poll(within_s * 1000))


def _first(hits: Iterator[Hit], lines: int, most: int) -> Hits:
    found: list[Hit] = []
    last = 0
    for hit in hits:
        lines -= hit.line != last
        if lines < 0 or len(found) == most:
            return Hits(found, is_all=False)
        found.append(hit)
        last = hit.line
    return Hits(found, is_all=True)


def _placed(blocks: Iterator[bytes]) -> Iterator[Hit]:
    for row in _rows(blocks):
        line, offset, _ = row.split(b":", 2)
        yield Hit(int(line), int(offset))


def _rows(blocks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        *rows, rest = (rest + block).split(b"\n")
        yield from rows


def _judge(code: int, said: bytes) -> None:
    """Raise if ripgrep failed; killed is no failure."""
    if code in {0, 1} or (code < 0 and not said) or (sys.platform == "win32" and not said):
        return
    text = said.decode("utf-8", "replace")
    reasons = [line for line in text.splitlines() if line.startswith(("error: ", "rg: "))]
    reason = reasons[-1].removeprefix("error: ").removeprefix("rg: ") if reasons else f"ripgrep ended with {code}"
    if "memory" in text or "os error" in text:
        fix = "Search a smaller range with lines or bytes"
        raise BursarError("search_failed", f"the search broke off: {reason}", fix)
    raise bad_pattern(reason)


if sys.platform == "linux":
    import resource

    def _limit_memory(pid: int) -> None:
        """Keep a line of gigabytes from filling the memory."""
        with suppress(OSError):
            resource.prlimit(pid, resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))

else:

    def _limit_memory(pid: int) -> None:
        """Only Linux can limit another process."""


class _Re2(Engine):
    """Searches whole lines, some megabytes at a time; of a longer line it sees stretches of 64 MiB."""

    def __init__(self, pattern: str, content: Opened, start: int, end: int, progress: Progress) -> None:
        super().__init__(pattern, content, start, end, progress)
        self._compiled = _compiled(pattern)

    def hits(self, lines: int, most: int) -> Hits:
        return _first((hit for hit, _ in self._all()), lines, most)

    def count(self, *, lines: bool) -> int:
        found = (hit.line if lines else hit.offset for hit, _ in self._all())
        total, last = 0, -1
        for place in found:
            total += place != last
            last = place
        return total

    def texts(self) -> Generator[tuple[int, bytes]]:
        for hit, match in self._all():
            group = match.group(1) if match.re.groups else b""
            yield hit.line, (group or match.group())[:_TEXT_BYTES]

    def _all(self) -> Iterator[tuple[Hit, Any]]:
        line = 1
        for position, text in self._stretches():
            counted = 0
            for match in self._compiled.finditer(text):
                at: int = match.start()
                if at == len(text) and text.endswith(b"\n"):
                    continue  # behind the last line break is no line
                line += text.count(b"\n", counted, at)
                counted = at
                yield Hit(line, position - self._start + at), match
            line += text.count(b"\n", counted)

    def _stretches(self) -> Iterator[tuple[int, bytes]]:
        position, text = self._start, b""
        while not self._is_stopped:
            behind = position + len(text)
            block = self._content.read(behind, min(4 * BLOCK, self._end - behind)) if behind < self._end else b""
            text += block
            self._progress(behind - self._start, self._end - self._start)
            cut = len(text) if not block or len(text) >= _LINE_MAX_BYTES else text.rfind(b"\n") + 1
            if cut:
                yield position, text[:cut]
            position, text = position + cut, text[cut:]
            if not block:
                return


def _compiled(pattern: str) -> Any:  # noqa: ANN401 - the library has no types
    re2: Any = import_module("re2")
    options: Any = re2.Options()
    options.never_nl = True
    options.log_errors = False
    options.max_mem = 64 << 20
    try:
        return re2.compile(f"(?m:{pattern})", options)
    except re2.error as error:
        raise bad_pattern(str(error.args[0] if error.args else error)) from error
