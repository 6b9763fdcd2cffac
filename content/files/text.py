"""What readers of files return, and how they write it as Markdown."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ...errors import BursarError

CHARACTERS_MAX = 40_000_000
"""Of a text that is made of a file; the rest is left out, which is told."""

_MEANT_AS_MARK = re.compile(r"(?m)^#")


@dataclass(slots=True)
class Text:
    """What a file says.

    Attributes:
        blocks: the text, in parts between which is an empty line; read once.
        facts: what there is to tell of the file.
        suffix: of a file with this text.
    """

    blocks: Iterable[str]
    facts: dict[str, str | int] = field(default_factory=dict[str, str | int])
    suffix: str = ".md"

    def written(self) -> Iterator[str]:
        """Return the text piece by piece, as long as it may be; `facts` tell if there is more."""
        left = CHARACTERS_MAX
        for block in self.blocks:
            if len(block) > left:
                self.facts["note"] = f"only the first {CHARACTERS_MAX:,} characters of its text were taken"
                yield block[:left]
                return
            left -= len(block)
            yield block if self.suffix == ".csv" else f"{block}\n\n"


def table(rows: Iterable[Sequence[str]]) -> str:
    """Write rows as a Markdown table, of which the first is the head."""
    full = [list(row) for row in rows if any(row)]
    width = max((len(row) for row in full), default=0)
    lines = [f"| {' | '.join(map(_cell, row + [''] * (width - len(row))))} |" for row in full]
    return "\n".join([*lines[:1], "|" + "---|" * width, *lines[1:]]) if lines else ""


def row(cells: Sequence[str]) -> str:
    """Write a row of a CSV."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def prose(text: str) -> str:
    """Write a text so that a line of it that begins with # is no heading."""
    return _MEANT_AS_MARK.sub(r"\\#", text.strip("\n"))


def fenced(text: str, language: str = "") -> str:
    """Write a text as code."""
    marks = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    return f"{marks}{language}\n{text.rstrip()}\n{marks}"


def too_large(most_bytes: int) -> BursarError:
    """Say that something unpacks to more than is read."""
    what = f"it unpacks to more than {most_bytes >> 20} MiB"
    return BursarError("too_large", what, "Unpack it with terminal, if you trust it")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
