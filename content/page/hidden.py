"""Removes what a page holds and a browser does not show: it is no part of the page for its reader."""

import re
from collections.abc import Iterator
from itertools import islice

from turbohtml import Document, Element

from .formulas import DISPLAY, INLINE
from .segments import words_of

_MARKED = "[hidden], [aria-hidden=true], dialog:not([open]), [style]"
_HIDING = re.compile(
    r"(?:^|[\s;])(?:display\s*:\s*none|visibility\s*:\s*hidden|(?:font-size|opacity)\s*:\s*0(?:\.0+)?(?![.\d])|"
    r"(?:left|top|right|text-indent)\s*:\s*-\d{3}|clip\s*:\s*rect\(\s*[01](?:px)?[\s,]|clip-path\s*:\s*inset\(\s*(?:50|100)%|"
    r"transform\s*:\s*scale\(\s*0\s*\)|color\s*:\s*transparent)",
    re.IGNORECASE,
)
_NO_SIZE = re.compile(r"(?:^|[\s;])(?:max-)?(?:height|width)\s*:\s*[01](?:px)?\s*(?:;|$|!)", re.IGNORECASE)
_CUT_OFF = re.compile(r"overflow\s*:\s*(?:hidden|clip)", re.IGNORECASE)
_BRACE = re.compile(r"[{}]")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SINGLE = re.compile(r"[a-z0-9]*(?:[.#][a-z_][\w-]*)+", re.IGNORECASE)
_SHOWING = re.compile(r"(?:display|visibility|opacity|font-size|left|height)\s*:", re.IGNORECASE)
_SHEETS, _SHEET_CHARACTERS, _MOST_SELECTORS = 20, 400_000, 500
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


def hidden_by_sheet(document: Document) -> str:
    """Return a selector of what the page's own style sheets hide, as far as a rule names it by itself.

    Before the page is prepared, which removes style sheets. Rules for some media only are none for a reader of text.
    """
    found: dict[str, bool] = {}
    for sheet in document.select("style:not([media])")[:_SHEETS]:
        for names, said in _rules(_COMMENT.sub(" ", sheet.text[:_SHEET_CHARACTERS])):
            if (hides := _hides(said)) or _SHOWING.search(said):
                found |= {name.strip(): hides for name in names.split(",") if _SINGLE.fullmatch(name.strip())}
    return ", ".join([name for name, hides in found.items() if hides][:_MOST_SELECTORS])


def _rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield selectors and declarations of the rules that lie in no other."""
    depth = begin = opened = 0
    for brace in _BRACE.finditer(sheet):
        if brace[0] == "{":
            depth += 1
            opened = brace.start() if depth == 1 else opened
        elif depth:
            depth -= 1
            if depth == 0:
                if "{" not in (said := sheet[opened + 1 : brace.start()]):
                    yield sheet[begin:opened], said[:_STYLE_CHARACTERS]
                begin = brace.end()


def _hides(style: str) -> bool:
    return _HIDING.search(style) is not None or (
        _CUT_OFF.search(style) is not None and _NO_SIZE.search(style) is not None
    )


def remove_hidden(document: Document, by_sheet: str = "") -> None:
    """Remove hidden elements, in place, but for what a click would show: tabs, accordions, details.

    After formulas are TeX. `by_sheet` is what `hidden_by_sheet` returned.
    """
    most = _MOST_SHARE * len(words_of(document.text))
    told = f"[hidden], [aria-hidden=true], dialog, {by_sheet}".removesuffix(", ")
    for element in document.select(f"{_MARKED}, {by_sheet}".removesuffix(", ")):
        if not _hides((element.attr("style") or "")[:_STYLE_CHARACTERS]) and not element.matches(told):
            continue
        is_content = element.matches(_CONTENT) or element.select_one(_CONTENT) is not None
        if not is_content and not _is_opened(element) and len(words_of(element.text)) <= most:
            element.extract()


def _is_opened(element: Element) -> bool:
    """Tell whether a click shows the element, as it says itself or what stands closely around it."""
    around = (one for one in islice(element.ancestors, _LEVELS) if isinstance(one, Element))
    return any(one.matches(_SHOWN_ON_REQUEST) for one in (element, *around))
