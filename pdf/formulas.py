"""Formulas in TeX to trees that the template sets: a part of a formula is a sign, or a kind and what belongs to it."""

from __future__ import annotations

import re
from html import unescape
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from xml.etree.ElementTree import Element

Part = Any
"""A sign, or a list of a kind and what belongs to it."""

_MOST_CHARACTERS = 4_000
_DEEPEST = 30
_ALIGNED = re.compile(r"\\(begin|end)\{(?:align|aligned|alignat|alignedat|split|eqnarray)\*?\}(?:\{\d+\})?")
_GATHERED = re.compile(r"\\(begin|end)\{(?:gather|gathered|multline|equation)\*?\}")
_NUMBERED = re.compile(r"\\(?:label\{[^{}]{0,80}\}|nonumber|notag)")
_BESIDE_LIMITS = frozenset(
    ("lim", "max", "min", "sup", "inf", "limsup", "liminf", "argmax", "argmin", "det", "gcd", "Pr")
)
_BRACES = {"⏞": "overbrace", "⏟": "underbrace", "⎴": "overbracket", "⎵": "underbracket"}
_LINES = frozenset("―¯‾_̲̅")
_ACCENTS = {
    "^": "^",
    "~": "~",
    "˜": "~",
    "→": "→",
    "˙": "˙",
    "¨": "¨",
    "ˇ": "ˇ",
    "´": "´",
    "`": "`",
    "˘": "˘",
    "←": "←",
}
_SPACES = {"negativethinmathspace": -0.167, "thinmathspace": 0.167, "mediummathspace": 0.222, "thickmathspace": 0.278}
_EM = re.compile(r"(-?\d*\.?\d+)em")


class NotUnderstoodError(ValueError):
    """The formula is none, or has a command in it that is not known."""


def formula(tex: str, fit: Callable[[str], str]) -> Part:
    """Return the tree of a formula.

    Args:
        tex: without the dollars.
        fit: returns a text with everything replaced that cannot be drawn.

    Raises:
        NotUnderstoodError: show it as it is written.
    """
    if len(tex) > _MOST_CHARACTERS:
        raise NotUnderstoodError(f"it has more than {_MOST_CHARACTERS} characters")
    plain = _ALIGNED.sub(lambda one: rf"\{one[1]}{{array}}" + ("{rlrlrlrl}" if one[1] == "begin" else ""), tex)
    plain = _GATHERED.sub(lambda one: rf"\{one[1]}{{array}}" + ("{c}" if one[1] == "begin" else ""), plain)
    converter = import_module("latex2mathml.converter")
    try:
        math: Element = converter.convert_to_element(_NUMBERED.sub("", plain))
        return _Reader(fit).row(list(math), 0)
    except NotUnderstoodError:
        raise
    except Exception as error:  # whatever the parser raises about a text that is no formula
        raise NotUnderstoodError(str(error)) from error


