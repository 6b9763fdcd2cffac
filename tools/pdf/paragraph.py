"""A paragraph: measured once, broken into lines greedily, drawn line by line."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, NamedTuple

from . import bidi
from .canvas import BLACK, Ink, Link, Page, ink, number
from .pieces import choices, kinds_of, words
from .scripts import (
    continues_cluster,
    has_breaks,
    is_neutral,
    may_break,
    needs_shaping,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .faces import Face, Shaped
    from .fonts import Chain, Fonts

GREY = ink((0.42, 0.45, 0.49))
LIGHT = ink((0.82, 0.84, 0.87))
BLUE = ink((0.04, 0.35, 0.72))
SHADE = ink((0.955, 0.962, 0.972))


@dataclass(frozen=True, slots=True, eq=False)
class Style:
    """How a piece of text looks; make each only once, it is known by its identity.

    Attributes:
        size: in points.
        rise: points above the base line.
        link: a URL, `#name`, or empty.
        shaded: on a light ground, as code inside a sentence is.
    """

    size: float
    mono: bool = False
    bold: bool = False
    italic: bool = False
    strike: bool = False
    shaded: bool = False
    rise: float = 0.0
    link: str = ""
    color: Ink = BLACK


class _Run(NamedTuple):
    """A piece of a paragraph that is drawn with one font in one direction.

    Attributes:
        turns: it begins with punctuation or a space, after text that runs the other way.
    """

    start: int
    end: int
    style: Style
    chain: Chain
    face: Face
    level: int = 0
    shaped: bool = False
    turns: bool = False


class Typesetter:
    """Measures text with the fonts of one document."""

    def __init__(self, fonts: Fonts) -> None:
        self._fonts = fonts
        self._chains: dict[Style, tuple[Chain, dict[str, float]]] = {}

    def paragraph(self, spans: Sequence[tuple[str, Style]]) -> Paragraph:
        """Measure text that is fit to be drawn and has no line end inside."""
        if len(spans) == 1:
            text, style = spans[0]
            measured = self.quick(text, style)
            if measured is not None:
                return measured
            chain, points = self._style(style)
            face = chain.one_face(text)
            if face is not None:
                return _uniform(text, style, chain, face, points)
        text = "".join(span for span, _ in spans)
        levels = bidi.levels(text)
        rtl = levels is not None and levels[-1] % 2 == 1
        runs: list[_Run] = []
        start = 0
        for span, style in spans:
            if span:
                self._itemise(text, start, start + len(span), style, levels, runs)
                start += len(span)
        return Paragraph(text, runs, edges=self._edges(text, runs), rtl=rtl)

    def quick(self, text: str, style: Style) -> Paragraph | None:
        """Measure text as it comes if every character is known to be drawn; else it may be unfit, and is left alone."""
        chain, points = self._chains.get(style) or self._style(style)
        if chain.plain.issuperset(text):
            return _uniform(text, style, chain, chain.primary, points)
        known = chain.known_face(text)
        if known is None:
            return None
        face, square = known
        if square and not chain.cell:
            runs = [_Run(0, len(text), style, chain, face, 0, shaped=False)]
            return Paragraph(text, runs, edges=_squares(len(text), style.size))
        return _uniform(text, style, chain, face, points)

    def _style(self, style: Style) -> tuple[Chain, dict[str, float]]:
        known = self._chains.get(style)
        if known is None:
            chain = self._fonts.chain(mono=style.mono, bold=style.bold, italic=style.italic)
            known = self._chains[style] = (chain, _Points(chain, style.size))
        return known

    def _itemise(
        self, text: str, start: int, end: int, style: Style, levels: list[int] | None, runs: list[_Run]
    ) -> None:
        """Append the runs of one span."""
        chain, _ = self._style(style)
        span = text[start:end]
        known = chain.known_face(span) if levels is None else None
        face = known[0] if known is not None else chain.one_face(span) if levels is None else None
        if face is not None:
            runs.append(_Run(start, end, style, chain, face, 0, shaped=False))
            return
        if levels is None and not needs_shaping(span):
            self._simple(span, start, style, chain, 0, runs)
            return
        kinds = kinds_of(text, start, end, levels)
        at = start
        for (kind, level), items in groupby(kinds):
            stop = at + sum(1 for _ in items)
            if kind or level % 2:
                first = len(runs)
                self._complex(text[at:stop], at, style, chain, level, runs)
                if levels is not None and at and level % 2 and not levels[at - 1] % 2 and is_neutral(text[at]):
                    runs[first] = runs[first]._replace(turns=True)
            else:
                self._simple(text[at:stop], at, style, chain, level, runs)
            at = stop

    def _simple(self, span: str, at: int, style: Style, chain: Chain, level: int, runs: list[_Run]) -> None:
        if not span:
            return
        faces = map(chain.face_of.__getitem__, span)
        for face, same in groupby(faces):
            length = len(list(same))
            runs.append(_Run(at, at + length, style, chain, face, level, shaped=False))
            at += length

    def _complex(self, span: str, at: int, style: Style, chain: Chain, level: int, runs: list[_Run]) -> None:
        start, last = 0, None
        for begin, end, wanted in choices(span, chain):
            face = wanted
            if face is None and last is not None and last.covers.issuperset(map(ord, span[begin:end])):
                face = last
            face = face or chain.find_all(span[begin:end]) or chain.face_of[span[begin]]
            if last is not None and face is not last:
                runs.append(_Run(at + start, at + begin, style, chain, last, level, shaped=True))
                start = begin
            last = face
        if last is not None:
            runs.append(_Run(at + start, at + len(span), style, chain, last, level, shaped=True))

    def _edges(self, text: str, runs: list[_Run]) -> array[float]:
        """Return the distance of each character, and of the end, from the start of the text as if on one line."""
        edges = array("d", [0.0])
        for run in runs:
            if not run.shaped:
                widths = self._style(run.style)[1]
                spread = accumulate(map(widths.__getitem__, text[run.start : run.end]), initial=edges.pop())
                edges.extend(spread)
            else:
                self._shaped_edges(text, run, edges)
        return edges

    def _shaped_edges(self, text: str, run: _Run, edges: array[float]) -> None:
        scale, x = run.style.size / 1000, edges[-1]
        for begin, end in words(text[run.start : run.end]):
            shaped = run.face.shape(text[run.start + begin : run.start + end], run.level % 2 == 1)
            edges.extend(x + edge * scale for edge in shaped.edges)
            x += shaped.width * scale


def _uniform(text: str, style: Style, chain: Chain, face: Face, points: dict[str, float]) -> Paragraph:
    """Measure what most text is: one style, one font, left to right, nothing to shape."""
    runs = [_Run(0, len(text), style, chain, face)]
    if len(text) > _SHORT:
        return Paragraph(text, runs, edges=array("d", accumulate(map(points.__getitem__, text), initial=0.0)))
    return Paragraph(text, runs, points=points)


_SHORT = 80
"""Text that mostly fits on a line, so that only its width is asked for."""

_grids: dict[float, array[float]] = {}


def _squares(length: int, size: float) -> array[float]:
    """Return the edges of characters that are all as wide as high."""
    grid = _grids.get(size)
    if grid is None or len(grid) <= length:
        grid = _grids[size] = array("d", (size * i for i in range(max(length + 1, 2048))))
    return grid[: length + 1]


class _Points(dict[str, float]):
    """Width of a character in points at one size."""

    def __init__(self, chain: Chain, size: float) -> None:
        super().__init__()
        self._chain = chain
        self._scale = size / 1000

    def __missing__(self, character: str) -> float:
        width = self[character] = self._chain.widths[character] * self._scale
        return width


class Paragraph:
    """Measured text.

    Attributes:
        text: what is drawn.
        width: in points, as if on one line.
        rtl: the paragraph runs from right to left.
    """

    __slots__ = ("_known", "_points", "_runs", "_starts", "rtl", "text", "width")

    def __init__(
        self,
        text: str,
        runs: list[_Run],
        *,
        edges: array[float] | None = None,
        points: dict[str, float] | None = None,
        rtl: bool = False,
    ) -> None:
        """Take the edges of all characters, or the widths to compute them from when a line must be broken."""
        self.text = text
        self.rtl = rtl
        self._runs = runs
        self._known = edges
        self._points: dict[str, float] = {} if points is None else points
        self._starts: list[int] | None = None
        self.width = edges[-1] if edges is not None else sum(map(self._points.__getitem__, text))

    @property
    def _edges(self) -> array[float]:
        if self._known is None:
            self._known = array("d", accumulate(map(self._points.__getitem__, self.text), initial=0.0))
        return self._known

    @property
    def _breaks(self) -> bool:
        """Whether a line may break elsewhere than at a space."""
        text = self.text
        return ("-" in text or "/" in text) if text.isascii() else bool(has_breaks(text))

    def lines(self, width: float, *, keep_spaces: bool = False) -> list[tuple[int, int]]:
        """Break into lines of at most `width` points; return where each starts and ends.

        Args:
            width: room for a line; a single cluster that is wider gets a line of its own.
            keep_spaces: it is code: spaces stay, and a line breaks where it is full, or at a space not far before.
        """
        text, length = self.text, len(self.text)
        if self.width <= width:
            return [(0, length)]
        edges, breaks = self._edges, self._breaks
        found: list[tuple[int, int]] = []
        start = 0
        while True:
            # A hundredth of a point more: widths are sums of rounded numbers.
            end = bisect_right(edges, edges[start] + width + 0.01, start) - 1
            if end >= length:
                found.append((start, length))
                return found
            if keep_spaces:
                end = self._code_edge(start, end)
                found.append((start, end))
                start = end
                continue
            end = self._break(start, end, breaks=breaks)
            stop = end
            while stop > start and text[stop - 1] == " ":
                stop -= 1
            found.append((start, stop))
            while end < length and text[end] == " ":
                end += 1
            if end == length:
                return found
            start = end

    def widest(self, first: int, last: int) -> float:
        """Return the width of the text between two places."""
        if last - first == len(self.text):
            return self.width
        return self._edges[last] - self._edges[first]

    def longest_word(self) -> float:
        """Return the width of the widest piece that a line break should not split."""
        if not self._breaks:
            return self._widest_word()
        text, edges = self.text, self._edges
        widest, start = 0.0, 0
        for index in range(1, len(text)):
            if text[index - 1] == " " or (text[index] != " " and may_break(text[index - 1], text[index])):
                widest = max(widest, edges[index] - edges[start])
                start = index
        return max(widest, edges[-1] - edges[start])

    def _widest_word(self) -> float:
        edges, widest, start = self._edges, 0.0, 0
        for word in self.text.split(" "):
            end = start + len(word)
            widest = max(widest, edges[end] - edges[start])
            start = end + 1
        return widest

    def _break(self, start: int, end: int, *, breaks: bool) -> int:
        """Return where the line that starts at `start` and holds at most the text up to `end` shall end."""
        text = self.text
        if end > start and text[end] == " ":
            return end
        space = text.rfind(" ", start, end)
        if breaks:
            for index in range(end, max(space + 1, start), -1):
                if may_break(text[index - 1], text[index]):
                    return index
        return space + 1 if space > start else self._cluster_edge(start, end)

    def _code_edge(self, start: int, end: int) -> int:
        """Return the end of a line of code: after a space in its last third, else where it is full."""
        space = self.text.rfind(" ", start + (end - start) * 2 // 3, end)
        return space + 1 if space > start else self._cluster_edge(start, end)

    def _cluster_edge(self, start: int, end: int) -> int:
        """Return the end of the last whole cluster, but at least one character."""
        text, wanted = self.text, max(end, start + 1)
        while wanted > start + 1 and continues_cluster(text[wanted]):
            wanted -= 1
        if wanted == start + 1:
            while wanted < len(text) and continues_cluster(text[wanted]):
                wanted += 1
        return wanted

    def draw(self, page: Page, left: float, baseline: float, line: tuple[int, int]) -> float:
        """Draw a line that starts at `left`; return its width."""
        first, last = line
        if first == last:
            return 0.0
        if len(self._runs) == 1:
            return self._draw_run(page, left, baseline, first, last, self._runs[0])
        if self._starts is None:
            self._starts = [run.start for run in self._runs]
        runs = self._runs[bisect_right(self._starts, first) - 1 : bisect_left(self._starts, last)]
        pieces = [(run.level, (max(run.start, first), min(run.end, last), run)) for run in runs]
        x = left
        for start, end, run in bidi.visual(pieces):
            x += self._draw_run(page, x, baseline, start, end, run)
        return x - left

    def _draw_run(self, page: Page, x: float, baseline: float, start: int, end: int, run: _Run) -> float:
        style, face = run.style, run.face
        face.drawn += 1
        y = page.height - baseline + style.rise
        known = run.chain.openings.get((style, face, run.level % 2))
        if known is None:
            known = run.chain.openings[style, face, run.level % 2] = _opening(run)
        simple, shaped, plain = known
        if run.shaped:
            operands, width = self._shaped(page, x, y, start, end, run)
            page.over.append(shaped % (x, y, operands))
        else:
            text = self.text
            whole = end - start == len(text)
            page.over.append(simple % (x, y, run.chain.encode(face, text if whole else text[start:end])))
            width = self.width if whole else self.widest(start, end)
        if not plain:
            _decorate(page, x, baseline, width, style)
        return width

    def _shaped(self, page: Page, x: float, y: float, start: int, end: int, run: _Run) -> tuple[bytes, float]:
        """Return operands of TJ and the width; paint the marks."""
        text = self.text[start:end]
        rtl, size = run.level % 2 == 1, run.style.size
        apart = rtl and all(map(is_neutral, text))
        pieces = text if apart else [text[a:b] for a, b in words(text)]
        shaped = [run.face.shape(piece, rtl) for piece in pieces]
        if rtl:
            shaped.reverse()
        # Readers lose the order of punctuation and spaces that follow each other in right-to-left text, and take those
        # after a foreign word for a part of it, unless a mark of direction parts them.
        mark = run.face.unseen("\u200f", 60) if rtl and (apart or run.turns) else b""
        operands = (mark if apart else b"").join(word.array for word in shaped)
        if run.turns and start == run.start:
            operands += mark
        width = 0.0
        for word in shaped:
            if word.marks:
                page.over.append(_outlines(word, x + width * size / 1000, y, run))
            width += word.width
        return b"[%s]" % operands, width * size / 1000


def _opening(run: _Run) -> tuple[bytes, bytes, bool]:
    """Return the operators of a simple and of a shaped run, to be filled in with x, y and text.

    The last value tells whether nothing else is drawn for it.
    """
    style, bold = run.style, run.chain.embolden(run.face)
    # Text is black on every page to begin with, and again after any that is not.
    black = style.color is BLACK
    color = b"" if black else style.color.fill + b" "
    begin = b"%sBT /F%d %s Tf " % (color, run.face.number, number(style.size).encode())
    if bold:
        begin += b"2 Tr %.2f w %s " % (style.size / 36, style.color.stroke)
    # A slanted Arabic or Hebrew is no emphasis.
    slanted = run.chain.slant(run.face) and run.level % 2 == 0
    plain = not (style.link or style.shaded or style.strike)
    finish = (b" 0 Tr ET" if bold else b" ET") + (b"" if black else b" " + BLACK.fill)
    place = b"1 0 0.21 1 %.2f %.2f Tm " if slanted else b"%.2f %.2f Td "
    return begin + place + b"%s Tj" + finish, begin + place + b"%s TJ" + finish, plain


def _decorate(page: Page, x: float, baseline: float, width: float, style: Style) -> None:
    size = style.size
    if style.shaded:
        page.box(x - 1.4, baseline - size * 0.92, width + 2.8, size * 1.24, SHADE)
    if style.strike:
        page.rule(x, baseline - size * 0.3, x + width, style.color, size / 16)
    if style.link:
        page.links.append(Link(x, baseline - size * 0.9 - style.rise, width, size * 1.2, style.link))
        if not style.rise:
            page.rule(x, baseline + size * 0.14, x + width, style.color, 0.45)


def _outlines(word: Shaped, x: float, y: float, run: _Run) -> bytes:
    scale = run.style.size / 1000
    glyph = number_long(run.face.scale * scale)
    parts = [b"q", run.style.color.fill]
    for path, dx, dy in word.marks:
        parts.append(f"q {glyph} 0 0 {glyph} {number(x + dx * scale)} {number(y + dy * scale)} cm ".encode())
        parts.append(path + b" f Q")
    parts.append(b"Q")
    return b" ".join(parts)


def number_long(value: float) -> str:
    """Return a scale with more digits than a coordinate needs."""
    return f"{value:.6f}".rstrip("0")
