"""Replaces stretches of a text, all of them or none, and keeps every other byte as it was."""

import re
from array import array
from bisect import bisect_left
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise

from ..errors import BursarError
from .encoding import UTF_8, Encoding, declared, detect

LARGEST_BYTES = 16 << 20
"""Of a file, before and after; what is larger is a command's work."""

PLACES_MAX = 10_000
"""Of all edits together; more are a command's work."""

_TOLD_LINES = 5
_NUMBERED = re.compile(r"\d{1,9}[:-]")
_NO_LINE_END = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to be replaced.

    Attributes:
        old: as it stands in the text; once, unless `everywhere`.
        new: what takes its place.
        everywhere: replace it wherever it stands.
    """

    old: str
    new: str
    everywhere: bool = False


@dataclass(frozen=True, slots=True)
class Hunk:
    """Whole lines that were replaced by others.

    Attributes:
        first: number of the first line that went, or of the one that new lines stand in front of; from 1.
        now_first: number of the first new line in the new text.
        gone: the lines that went, with their ends.
        come: the lines in their place.
    """

    first: int
    now_first: int
    gone: Sequence[str]
    come: Sequence[str]

    def written(self) -> str:
        """Write it as a unified diff does, without the lines around it."""
        # A range of no lines is named by the line before it.
        then = f"{self.first - (not self.gone)},{len(self.gone)}"
        now = f"{self.now_first - (not self.come)},{len(self.come)}"
        return f"@@ -{then} +{now} @@\n{_marked('-', self.gone)}{_marked('+', self.come)}"


class Text:
    """The text of a file, which can be written back to the last byte.

    Attributes:
        encoding: of the file.
        text: of the whole, without a byte order mark.
    """

    def __init__(self, data: bytes) -> None:
        """Understand the bytes of a file.

        Raises:
            BursarError: not_text; it is none, or not such that it could be written back.
        """
        found = detect(_Held(data))
        self.encoding: Encoding = declared(data) if found == UTF_8 and data.isascii() else found
        skip = self.encoding.skip or (len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0)
        self._mark, body = data[:skip], data[skip:]
        try:
            self.text = body.decode(self._codec, self._errors)
            is_same = self._encoded(self.text) == body
        except UnicodeError:
            is_same = False
        if self.encoding.name == "binary" or not is_same:
            fix = "Change it with a program, by terminal"
            what = "the file is no text, or in an encoding in which it could not be written back unchanged"
            raise BursarError("not_text", what, fix)
        self._ends = _LineEnds(self.text)

    @property
    def _codec(self) -> str:
        return self.encoding.codec or "utf-8"

    @property
    def _errors(self) -> str:
        """Of UTF-8, broken bytes are kept."""
        return "strict" if self.encoding.codec else "surrogateescape"

    def _encoded(self, text: str) -> bytes:
        return text.encode(self._codec, self._errors)

    def edited(self, edits: Sequence[Edit], most: int = LARGEST_BYTES) -> tuple[bytes, list[Hunk]]:
        """Return the bytes of the file with all edits made, and what changed.

        Each edit is looked for in the text as it was before the others.

        Args:
            edits: what to replace.
            most: characters that the text may have afterwards.

        Raises:
            BursarError: no_match, ambiguous, too_many, overlapping, unencodable, nothing_to_change, too_large.
        """
        spans: list[tuple[int, int, str, int]] = []
        length = len(self.text)
        for number, edit in enumerate(edits, 1):
            label = f"edit {number}: " if len(edits) > 1 else ""
            self._check_can_be_written(edit.new, label)
            new = edit.new.removeprefix("\ufeff") if self._mark else edit.new
            for start, end in self._places(edit, label, PLACES_MAX - len(spans)):
                length += len(new) - (end - start)
                if length > most:
                    what = f"{label}the file would have more than {most:,} characters; nothing was changed"
                    raise BursarError("too_large", what, "Change it with a program, by terminal")
                spans.append((start, end, self._ends.fitting(new, start, end), number))
        spans.sort()
        for (_, end, _, one), (start, _, _, other) in pairwise(spans):
            if start < end:
                what = f"edits {one} and {other} overlap in line {self._line(start)}; nothing was changed"
                raise BursarError("overlapping", what, "Make them one edit")
        changed = [span for span in spans if self.text[span[0] : span[1]] != span[2]]
        if not changed:
            raise BursarError("nothing_to_change", "new is what stands there already", "Leave the call out")
        return self._mark + b"".join(self._pieces(changed)), list(_hunks(self.text, changed))

    def mixed_ends(self) -> str:
        """Tell how many of the lines end with CRLF, and how many with LF alone; empty if all end in one way."""
        crlf = self._ends.crlf
        lf = self.text.count("\n") - crlf if crlf else 0
        return f"CRLF ({crlf:,}) and LF ({lf:,})" if lf else ""

    def _pieces(self, spans: Sequence[tuple[int, int, str, int]]) -> Iterator[bytes]:
        at = 0
        for start, end, new, _ in spans:
            yield self._encoded(self.text[at:start])
            yield self._encoded(new)
            at = end
        yield self._encoded(self.text[at:])

    def _check_can_be_written(self, new: str, label: str) -> None:
        try:
            if not new.isascii() and self._is_in_no_known_encoding:
                what = f"{label}the encoding of the file is not known, so that only ASCII can be put into it"
                fix = "Convert the file with a program first"
                raise BursarError("unencodable", f"{what}; nothing was changed", fix)
            new.encode(self._codec)
        except UnicodeEncodeError as error:
            what = f"{label}{new[error.start : error.end][:20]!r} cannot be written in {self.encoding.name}"
            fix = "Use other characters, or convert the file with a program first"
            raise BursarError("unencodable", f"{what}, the file's encoding; nothing was changed", fix) from None

    @cached_property
    def _is_in_no_known_encoding(self) -> bool:
        """Whether it was taken for UTF-8 though it has hardly any: more bytes are broken than a fault explains."""
        if self.encoding.codec or self.text.isascii():
            return False
        broken = len(self.text) - len(self.text.encode("utf-16-le", "ignore").decode("utf-16-le"))
        return broken * 4 > len(self.text) - len(self.text.encode("ascii", "ignore")) - broken

    def _places(self, edit: Edit, label: str, room: int) -> list[tuple[int, int]]:
        step, most = (len(edit.old), room) if edit.everywhere else (1, _TOLD_LINES)
        found = list(islice(self._ends.occurrences(edit.old, step), most + 1))
        if not found:
            what = f"{label}{self._missing(edit.old)}; nothing was changed"
            raise BursarError("no_match", what, _advice(edit.old))
        if not edit.everywhere and len(found) > 1:
            lines = ", ".join(str(self._line(at)) for at, _ in found[:_TOLD_LINES])
            more = ", …" if len(found) > _TOLD_LINES else ""
            count = f"{len(found):,}" if len(found) <= _TOLD_LINES else f"more than {_TOLD_LINES}"
            what = f"{label}old stands in {count} places (lines {lines}{more}); nothing was changed"
            raise BursarError("ambiguous", what, "Give more of the text around the one you mean, or all=true")
        if edit.everywhere and len(found) > room:
            what = f"{label}that would be more than {PLACES_MAX:,} places; nothing was changed"
            raise BursarError("too_many", what, "Change it with a program, by terminal")
        return found

    def _missing(self, old: str) -> str:
        first = next((line for line in old.splitlines() if line.strip()), "").strip()
        at = self.text.find(first) if first else -1
        if at < 0:
            return "the file has no such text"
        if "\n" not in old.strip("\r\n"):
            return f"line {self._line(at)} has that text, but not with the white space around it"
        return f"the first line of old stands in line {self._line(at)}, but what follows it is not the same"

    def _line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1


class _Held:
    """Bytes as `detect` reads them."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        return len(self._data)

    def read(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]


