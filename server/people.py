"""How things are shown to people on a terminal: tables, pages, progress; plain lines where there is none.

Everything that is shown is cleaned here: nothing of it acts on a terminal.
"""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

from ..budget.clean import clean
from ..errors import BursarError

_CELL_CHARACTERS = 300
_LINE_CHARACTERS = 5000

T = TypeVar("T")


def written(line: str) -> None:
    """Write a line on standard output, as UTF-8 whatever the terminal is said to take."""
    sys.stdout.buffer.write(clean(line, _LINE_CHARACTERS).encode() + b"\n")
    sys.stdout.buffer.flush()


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table: as wide as the terminal, or with tabs between its cells where there is none.

    Args:
        columns: titles; one behind `>` is of numbers.
        rows: with as many cells each.
    """
    if not sys.stdout.isatty():
        written_cells = ([clean(str(cell), _CELL_CHARACTERS) for cell in row] for row in rows)
        lines = ("\t".join(cells) for cells in ([name.lstrip(">") for name in columns], *written_cells))
        sys.stdout.buffer.writelines(line.encode() + b"\n" for line in lines)
        sys.stdout.buffer.flush()
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        is_number = name.startswith(">")
        shown.add_column(name.lstrip(">"), justify="right" if is_number else "left", no_wrap=is_number)
    for row in rows:
        shown.add_row(*(Text(clean(str(cell), _CELL_CHARACTERS)) for cell in row))
    Console().print(shown)


def paged(lines: Iterable[str]) -> None:
    """Show lines a page at a time, by the program that `PAGER` names or `less`; all at once where there is neither."""
    words = shlex.split(os.environ.get("PAGER") or "less -FX")
    try:
        pager = subprocess.Popen(words, stdin=subprocess.PIPE)
    except OSError:
        for line in lines:
            written(line)
        return
    with pager, suppress(BrokenPipeError, KeyboardInterrupt):
        if pager.stdin is not None:
            for line in lines:
                pager.stdin.write(clean(line, _LINE_CHARACTERS).encode() + b"\n")
            pager.stdin.close()


def progress(items: Sequence[T], done: str) -> Iterator[T]:
    """Yield items, and show how far that is on standard error, if it is a terminal and takes time.

    Args:
        items: all of them.
        done: what is done with them, such as `searched`.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, done, console=Console(stderr=True), transient=True)


def agreed(question: str) -> bool:
    """Ask a person.

    Raises:
        BursarError: bad_command_line; there is none.
    """
    if not sys.stdin.isatty():
        raise BursarError("bad_command_line", "nobody is there to be asked", "Give --yes")
    sys.stderr.write(f"{clean(question, _CELL_CHARACTERS)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def ago(at: float) -> str:
    """Tell how long ago a time was, in seconds since 1970."""
    left = max(0.0, time.time() - at)
    for unit, seconds in (("days", 86_400), ("h", 3600), ("min", 60)):
        if left >= 2 * seconds:
            return f"{left / seconds:.0f} {unit} ago"
    return "now"


def size(count: int) -> str:
    """Write a number of bytes for people."""
    shown = float(count)
    for unit in ("B", "KiB", "MiB"):
        if shown < 1024:
            return f"{shown:.0f} {unit}" if unit == "B" else f"{shown:.1f} {unit}"
        shown /= 1024
    return f"{shown:.1f} GiB"
