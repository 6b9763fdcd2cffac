"""What a document has around its text: the table of contents in front, and the number at the foot of each page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .canvas import BLACK, GREY, LIGHT, Link, Style
from .flow import Flow
from .lines import BODY_PT

if TYPE_CHECKING:
    from .canvas import Page
    from .lines import Lines
    from .options import Options

_TITLES = {
    "zh": "目录",
    "ja": "目次",
    "ko": "목차",
    "ar": "المحتويات",
    "he": "תוכן",
    "de": "Inhalt",
    "fr": "Table des matières",
}
_DEEPEST_ENTRY = 3
_STEP = 16.0
_NUMBER_ROOM = 34.0
_FOOT = 34.0


def contents_pages(lines: Lines, entries: list[tuple[int, str, str]], options: Options, language: str) -> list[Page]:
    """Return the table of contents; it counts its own pages in.

    Args:
        lines: sets the text; its pages are those that the entries are on.
        entries: (level, title, place) of the headings.
        options: how the document shall be.
        language: of the document, which the title is in.
    """
    shown = [entry for entry in entries if entry[0] <= _DEEPEST_ENTRY]
    starts = {name: number for number, page in enumerate(lines.flow.pages, 1) for name in page.places}
    title = lines.text(_TITLES.get(language[:2].casefold(), "Contents"), Style(BODY_PT * 1.55, bold=True))
    pages: list[Page] = []
    # The pages it takes change the numbers in it, which may change the pages it takes.
    for _ in range(3):
        shift = len(pages)
        flow = Flow(options.page_pt, options.margin_pt)
        baseline = flow.take(BODY_PT * 2.6) + BODY_PT * 1.5
        title.draw(flow.page, flow.right - title.width if title.rtl else flow.left, baseline)
        highest = min((level for level, _, _ in shown), default=1)
        for level, text, place in shown:
            _draw_entry(lines, flow, min(level - highest, 3), text, place, starts[place] + shift)
        pages = flow.pages
        if len(pages) == shift:
            break
    return pages


def _draw_entry(lines: Lines, flow: Flow, depth: int, text: str, place: str, page_number: int) -> None:
    end = flow.right
    style = Style(BODY_PT, bold=depth == 0, color=BLACK if depth == 0 else GREY)
    entry, number = lines.text(text, style), lines.text(str(page_number), style._replace(bold=False))
    if depth == 0:
        flow.space(BODY_PT * 0.35)
    with flow.inset(depth * _STEP, _NUMBER_ROOM):
        left, top, width = flow.left, 0.0, 0.0
        for line in entry.lines(flow.width):
            top, width = flow.take(BODY_PT * 1.55), entry.width_of(line)
            entry.draw(flow.page, left, top + BODY_PT * 1.1, line)
    number.draw(flow.page, end - number.width, top + BODY_PT * 1.1)
    if left + width + 12 < end - number.width - 6:
        flow.page.dots(left + width + 6, top + BODY_PT * 1.05, end - number.width - 5, LIGHT)
    flow.page.links.append(Link(left, top, end - left, BODY_PT * 1.5, f"#{place}"))


def number_pages(lines: Lines, pages: list[Page], options: Options) -> None:
    """Print `n / total` at the foot of each page."""
    width, height = options.page_pt
    baseline = height - min(options.margin_pt * 0.5, _FOOT)
    for number, page in enumerate(pages, 1):
        foot = lines.text(f"{number} / {len(pages)}", Style(BODY_PT * 0.8, color=GREY))
        foot.draw(page, (width - foot.width) / 2, baseline)