class _LineEnds:
    """Finds what is written with LF, as models write, in a text that has CRLF, be it only here and there."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._plain = text.replace("\r\n", "\n") if "\r\n" in text else text
        # Where in the plain text a line feed stands that has a carriage return in front of it.
        self._crlf = array("L")
        at = text.find("\r\n")
        while at >= 0:
            self._crlf.append(at - len(self._crlf))
            at = text.find("\r\n", at + 2)
        self._known = range(0), False

    @property
    def crlf(self) -> int:
        """How many lines end with CRLF."""
        return len(self._crlf)

    def occurrences(self, part: str, step: int) -> Iterator[tuple[int, int]]:
        """Yield where a part begins and ends; the next is looked for `step` characters on."""
        part = part.replace("\r\n", "\n") if self._crlf else part
        at = self._plain.find(part)
        while at >= 0:
            yield at + bisect_left(self._crlf, at), at + len(part) + bisect_left(self._crlf, at + len(part))
            at = self._plain.find(part, at + step)

    def fitting(self, new: str, start: int, end: int) -> str:
        """Return a text with the line ends of the place where it is to stand."""
        if not self._crlf:
            return new
        places, has_crlf = self._known
        if start not in places:  # else it is in the same line as the last one
            at = self._text.find("\n", start)
            places = range(start, at + 1 if at >= 0 else len(self._text) + 1)
            at = self._text.rfind("\n", 0, start) if at < 0 else at
            has_crlf = self._text[at - 1 : at] == "\r"
            self._known = places, has_crlf
        new = new.replace("\r\n", "\n")
        return new.replace("\n", "\r\n") if has_crlf else new


def _advice(old: str) -> str:
    lines = old.splitlines()
    if lines and all(_NUMBERED.match(line) for line in lines):
        return "Leave out the numbers of the lines"
    return "Read the file again" if "\n" in old or "\\n" not in old else "Give line breaks as such, not as \\n"


def _hunks(text: str, spans: Sequence[tuple[int, int, str, int]]) -> Iterator[Hunk]:
    """Yield what changes, by whole lines, spans in the same lines together."""
    line, shift, counted, place = 1, 0, 0, 0
    while place < len(spans):
        begin = text.rfind("\n", 0, spans[place][0]) + 1
        at, finish, come = begin, begin, ""
        while True:
            start, end, new, _ = spans[place]
            come += text[at:start] + new
            at, place = end, place + 1
            if at > begin and text[at - 1] == "\n" and come.endswith("\n"):
                finish = at
            elif at >= finish:
                finish = text.find("\n", at) + 1 or len(text)
            if place == len(spans) or spans[place][0] >= finish:
                break
        line += text.count("\n", counted, begin)
        counted = begin
        gone, come_lines = _lines(text[begin:finish]), _lines(come + text[at:finish])
        same = _same(gone, come_lines)
        same_end = _same(gone[same:][::-1], come_lines[same:][::-1])
        kept = slice(same, -same_end or None)
        yield Hunk(line + same, line + same + shift, gone[kept], come_lines[kept])
        shift += len(come_lines) - len(gone)


def _lines(text: str) -> list[str]:
    """Return lines with their ends; only a line feed ends one."""
    lines = [f"{line}\n" for line in text.split("\n")]
    return lines[:-1] if text.endswith("\n") or not text else [*lines[:-1], lines[-1][:-1]]


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many of the first lines are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (line, twin) in pairs if line != twin), min(len(one), len(other)))


def _marked(sign: str, lines: Sequence[str]) -> str:
    return "".join(sign + (line if line.endswith("\n") else f"{line}\n{_NO_LINE_END}\n") for line in lines)
