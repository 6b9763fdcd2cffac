"""PowerPoint presentations (pptx): each slide under its title, tables, and what the notes say."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from .parts import Parts, attribute, children, first, local
from .text import Text, prose, table

_TITLES = {"title", "ctrTitle"}
_ASIDE = {"dt", "ftr", "sldNum", "sldImg", "hdr"}
_LEVELS = 9
_SIGNS = {"br": "\n", "tab": "\t"}


def read(parts: Parts) -> Text:
    """Read all the slides, in their order."""
    name = parts.main()
    links = parts.links(name)
    shown = [_linked(one, links) for one in children(parts.tree(name), "sldIdLst")]
    blocks = (block for number, slide in enumerate(shown, 1) for block in _slide(parts, number, slide))
    return Text(blocks, {**parts.about(), "slides": len(shown)})


def _linked(slide: Element, links: dict[str, tuple[str, str]]) -> str:
    """Return the part of a slide: it has an id of its own besides that of the part."""
    return next((links[value][1] for value in slide.attrib.values() if value in links), "")


def _slide(parts: Parts, number: int, name: str) -> Iterator[str]:
    tree = parts.tree(name)
    title, blocks = _shapes(tree, is_list=True)
    hidden = " (hidden)" if attribute(tree, "show") == "0" else ""
    yield f"## Slide {number}{hidden}" + (f": {title}" if title else "")
    yield from blocks
    for kind, target in parts.links(name).values():
        if kind.endswith("/notesSlide"):
            _, notes = _shapes(parts.tree(target), is_list=False)
            if notes:
                yield "> Notes: " + " ".join(" ".join(notes).split())


def _shapes(tree: Element, *, is_list: bool) -> tuple[str, list[str]]:
    """Return the title among the shapes, and the text of the others."""
    title, blocks = "", list[str]()
    for one in tree.iter():
        match local(one):
            case "sp":
                kind = attribute(first(one, "nvSpPr", "nvPr", "ph"), "type")
                text = _text(one, is_list=is_list and kind not in _TITLES)
                if kind in _TITLES and not title:
                    title = " ".join(text.split())
                elif text and kind not in _ASIDE:
                    blocks.append(text)
            case "tbl":
                rows = (row for row in one if local(row) == "tr")
                blocks.append(
                    table([[_text(cell, is_list=False) for cell in row if local(cell) == "tc"] for row in rows])
                )
            case "pic":
                about = first(one, "nvPicPr", "cNvPr")
                blocks.append(f"[picture: {attribute(about, 'descr') or attribute(about, 'name')}]")
            case _:
                pass
    return title, blocks


def _text(shape: Element, *, is_list: bool) -> str:
    body = first(shape, "txBody")
    lines: list[str] = []
    for paragraph in body if body is not None else ():
        pieces = (_SIGNS.get(local(one), one.text or "") for one in paragraph.iter() if local(one) in {"t", *_SIGNS})
        text = "".join(pieces).strip()
        level = attribute(first(paragraph, "pPr"), "lvl")
        if text:
            indent = "  " * min(int(level), _LEVELS) if level.isdigit() else ""
            lines.append(f"{indent}- {text}" if is_list else prose(text))
    return "\n".join(lines)
