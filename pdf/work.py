"""The part of write_pdf that runs in a worker process: text and pictures come in files, the document goes into one."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ..errors import BursarError
from .engine import render
from .options import EmojiPolicy, Missing, Options, Report, page_size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

NAMED = 12
"""Entries of a kind that the reply names one by one; more replaced characters go into a list of their own."""

_ENTRY_CHARACTERS = 130
"""Length of a part of an entry, so that its end is seen too."""

_NAMES = {"CJK": "Chinese characters", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}
"""What letters of the fonts for Chinese, Japanese and Korean are called, by the first word of their Unicode names."""

_ANY_ROOM_PT = 500.0
_PROGRESS_EVERY_S = 0.25
_LEAST_ROOM_PT = 80


def load() -> None:
    """Load what writing any document needs; nothing is typeset, since that would start threads, which do not fork."""
    from . import characters, languages, markdown, pictures  # noqa: F401 # pyright: ignore[reportUnusedImport]
    from .fonts import preload

    preload()


def references(source: str, target: str) -> None:
    """Write what the pictures of a Markdown file are called in it, in order, each once, into a file, as JSON.

    Args:
        source: path of the text, UTF-8.
        target: path of the list; it may be long, since a picture can be its own address.
    """
    from .characters import Characters
    from .inline import Node, Setting
    from .markdown import Markdown

    found: dict[str, None] = {}

    def show(reference: str, alt: str, room: float) -> Node:
        found[reference] = None
        return ["missing", "", "", ""]

    # The parser must see what it will see again when the document is written.
    text = Characters(lambda _: True, "name").prepare(_read(source))
    Markdown(text, Setting(str, bool, show, _ANY_ROOM_PT)).blocks()
    Path(target).write_text(json.dumps(list(found)), encoding="ascii")


def write(
    source: str,
    target: str,
    listing: str,
    progress: str,
    options: Mapping[str, str | bool | float],
    pictures: str,
    fonts: str,
) -> dict[str, object]:
    """Write a document and return what the reply says of it.

    Args:
        source: path of the text, UTF-8.
        target: path of the document; the file exists and is empty.
        listing: path that gets the list of all replaced characters when there are more than the reply names.
        progress: path of a file that always says how far the work is, in per mille.
        options: fields of the tool's arguments.
        pictures: path of JSON: for each reference `["path", path]` or `["missing", reason]`; may be empty.
        fonts: path of an empty directory.
    """
    margin_pt = float(options["margin_mm"]) * 72 / 25.4
    page_pt = page_size(str(options["page_size"]))
    if not 0 <= margin_pt < (min(page_pt) - _LEAST_ROOM_PT) / 2:
        raise BursarError("bad_margin", "no room for text is left between the margins", "Use a smaller margin_mm")
    wanted = Options(
        title=str(options["title"]),
        author=str(options["author"]),
        page_pt=page_pt,
        margin_pt=margin_pt,
        toc=bool(options["toc"]),
        page_numbers=bool(options["page_numbers"]),
        plain=bool(options["plain"]),
        emoji=cast("EmojiPolicy", options["emoji"]),
    )
    found: dict[str, list[str]] = json.loads(Path(pictures).read_bytes() or b"{}")
    given = {name: Path(value) if kind == "path" else Missing(value) for name, (kind, value) in found.items()}
    with Path(target).open("r+b") as output:
        report = render(_read(source), wanted, output, given, _progress_writer(progress), Path(fonts))
    if len(report.replaced) > NAMED:
        _list(report, listing)
    return _summary(report)


def _read(path: str) -> str:
    data = Path(path).read_bytes()
    try:
        # The caller's text may hold lone surrogates; they are replaced where all other damage is.
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _progress_writer(path: str) -> Callable[[float], None]:
    """Return a progress function that writes into a file, not too often."""
    last = 0.0

    def write(share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PROGRESS_EVERY_S or share == 1:
            last = now
            descriptor = os.open(path, os.O_WRONLY)
            try:
                os.write(descriptor, b"%4d\n" % (share * 1000))
            finally:
                os.close(descriptor)

    return write


def _list(report: Report, path: str) -> None:
    lines = (
        f"{one.code_points}\t{one.name}\t{one.count}\t{one.replacement or '(left out)'}\n" for one in report.replaced
    )
    with Path(path).open("w", encoding="utf-8", errors="replace") as file:
        file.write("code points\tname\tcount\treplacement\n")
        file.writelines(lines)


def _first(entries: list[str]) -> list[str]:
    """Return the first entries, and how many there are besides."""
    more = len(entries) - NAMED
    return entries if more <= 1 else [*entries[:NAMED], f"and {more} more"]


def _cut(text: str) -> str:
    return text if len(text) <= _ENTRY_CHARACTERS else text[: _ENTRY_CHARACTERS - 1] + "…"


def status(without_font: Sequence[tuple[str, int]]) -> dict[str, str]:
    """Return whether all text can be read as it was written; if not, what is missing and the line that cures it."""
    if not without_font:
        return {"status": "ok"}
    scripts = ", ".join(f"{_NAMES.get(name, name.title())} ({count:,} letters)" for name, count in without_font[:NAMED])
    first = without_font[0][0]
    if first in _NAMES:
        fix = "pip install noto-cjk-sans-otc"
    else:
        fix = f"a font that has it, such as Noto Sans {first.title()} (Debian: apt install fonts-noto-core)"
    return {
        "status": "incomplete",
        "cause": f"no font for {scripts}: that text stands in Latin letters",
        "fix": f"Install where the server runs, then call again: {fix}",
    }


def _summary(report: Report) -> dict[str, object]:
    """Return what the reply says, without what is not news."""
    count, kinds = sum(one.count for one in report.replaced), len(report.replaced)
    characters = f"{_counted(count, 'character')} of {_counted(kinds, 'kind')} could not be drawn as written"
    said = {
        "images_embedded": len(report.embedded),
        "images_missing": _first([f"{name[:150]}: {reason}" for name, reason in report.missing]),
        "characters": characters if count else "",
        "replaced": [
            f"{_cut(f'{one.code_points} {one.name}')} ×{one.count} → {_cut(one.replacement) or '(left out)'}"
            for one in report.replaced[:NAMED]
        ],
        "all_replaced": f"{kinds} kinds" if kinds > NAMED else "",
        "links_dropped": _first([f"{url[:150]}: {reason}" for url, reason in report.dropped_links]),
        "notes": list(report.notes),
    }
    return {
        "status": status(report.without_font),
        "title": report.title[:200],
        "facts": {"pages": report.pages, **{name: value for name, value in said.items() if value}},
        "fonts": list(report.fonts),
    }


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("s" if count > 1 else "")
