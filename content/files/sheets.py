"""Excel workbooks (xlsx): values as they are shown to be, dates as ISO dates, formulas where no value was kept."""

import re
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import BytesIO
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

from .parts import Parts, attribute, children, first, local
from .text import Text, row, table

_DATES = {*range(14, 23), *range(27, 37), 45, *range(50, 59)}
_SPANS = {46: "[h]:mm:ss", 47: "mm:ss.0"}
"""Formats that every workbook has: ECMA-376, part 1, 18.8.30."""

_FORMAT_MAX = 255
"""Characters; Excel takes no longer ones."""

_SPAN = re.compile(r"\[(?:h+|m+|s+)\]|^[^yd]*s\.0", re.IGNORECASE)
_PIECE = re.compile(r'"([^"]*)"|\\(.)|\[(h+|m+|s+)\]|(h+|m+|s+)|\.(0+)|\[[^\]]*\]|[_*].|@', re.IGNORECASE | re.DOTALL)
_UNITS_S = {"h": (3600, 24), "m": (60, 60), "s": (1, 60)}
"""Of each: how long it is, and after how many it begins anew."""

_QUOTED = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
_DATE = "date"
_TOLD_CHARACTERS = 120
_COLUMNS_MAX = 16_384
ONE_SHEET = "/SHEET.csv behind the path reads one sheet as a table, which sql asks"
_DAYS = {False: datetime(1899, 12, 30), True: datetime(1904, 1, 1)}
_LEAP_DAY = 60
"""29 February 1900, which only Excel has."""


class Workbook:
    """The sheets of a workbook.

    Attributes:
        sheets: names of the parts by the names of the sheets, in their order.
        hidden: names of the sheets that Excel does not show.
    """

    def __init__(self, parts: Parts) -> None:
        name = parts.main()
        links = parts.links(name)
        book = parts.tree(name)
        self._parts = parts
        listed = [(attribute(one, "name"), attribute(one, "id")) for one in children(book, "sheets")]
        self.sheets = {title: links[link][1] for title, link in listed if link in links}
        self.hidden = [
            attribute(one, "name")
            for one in children(book, "sheets")
            if attribute(one, "state") in {"hidden", "veryHidden"}
        ]
        by_kind = {kind.rpartition("/")[2]: target for kind, target in links.values()}
        self._texts = [_text(one) for one in parts.tree(by_kind.get("sharedStrings", ""))]
        styles = parts.tree(by_kind.get("styles", ""))
        own = {attribute(one, "numFmtId"): attribute(one, "formatCode") for one in children(styles, "numFmts")}
        self._shown = [_shown(attribute(one, "numFmtId"), own) for one in children(styles, "cellXfs")]
        self._first_day = _DAYS[attribute(first(book, "workbookPr"), "date1904") in {"1", "true"}]

    def rows(self, sheet: str) -> Iterator[list[str]]:
        """Return the rows of a sheet that are not empty, each as long as it is filled."""
        events = ET.iterparse(BytesIO(self._parts.read(self.sheets[sheet])), ["end"])
        for _, element in events:
            if local(element) == "row":
                cells: list[str] = []
                for cell in element:
                    place = _column(attribute(cell, "r")) or len(cells)
                    cells += [""] * (min(place, _COLUMNS_MAX) - len(cells))
                    cells.append(self._value(cell))
                while cells and not cells[-1]:
                    cells.pop()
                if cells:
                    yield cells
                element.clear()

    def _value(self, cell: Element) -> str:
        kept = first(cell, "v")
        value = (kept.text or "") if kept is not None else ""
        match attribute(cell, "t"):
            case "s":
                return self._texts[int(value)] if value.isdigit() and int(value) < len(self._texts) else ""
            case "inlineStr":
                inline = first(cell, "is")
                return _text(inline) if inline is not None else ""
            case "b":
                return {"1": "TRUE", "0": "FALSE"}.get(value, value)
            case "" | "n" if value:
                style = attribute(cell, "s")
                shown = self._shown[int(style)] if style.isdigit() and int(style) < len(self._shown) else ""
                return self._date(value) if shown == _DATE else _span(value, shown) if shown else _number(value)
            case _:
                formula = first(cell, "f")
                return value or (f"={formula.text}" if formula is not None and formula.text else "")

    def _date(self, value: str) -> str:
        try:
            days = float(value)
            moment = self._first_day + timedelta(
                days=days + (1 <= days < _LEAP_DAY and self._first_day == _DAYS[False])
            )
        except (ValueError, OverflowError):
            return value
        moment = (moment + timedelta(milliseconds=500)).replace(microsecond=0)
        if 0 <= days < 1:
            return moment.time().isoformat()
        return str(moment) if moment.time().isoformat() != "00:00:00" else moment.date().isoformat()


