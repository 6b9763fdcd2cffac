"""The way from a source to a file: characters, blocks, pages, PDF."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .blocks import Heading, Span, Text
from .options import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from typing import BinaryIO

    from .blocks import Block
    from .options import Options, Pictures

_LAID_OUT = 0.8
"""Share of the work; the rest is for putting out the file."""

_IN_WORDS = "it stands in a heading, a table or an inline footnote, where its text is shown instead"
_TOO_DEEP = "The Markdown is nested too deeply to be laid out, so it is shown as plain text."
_OPENING_CHARACTERS = 80


def render(
    source: str,
    options: Options,
    output: BinaryIO,
    pictures: Pictures | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Report:
    """Write a text as a PDF. Blocks; opens no file but fonts and the pictures it was given.

    Args:
        source: Markdown or plain text; any string at all.
        options: how the document shall be.
        output: open for writing; gets the document in one piece at the end.
        pictures: files for the pictures that the source refers to, vetted by the caller.
        progress: gets the share of the work that is done, from 0 to 1, after each block.

    Raises:
        LookupError: there is no font at all on this machine.
    """
    # What takes long to load is loaded when the first document is written.
    from .characters import Characters
    from .contents import contents_pages, number_pages
    from .document import write
    from .flow import Flow
    from .fonts import Fonts
    from .languages import guess_language, guess_locale
    from .layout import Layout
    from .lines import BODY_PT, Lines, Look
    from .markdown import Markdown
    from .pictures import Gallery
    from .plain import plain_blocks

    with _no_collection():
        fonts = Fonts(guess_locale(source, options.language))
        characters = Characters(fonts.draws, options.emoji)
        text = characters.prepare(source)
        markdown = None if options.plain else Markdown(text)
        notes: dict[str, None] = {}
        if markdown is not None and markdown.is_too_deep:
            markdown, notes = None, {_TOO_DEEP: None}
        front = markdown.front if markdown is not None else {}
        title, author = options.title or front.get("title", ""), options.author or front.get("author", "")
        language = options.language or front.get("lang", "") or guess_language(text)
        lines = Lines(Flow(options.page_pt, options.margin_pt), fonts, characters)
        gallery = Gallery(pictures or {}, lines)
        layout = Layout(lines, gallery)
        blocks = plain_blocks(text) if markdown is None else markdown.blocks()
        for block, share in _with_title(blocks, title, author):
            layout.add(block, Look(BODY_PT))
            progress(share * _LAID_OUT)
        layout.finish()
        pages = lines.flow.pages
        if len(pages) > 1 and lines.flow.is_fresh:
            pages.pop()
        if options.toc and layout.entries:
            pages = [*contents_pages(lines, layout.entries, options, language), *pages]
        if options.page_numbers:
            number_pages(lines, pages, options)
        title = characters.fit(title) or next(
            (text for _, text, _ in layout.entries if text), _beginning(layout.opening)
        )
        failed = write(
            pages, fonts.used(), output, options, title=title, author=characters.fit(author), language=language
        )
    progress(1.0)
    missing = gallery.missing | failed
    if markdown is not None:
        missing = {name: _IN_WORDS for name in markdown.inline.worded if name not in gallery.embedded} | missing
        notes |= dict.fromkeys(markdown.notes())
    return Report(
        pages=len(pages),
        fonts=tuple(dict.fromkeys(face.name for face in fonts.used())),
        embedded=tuple(reference for reference in gallery.embedded if reference not in missing),
        missing=tuple(missing.items()),
        replaced=characters.report(),
        without_font=characters.without_font(),
        dropped_links=tuple(markdown.inline.dropped.items()) if markdown is not None else (),
        notes=(*layout.notes, *notes),
        title=title,
    )


@contextmanager
def _no_collection() -> Generator[None]:
    """Keep the cyclic garbage collector away: it would walk over a million live tokens again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _with_title(blocks: Iterator[tuple[Block, float]], title: str, author: str) -> Iterator[tuple[Block, float]]:
    """Yield the blocks; before them title and author, if the text does not begin with a heading of its own."""
    first, done = next(blocks, (None, 0.0))
    if title and not (isinstance(first, Heading) and first.level == 1):
        # No heading of the text has a colon in its place, so that links and page numbers do not mix the two up.
        yield Heading(1, [Span(title)], "title:"), 0.0
        if author:
            yield Text([Span(author, italic=True)]), 0.0
    if first is not None:
        yield first, done
    yield from blocks


def _beginning(text: str) -> str:
    """Return the first words of a text, for want of a title."""
    words = " ".join(text.split())
    return words if len(words) <= _OPENING_CHARACTERS else words[:_OPENING_CHARACTERS].rpartition(" ")[0] + "…"