class _Reader:
    """Reads MathML, of the kind that comes of TeX."""

    def __init__(self, fit: Callable[[str], str]) -> None:
        self._fit = fit

    def row(self, elements: list[Element], depth: int) -> Part:
        """Read elements that stand side by side."""
        if depth > _DEEPEST:
            raise NotUnderstoodError("it is nested too deeply")
        parts = list(self._side_by_side(elements, depth))
        return parts[0] if len(parts) == 1 else ["row", parts]

    def _side_by_side(self, elements: list[Element], depth: int) -> Iterator[Part]:
        for is_word, run in groupby(elements, lambda one: one.tag == "mi" and one.get("mathvariant") == "normal"):
            if is_word:
                yield ["text", self._text("".join(map(_said, run)))]
            else:
                yield from (self._part(one, depth + 1) for one in run)

    def _text(self, text: str) -> str:
        if len(text) > 1 and text.startswith("\\"):
            raise NotUnderstoodError(f"{text} is not known")
        return self._fit(text)

    def _part(self, element: Element, depth: int) -> Part:
        inside = list(element)
        match element.tag, inside:
            case "mn" | "mtext" | "ms", _:
                return ["text", self._text(_said(element))]
            case "mi" | "mo", _:
                return self._sign(element)
            case "mspace", _:
                width = element.get("width", "")
                found = _EM.fullmatch(width)
                return ["space", float(found[1]) if found else _SPACES.get(width, 0.0)]
            case "mfrac", [over, under]:
                kind = "stack" if element.get("linethickness") == "0" else "fraction"
                return [kind, self._of(over, depth), self._of(under, depth)]
            case "msqrt", _:
                return ["root", "", self.row(inside, depth)]
            case "mroot", [base, index]:
                return ["root", self._of(index, depth), self._of(base, depth)]
            case "msub", [base, below]:
                return ["scripts", self._of(base, depth), self._of(below, depth), ""]
            case "msup", [base, above]:
                return ["scripts", self._of(base, depth), "", self._of(above, depth)]
            case "msubsup", [base, below, above]:
                return ["scripts", self._of(base, depth), self._of(below, depth), self._of(above, depth)]
            case "munder" | "mover" | "munderover", [base, *others]:
                return self._stacked(element.tag, base, others, depth)
            case "mtable", _:
                return self._table(inside, depth)
            case "menclose", _:
                kind = "framed" if "box" in element.get("notation", "") else "crossed"
                return [kind, self.row(inside, depth)]
            case _:
                return self._group(element, inside, depth)

    def _group(self, element: Element, inside: list[Element], depth: int) -> Part:
        """Read a group; one between fences is as high as what it holds."""
        content = self.row(inside, depth)
        ends = [one for one in (inside[:1] + inside[-1:]) if one.tag == "mo"]
        is_fenced = any(one.get("fence") and not one.get("minsize") for one in ends)
        is_matrix = len(ends) == 2 and any(one.tag == "mtable" for one in inside)
        return ["fenced", content] if is_fenced or is_matrix else content

    def _of(self, element: Element, depth: int) -> Part:
        return self.row([element], depth)

    def _sign(self, element: Element) -> Part:
        said = _said(element)
        text = self._text("\u2212" if said == "-" else said)
        if size := _EM.fullmatch(element.get("minsize", "")):
            return ["sized", text, float(size[1])]
        if len(text) > 1 and text.isascii() and text.isalpha():
            return ["operator", text, text in _BESIDE_LIMITS]
        if element.get("mathvariant", "").startswith("bold"):
            return ["bold", text]
        return text if len(text) <= 1 else ["text", text]

    def _stacked(self, tag: str, base: Element, others: list[Element], depth: int) -> Part:
        sign = _said(others[0]).strip() if others[0].tag == "mo" else ""
        inner = self._of(base, depth)
        if sign in _BRACES:
            return ["brace", _BRACES[sign], inner, ""]
        if sign and sign in _LINES:
            return ["line", "underline" if tag == "munder" else "overline", inner]
        if tag == "mover" and sign in _ACCENTS:
            return ["accent", inner, _ACCENTS[sign]]
        notes = [self._of(one, depth) for one in others]
        if isinstance(inner, list) and inner[0] == "brace" and len(notes) == 1:
            return [*inner[:3], notes[0]]
        below = "" if tag == "mover" else notes[0]
        return ["limits", inner, below, "" if tag == "munder" else notes[-1]]

    def _table(self, rows: list[Element], depth: int) -> Part:
        cells = [[self.row(list(cell), depth) for cell in row] for row in rows if row.tag == "mtr"]
        if not cells or depth > _DEEPEST:
            raise NotUnderstoodError("it has an empty table")
        most = max(map(len, cells))
        sides = [cell.get("columnalign", "center") for row in rows if len(row) == most for cell in row]
        side = "equations" if sides[:2] == ["right", "left"] else sides[0] if len({*sides}) == 1 else "center"
        return ["table", [row + [""] * (most - len(row)) for row in cells], side]


def _said(element: Element) -> str:
    return unescape(element.text or "")
