"""A paragraph: measured once, broken into lines greedily, drawn line by line."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from . import bidi
from .canvas import BLACK, SHADE, Link, Page, Style, literal
from .memo import Memo
from .runs import Run, runs_of, words
from .scripts import continues_cluster, has_breaks, is_neutral, may_break
from .shaping import shape, unseen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .face import Face
    from .fonts import Chain, Fonts

_ROUNDING_PT = 0.01
"""How much more than the room a line may take: widths are sums of rounded numbers."""


class Typesetter:
    """Measures text with the fonts of one document."""

    def __init__(self, fonts: Fonts) -> None:
        self._fonts = fonts
        self._styles: Memo[Style, tuple[Chain, Memo[str, float]]] = Memo(self._style)

    def paragraph(self, spans: Sequence[tuple[str, Style]], places: Sequence[str] = ()) -> Paragraph:
        """Measure text that is fit to be drawn and has no line end inside; links may go to the places in it."""
        if len(spans) == 1 and spans[0][0].isascii():
            # What most text is: one style, one font, nothing to shape.
            text, style = spans[0]
            chain, widths = self._styles[style]
            if len(faces := set(map(chain.face_of.__getitem__, text))) == 1:
                edges = array("d", accumulate(map(widths.__getitem__, text), initial=0.0))
                return Paragraph(text, [Run(0, len(text), style, chain, faces.pop())], edges, places)
        text = "".join(span for span, _ in spans)
        levels = bidi.levels(text)
        runs: list[Run] = []
        start = 0
        for span, style in spans:
            if span:
                runs += runs_of(text, start, start + len(span), style, self._styles[style][0], levels)
                start += len(span)
        edges = array("d", [0.0])
        for run in runs:
            if run.shaped:
                edges.extend(_shaped_edges(text, run, edges[-1]))
            else:
                part = map(self._styles[run.style][1].__getitem__, text[run.start : run.end])
                edges.extend(accumulate(part, initial=edges.pop()))
        return Paragraph(text, runs, edges, places, rtl=levels is not None and levels[-1] % 2 == 1)

    def _style(self, style: Style) -> tuple[Chain, Memo[str, float]]:
        """Return the fonts of a style, and the widths of characters in it in points."""
        chain = self._fonts.chain(mono=style.mono, bold=style.bold, italic=style.italic)
        return chain, Memo(lambda character: chain.widths[character] * style.size / 1000)


def _shaped_edges(text: str, run: Run, x: float) -> Iterator[float]:
    scale = run.style.size / 1000
    for word in words(text[run.start : run.end]):
        shaped = shape(run.face, word, rtl=run.level % 2 == 1)
        yield from (x + edge * scale for edge in shaped.edges)
        x += shaped.width * scale


class Paragraph:
    """Measured text.

    Attributes:
        text: what is drawn.
        width: in points, as if on one line.
        rtl: the paragraph runs from right to left.
        places: names that links may go to.
    """

    __slots__ = ("_edges", "_runs", "places", "rtl", "text", "width")

    def __init__(
        self, text: str, runs: list[Run], edges: array[float], places: Sequence[str] = (), *, rtl: bool = False
    ) -> None:
        """Take the runs, and where each character begins and the last one ends, in points."""
        self.text, self.rtl, self.places = text, rtl, places
        self._runs, self._edges = runs, edges
        self.width = edges[-1]

    def lines(self, width: float, *, keep_spaces: bool = False) -> list[tuple[int, int]]:
        """Break into lines of at most `width` points; return where each starts and ends.

        Args:
            width: room for a line; a single cluster that is wider gets a line of its own.
            keep_spaces: it is code: spaces stay, and a line breaks where it is full, or at a space not far before.
        """
        text, edges, length = self.text, self._edges, len(self.text)
        if self.width <= width:
            return [(0, length)]
        breaks = bool(has_breaks(text))
        found: list[tuple[int, int]] = []
        start = 0
        while True:
            full = bisect_right(edges, edges[start] + width + _ROUNDING_PT, start) - 1
            if full >= length:
                return [*found, (start, length)]
            if keep_spaces:
                end = following = self._code_edge(start, full)
            else:
                end = following = self._break(start, full, breaks=breaks)
                while end > start and text[end - 1] == " ":
                    end -= 1
                while following < length and text[following] == " ":
                    following += 1
            found.append((start, end))
            if following == length:
                return found
            start = following

    def width_of(self, line: tuple[int, int]) -> float:
        """Return the width of a line in points."""
        return self._edges[line[1]] - self._edges[line[0]]

    def longest_word(self) -> float:
        """Return the width of the widest piece that a line break should not split, in points."""
        text, edges, widest, start = self.text, self._edges, 0.0, 0
        for index in range(1, len(text)):
            if text[index - 1] == " " or (text[index] != " " and may_break(text[index - 1], text[index])):
                widest, start = max(widest, edges[index] - edges[start]), index
        return max(widest, edges[-1] - edges[start])

    def draw(self, page: Page, left: float, baseline: float, line: tuple[int, int] | None = None) -> None:
        """Draw a line, or all on one, from `left` on."""
        first, last = line or (0, len(self.text))
        if first == last:
            return
        runs = self._runs
        if len(runs) > 1:
            begin = bisect_right(runs, first, key=_start) - 1
            runs = bidi.visual([(run.level, run) for run in runs[begin : bisect_left(runs, last, key=_start)]])
        x = left
        for run in runs:
            x += self._draw_run(page, x, baseline, max(run.start, first), min(run.end, last), run)

    def _break(self, start: int, full: int, *, breaks: bool) -> int:
        """Return where a line ends that starts at `start` and has room up to `full`."""
        text = self.text
        if full > start and text[full] == " ":
            return full
        space = text.rfind(" ", start, full)
        if breaks:
            for index in range(full, max(space + 1, start), -1):
                if may_break(text[index - 1], text[index]):
                    return index
        return space + 1 if space > start else self._cluster_edge(start, full)

    def _code_edge(self, start: int, full: int) -> int:
        """Return the end of a line of code: after a space in its last third, else where it is full."""
        space = self.text.rfind(" ", start + (full - start) * 2 // 3, full)
        return space + 1 if space > start else self._cluster_edge(start, full)

    def _cluster_edge(self, start: int, full: int) -> int:
        """Return the end of the last whole cluster, but at least one character."""
        text, end = self.text, max(full, start + 1)
        while end > start + 1 and continues_cluster(text[end]):
            end -= 1
        if end == start + 1:
            while end < len(text) and continues_cluster(text[end]):
                end += 1
        return end

    def _draw_run(self, page: Page, x: float, baseline: float, start: int, end: int, run: Run) -> float:
        """Draw a part of a run; return its width in points."""
        style, face = run.style, run.face
        face.drawn += 1
        y = page.height - baseline + style.rise
        if run.shaped:
            operands, width = self._shaped(page, x, y, start, end, run)
        else:
            operands = literal(self.text[start:end].translate(face.codes))
            width = self._edges[end] - self._edges[start]
        page.over.append(_operators(style, run.chain, face, run.level % 2) % (x, y, operands))
        if style.link or style.shaded or style.strike:
            _decorate(page, x, baseline, width, style)
        return width

    def _shaped(self, page: Page, x: float, y: float, start: int, end: int, run: Run) -> tuple[bytes, float]:
        """Return the operands that draw a shaped text, and its width; paint its marks."""
        text, rtl, face, scale = self.text[start:end], run.level % 2 == 1, run.face, run.style.size / 1000
        apart = rtl and all(map(is_neutral, text))
        shaped = [shape(face, piece, rtl=rtl) for piece in (text if apart else words(text))]
        if rtl:
            shaped.reverse()
        # Readers lose the order of punctuation and spaces that follow each other in right-to-left text, and take those
        # after a foreign word for a part of it, unless a mark of direction parts them.
        mark = unseen(face, "\u200f", 60) if rtl and (apart or run.turns) else b""
        operands = (mark if apart else b"").join(word.operands for word in shaped)
        if run.turns and start == run.start:
            operands += mark
        width = 0.0
        for word in shaped:
            for path, dx, dy in word.marks:
                place = (face.scale * scale, face.scale * scale, x + (width + dx) * scale, y + dy * scale)
                page.over.append(b"q %s %.6f 0 0 %.6f %.2f %.2f cm %s f Q" % (run.style.color.fill, *place, path))
            width += word.width
        return operands, width * scale


def _start(run: Run) -> int:
    return run.start


@lru_cache(maxsize=1000)
def _operators(style: Style, chain: Chain, face: Face, rtl: int) -> bytes:
    """Return the operators around a text, to be filled in with x, y and what is drawn.

    Text is black on every page to begin with, and again after any that is not.
    """
    color, back = (b"", b"") if style.color == BLACK else (style.color.fill + b" ", b" " + BLACK.fill)
    bold = b"2 Tr %.2f w %s " % (style.size / 36, style.color.stroke) if chain.embolden(face) else b""
    # A slanted Arabic or Hebrew is no emphasis.
    place = b"1 0 0.21 1 %.2f %.2f Tm " if chain.slant(face) and not rtl else b"%.2f %.2f Td "
    begin = b"%sBT /F%d %.4g Tf %s" % (color, face.number, style.size, bold)
    return begin + place + (b"[%s] TJ 0 Tr ET" if bold else b"[%s] TJ ET") + back


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
