"""Renders a tidied tree as Markdown."""

import re
from collections.abc import Callable

from turbohtml import Document, Element, Markdown, Node, Text

from .footnotes import mark_footnotes
from .formulas import DISPLAY, INLINE
from .tidy import tidy

_OPEN, _CLOSE = "\uf8f0", "\uf8f1"
_MARKED = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_FENCE = re.compile(r"^[\s>]*(?:[-*+]\s+|\d+[.)]\s+)*(`{3,}|~{3,})")
_LONE_SPACE = "&#160;"
_NO_ITEM = re.compile(r"^([\s>]*\d{1,9})\\\.(?=\S)")
_BLANK = re.compile(r"^[>\s]*$")
_UNWANTED = dict.fromkeys([
    *range(9), 11, 12, *range(14, 32), 127, 0xFEFF, 0x200B, 0x00AD,
    *range(0x202A, 0x202F), *range(0x2066, 0x2070), *range(0xE0000, 0xE0080),
])  # fmt: skip
"""Controls, what has no width, what reorders a line (bidi controls), and letters that no one sees (tags)."""


def _emphasis(mark: str) -> Callable[[Element, str], str]:
    """Write emphasis ourselves: turbohtml falls back to tags in long pages and where CommonMark reads no mark."""

    def written(element: Element, inside: str) -> str:
        text = inside.strip()
        if not text or "\n\n" in text or any(a.tag == element.tag for a in element.ancestors if isinstance(a, Element)):
            return inside
        lead, tail = inside[: len(inside) - len(inside.lstrip())], inside[len(inside.rstrip()) :]
        # Beside a word, a mark next to punctuation would be read as asterisks.
        if not lead and not _WORD.match(text[0]) and _ends_in_word(element.previous_sibling):
            lead = " "
        if not tail and not _WORD.match(text[-1]) and _starts_with_word(element.next_sibling):
            tail = " "
        return f"{lead}{mark}{text}{mark}{tail}"

    return written


def _check_mark(element: Element, inside: str) -> str:
    if (element.attr("type") or "").lower() != "checkbox" or element.closest("li") is None:
        return inside
    following = element.next_sibling
    space = "" if isinstance(following, Text) and following.data[:1].isspace() else " "
    return ("[x]" if "checked" in element.attrs else "[ ]") + space


def _ends_in_word(node: Node | None) -> bool:
    return isinstance(node, Text) and _WORD.match(node.data[-1:]) is not None


def _starts_with_word(node: Node | None) -> bool:
    return isinstance(node, Text) and _WORD.match(node.data[:1]) is not None


_WORD = re.compile(r"\w")
_OPTIONS = Markdown(
    tables=Markdown.Tables(cell_blocks="text"),
    # Names are searched for as they are written, and no emphasis is written with this sign here.
    escaping=Markdown.Escaping(underscores=False),
    converters={
        "input": _check_mark,
        "em": _emphasis("*"),
        "i": _emphasis("*"),
        "strong": _emphasis("**"),
        "b": _emphasis("**"),
    },
)


class _Marks:
    """Pieces of Markdown that must reach the result without escaping, under numbers no renderer touches."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    def mark(self, piece: str) -> str:
        self.kept.append(piece)
        return f"{_OPEN}{len(self.kept) - 1}{_CLOSE}"

    def restore(self, text: str) -> str:
        return _MARKED.sub(lambda found: self._piece(int(found.group(1))), text)

    def _piece(self, number: int) -> str:
        return self.kept[number] if number < len(self.kept) else ""


def to_markdown(root: Document | Element, base_url: str, page_url: str = "") -> str:
    """Render `root` as Markdown; changes the tree.

    Args:
        root: of the page, or its main element.
        base_url: what links are relative to.
        page_url: where the page is; links within it lose their target, those to its site their host. Without it all
            links are absolute.
    """
    marks = _Marks()
    body = root.select_one("body") if isinstance(root, Document) else root
    if body is None:
        return ""
    mark_footnotes(body, marks.mark)
    tidy(body, base_url, page_url)
    _mark_formulas(body, marks)
    return clean_lines(marks.restore(body.to_markdown(_OPTIONS)))


def _mark_formulas(body: Element, marks: _Marks) -> None:
    for formula in body.select(f"code.{INLINE}, code.{DISPLAY}"):
        tex = formula.text
        if formula.closest("table") is not None:
            tex = tex.replace("|", r"\vert ")
        if formula.has_class(DISPLAY) and formula.closest("table, h1, h2, h3, h4, h5, h6, a") is None:
            formula.replace_with(Element("p", {}, [Text(marks.mark(f"$${tex}$$"))]))
        else:
            formula.replace_with(Text(marks.mark(f"${tex}$")))


def clean_lines(text: str) -> str:
    """At most one empty line in a row outside code, no control characters, no white space left hanging."""
    kept: list[str] = []
    fence = ""
    for raw in text.translate(_UNWANTED).split("\n"):
        found = _FENCE.match(raw)
        if fence:
            kept.append(raw)
            if found and found.group(1).startswith(fence) and raw.strip("`~ >\t-") == "":
                fence = ""
            continue
        if found:
            fence = found.group(1)
        breaks = raw.endswith("  ") and raw.strip() and not _BLANK.match(raw)
        line = "" if raw.strip(" >") == _LONE_SPACE else raw.rstrip() + ("  " if breaks else "")
        line = _NO_ITEM.sub(r"\1.", line)
        if line or (kept and kept[-1]):
            kept.append(line)
    return "\n".join(kept).strip("\n")
