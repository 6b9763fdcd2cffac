"""A page: pieces of a content in order, each of which knows how a reader goes on from it."""

from collections.abc import Sequence
from dataclasses import dataclass

from . import cut
from .clean import utf8
from .cut import Allowance
from .previews.base import Preview, Resume


@dataclass(frozen=True, slots=True)
class Piece:
    """One line, match or entry of a page; the unit that a page is preferably cut at.

    Attributes:
        text: the piece as `bytes.decode("utf-8", "surrogateescape")` gives it, its line break included. Bytes that are
            not UTF-8 are shown as U+FFFD, yet counted as the bytes they are.
        resume: how to read on from the start of this piece, should the page have to end before it.
        offset: byte offset of the piece in the content when its text is exactly the content's bytes there, so that the
            page may also end inside it and go on by bytes; None when it is not (a list entry, a decorated match).
    """

    text: str
    resume: Resume
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """What a reading asks to show: as many whole pieces as fit, and how to go on behind them.

    Attributes:
        pieces: in order. Producers stop after some 64 KiB: no reply shows more than a fraction of that.
        after: how to read on behind the last piece; None when the reading is complete with it.
    """

    pieces: Sequence[Piece]
    after: Resume | None = None

    def whole(self, allowance: Allowance) -> str | None:
        """Return the page if it is all that was asked for and fits."""
        if self.after is not None or sum(len(piece.text) for piece in self.pieces) > allowance.bytes:
            return None
        text = self._text(len(self.pieces))
        return text if cut.fits(text, allowance) else None

    def part(self, allowance: Allowance) -> Preview:
        """Show the first pieces, or the start of the first if even that is too long."""
        count = cut.longest(len(self.pieces), lambda count: cut.fits(self._text(count), allowance))
        if not count and self.pieces:
            return self._inside(self.pieces[0], allowance)
        return _preview(self._text(count), self._behind(count))

    def _inside(self, piece: Piece, allowance: Allowance) -> Preview:
        shown = cut.head(utf8(piece.text), allowance)
        if not shown:
            return Preview("", "nothing of this fits", piece.resume)
        if piece.offset is None:
            return Preview(shown, "the end of this entry is cut off", self._behind(1) or {})
        taken = len(piece.text[: len(shown)].encode("utf-8", "surrogateescape"))
        end = str(piece.resume.get("bytes", "-")).partition("-")[2]
        return _preview(shown, {"bytes": f"{piece.offset + taken}-{end}"})

    def _behind(self, count: int) -> Resume | None:
        return self.pieces[count].resume if count < len(self.pieces) else self.after

    def _text(self, count: int) -> str:
        return utf8("".join(piece.text for piece in self.pieces[:count]))


def _preview(shown: str, behind: Resume | None) -> Preview:
    """Say what a page that ends early leaves out of what was asked for."""
    if behind is None:
        return Preview(shown)
    if "grep" in behind:
        return Preview(shown, "more matches follow", behind)
    follows = next((f"{unit} {behind[unit]} follow" for unit in ("lines", "bytes") if unit in behind), "more follows")
    return Preview(shown, follows, behind)
