"""Fit a reply, whatever is in it, into its ceiling: a line of JSON that is never cut, and a text behind it."""

import json
import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from . import cut
from .ceilings import Ceiling
from .clean import clean, is_plain
from .cut import Allowance
from .json_size import cost, dumps, less, text_within, within
from .previews.base import Preview, Resume, View

FACT_MAX_CHARACTERS = 300
PATH_MAX_CHARACTERS = 4096
"""Linux's PATH_MAX: half a path is of no use to anyone."""

_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and a pattern that are drawn as nothing."""

_PATHS = {"path", "file", "target_path", "download_dir"}

FACTS_MAX = 24
"""More facts, or more items in one of them, are counted and left out."""

PART_MIN_TOKENS = 240
"""Below this a part of a reply says nothing useful; parts beyond `tokens / 240` are counted and left out."""

_ARGUMENT_MAX_BYTES = 120

_LINES_MAX = 1900
"""More stand in the JSON, where they are one line: opencode cuts a result after 2,000."""

_FRAME_OF_PARTS = Allowance(tokens=40, bytes=120)
"""Kept free for the brackets around the parts and the note on those that are left out."""

_NEXT = Allowance(tokens=140, bytes=420)
"""Kept free for `incomplete` and the measures of the whole, which depend on what was left out."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A reply before it is fitted; its entries are shown in this order.

    Attributes:
        entries: facts, and the artifact's name if it is told in any case. The last go first if there are too many.
        reference: of the artifact that the next call is to read.
        size: of the whole content; shown beside a part of it.
        view: shows the content.
        preview: how much a view shows of a content that does not fit whole, if less than there is room for.
        parts: replies of several items in one call; they share the ceiling and keep their places.
        beside_part: further entries that are shown only beside a part of the content, such as where all of it lies.
        name: of the artifact, told first unless so little is shown whole that giving it again costs no more.
        named_from: bytes from which on a content that is shown whole is named.
    """

    entries: Mapping[str, Any]
    reference: str = ""
    size: Mapping[str, Any] = field(default_factory=dict[str, Any])
    view: View | None = None
    preview: Allowance | None = None
    parts: Sequence["Draft"] = ()
    beside_part: Mapping[str, Any] = field(default_factory=dict[str, Any])
    name: str = ""
    named_from: int = 0

    @property
    def content_bytes(self) -> int:
        """Size of its contents, those of its parts included."""
        return int(self.size.get("bytes", 0)) + sum(part.content_bytes for part in self.parts)


@dataclass(frozen=True)
class Reply:
    """A reply as an object, until it is sent.

    Attributes:
        value: what is told, by name.
    """

    value: Mapping[str, Any]

    @cached_property
    def text(self) -> str:
        """It as it is sent: one line of JSON, and behind it the preview if that is a text in which all is seen.

        Where the line would say nothing the text stands alone, unless it begins as such a line does, or as an error.
        """
        preview = self.value.get("preview")
        if not isinstance(preview, str) or not is_plain(preview) or preview.count("\n") > _LINES_MAX:
            return dumps(self.value)
        said = {name: value for name, value in self.value.items() if name != "preview"}
        if not preview:
            return dumps(said)
        stands_alone = not said and not _begins_like_a_line(preview) and not _reads_like_an_error(preview)
        return preview if stands_alone else f"{dumps(said)}\n{preview}"

    @classmethod
    def parse(cls, text: str) -> "Reply":
        """Understand a reply as it was sent; an error is none.

        Raises:
            ValueError: it begins as a reply with a line of JSON does, and has none.
        """
        if not _begins_like_a_line(text):
            return cls({"preview": text})
        line, _, preview = text.partition("\n")
        return cls(json.loads(line) | ({"preview": preview} if preview else {}))

    @property
    def is_partial(self) -> bool:
        """Whether a content is not shown whole; what stands in a content itself does not count."""
        return any("incomplete" in part for part in (self.value, *self.value.get("parts", ())))


def fit(draft: Draft, ceiling: Ceiling) -> Reply:
    """Make a reply whose text has at most `ceiling.bytes` bytes of UTF-8 and `ceiling.tokens` tokens."""
    room = Allowance(ceiling.tokens, ceiling.bytes)
    return Reply(_fit_parts(draft, room) if draft.parts else _fit(draft, room, _sent))


def error_line(code: str, message: str, fix: str, ceiling: Ceiling) -> str:
    """Write a failure as one line of prose: clients show only the text of errors, some of them twice if it is JSON."""
    line = f"{clean(code, 64)}: {clean(message, 1200)}. {clean(fix, 600)}."
    return cut.head(line, Allowance(ceiling.tokens, ceiling.bytes))


def next_call(reference: str, suggest: Resume) -> str:
    """Write the call that a model can make next, such as `read_artifact(artifact="a7", lines="41-80")`.

    A long argument is not repeated: the model has just written it.
    """
    arguments: dict[str, str | int] = {**({"artifact": reference} if reference else {}), **suggest}
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
        clean(name, 64): _fact(value, PATH_MAX_CHARACTERS if name in _PATHS else FACT_MAX_CHARACTERS)
        for name, value in list(given.items())[:FACTS_MAX]
    }
    return bounded | ({"more_facts": len(given) - FACTS_MAX} if len(given) > FACTS_MAX else {})


def _fact(value: object, most: int = FACT_MAX_CHARACTERS) -> object:
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
    return clean(str(value), most)


def _begins_like_a_line(text: str) -> bool:
    """Tell whether a text could be taken for one with a line of JSON; some clients strip what nobody sees before it."""
    return next((sign for sign in text if not _is_unseen(sign)), "") == "{"


def _is_unseen(sign: str) -> bool:
    return sign.isspace() or sign in _FILLERS or unicodedata.category(sign) in {"Cc", "Cf", "Mn", "Zl", "Zp", "Zs"}


def _reads_like_an_error(text: str) -> bool:
    """Tell whether a text could be taken for what `error_line` writes."""
    code, _, said = text.partition("\n")[0].partition(": ")
    return (
        code.replace("_", "a").isalpha() and code.islower() and code.isascii() and said.endswith(".") and ". " in said
    )


def _sent(value: Mapping[str, Any]) -> str:
    return Reply(value).text


def _fit(draft: Draft, ceiling: Allowance, written: Callable[[Mapping[str, Any]], str]) -> dict[str, Any]:
    """Give the view what the rest leaves; should the whole still be over, less and less, and at last nothing.

    Args:
        draft: what to fit.
        ceiling: of what is written.
        written: the form in which it reaches the client: a part of a reply stands in its JSON.
    """
    view = draft.view
    if view is None:
        return _fit_bare(draft, ceiling)
    frame = _assemble(replace(draft, named_from=0), Preview(""))
    # A byte is never more than a token: what fits so needs no counting, and a small call no vocabulary.
    length = len(dumps(frame).encode())
    uncounted = min(ceiling.tokens, ceiling.bytes) - length
    if uncounted > 0 and (text := view.whole(Allowance(uncounted, uncounted))) is not None:
        return _assemble(draft, Preview(text))
    room = less(ceiling, cost(frame))
    if (text := view.whole(_quoted(room))) is not None:
        reply = _assemble(draft, Preview(text))
        if text_within(written(reply), ceiling):
            return reply
    room = less(room, Allowance(min(_NEXT.tokens, room.tokens // 2), min(_NEXT.bytes, room.bytes // 2)))
    if draft.preview is not None:
        room = Allowance(min(room.tokens, draft.preview.tokens), min(room.bytes, draft.preview.bytes))
    for _ in range(6):
        reply = _assemble(draft, view.part(room))
        if text_within(written(reply), ceiling):
            return reply
        room = Allowance(room.tokens * 3 // 4, room.bytes * 3 // 4)
    return _fit_bare(draft, ceiling)


def _quoted(room: Allowance) -> Allowance:
    """Return what a text takes as a JSON string that takes `room` as it stands, or more; source has most to escape."""
    return Allowance(room.tokens * 4 // 3, room.bytes * 4 // 3)


def _fit_bare(draft: Draft, ceiling: Allowance) -> dict[str, Any]:
    """Fit a reply without a preview: entries go from the last, then what is left of the first is cut."""
    shown = draft.view.part(Allowance(0, 0)) if draft.view is not None else Preview("")
    entries = ({"artifact": draft.name} if draft.name else {}) | dict(draft.entries)
    while entries:
        reply = _assemble(replace(draft, entries=entries, name=""), shown)
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


def _assemble(draft: Draft, shown: Preview) -> dict[str, Any]:
    reply: dict[str, Any] = {"artifact": draft.name} if draft.name and _is_worth_naming(draft, shown) else {}
    reply |= draft.entries
    if not shown.is_complete:
        more = f"; {next_call(draft.reference, shown.suggest)}" if shown.suggest else ""
        reply |= {**draft.beside_part, "incomplete": shown.left_out + more}
        if size := {**draft.size, **shown.measures}:
            reply["size"] = size
    elif draft.size.get("bytes") == 0:
        reply["empty"] = True
    if draft.view is not None:
        reply["preview"] = shown.value
    return reply


def _is_worth_naming(draft: Draft, shown: Preview) -> bool:
    if not isinstance(shown.value, str) or not shown.is_complete or len(shown.value.encode()) >= draft.named_from:
        return True
    return not draft.entries and (_begins_like_a_line(shown.value) or _reads_like_an_error(shown.value))


def _fit_parts(draft: Draft, ceiling: Allowance) -> dict[str, Any]:
    """Share the ceiling among the parts in their order; what an early part does not need goes to the later ones."""
    own = _fit_bare(Draft(draft.entries), Allowance(ceiling.tokens // 3, ceiling.bytes // 3))
    left = less(less(ceiling, cost(own)), _FRAME_OF_PARTS)
    shown = draft.parts[: max(1, left.tokens // PART_MIN_TOKENS)]
    parts: list[dict[str, Any]] = []
    for place, part in enumerate(shown):
        share = len(shown) - place
        parts.append(_fit(part, Allowance(left.tokens // share, left.bytes // share), dumps))
        left = less(left, cost([parts[-1]]))
    while True:
        omitted = len(draft.parts) - len(parts)
        note = {"omitted": f"{omitted} items; read_artifact() lists what is stored of them"} if omitted else {}
        if within(reply := own | {"parts": parts} | note, ceiling) or not parts:
            return reply
        parts.pop()
