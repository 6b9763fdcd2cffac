"""The way from a source to a file: characters, tree, fonts, Typst."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

from .options import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import BinaryIO

    from .fonts import Chain
    from .inline import Node
    from .options import Options, Pictures

_TEMPLATE = Path(__file__).with_name("page.typ")
_PARSED, _TYPESET = 0.2, 0.95
"""Shares of the work."""

_TOO_DEEP = "The Markdown is nested too deeply to be laid out, so it is shown as plain text."
_TITLES = {
    "zh": "目录",
    "ja": "目次",
    "ko": "목차",
    "ar": "المحتويات",
    "he": "תוכן",
    "de": "Inhalt",
    "fr": "Table des matières",
}
"""What a table of contents is called."""

_OPENING_CHARACTERS = 80
_CAPTION_PT = 32.0
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})(?:-([A-Za-z]{4}))?(?:-([A-Za-z]{2}))?(?:-.*)?")
_REGIONS = {"hans": "cn", "hant": "tw"}
_COLOURS = {
    "#1a7f37": "🟢🟩💚✅✔",
    "#cf222e": "🔴🟥❌❗❤⛔🛑🚫",
    "#b08800": "🟡🟨💛⚠⭐",
    "#d9650b": "🟠🟧🧡🔶",
    "#0969da": "🔵🟦💙🔷",
    "#8250df": "🟣🟪💜",
    "#7d4e3b": "🟤🟫🤎",
}
"""Of signs that are told apart by their colour, which the fonts have not."""

_WIDE = re.compile("[\u2e80-\ud7ff]")


def render(
    source: str,
    options: Options,
    output: BinaryIO,
    pictures: Pictures | None = None,
    progress: Callable[[float], None] = lambda share: None,
    folder: Path | None = None,
) -> Report:
    """Write a text as a PDF. Blocks; opens no file but fonts and the pictures it was given.

    Args:
        source: Markdown or plain text; any string at all.
        options: how the document shall be.
        output: open for writing; gets the document in one piece at the end.
        pictures: files for the pictures that the source refers to, vetted by the caller.
        progress: gets the share of the work that is done, from 0 to 1.
        folder: an empty directory for the files of the fonts; None for one of its own.

    Raises:
        TypstError: Typst cannot set the document.
    """
    if folder is None:
        with TemporaryDirectory(prefix="bursar-") as made:
            return render(source, options, output, pictures, progress, Path(made))
    # What takes long to load is loaded when the first document is written.
    from .characters import Characters
    from .clusters import readable
    from .fonts import Fonts
    from .inline import Setting
    from .languages import guess_language, guess_locale
    from .markdown import Markdown, plain_blocks
    from .pictures import Gallery

    fonts = Fonts(guess_locale(source, options.language))
    characters = Characters(fonts.draws, options.emoji, fonts.joins)
    text = characters.prepare(source)
    width, height = (side - 2 * options.margin_pt for side in options.page_pt)
    gallery = Gallery(pictures or {}, height - _CAPTION_PT, characters.fit)
    setting = Setting(characters.fit, fonts.mono_draws, gallery.show, width)
    markdown, notes = (None if options.plain else Markdown(text, setting)), list[str]()
    if markdown is not None and markdown.is_too_deep:
        markdown, notes = None, [_TOO_DEEP]
    blocks = plain_blocks(text, setting) if markdown is None else markdown.blocks()
    front = markdown.front if markdown is not None else {}
    language = options.language or front.get("lang", "") or guess_language(text)
    title = characters.fit(options.title or front.get("title", ""))
    author = characters.fit(options.author or front.get("author", ""))
    if title and not (blocks and blocks[0][:2] == ["heading", 1]):
        blocks[:0] = _title_page(title, author)
    headings = list(_headings(blocks))
    title = title or next(filter(None, (text for _, text, _ in headings)), "") or _beginning(blocks)
    typst_language = _language(language)
    tree = json.dumps(
        {
            "title": title,
            "author": [author] if author else [],
            "language": typst_language,
            "page": options.page_pt,
            "margin": options.margin_pt,
            "numbered": options.page_numbers,
            "contents": _TITLES.get(language[:2].casefold(), "Contents") if options.toc and headings else "",
            "wide": bool(_WIDE.search(text)),
            "colours": [[colour, used] for colour, signs in _COLOURS.items() if (used := _used(signs, text))],
            "places": {place: True for _, _, place in headings},
            "blocks": blocks,
        },
        ensure_ascii=False,
    )
    blocks.clear()
    chain = fonts.put(folder, tree.replace("\\n", " "), typst_language["lang"])
    progress(_PARSED)
    files = {
        "main.typ": _TEMPLATE.read_bytes(),
        "formulas.typ": _TEMPLATE.with_name("formulas.typ").read_bytes(),
        "document.json": tree.encode(),
        "fonts.json": json.dumps({"text": chain.text, "mono": chain.mono, "whole": chain.whole}).encode(),
        "pictures.json": json.dumps(gallery.drawn).encode(),
    }
    pdf = readable(_typeset(files, chain, is_accessible=_in_order(level for level, _, _ in headings)))
    progress(_TYPESET)
    output.write(pdf)
    progress(1.0)
    return Report(
        pages=_pages(pdf),
        fonts=tuple(fonts.names),
        embedded=tuple(gallery.embedded),
        missing=tuple(gallery.missing.items()),
        replaced=characters.report(),
        without_font=characters.without_font(),
        dropped_links=tuple(markdown.inline.dropped.items()) if markdown is not None else (),
        notes=(*notes, *(markdown.notes() if markdown is not None else ())),
        title=title,
    )


def _title_page(title: str, author: str) -> list[Node]:
    # No heading of the text has a colon in its place, so that links do not mix the two up.
    from .markdown import with_direction

    heading: Node = ["heading", 1, "title:", *with_direction([title])]
    return [heading, *([["text", *with_direction([["italic", [author]]])]] if author else [])]


def _typeset(files: Mapping[str, bytes], chain: Chain, *, is_accessible: bool) -> bytes:
    """Return the document; it claims to be PDF/UA-1 if it can.

    Raises:
        TypstError: it cannot be set.
    """
    # One thread: the machine has other calls to serve.
    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    import typst

    def made(standards: list[Any]) -> bytes:
        given = cast("Any", files)
        return typst.compile(given, font_paths=chain.fonts, ignore_system_fonts=True, pdf_standards=standards)

    if is_accessible:
        with suppress(typst.TypstError):
            return made(["ua-1"])
    return made([])


def _pages(pdf: bytes) -> int:
    import pypdfium2  # pyright: ignore[reportMissingTypeStubs]

    with cast("Any", pypdfium2).PdfDocument(pdf) as document:
        return len(document)


def _in_order(levels: Iterator[int]) -> bool:
    """Tell whether headings begin with the first level and leave none out, as PDF/UA-1 asks for."""
    return all(after <= before + 1 for before, after in pairwise([0, *levels]))


def _headings(blocks: list[Node]) -> Iterator[tuple[int, str, str]]:
    """Yield level, text and place of the headings."""
    from .inline import plain

    for block in blocks:
        match block:
            case ["heading", level, place, _, runs]:
                yield level, " ".join(plain(runs).split()), place
            case ["quote", _, inner]:
                yield from _headings(inner)
            case ["list" | "notes" | "terms", *_, items]:
                for item in items:
                    yield from _headings(item[1])
            case _:
                pass


def _used(signs: str, text: str) -> str:
    return "".join(sign for sign in signs if sign in text)


def _beginning(blocks: list[Node]) -> str:
    """Return the first words of a text, for want of a title."""
    text = next((words for words in (" ".join(text.split()) for text in _texts(blocks)) if words), "Untitled")
    if len(text) <= _OPENING_CHARACTERS:
        return text
    text = text[:_OPENING_CHARACTERS]
    return (text.rpartition(" ")[0] or text) + "…"


def _texts(blocks: list[Node]) -> Iterator[str]:
    from .inline import plain

    for block in blocks:
        match block:
            case ["text", _, runs]:
                yield plain(runs)
            case ["quote", _, inner]:
                yield from _texts(inner)
            case ["list", *_, items]:
                for item in items:
                    yield from _texts(item[1])
            case ["table", *_, [[cell, *_], *_]]:
                yield plain(cell)
            case ["raw", _, text, _]:
                yield text
            case _:
                pass


def _language(tag: str) -> dict[str, str]:
    """Return language and region of a tag such as `en-GB`, as Typst wants them."""
    parts = _LANGUAGE.fullmatch(tag.replace("_", "-"))
    if parts is None:
        return {"lang": "und"}
    region = parts[3] or _REGIONS.get((parts[2] or "").casefold(), "")
    return {"lang": parts[1].casefold(), **({"region": region.casefold()} if region else {})}
