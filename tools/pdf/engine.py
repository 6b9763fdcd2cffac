"""The way from a source to a file: characters, blocks, pages, PDF."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from . import plain
from .blocks import Heading, Span, Text
from .characters import Characters
from .document import contents_pages, new_pdf, number_pages, write
from .flow import Flow
from .fonts import Fonts
from .layout import Layout, Look
from .options import Report
from .paragraph import GREY, Typesetter
from .pictures import Gallery
from .scripts import guess_language, guess_locale

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from typing import BinaryIO

    from .blocks import Block
    from .markdown import Markdown
    from .options import Options, Pictures

_PROGRESS_STEPS = 1000
_LAID_OUT_STEPS = 800
"""The rest is for putting out the file."""
_IN_WORDS = "it stands in a heading, a table or an inline footnote, where its text is shown instead"
_TITLE_CHARACTERS = 80


class Cancelled(Exception):  # noqa: N818 - it is no error
    """The caller does not want the document any more."""


def render(
    source: str,
    options: Options,
    output: BinaryIO,
    pictures: Pictures | None = None,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Report:
    """Write a text as a PDF. Blocks; opens no file but fonts and the pictures it was given.

    Args:
        source: Markdown or plain text; any string at all.
        options: how the document shall be.
        output: open for writing; gets the document in one piece at the end.
        pictures: files for the pictures that the source refers to, vetted by the caller.
        progress: told how much is done, out of how much, a thousand times at most.
        cancelled: asked often; the work stops when it says so.

    Raises:
        Cancelled: `cancelled` said so.
        LookupError: there is no font at all on this machine.
    """

    def check() -> None:
        if cancelled():
            raise Cancelled

    with _no_collection():
        return _rendered(source, options, output, pictures or {}, progress, check)


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


def _rendered(
    source: str,
    options: Options,
    output: BinaryIO,
    pictures: Pictures,
    progress: Callable[[int, int], None] | None,
    check: Callable[[], None],
) -> Report:
    pdf = new_pdf(options)
    fonts = Fonts(pdf, locale=guess_locale(source, options.language), system=options.system_fonts)
    characters = Characters(fonts.draws, options.emoji)
    text = characters.prepare(source)
    markdown = parsed(text) if not options.plain else None
    too_deep = markdown is not None and markdown.is_too_deep
    if too_deep:
        markdown = None
    if markdown is not None:
        options = _completed(options, markdown.front)
    language = options.language or guess_language(text)
    layout = Layout(Flow(options), Typesetter(fonts), characters, Gallery(pictures), options, check)
    opening = _lay_out(layout, markdown.blocks() if markdown is not None else plain.blocks(text), progress)
    if markdown is not None:
        layout.notes |= dict.fromkeys(markdown.notes())
    if too_deep:
        layout.notes["The Markdown is nested too deeply to be laid out, so it is shown as plain text."] = None
    pages = layout.flow.pages
    if len(pages) > 1 and layout.flow.is_fresh:
        pages.pop()
    if options.toc and layout.entries:
        pages = [*contents_pages(layout, language), *pages]
    if options.page_numbers:
        number_pages(layout, pages)
    title = characters.fit(options.title) or next((text for _, text, _ in layout.entries if text), opening)
    fonts.finish()
    start = output.tell()
    failed = write(
        pdf, pages, output, title=title, author=characters.fit(options.author), language=language, check=check
    )
    if progress is not None:
        progress(_PROGRESS_STEPS, _PROGRESS_STEPS)
    missing = layout.gallery.missing | {picture.reference: reason for picture, reason in failed}
    if markdown is not None:
        missing = {name: _IN_WORDS for name in markdown.inline.worded if name not in layout.gallery.embedded} | missing
    return Report(
        pages=len(pages),
        bytes=output.tell() - start,
        fonts=fonts.embedded(),
        embedded=tuple(reference for reference in layout.gallery.embedded if reference not in missing),
        missing=tuple(missing.items()),
        replaced=characters.report(),
        dropped_links=tuple(markdown.inline.dropped.items()) if markdown is not None else (),
        notes=tuple(layout.notes),
        title=title,
    )


def parsed(text: str) -> Markdown:
    """Parse Markdown that was prepared."""
    from .markdown import Markdown

    return Markdown(text.replace("\f", "\n"))


def _completed(options: Options, front: dict[str, str]) -> Options:
    """Take from the front matter what the caller did not say."""
    return replace(
        options,
        title=options.title or front.get("title", ""),
        author=options.author or front.get("author", ""),
        language=options.language or front.get("lang", ""),
    )


def _lay_out(layout: Layout, blocks: Iterator[tuple[Block, float]], progress: Callable[[int, int], None] | None) -> str:
    """Lay out all blocks; return the first words of the first paragraph."""
    look = Look(layout.options.size_pt)
    told = -1
    begun = False
    opening = ""
    headings: list[Heading] = []
    for block, done in blocks:
        if not begun and not (isinstance(block, Heading) and block.level == 1):
            _title(layout, look)
        begun = True
        if isinstance(block, Heading):
            headings.append(block)
            continue
        layout.headings(headings, block, look)
        headings.clear()
        layout.block(block, look)
        if not opening and isinstance(block, Text):
            opening = _first_words(layout.characters.fit("".join(span.text for span in block.spans[:20])))
        step = int(done * _LAID_OUT_STEPS)
        if progress is not None and step > told:
            told = step
            progress(step, _PROGRESS_STEPS)
    layout.headings(headings, None, look)
    return opening


def _first_words(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _TITLE_CHARACTERS else words[:_TITLE_CHARACTERS].rpartition(" ")[0] + "…"


def _title(layout: Layout, look: Look) -> None:
    """Print title and author on the first page of a text that does not begin with a heading of its own."""
    if not layout.options.title:
        return
    # No heading of the text has a colon in its place, so that links and page numbers do not mix the two up.
    layout.block(Heading(1, [Span(layout.options.title)], "title:"), look)
    if layout.options.author:
        layout.block(Text([Span(layout.options.author)], tight=True), replace(look, color=GREY))
        layout.flow.space(look.size * 1.2)
