"""Fit a reply, whatever is in it, into its ceiling: one line of valid JSON that is never cut as a string."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from . import cut
from .ceilings import Ceiling
from .clean import clean, utf8
from .cut import Allowance
from .json_size import cost, dumps, less, within
from .page import Page, Piece, Resume

FACT_MAX_CHARACTERS = 300
PATH_MAX_CHARACTERS = 4096
"""Linux's PATH_MAX: half a path is of no use to anyone."""

_PATHS = {"path", "file", "target_path", "download_dir"}

FACTS_MAX = 24
"""More facts, or more items in one of them, are counted and left out."""

PART_MIN_TOKENS = 240
"""Below this a part of a reply says nothing useful; parts beyond `tokens / 240` are counted and left out."""

_ARGUMENT_MAX_BYTES = 120

_FRAME_OF_PARTS = Allowance(tokens=40, bytes=120)
"""Kept free for the brackets around the parts and the note on those that are left out."""

_NEXT = Allowance(tokens=140, bytes=420)
"""Kept free for `incomplete` and the measures of the whole, which depend on what was left out."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a view shows of a content that does not fit whole.

    Attributes:
        value: what stands under `preview`.
        left_out: what is missing, such as `99,940 of 100,000 lines not shown`; empty when nothing is.
        resume: arguments of the call that shows more; None when there is no more.
        size: measures of the whole that only matter when it is not shown, such as its tokens.
    """

    value: str | Mapping[str, Any]
    left_out: str = ""
    resume: Resume | None = None
    size: Mapping[str, Any] = field(default_factory=dict[str, Any])


class View(Protocol):
    """A content as it can be shown under any allowance, down to none at all."""

    def whole(self, allowance: Allowance) -> str | None:
        """Return all of the content if it fits, else None; cheap."""
        ...

    def part(self, allowance: Allowance) -> Shown:
        """Show what is most useful of it."""
        ...


@dataclass(frozen=True, slots=True)
class Draft:
    """A reply before it is fitted; its entries are shown in this order.

    Attributes:
        entries: artifact, path, did and facts. The last of them go first if there are too many.
        reference: of the artifact that the next call is to read.
        size: of the whole content.
        view: shows the content.
        preview: how much a view shows of a content that does not fit whole, if less than there is room for.
        parts: replies of several items in one call; they share the ceiling and keep their places.
    """

    entries: Mapping[str, Any]
    reference: str = ""
    size: Mapping[str, Any] = field(default_factory=dict[str, Any])
    view: View | None = None
    preview: Allowance | None = None
    parts: Sequence["Draft"] = ()

    @property
    def content_bytes(self) -> int:
        """Size of its contents, those of its parts included."""
        return int(self.size.get("bytes", 0)) + sum(part.content_bytes for part in self.parts)


def fit(draft: Draft, ceiling: Ceiling) -> str:
    """Serialise a reply within its ceiling.

    Returns:
        One line of JSON of at most `ceiling.bytes` bytes of UTF-8 and `ceiling.tokens` tokens.
    """
    room = Allowance(ceiling.tokens, ceiling.bytes)
    return dumps(_fit_parts(draft, room) if draft.parts else _fit(draft, room))


def error_line(code: str, message: str, fix: str, ceiling: Ceiling) -> str:
    """Write a failure as one line of prose: clients show only the text of errors, some of them twice if it is JSON."""
    line = f"{clean(code, 64)}: {clean(message, 1200)}. {clean(fix, 600)}."
    return cut.head(line, Allowance(ceiling.tokens, ceiling.bytes))


def next_call(reference: str, resume: Resume) -> str:
    """Write the call that a model can make next, such as `read_artifact(artifact="…/a7", lines="41-80")`.

    A long argument is not repeated: the model has just written it.
    """
    arguments: dict[str, str | int] = {**({"artifact": reference} if reference else {}), **resume}
    written = {name: _argument(value) for name, value in arguments.items()}
    shown = [
        f"{name}={text if len(text.encode()) <= _ARGUMENT_MAX_BYTES else f'<the same {name}>'}"
        for name, text in written.items()
    ]
    return f"read_artifact({', '.join(shown)})"


def _argument(value: str | int) -> str:
    """Write an argument; one that holds what a reader does not see, with escapes: it may be out of a content."""
    is_plain = isinstance(value, int) or clean(value, len(value)) == value
    return dumps(value) if is_plain else json.dumps(value)


