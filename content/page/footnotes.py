"""Finds footnotes and their references, and marks both as Markdown writes them."""

import re
from collections.abc import Callable

from turbohtml import Element, Text

Mark = Callable[[str], str]
"""Keeps a piece of Markdown safe from escaping until the page is rendered."""

_NOTE_ID = re.compile(r"(^|[-_:.])(fn|foot|note|cite|endnote|sdfootnote|ftn|_?edn)", re.IGNORECASE)
_NOTE_TAGS = frozenset({"li", "p", "div", "dd", "aside", "section", "span"})
_BACK = re.compile(r"^[\s↩↑^⏎\ufe0e\ufe0f\[\]a-z⤴]{0,6}$")
_MOST = 2_000


def mark_footnotes(root: Element, mark: Mark) -> None:
    """Turn references to footnotes into `[^1]` and the notes into `[^1]: …`, in place; before links are resolved."""
    references: dict[str, list[Element]] = {}
    for anchor in root.select('a[href^="#"]')[:_MOST]:
        target = (anchor.attr("href") or "")[1:]
        if _NOTE_ID.search(target) and len(anchor.text) <= 8:
            references.setdefault(target, []).append(anchor)
    if not references:
        return
    notes = {found.attr("id") or "": found for found in root.select("[id]") if found.attr("id") in references}
    for number, (target, anchors) in enumerate(references.items(), 1):
        note = _note(notes.get(target))
        outside = [anchor for anchor in anchors if note is not None and not _inside(anchor, note)]
        if note is None or not outside or not note.text.strip():
            continue
        label = "".join(re.findall(r"\w+", outside[0].text)) or str(number)
        for anchor in outside:
            place = anchor.closest("sup")
            (place if place is not None else anchor).replace_with(Text(mark(f"[^{label}]")))
        _define(note, mark(f"[^{label}]:"))


def _note(target: Element | None) -> Element | None:
    """The whole note: the mark's own element, or the item or paragraph it opens."""
    if target is None:
        return None
    if target.tag in {"a", "sup", "span"}:
        target = target.closest("li, p, dd, div")
    return target if target is not None and target.tag in _NOTE_TAGS else None


def _inside(element: Element, around: Element) -> bool:
    return any(ancestor is around or ancestor == around for ancestor in element.ancestors)


def _define(note: Element, start: str) -> None:
    for back in note.select('a[href^="#"]'):
        if _BACK.match(back.text):
            place = back.closest("sup")
            (place if place is not None and place.text.strip() == back.text.strip() else back).decompose()
    line = Element("p")
    blocks = [child for child in note.children if isinstance(child, Element) and child.tag in {"p", "div"}]
    for block in blocks:
        block.insert(0, Text(" "))
        block.tag = "span"
    line.append(Text(f"{start} "))
    line.extend(list(note.children))
    parent = note.parent
    if note.tag == "li" and isinstance(parent, Element) and parent.tag in {"ol", "ul"}:
        # A note is no item of a list any more: it goes in front of the list it leaves.
        parent.insert_before(line)
        note.decompose()
        if not parent.text.strip():
            parent.decompose()
    else:
        note.replace_with(line)
