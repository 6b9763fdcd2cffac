"""Pages to a PDF file: table of contents in front, page numbers, outline, links, fonts, pictures."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .canvas import BLACK, Link, Page, PlacedPicture
from .flow import Flow
from .paragraph import GREY, LIGHT
from .pictures import prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import BinaryIO

    from fpdf import FPDF

    from .layout import Layout
    from .options import Options

_CONTENTS = {
    "zh": "目录",
    "ja": "目次",
    "ko": "목차",
    "ar": "المحتويات",
    "he": "תוכן",
    "de": "Inhalt",
    "fr": "Table des matières",
}
_DEEPEST_ENTRY = 3


def new_pdf(options: Options) -> FPDF:
    """Return an empty document that opens nothing by itself."""
    with _unused():
        from fpdf import FPDF
    from fpdf.enums import ResourceAccessPolicy

    # A font that lacks a table is no news to whoever reads the server's log.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    pdf = FPDF(unit="pt", format=options.page_pt)
    pdf.resource_access_policy = ResourceAccessPolicy.NONE
    pdf.render_color_fonts = False
    pdf.single_resources_object = True
    pdf.set_auto_page_break(False)
    return pdf


@contextmanager
def _unused() -> Generator[None]:
    """Let fpdf2 do without what it would sign and encrypt documents with: a fifth of the time it takes to load."""
    left_out = [name for name in ("cryptography", "endesive") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(left_out))  # type: ignore[arg-type] - None is how an import is refused
    try:
        yield
    finally:
        for name in left_out:
            del sys.modules[name]


def contents_pages(layout: Layout, language: str) -> list[Page]:
    """Return the table of contents; it counts its own pages in."""
    entries = [entry for entry in layout.entries if entry[0] <= _DEEPEST_ENTRY]
    starts = {name: number for number, page in enumerate(layout.flow.pages) for name in page.places}
    shift = 0
    pages: list[Page] = []
    # The pages it takes change the numbers in it, which may change the pages it takes.
    for _ in range(3):
        pages = _contents(layout, entries, starts, shift, language)
        if len(pages) == shift:
            break
        shift = len(pages)
    return pages


def _contents(
    layout: Layout, entries: list[tuple[int, str, str]], starts: dict[str, int], shift: int, language: str
) -> list[Page]:
    flow = Flow(layout.options)
    size = layout.options.size_pt
    title = layout.type.paragraph(
        [(_CONTENTS.get(language[:2].casefold(), "Contents"), layout.style(size * 1.55, bold=True))]
    )
    top = flow.take(size * 2.6)
    title.draw(flow.page, flow.right - title.width if title.rtl else flow.left, top + size * 1.5, (0, len(title.text)))
    highest = min((level for level, _, _ in entries), default=1)
    for level, text, place in entries:
        bold = level == highest
        style = layout.style(size, bold=bold, color=BLACK if bold else GREY)
        number = layout.type.paragraph([(str(starts[place] + shift + 1), layout.style(size, color=style.color))])
        entry = layout.type.paragraph([(text, style)])
        if bold:
            flow.space(size * 0.35)
        with flow.inset(min(level - highest, 3) * 16.0, 34.0):
            lines = entry.lines(flow.width)
            for line in lines:
                top = flow.take(size * 1.55)
                entry.draw(flow.page, flow.left, top + size * 1.1, line)
        end = layout.options.page_pt[0] - layout.options.margins.right
        number.draw(flow.page, end - number.width, top + size * 1.1, (0, len(number.text)))
        drawn = flow.left + min(level - highest, 3) * 16.0 + entry.widest(*lines[-1])
        if drawn + 12 < end - number.width - 6:
            flow.page.dots(drawn + 6, top + size * 1.05, end - number.width - 5, LIGHT)
        flow.page.links.append(Link(flow.left, top, end - flow.left, size * 1.5, f"#{place}"))
    return flow.pages


def number_pages(layout: Layout, pages: list[Page]) -> None:
    """Print `n / total` at the foot of each page."""
    width, height = layout.options.page_pt
    style = layout.style(layout.options.size_pt * 0.8, color=GREY)
    foot = min(layout.options.margins.bottom * 0.5, 34.0)
    for number, page in enumerate(pages, 1):
        told = layout.type.paragraph([(f"{number} / {len(pages)}", style)])
        told.draw(page, (width - told.width) / 2, height - foot, (0, len(told.text)))


def write(
    pdf: FPDF, pages: list[Page], output: BinaryIO, *, title: str, author: str, language: str, check: Callable[[], None]
) -> list[tuple[PlacedPicture, str]]:
    """Write the document; return the pictures that could not be embedded after all, each with the reason."""
    pdf.set_title(title)
    pdf.set_author(author)
    pdf.set_lang(language)
    pdf.set_creator("bursar")
    pdf.set_producer("bursar with fpdf2")
    places: dict[str, tuple[int, float]] = {}
    for number, page in enumerate(pages, 1):
        places.update({name: (number, top) for name, top in page.places.items() if name not in places})
    failed: list[tuple[PlacedPicture, str]] = []
    for number, page in enumerate(pages, 1):
        check()
        pdf.add_page()
        _sections(pdf, page)
        for picture in page.pictures:
            reason = _embed(pdf, picture)
            if reason:
                failed.append((picture, reason))
                page.frame(picture.left, picture.top, picture.width, picture.height, LIGHT)
        contents = pdf.pages[number].contents
        assert isinstance(contents, bytearray)  # noqa: S101 - it is one until the document is put out
        contents.extend(page.contents())
    for number, page in enumerate(pages, 1):
        pdf.page = number
        _links(pdf, page, places)
    check()
    pdf.output(output)
    return failed


def _sections(pdf: FPDF, page: Page) -> None:
    for level, title, top in page.sections:
        pdf.set_y(top)
        pdf.start_section(title, level - 1, strict=False)


def _links(pdf: FPDF, page: Page, places: dict[str, tuple[int, float]]) -> None:
    known: dict[str, int] = {}
    for link in page.links:
        if not link.target.startswith("#"):
            pdf.link(link.left, link.top, link.width, link.height, link.target)
            continue
        name = link.target[1:]
        if name not in places:
            continue
        if name not in known:
            number, top = places[name]
            known[name] = pdf.add_link(y=max(top - 6, 0), page=number)
        pdf.link(link.left, link.top, link.width, link.height, known[name])


def _embed(pdf: FPDF, picture: PlacedPicture) -> str:
    try:
        made = prepared(picture.path, picture.width)
        pdf.image(made, x=picture.left, y=picture.top, w=picture.width, h=picture.height)
    except Exception as error:  # noqa: BLE001 - whatever a decoder raises about hostile content is a reason
        return f"the picture cannot be decoded ({type(error).__name__})"
    return ""
