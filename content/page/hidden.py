"""Removes what a page holds and a browser does not show: it is no part of the page for its reader."""

import re
from itertools import islice

from turbohtml import Document, Element

from .formulas import DISPLAY, INLINE
from .segments import WORD

_MARKED = "[hidden], [aria-hidden=true], dialog:not([open]), [style]"
_HIDING = re.compile(
    r"(?:^|[\s;])(?:display\s*:\s*none|visibility\s*:\s*hidden|(?:font-size|opacity)\s*:\s*0(?:\.0+)?(?![.\d])|"
    r"(?:left|top|right|text-indent)\s*:\s*-\d{3})",
    re.IGNORECASE,
)
_STYLE_CHARACTERS = 2_000
_OPENED = (
    "accordion", "answer", "carousel", "collaps", "drawer", "expand", "faq", "panel", "slick", "slide", "swiper", "tab",
    "toggle",
)  # fmt: skip
_SHOWN_ON_REQUEST = ", ".join(
    ["details", "[role=tabpanel]", "[role=region]", "[hidden=until-found]"]
    + [f"[{where}*={name} i]" for name in _OPENED for where in ("class", "id")]
)
_LEVELS = 3
_CONTENT = f"body, main, article, h1, [role=main], .{INLINE}, .{DISPLAY}"
"""Formulas stand hidden beside their picture."""

_MOST_SHARE = 0.3
"""What holds more of a page's words is the page itself, before a script or behind a dialogue."""


def remove_hidden(document: Document) -> None:
    """Remove hidden elements, in place, but for what a click would show: tabs, accordions, details.

    After formulas are TeX.
    """
    most = _MOST_SHARE * len(WORD.findall(document.text))
    for element in document.select(_MARKED):
        style = (element.attr("style") or "")[:_STYLE_CHARACTERS]
        by_style = style and _HIDING.search(style) is not None
        if not by_style and not element.matches("[hidden], [aria-hidden=true], dialog"):
            continue
        is_content = element.matches(_CONTENT) or element.select_one(_CONTENT) is not None
        if not is_content and not _is_opened(element) and len(WORD.findall(element.text)) <= most:
            element.extract()


def _is_opened(element: Element) -> bool:
    """Tell whether a click shows the element, as it says itself or what stands closely around it."""
    around = (one for one in islice(element.ancestors, _LEVELS) if isinstance(one, Element))
    return any(one.matches(_SHOWN_ON_REQUEST) for one in (element, *around))
