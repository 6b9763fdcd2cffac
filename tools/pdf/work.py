"""The part of write_pdf that runs in a worker process: text and pictures come in files, the document goes into one."""

from __future__ import annotations

import io
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ...errors import BursarError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .blocks import Block
    from .options import EmojiPolicy, Report

SHOWN = 12
"""Entries of a kind that the reply names one by one; more replaced characters go into a list of their own."""

_CUT_CHARACTERS = 130
"""Length of a part of an entry, so that its end is seen too."""

_TOLD_EVERY_S = 0.25


_SAMPLE = "# A text\n\nWords, and **more**."
"""No more than most documents have: unpacking a font takes as long as laying out several pages."""


def load() -> None:
    """Load what writing any document needs, by writing one."""
    from . import Options, render

    render(_SAMPLE, Options(), io.BytesIO())


def references(source: str, target: str) -> None:
    """Write what the pictures of a Markdown file are called in it, in order, each once, into a file, as JSON.

    Args:
        source: path of the text, UTF-8.
        target: path of the list; it may be long, since a picture can be its own address.
    """
    from .characters import Characters
    from .engine import parsed

    found: dict[str, None] = {}
    # The parser must see what it will see again when the document is written.
    text = Characters(lambda _: True, "name").prepare(_read(source))
    for block, _ in parsed(text).blocks():
        found.update(dict.fromkeys(_pictures([block])))
    Path(target).write_text(json.dumps(list(found)), encoding="ascii")


def write(
    source: str,
    target: str,
    listing: str,
    told: str,
    options: Mapping[str, str | bool | float],
    pictures: str,
) -> dict[str, object]:
    """Write a document and return what the reply tells of it.

    Args:
        source: path of the text, UTF-8.
        target: path of the document; the file exists and is empty.
        listing: path that gets the list of all replaced characters when there are more than the reply names.
        told: path of a file that always says how far the work is, in per mille.
        options: fields of the tool's arguments.
        pictures: path of JSON: for each reference `["path", path]` or `["missing", reason]`; may be empty.
    """
    from . import Margins, Missing, Options, page_size, render

    margin = float(options["margin_mm"]) * 72 / 25.4
    size = page_size(str(options["page_size"]))
    if not 0 <= margin < min(size) / 2 - 40:
        raise BursarError("bad_margin", "no room for text is left between the margins", "Use a smaller margin_mm")
    wanted = Options(
        title=str(options["title"]),
        author=str(options["author"]),
        page_pt=size,
        margins=Margins(margin, margin, margin, margin),
        toc=bool(options["toc"]),
        page_numbers=bool(options["page_numbers"]),
        plain=bool(options["plain"]),
        emoji=cast("EmojiPolicy", options["emoji"]),
    )
    found: dict[str, list[str]] = json.loads(Path(pictures).read_bytes() or b"{}")
    given = {name: Path(value) if kind == "path" else Missing(value) for name, (kind, value) in found.items()}
    with Path(target).open("r+b") as output:
        report = render(_read(source), wanted, output, given, _teller(told))
    if len(report.replaced) > SHOWN:
        _list(report, listing)
    return _summary(report)


def _read(path: str) -> str:
    data = Path(path).read_bytes()
    try:
        # The caller's text may hold lone surrogates; they are replaced where all other damage is.
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _pictures(blocks: Sequence[Block]) -> Iterator[str]:
    from .blocks import Listing, Notes, Picture, Quote

    for block in blocks:
        match block:
            case Picture():
                yield block.reference
            case Quote():
                yield from _pictures(block.blocks)
            case Listing() | Notes():
                for item in block.items:
                    yield from _pictures(item.blocks)
            case _:
                pass


def _teller(path: str) -> Callable[[int, int], None]:
    """Return a progress function that writes into a file, not too often."""
    last = 0.0

    def tell(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _TOLD_EVERY_S or done == total:
            last = now
            descriptor = os.open(path, os.O_WRONLY)
            try:
                os.write(descriptor, b"%4d\n" % (done * 1000 // total))
            finally:
                os.close(descriptor)

    return tell


def _list(report: Report, path: str) -> None:
    lines = (
        f"{one.code_points}\t{one.name}\t{one.count}\t{one.replacement or '(left out)'}\n" for one in report.replaced
    )
    with Path(path).open("w", encoding="utf-8", errors="replace") as file:
        file.write("code points\tname\tcount\treplacement\n")
        file.writelines(lines)


def _shown(entries: list[str]) -> list[str]:
    """Return the first entries, and how many there are besides."""
    more = len(entries) - SHOWN
    return entries if more <= 1 else [*entries[:SHOWN], f"and {more} more"]


def _cut(text: str) -> str:
    return text if len(text) <= _CUT_CHARACTERS else text[: _CUT_CHARACTERS - 1] + "…"


def _summary(report: Report) -> dict[str, object]:
    return {
        "pages": report.pages,
        "fonts": list(report.fonts),
        "title": report.title[:200],
        "images_embedded": len(report.embedded),
        "images_missing": _shown([f"{name[:150]}: {reason}" for name, reason in report.missing]),
        "replaced": [
            f"{_cut(f'{one.code_points} {one.name}')} ×{one.count} → {_cut(one.replacement) or '(left out)'}"
            for one in report.replaced[:SHOWN]
        ],
        "replaced_kinds": len(report.replaced),
        "replaced_count": sum(one.count for one in report.replaced),
        "links_dropped": _shown([f"{url[:150]}: {reason}" for url, reason in report.dropped_links]),
        "notes": list(report.notes),
    }