def facts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Bound facts: clean texts of at most 300 characters, at most 24 of them; lists and objects likewise."""
    bounded = {
        clean(name, 64): clean(value, PATH_MAX_CHARACTERS)
        if name in _PATHS and isinstance(value, str)
        else _fact(value)
        for name, value in list(given.items())[:FACTS_MAX]
    }
    return bounded | ({"more_facts": len(given) - FACTS_MAX} if len(given) > FACTS_MAX else {})


def _fact(value: object, is_path: bool = False) -> object:
    if isinstance(value, bool | int | None):
        return value
    if isinstance(value, float):
        return round(value, 3) if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return facts(cast("Mapping[str, Any]", value))
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        items = cast("Sequence[object]", value)
        return [_fact(item) for item in items[:FACTS_MAX]] + (
            [f"… {len(items) - FACTS_MAX} more"] if len(items) > FACTS_MAX else []
        )
    return clean(str(value), PATH_MAX_CHARACTERS if is_path else FACT_MAX_CHARACTERS)


@dataclass(frozen=True, slots=True)
class PageView:
    """Shows as many whole pieces of a page as fit, and says how to go on behind them."""

    page: Page

    def whole(self, allowance: Allowance) -> str | None:
        """Return the page if it is all that was asked for and fits."""
        if self.page.after is not None or sum(len(piece.text) for piece in self.page.pieces) > allowance.bytes:
            return None
        text = self._text(len(self.page.pieces))
        return text if cut.fits(text, allowance) else None

    def part(self, allowance: Allowance) -> Shown:
        """Show the first pieces, or the start of the first if even that is too long."""
        pieces = self.page.pieces
        fitting, beyond = 0, len(pieces) + 1
        while beyond - fitting > 1:
            middle = (fitting + beyond) // 2
            if cut.fits(self._text(middle), allowance):
                fitting = middle
            else:
                beyond = middle
        if fitting == 0 and pieces:
            return self._inside(pieces[0], allowance)
        resume = pieces[fitting].resume if fitting < len(pieces) else self.page.after
        return Shown(self._text(fitting), "" if resume is None else _follows(resume), resume)

    def _inside(self, piece: Piece, allowance: Allowance) -> Shown:
        shown = cut.head(utf8(piece.text), allowance)
        if not shown:
            return Shown("", "nothing of this fits", piece.resume)
        if piece.offset is None:
            behind = self.page.pieces[1].resume if len(self.page.pieces) > 1 else self.page.after
            return Shown(shown, "the end of this entry is cut off", behind)
        taken = len(piece.text[: len(shown)].encode("utf-8", "surrogateescape"))
        end = str(piece.resume.get("bytes", "-")).partition("-")[2]
        resume = {"bytes": f"{piece.offset + taken}-{end}"}
        return Shown(shown, _follows(resume), resume)

    def _text(self, count: int) -> str:
        return utf8("".join(piece.text for piece in self.page.pieces[:count]))


def _follows(resume: Resume) -> str:
    """Say what a page that ends early leaves out of what was asked for."""
    if "grep" in resume:
        return "more matches follow"
    return next((f"{unit} {resume[unit]} follow" for unit in ("lines", "bytes") if unit in resume), "more follows")


def _fit(draft: Draft, ceiling: Allowance) -> dict[str, Any]:
    """Give the view what the rest leaves; should the whole still be over, less and less, and at last nothing."""
    view = draft.view
    if view is None:
        return _fit_bare(draft, ceiling)
    frame = _assemble(draft, Shown(""))
    # A byte is never more than a token: what fits so needs no counting, and a small call no vocabulary.
    length = len(dumps(frame).encode())
    uncounted = min(ceiling.tokens, ceiling.bytes) - length
    if uncounted > 0 and (text := view.whole(Allowance(uncounted, uncounted))) is not None:
        return _assemble(draft, Shown(text))
    room = less(ceiling, cost(frame))
    if (text := view.whole(room)) is not None and within(reply := _assemble(draft, Shown(text)), ceiling):
        return reply
    room = less(room, Allowance(min(_NEXT.tokens, room.tokens // 2), min(_NEXT.bytes, room.bytes // 2)))
    if draft.preview is not None:
        room = Allowance(min(room.tokens, draft.preview.tokens), min(room.bytes, draft.preview.bytes))
    for _ in range(6):
        if within(reply := _assemble(draft, view.part(room)), ceiling):
            return reply
        room = Allowance(room.tokens * 3 // 4, room.bytes * 3 // 4)
    return _fit_bare(draft, ceiling)


def _fit_bare(draft: Draft, ceiling: Allowance) -> dict[str, Any]:
    """Fit a reply without a preview: entries go from the last, then what is left of the first is cut."""
    shown = draft.view.part(Allowance(0, 0)) if draft.view is not None else Shown("")
    entries = dict(draft.entries)
    while entries:
        reply = _assemble(Draft(entries, draft.reference, draft.size), shown)
        if within(reply, ceiling):
            return reply
        if len(entries) == 1:
            break
        entries.popitem()
    if not entries:
        return {}
    ((name, value),) = entries.items()
    room = less(ceiling, cost({name: ""}))
    return {name: cut.head(value if isinstance(value, str) else dumps(value), room)}


def _assemble(draft: Draft, shown: Shown) -> dict[str, Any]:
    reply = dict(draft.entries)
    if shown.left_out:
        whole = f" ({shown.size['tokens']} tokens in all)" if "tokens" in shown.size else ""
        reply["incomplete"] = shown.left_out + whole
        if shown.resume is not None:
            reply["incomplete"] += f"; see more: {next_call(draft.reference, shown.resume)}"
    if draft.size or shown.size:
        reply["size"] = {**draft.size, **shown.size}
    if draft.view is not None:
        reply["preview"] = shown.value
    return reply


def _fit_parts(draft: Draft, ceiling: Allowance) -> dict[str, Any]:
    """Share the ceiling among the parts in their order; what an early part does not need goes to the later ones."""
    own = _fit_bare(Draft(draft.entries), Allowance(ceiling.tokens // 3, ceiling.bytes // 3))
    left = less(less(ceiling, cost(own)), _FRAME_OF_PARTS)
    shown = draft.parts[: max(1, left.tokens // PART_MIN_TOKENS)]
    parts: list[dict[str, Any]] = []
    for place, part in enumerate(shown):
        share = len(shown) - place
        parts.append(_fit(part, Allowance(left.tokens // share, left.bytes // share)))
        left = less(left, cost([parts[-1]]))
    while True:
        omitted = len(draft.parts) - len(parts)
        note = {"omitted": f"{omitted} items; read_artifact() lists what is stored of them"} if omitted else {}
        if within(reply := own | {"parts": parts} | note, ceiling) or not parts:
            return reply
        parts.pop()
