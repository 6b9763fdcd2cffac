"""Pages to a PDF file: outline, links, pictures and fonts."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from fpdf import FPDF
from fpdf.enums import ResourceAccessPolicy

from .canvas import LIGHT
from .embedding import embed
from .pictures import prepared

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from .canvas import Page, PlacedPicture
    from .face import Face
    from .options import Options


def write(
    pages: list[Page],
    fonts: Sequence[Face],
    output: BinaryIO,
    options: Options,
    *,
    title: str,
    author: str,
    language: str,
) -> dict[str, str]:
    """Write the document; return the pictures that could not be embedded after all, each with the reason."""
    pdf = _empty(options)
    pdf.set_title(title)
    pdf.set_author(author)
    pdf.set_lang(language)
    pdf.set_creator("bursar")
    pdf.set_producer("bursar with fpdf2")
    failed: dict[str, str] = {}
    places: dict[str, tuple[int, float]] = {}
    for number, page in enumerate(pages, 1):
        pdf.add_page()
        for level, text, top in page.sections:
            pdf.set_y(top)
            pdf.start_section(text, level - 1, strict=False)
        for picture in page.pictures:
            if reason := _embed(pdf, picture):
                failed[picture.reference] = reason
                right, bottom = picture.left + picture.width, picture.top + picture.height
                corners = [(picture.left, picture.top), (right, picture.top), (right, bottom), (picture.left, bottom)]
                page.line([*corners, corners[0]], LIGHT)
        contents = pdf.pages[number].contents
        assert isinstance(contents, bytearray)  # noqa: S101 - it is one until the document is put out
        contents.extend(page.contents())
        for name, top in page.places.items():
            places.setdefault(name, (number, top))
    for number, page in enumerate(pages, 1):
        pdf.page = number
        _link(pdf, page, places)
    # A font that lacks a table is no news to whoever reads the server's log.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    for face in fonts:
        embed(pdf, face)
    pdf.output(output)
    return failed


def _empty(options: Options) -> FPDF:
    """Return a document that opens nothing by itself."""
    pdf = FPDF(unit="pt", format=options.page_pt)
    pdf.resource_access_policy = ResourceAccessPolicy.NONE
    pdf.render_color_fonts = False
    pdf.single_resources_object = True
    pdf.set_auto_page_break(False)
    return pdf


def _link(pdf: FPDF, page: Page, places: dict[str, tuple[int, float]]) -> None:
    known: dict[str, int] = {}
    for link in page.links:
        target: str | int = link.target
        if link.target.startswith("#"):
            name = link.target[1:]
            if name not in places:
                continue
            if name not in known:
                number, top = places[name]
                known[name] = pdf.add_link(y=max(top - 6, 0), page=number)
            target = known[name]
        pdf.link(link.left, link.top, link.width, link.height, target)


def _embed(pdf: FPDF, picture: PlacedPicture) -> str:
    """Put a picture on the page; return why it cannot be, if it cannot."""
    try:
        made = prepared(picture.path, picture.width)
        pdf.image(made, x=picture.left, y=picture.top, w=picture.width, h=picture.height)
    except Exception as error:  # noqa: BLE001 - whatever a decoder raises about hostile content is a reason
        return f"the picture cannot be decoded ({type(error).__name__})"
    return ""
