"""Brings tables into the one shape Markdown has: a heading row, and rows of single cells."""

from dataclasses import dataclass

from turbohtml import Element, Node, Text

_MAX_COLUMNS = 60
_MAX_SPAN_ROWS = 500
_REPEATED_CHARACTERS = 120
_LONGEST_CELL = 2_000
"""Characters; a cell with more of them is no entry of a table but a part of a page."""

_BLOCKS_IN_LAYOUT = "h1, h2, h3, h4, article, section, form, blockquote, pre, ul ul, p ~ p ~ p"


@dataclass(slots=True)
class _Cell:
    """One cell of the grid: the element it comes from, and whether it stands here for the first time."""

    source: Element
    first: bool
    head: bool
    down: bool


def is_layout(table: Element) -> bool:
    """Tell a table that only places things on the page from one that says something."""
    if table.attr("role") in {"presentation", "none"}:
        return True
    if any("\n" in listing.text.strip() for listing in table.select("pre")):
        return True
    rows = [_cells(row) for row in _rows(table)]
    if any(cell.tag == "th" for row in rows for cell in row):
        return False
    if max(map(len, rows), default=0) <= 1 or table.select_one(f"table, {_BLOCKS_IN_LAYOUT}") is not None:
        return True
    return any(len(cell.text) > _LONGEST_CELL for row in rows for cell in row)


def tidy_tables(root: Element) -> None:
    """Expand spans and flatten cells of data tables; open up tables that only place things, in place."""
    # Judged before any is changed: a table that is rebuilt gets a heading row, which the one around it has no part in.
    tables = [(table, is_layout(table)) for table in root.select("table")]
    for table, places in reversed(tables):
        if table.parent is None:
            continue
        if not table.text.strip() and table.select_one("img") is None:
            table.decompose()
        elif places:
            _open(table, _rows(table))
        else:
            table.replace_with(*_rebuild(table, _rows(table)))


def _rows(table: Element) -> list[Element]:
    return [row for row in table.select("tr") if row.closest("table") is table]


def _cells(row: Element) -> list[Element]:
    return [cell for cell in row.children if isinstance(cell, Element) and cell.tag in {"td", "th"}]


def _open(table: Element, rows: list[Element]) -> None:
    pieces: list[Node] = []
    caption = table.select_one("caption")
    if caption is not None and caption.closest("table") is table:
        pieces.append(_moved(caption, "p"))
    for row in rows:
        cells = _cells(row)
        if all(cell.select_one("p, div, ul, ol, pre, table, h1, h2, h3, h4, blockquote") is None for cell in cells):
            pieces.append(_joined(cells))
        else:
            pieces += [_moved(cell, "div") for cell in cells]
    table.replace_with(*pieces) if pieces else table.decompose()


def _joined(cells: list[Element]) -> Element:
    line = Element("div")
    for number, cell in enumerate(cells):
        if number:
            line.append(Text(" "))
        line.extend(list(cell.children))
    return line


def _moved(element: Element, tag: str) -> Element:
    moved = Element(tag)
    moved.extend(list(element.children))
    return moved


def _grid(rows: list[Element]) -> list[list[_Cell | None]]:
    grid: list[list[_Cell | None]] = []
    hanging: dict[int, tuple[int, Element]] = {}
    for row in rows:
        line: list[_Cell | None] = []
        cells = iter(_cells(row))
        while len(line) < _MAX_COLUMNS:
            column = len(line)
            if column in hanging:
                left, source = hanging.pop(column)
                line.append(_Cell(source, first=False, head=source.tag == "th", down=True))
                if left > 1:
                    hanging[column] = (left - 1, source)
                continue
            cell = next(cells, None)
            if cell is None:
                if not any(later > column for later in hanging):
                    break
                line.append(None)
                continue
            across = min(span(cell, "colspan"), _MAX_COLUMNS)
            down = min(span(cell, "rowspan"), _MAX_SPAN_ROWS)
            for step in range(min(across, _MAX_COLUMNS - column)):
                line.append(_Cell(cell, first=step == 0, head=cell.tag == "th", down=False))
                if down > 1:
                    hanging[column + step] = (down - 1, cell)
        grid.append(line)
    return [line for line in grid if any(cell is not None for cell in line)]


def span(cell: Element, name: str) -> int:
    """Read `colspan` or `rowspan`; what is no number of up to five digits is 1."""
    said = (cell.attr(name) or "1").strip()
    return max(1, int(said)) if said.isascii() and said.isdecimal() and len(said) < 6 else 1


def _rebuild(table: Element, rows: list[Element]) -> list[Node]:
    grid = _grid(rows)
    pieces: list[Node] = []
    caption = table.select_one("caption")
    if caption is not None and caption.text.strip():
        pieces.append(_moved(caption, "p"))
    if not grid:
        return pieces or [Text("")]
    width = max(map(len, grid))
    in_head = grid[0][0] is not None and grid[0][0].source.closest("thead") is not None
    all_head = all(cell is None or cell.head for cell in grid[0]) and len(grid) > 1
    head = grid.pop(0) if in_head or all_head else []
    texts: dict[int, str] = {id(cell.source): cell.source.text for line in [head, *grid] for cell in line if cell}
    rebuilt = Element("table")
    rebuilt.append(Element("thead", {}, [_line(head, width, "th", texts, repeat=True)]))
    body = Element("tbody", {}, [_line(line, width, "td", texts, repeat=False) for line in grid])
    rebuilt.append(body)
    return [*pieces, rebuilt]


def _line(cells: list[_Cell | None], width: int, tag: str, texts: dict[int, str], *, repeat: bool) -> Element:
    """A rowspan is said again in each row, so that a row is understood alone; a colspan only in the heading."""
    line = Element("tr")
    for column in range(width):
        made = Element(tag)
        cell = cells[column] if column < len(cells) else None
        if cell is not None and cell.first:
            _flatten(cell.source)
            made.extend(list(cell.source.children))
        elif cell is not None and (cell.down or repeat):
            text = " ".join(texts[id(cell.source)].split())
            if len(text) <= _REPEATED_CHARACTERS:
                made.append(Text(text))
        line.append(made)
    return line


def _flatten(cell: Element) -> None:
    """A cell of Markdown is one line: list items get a dot, headings become bold, line breaks become spaces."""
    for item in cell.select("li"):
        item.insert(0, Text("• "))
        item.append(Text(" "))
        item.tag = "span"
    for heading in cell.select("h1, h2, h3, h4, h5, h6"):
        heading.tag = "strong"
    for inner in cell.select("br, hr"):
        inner.replace_with(Text(" "))
    for block in cell.select("p, div, ul, ol, dl, dt, dd, section, article, figure, figcaption, blockquote"):
        block.insert(0, Text(" "))
        block.append(Text(" "))
        block.tag = "span"
