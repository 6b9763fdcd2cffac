"""Word documents (docx): headings, lists, tables, notes and comments, without what was deleted with changes tracked."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from .parts import Parts, attribute, children, first, local
from .text import Text, prose, table

_HIDDEN = {"del", "moveFrom", "Fallback", "instrText", "delText", "pPr", "rPr", "sectPr"}
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_HOLDERS = {"sdt", "sdtContent", "customXml", "ins", "moveTo", "AlternateContent", "Choice", "smartTag"}
_LEVELS = 9


def read(parts: Parts) -> Text:
    """Read a document."""
    return Text(_Document(parts).blocks(), dict(parts.about()))


@dataclass(slots=True)
class _Document:
    parts: Parts
    name: str = ""
    links: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    levels: dict[str, int] = field(default_factory=dict[str, int])
    lists: dict[str, Element] = field(default_factory=dict[str, Element])
    bullets: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    counts: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])

    def __post_init__(self) -> None:
        self.name = self.parts.main()
        self.links = self.parts.links(self.name)
        for style in children(self.parts.tree(self._beside("/styles"))):
            self._learn_style(style)
        numbering = self.parts.tree(self._beside("/numbering"))
        forms = {attribute(one, "abstractNumId"): one for one in numbering if local(one) == "abstractNum"}
        for one in numbering:
            if local(one) == "num" and (form := forms.get(attribute(first(one, "abstractNumId"), "val"))) is not None:
                for level in form:
                    key = (attribute(one, "numId"), attribute(level, "ilvl"))
                    self.bullets[key] = attribute(first(level, "numFmt"), "val")

    def blocks(self) -> Iterator[str]:
        body = first(self.parts.tree(self.name), "body")
        yield from self._blocks(body if body is not None else Element("none"))
        for kind, title in (("/footnotes", "^"), ("/endnotes", "^e")):
            for note in self.parts.tree(self._beside(kind)):
                if not attribute(note, "type"):
                    yield f"[{title}{attribute(note, 'id')}]: {' '.join(self._blocks(note))}"
        for note in self.parts.tree(self._beside("/comments")):
            yield f"> Comment by {attribute(note, 'author')}: {' '.join(self._blocks(note))}"

    def _beside(self, kind: str) -> str:
        return next((target for found, target in self.links.values() if found.endswith(kind)), "")

    def _learn_style(self, style: Element) -> None:
        name = attribute(first(style, "name"), "val").casefold()
        level = attribute(first(style, "pPr", "outlineLvl"), "val")
        if (listed := first(style, "pPr", "numPr")) is not None:
            self.lists[attribute(style, "styleId")] = listed
        if name == "title":
            self.levels[attribute(style, "styleId")] = 1
        elif name.startswith("heading ") and name[8:].isdigit():
            self.levels[attribute(style, "styleId")] = int(name[8:])
        elif level.isdigit() and int(level) < _LEVELS:
            self.levels[attribute(style, "styleId")] = int(level) + 1

    def _blocks(self, holder: Element) -> Iterator[str]:
        for one in holder:
            match local(one):
                case "p":
                    boxes: list[Element] = []
                    if text := self._paragraph(one, boxes):
                        yield text
                    for box in boxes:
                        yield from self._blocks(box)
                case "tbl":
                    rows = (row for row in one.iter() if local(row) == "tr")
                    yield table([[" ".join(self._blocks(cell)) for cell in row if local(cell) == "tc"] for row in rows])
                case name if name in _HOLDERS:
                    yield from self._blocks(one)
                case _:
                    pass

    def _paragraph(self, paragraph: Element, boxes: list[Element]) -> str:
        text = prose("".join(self._pieces(paragraph, boxes)).strip())
        about = first(paragraph, "pPr")
        style = attribute(first(about, "pStyle"), "val")
        level = self.levels.get(style, 0)
        if not text:
            return ""
        if level:
            return f"{'#' * min(level, 6)} {' '.join(text.split())}"
        own = first(about, "numPr")
        return self._mark(own if own is not None else self.lists.get(style)) + text

    def _mark(self, listed: Element | None) -> str:
        """Return the sign or the number of an item of a list."""
        number = attribute(first(listed, "numId"), "val")
        depth = attribute(first(listed, "ilvl"), "val") or "0"
        form = self.bullets.get((number, depth), "") if depth.isdigit() else ""
        if not form or form == "none":
            return ""
        indent = "  " * min(int(depth), _LEVELS)
        if form == "bullet":
            return f"{indent}- "
        count = self.counts[number, int(depth)] = self.counts.get((number, int(depth)), 0) + 1
        for deeper in range(int(depth) + 1, _LEVELS):
            self.counts.pop((number, deeper), None)
        return f"{indent}{count}. "

    def _pieces(self, holder: Element, boxes: list[Element]) -> Iterator[str]:
        for one in holder:
            name = local(one)
            if name == "t":
                yield one.text or ""
            elif name in _SIGNS:
                yield _SIGNS[name] if attribute(one, "type") != "page" else ""
            elif name in {"footnoteReference", "endnoteReference"}:
                yield f"[^{'e' * (name[0] == 'e')}{attribute(one, 'id')}]"
            elif name == "docPr":
                yield f"[picture: {attribute(one, 'descr') or attribute(one, 'name')}]"
            elif name == "txbxContent":
                boxes.append(one)
            elif name == "hyperlink" and (target := self.links.get(attribute(one, "id"), ("", ""))[1]):
                yield f"[{''.join(self._pieces(one, boxes))}]({target})"
            elif name not in _HIDDEN:
                yield from self._pieces(one, boxes)
