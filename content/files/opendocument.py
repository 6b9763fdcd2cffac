"""OpenDocument: texts, tables and presentations (odt, ods, odp)."""

from collections.abc import Iterator
from itertools import chain, repeat
from xml.etree.ElementTree import Element

from .parts import Parts, attribute, children, first, local
from .sheets import ONE_SHEET, padded
from .text import CHARACTERS_MAX, Text, prose, row, table

_HIDDEN = {"tracked-changes", "annotation", "sequence-decls", "forms", "shapes", "table-column"}
_COLUMNS_MAX = 16_384
_VALUES = {"date": "date-value", "boolean": "boolean-value", "float": "value"} | dict.fromkeys(
    ("percentage", "currency"), "value"
)
_LEVELS = 9


def read(parts: Parts) -> Text:
    """Read a document of any of these kinds."""
    body = first(parts.tree("content.xml"), "body")
    found = next(iter(body), None) if body is not None else None
    content = found if found is not None else Element("none")
    facts: dict[str, str | int] = dict(parts.about())
    match local(content):
        case "spreadsheet":
            sheets = tables(content)
            if len(sheets) == 1:
                ((name, only),) = sheets.items()
                return Text(map(row, padded(rows(only))), {**facts, "sheets": name}, ".csv")
            blocks = (block for name, one in sheets.items() for block in (f"## {name}", table(rows(one))))
            return Text(blocks, {**facts, "sheets": ", ".join(sheets), "next": ONE_SHEET})
        case "presentation":
            pages = [one for one in content if local(one) == "page"]
            return Text(
                chain.from_iterable(map(_slide, range(1, len(pages) + 1), pages)), {**facts, "slides": len(pages)}
            )
        case _:
            return Text(_blocks(content), facts)


def tables(spreadsheet: Element) -> dict[str, Element]:
    """Return the sheets by their names."""
    return {attribute(one, "name"): one for one in spreadsheet if local(one) == "table"}


def rows(sheet: Element) -> Iterator[list[str]]:
    """Return the rows of a sheet that are not empty, each as long as it is filled, and as often as it is there."""
    for one in sheet.iter():
        if local(one) != "table-row":
            continue
        cells: list[str] = []
        for cell in one:
            if local(cell) in {"table-cell", "covered-table-cell"}:
                value = _value(cell)
                times = min(_times(cell, "number-columns-repeated"), _COLUMNS_MAX - len(cells))
                cells += [value] * times
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield from repeat(cells, min(_times(one, "number-rows-repeated"), CHARACTERS_MAX // len(cells)))


def _times(element: Element, name: str) -> int:
    told = attribute(element, name)
    return int(told) if told.isdigit() and len(told) < _LEVELS else 1


def _value(cell: Element) -> str:
    value = attribute(cell, _VALUES.get(attribute(cell, "value-type"), ""))
    return value.removesuffix("T00:00:00") or "\n".join(_blocks(cell)) or attribute(cell, "time-value")


def _slide(number: int, page: Element) -> Iterator[str]:
    title = ""
    blocks: list[str] = []
    for frame in page:
        if local(frame) == "notes":
            said = " ".join(" ".join(block.split()) for block in _blocks(frame))
            blocks += [f"> Notes: {said}"] if said else []
        elif attribute(frame, "class") == "title" and not title:
            title = " ".join(" ".join(_blocks(frame)).split())
        else:
            blocks += _blocks(frame)
    yield f"## Slide {number}" + (f": {title}" if title else "")
    yield from blocks


def _blocks(holder: Element, depth: int = 0) -> Iterator[str]:
    for one in holder:
        match local(one):
            case "h":
                level = min(_times(one, "outline-level"), 6)
                if text := "".join(_pieces(one)).strip():
                    yield f"{'#' * level} {' '.join(text.split())}"
            case "p":
                if text := prose("".join(_pieces(one)).strip()):
                    yield text
                yield from (block for frame in one if local(frame) == "frame" for block in _blocks(frame))
            case "list":
                yield "\n".join(_items(one, depth))
            case "table":
                yield table(rows(one))
            case name if name not in _HIDDEN:
                yield from _blocks(one, depth)
            case _:
                pass


def _items(listed: Element, depth: int) -> Iterator[str]:
    for item in children(listed):
        for place, block in enumerate(_blocks(item, depth + 1)):
            if block.lstrip().startswith("- "):
                yield block
            else:
                yield f"{'  ' * depth}{'  ' if place else '- '}{block}"


def _pieces(holder: Element) -> Iterator[str]:
    yield holder.text or ""
    for one in holder:
        match local(one):
            case "s":
                yield " " * min(_times(one, "c"), _COLUMNS_MAX)
            case "tab":
                yield "\t"
            case "line-break":
                yield "\n"
            case "a":
                yield f"[{''.join(_pieces(one))}]({attribute(one, 'href')})"
            case "note":
                body = first(one, "note-body")
                yield f" [note: {' '.join(_blocks(body))}]" if body is not None else ""
            case "image":
                yield f"[picture: {attribute(one, 'href')}]"
            case name if name not in {*_HIDDEN, "frame"}:
                yield from _pieces(one)
            case _:
                pass
        yield one.tail or ""