def read(parts: Parts) -> Text:
    """Read all the sheets; a workbook of one is a table, of which rows can be asked."""
    book = Workbook(parts)
    facts = dict(parts.about())
    if book.hidden:
        facts["note"] = f"hidden in Excel: {', '.join(book.hidden)}"[:_TOLD_CHARACTERS]
    if len(book.sheets) == 1:
        (name,) = book.sheets
        return Text(map(row, padded(book.rows(name))), {**facts, "sheets": name}, ".csv")
    blocks = (block for name in book.sheets for block in (f"## {name}", table(book.rows(name))))
    return Text(blocks, {**facts, "sheets": ", ".join(book.sheets), "next": ONE_SHEET})


def padded(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Return rows, none shorter than the first."""
    width = 0
    for cells in rows:
        width = width or len(cells)
        yield cells + [""] * (width - len(cells))


def _text(holder: Element) -> str:
    """Return a text without what tells how it is pronounced."""
    parts = ([one] if local(one) == "t" else one.iter() for one in holder if local(one) != "rPh")
    return "".join(one.text or "" for found in parts for one in found if local(one) == "t")


def _column(reference: str) -> int:
    """Return the place of a column from 0, such as 27 for `AB12`."""
    number = 0
    for letter in reference.upper()[:3]:
        if "A" <= letter <= "Z":
            number = 26 * number + ord(letter) - 64
    return max(0, number - 1)


def _number(value: str) -> str:
    """Return a number as it is shown: 0.1 is kept as 0.10000000000000001 by some programs."""
    try:
        return value if len(value) < 16 or value.lstrip("-").isdigit() else f"{float(value):.15g}"
    except ValueError:
        return value


def _shown(number: str, own: dict[str, str]) -> str:
    """Return `_DATE` for a format of dates, the format itself for one of spans of time, and nothing for others."""
    if number not in own:
        return _SPANS.get(int(number), _DATE * (int(number) in _DATES)) if number.isdigit() else ""
    code = own[number].partition(";")[0]
    if len(code) <= _FORMAT_MAX and _SPAN.search(code):
        return code
    letters = _QUOTED.sub("", code).casefold()
    return _DATE * ("general" not in letters and not set("ydhs").isdisjoint(letters))


def _span(value: str, code: str) -> str:
    """Return a span of time as its format shows it: 1.5 days are 36:00:00 by `[h]:mm:ss`."""
    digits = max((len(found[5] or "") for found in _PIECE.finditer(code)), default=0)
    try:
        whole_s, rest = divmod(round(abs(float(value)) * 86_400 * 10**digits), 10**digits)
    except (ValueError, OverflowError):
        return value

    def piece(found: re.Match[str]) -> str:
        quoted, escaped, full, unit, fraction = found.groups()
        if fraction:
            return f".{rest:0{digits}}"[: len(fraction) + 1]
        if not (full or unit):
            return quoted or escaped or ""
        one_s, count = _UNITS_S[found[0].strip("[")[0].casefold()]
        return f"{whole_s // one_s % (count if unit else sys.maxsize):0{len(full or unit)}}"

    return "-" * (float(value) < 0) + _PIECE.sub(piece, code)
