"""Lines as a table: `n`, from 1, and `line`, without what ends it; and tables of text whose rows differ."""

import csv
import io
from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ...budget.sql import WHOLE, literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

csv.field_size_limit((1 << 31) - 1)  # of the whole process, which reads nothing else

_BLOCK_BYTES = 4 << 20
_SEPARATORS = b"\x1f\x1e\x1d\x1c\x02\x03\x04\x05\x06\x0e"
"""Any of these stands between the columns, of which there is one, if the content has none of it."""

LINE_MAX_BYTES = 2_000_000
"""DuckDB takes no longer ones unless it is told to."""


class Content(Protocol):
    """What is read."""

    @property
    def file(self) -> str:
        """A path to it."""
        ...

    @property
    def size(self) -> int:
        """Length in bytes."""
        ...

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`; fewer only at the end."""
        ...


@dataclass(frozen=True, slots=True)
class Survey:
    """What of a text decides how it is read.

    Attributes:
        separator: a sign that it does not have; empty if it has all.
        is_plain: its lines end as DuckDB takes them to, and none is long.
    """

    separator: str
    is_plain: bool


def survey(content: Content) -> Survey:
    """Look through a text."""
    left, breaks, returns, ends, run, longest = set(_SEPARATORS), 0, 0, 0, 0, 0
    is_text, before, decoder = True, b"", getincrementaldecoder("utf-8")()
    for block in _blocks(content):
        left = {sign for sign in left if sign not in block}
        breaks += block.count(b"\n")
        returns += block.count(b"\r")
        ends += block.count(b"\r\n") + (before == b"\r" and block.startswith(b"\n"))
        before = block[-1:]
        if block.find(b"\n") < 0:
            run += len(block)
        else:
            longest = max(longest, run + block.find(b"\n"))
            run = len(block) - block.rfind(b"\n")
        longest = max(longest, run)
        is_text = is_text and _decodes(decoder, block)
    is_plain = is_text and longest < LINE_MAX_BYTES and (not returns or returns == ends == breaks)
    return Survey(chr(min(left)) if left else "", is_plain)


def _decodes(decoder: IncrementalDecoder, block: bytes) -> bool:
    try:
        decoder.decode(block)
    except UnicodeDecodeError:
        return False
    return True


def direct(file: str, found: Survey) -> str:
    """Return what DuckDB reads as it is; empty if it must be made into a table first."""
    return _select(file, found.separator) if found.separator and found.is_plain else ""


def make(connection: "DuckDBPyConnection", content: Content, into: str, spare: Path) -> None:
    """Make the table of a text of which lines end in several ways, or are long, or not UTF-8."""
    longest = 0
    with spare.open("w", encoding="utf-8", newline="") as out:
        for line in _lines(content):
            longest = max(longest, 4 * len(line))
            out.write('"' + line.replace('"', '""') + '"\n')
    connection.execute(f"CREATE TABLE {into}.{WHOLE} AS {_select(str(spare), ',', chr(34), longest)}")


def make_rows(connection: "DuckDBPyConnection", content: Content, delimiter: str, into: str, spare: Path) -> None:
    """Make the table of a CSV whose rows differ: every cell as it is, and more columns than it names if need be."""
    width, longest, names = 0, 0, list[str]()
    with spare.open("w", encoding="utf-8", newline="") as out:
        rows = csv.reader(_ended(content), delimiter=delimiter)
        written = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for row in filter(None, rows):
            names = names or row
            width, longest = max(width, len(row)), max(longest, 4 * sum(map(len, row)))
            written.writerow(row)
    names += [f"column{place}" for place in range(len(names), width)]
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in _different(names))
    connection.execute(
        f"CREATE TABLE {into}.{WHOLE} AS FROM read_csv({literal(spare)}, auto_detect = false, header = true, "
        f"delim = ',', quote = '\"', escape = '\"', null_padding = true, strict_mode = false, parallel = false, "
        f"columns = {{{columns}}}, max_line_size = {max(LINE_MAX_BYTES, longest)})"
    )


def _select(file: str, separator: str, quote: str = "", longest: int = 0) -> str:
    more = f", max_line_size = {max(LINE_MAX_BYTES, longest)}, parallel = false" if quote else ""
    return (
        "SELECT row_number() OVER () AS n, coalesce(line, '') AS line "
        f"FROM read_csv({literal(file)}, auto_detect = false, header = false, columns = {{'line': 'VARCHAR'}}, "
        f"delim = {literal(separator)}, quote = {literal(quote)}, escape = {literal(quote)}, strict_mode = false{more})"
    )


def _different(names: Iterable[str]) -> list[str]:
    """Return names of which no two are equal, whatever their case."""
    found: dict[str, str] = {}
    for name in names:
        own, number = name.strip() or "column", 1
        while own.casefold() in found:
            own, number = f"{name}_{number}", number + 1
        found[own.casefold()] = own
    return list(found.values())


def _blocks(content: Content) -> Iterator[bytes]:
    offset = 0
    while block := content.read(offset, _BLOCK_BYTES):
        offset += len(block)
        yield block


def _lines(content: Content) -> Iterator[str]:
    """Yield lines without their ends; bytes that are not UTF-8 as U+FFFD."""
    for line in _decoded(content):
        yield line.removesuffix("\r")


def _ended(content: Content) -> Iterator[str]:
    """Yield lines with their ends, of which a CR alone is one, too."""
    for line in _decoded(content):
        if "\r" in line:
            yield from io.StringIO(f"{line}\n", newline="")
        else:
            yield f"{line}\n"


def _decoded(content: Content) -> Iterator[str]:
    """Yield what stands between line feeds."""
    rest = b""
    for block in _blocks(content):
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace")
    if rest:
        yield rest.decode("utf-8", "replace")
