"""A page: pieces of a content in order, each of which knows how a reader goes on from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Resume = Mapping[str, str | int]
"""Arguments of `read_artifact`, beside the artifact itself, that continue a reading."""


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
    """What a reading asks to show; the reply shows as many whole pieces as fit and says how to go on.

    Attributes:
        pieces: in order. Producers stop after some 64 KiB: no reply shows more than a fraction of that.
        after: how to read on behind the last piece; None when the reading is complete with it.
    """

    pieces: Sequence[Piece]
    after: Resume | None = None
