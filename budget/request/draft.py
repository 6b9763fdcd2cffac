"""A compaction in the making: what is sacrificed, in which order, until the request is small enough."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from ..clean import utf8
from . import ledger
from .dialects import DIALECTS
from .recall import shortened
from .replay import LEAF_MIN_CHARACTERS, LEDGER, Replayed, Row, at, ledger_text, rendered
from .state import Edit, Limit, Request, Size, State, count, history_digest
from .wire import REMOVED, Part, Path, digest, dumps

_PASSES = ((1.0, 1.0), (0.34, 0.5), (0.0, 0.25), (0.0, 0.1), (0.0, 0.03), (0.0, 0.01))
"""What each pass keeps of `recent` and `keep_results`, and of `item`; all but the first only above `high`."""

_GAIN_MIN_TOKENS = 40
_CLOSE = 0.05
_LEDGER_MIN_TOKENS = 600
_USER_SHARE = 0.20
"""Of `low`, what the ledger keeps of the user verbatim."""

_SPANS_MAX = 8
"""With more spans, all that was folded is stored once more, as one."""

_AGAIN_MAX_CHARACTERS = 160
_LARGEST_TOLD = 3
_ARTIFACT = re.compile(r'\{"artifact":"([\w./-]{1,200})"')
"""How a reply of bursar begins."""


_PROVISIONAL = "ses_7fQ2xKz0Vb3TnW8sLr5JcY/a"
_SPAN = f"{_PROVISIONAL}_span"
"""References until the true ones are known, as long as those of artifacts may be."""


_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Leaving:
    """What leaves the request, to be stored so that it can be read again.

    Attributes:
        data: all of it.
        media_type: what it is: text, JSON, or lines of JSON with one message each.
        name: of the tool that it is from; `history` for messages.
    """

    data: bytes
    media_type: str
    name: str


@dataclass(frozen=True, slots=True)
class _Item:
    """A part of the history that is still sent."""

    row: Row
    part: Part

    @property
    def key(self) -> tuple[int, Path]:
        return self.row.index, self.part.path


class Draft:
    """A compaction in the making; each step ends as soon as the request is down to `low`."""

    def __init__(self, request: Request, limit: Limit, replayed: Replayed, ratio: float) -> None:
        self.limit = limit
        self.total = replayed.size
        self.leaving: dict[str, Leaving] = {}
        self._request, self._replayed, self._ratio = request, replayed, ratio
        self._dialect = DIALECTS[request.dialect]
        self._rows = [row for row in replayed.rows if row.index != LEDGER]
        self._edits: dict[int, dict[Path, Edit]] = {
            index: {edit.path: edit for edit in edits} for index, edits in replayed.state.edits.items()
        }
        self._folded = {index for start, end in replayed.state.folded for index in range(start, end)}
        self._ledger: Mapping[str, Any] = replayed.state.ledger
        self._ledger_size = sum((row.sent.size for row in replayed.rows if row.index == LEDGER), Size())
        self._messages = {row.index: row.sent.size for row in self._rows}
        self._parts: dict[int, dict[Path, Size]] = {}
        self._span: list[int] = []
        self._references: dict[str, str] = {}

    @property
    def share(self) -> float:
        """Which part of the limit the request takes now."""
        return self.share_of(self.total)

    def share_of(self, size: Size) -> float:
        """Return which part of the limit something takes."""
        return self.limit.share(Size(round(size.tokens * self._ratio), size.chars))

    def compact(self) -> None:
        """Sacrifice what has to be."""
        for keep, item in _PASSES:
            kept = self._kept(keep)
            self._replace_results(kept)
            self._shorten_arguments(one for one in self._items("call") if one.row.index not in kept)
            self._replace_media(kept)
            self._drop_reasoning()
            self._cut((one for one in self._items("result") if one.row.index not in self._request.pins), item)
            self._fold(kept)
            self._cut(self._texts(), item)
            self._shorten_arguments(self._oversize(self._newest("call"), item))
            if self.share <= self.limit.high:
                break
        kept_edits = (edit for index, of in self._edits.items() if index not in self._folded for edit in of.values())
        stored = {edit.stored for edit in kept_edits}
        self.leaving = {reference: leaving for reference, leaving in self.leaving.items() if reference in stored}
        if self._span:
            self._store_span()

    @property
    def _is_enough(self) -> bool:
        return self.share <= self.limit.low

    # What is left alone

    @property
    def least(self) -> Size:
        """What any compaction leaves at least: instructions, what the user said first and last, what is pinned."""
        pins = self._request.pins
        size = self._replayed.overhead
        for row in self._rows:
            one = row.original
            is_fixed = row.index in pins or (row.index in self._fixed and one.role != "assistant")
            if (is_fixed or one.role == "system") and row.sent is one:
                said = {part.path for part in one.of_user if part.kind in ("text", "media")}
                costs = zip(one.parts, one.sizes, strict=True)
                size += sum((cost for part, cost in costs if part.path in said), Size())
        return size

    @cached_property
    def _fixed(self) -> frozenset[int]:
        """The goal, the newest prompt, the current step's instruction, what is pinned."""
        history = self._replayed.history
        prompts = [index for index, one in enumerate(history) if one.has_prompt]
        step = len(history) - 1 if self._request.step is None else self._request.step
        return self._request.pins | {step, *prompts[:1], *prompts[-1:]}

    @cached_property
    def _units(self) -> list[list[Row]]:
        """What has to stay or go together: an assistant's turn with its reasoning and all its results, or a message."""
        units: list[list[Row]] = []
        calls: set[str] = set()
        before = ""
        for row in self._rows:
            role = row.original.role
            is_joined = role == before == "assistant" or (role == "result" and before in ("assistant", "result"))
            if units and (calls or is_joined):
                units[-1].append(row)
            else:
                units.append([row])
            calls -= {part.call for part in row.original.parts if part.kind == "result"}
            calls |= {part.call for part in row.original.parts if part.kind == "call"}
            before = role
        return units

    @cached_property
    def _newest_unit(self) -> frozenset[int]:
        return frozenset(row.index for row in self._units[-1]) if self._units else frozenset()

    def _kept(self, part: float) -> frozenset[int]:
        """Return the messages with the newest results, and all that is recent, beside what is never replaced."""
        holding = [row.index for row in self._rows for part in row.original.parts if part.kind == "result"]
        results = round(part * self.limit.keep_results)
        kept = {*self._fixed, *self._newest_unit, *(holding[len(holding) - results :] if results else ())}
        size = Size()
        for row in reversed(self._rows):
            size += self._messages[row.index]
            if self.share_of(size) > part * self.limit.recent:
                break
            kept.add(row.index)
        return frozenset(kept)

    def _items(self, kind: str) -> Iterator[_Item]:
        """Yield what is still sent as it was, or cut to its ends; the oldest first."""
        for row in self._rows:
            if row.index not in self._folded:
                done = self._edits.get(row.index, {})
                for part in row.original.parts:
                    if part.kind == kind and (part.path not in done or done[part.path].form == "ends"):
                        yield _Item(row, part)

    def _older(self, kind: str) -> Iterator[_Item]:
        return (one for one in self._items(kind) if one.row.index not in self._fixed | self._newest_unit)

    def _newest(self, kind: str) -> Iterator[_Item]:
        pins = self._request.pins
        return (one for one in self._items(kind) if one.row.index in self._newest_unit and one.row.index not in pins)

    def _texts(self) -> Iterator[_Item]:
        """Yield what the assistant said, and what the user said between the goal and the newest prompt."""
        for one in self._items("text"):
            is_assistant = one.row.original.role == "assistant"
            pinned = self._request.pins if is_assistant else self._fixed
            if one.row.original.role != "system" and one.row.index not in pinned:
                yield one

    @cached_property
    def _signed(self) -> frozenset[int]:
        """The messages that the provider holds against the reasoning that led to them."""
        if self._dialect.ARGUMENTS_BESIDE_REASONING:
            return frozenset()
        reasoned = (
            unit for unit in self._units if any(part.kind == "reasoning" for row in unit for part in row.original.parts)
        )
        return frozenset(row.index for unit in reasoned for row in unit)

    # What is sacrificed, in this order

    def _replace_results(self, kept: frozenset[int]) -> None:
        """Replace results by notes: those that came again later first, then the oldest."""
        results = list(self._items("result"))
        repeated: list[_Item] = []
        single: list[_Item] = []
        last = {key: one.key for one in results for key in self._same(one)}
        for one in results:
            if one.row.index not in kept:
                (single if all(last[key] == one.key for key in self._same(one)) else repeated).append(one)
        for one in repeated + single:
            if self._is_enough:
                return
            if self._size(one).tokens >= 2 * _GAIN_MIN_TOKENS:
                self._replace(one, self._note(one))

    def _same(self, one: _Item) -> Iterable[Any]:
        """Return what makes two results the same: their text, or the call that they came of."""
        call = self._calls.get(one.key)
        return [one.part.text, (call.name, call.text)] if call is not None else [one.part.text]

    @cached_property
    def _calls(self) -> Mapping[tuple[int, Path], Part]:
        """The call that each result came of: the last one before it, since some providers give ids again."""
        last: dict[str, Part] = {}
        found: dict[tuple[int, Path], Part] = {}
        for index, one in enumerate(self._replayed.history):
            last |= {part.call: part for part in one.parts if part.kind == "call"}
            found |= {
                (index, part.path): last[part.call] for part in one.parts if part.kind == "result" and part.call in last
            }
        return found

    def _note(self, one: _Item) -> Edit:
        part, call = one.part, self._calls.get(one.key)
        lines = part.text.count("\n") + 1
        facts: dict[str, Any] = {"omitted": f"{lines} lines, {len(part.text)} characters"}
        if call is not None:
            facts["call"] = self._again(call)
        if code := ledger.exit_code(part):
            facts["exit_code"] = code
        # What a reader returned is read from where it read, not from a copy of the reading.
        is_read = call is not None and call.name == self._replayed.reads.artifacts
        return Edit(part.path, "note", "" if is_read else self._stored(one), facts)

    def _again(self, call: Part) -> list[str]:
        return [call.name, shortened(call.text, _AGAIN_MAX_CHARACTERS)]

    def _stored(self, one: _Item) -> str:
        """Return the reference under which all of a part is, or will be stored."""
        part = one.part
        known = self._edits.get(one.row.index, {}).get(part.path)
        if known is not None and known.stored:
            return known.stored
        call = self._calls.get(one.key)
        if part.kind == "result" and call and self._replayed.reads.is_own(call.name):
            # What bursar's own tools return names where all of it is; what others return may pretend to.
            found = _ARTIFACT.match(part.text)
            if found is not None:
                return found.group(1)
        is_text = isinstance(part.value, str)
        name = part.name or (call.name if call is not None else one.row.original.role)
        text = part.text if is_text else dumps(part.value)
        reference = self._references.setdefault(digest(text), f"{_PROVISIONAL}{len(self.leaving)}")
        media_type = "text/plain" if is_text else "application/json"
        self.leaving[reference] = Leaving(utf8(text).encode(), media_type, name)
        return reference

    def _shorten_arguments(self, calls: Iterable[_Item]) -> None:
        for one in list(calls):
            if self._is_enough:
                return
            if len(one.part.text) > LEAF_MIN_CHARACTERS and one.row.index not in self._signed:
                self._replace(one, Edit(one.part.path, "arguments", self._stored(one)))

    def _replace_media(self, kept: frozenset[int]) -> None:
        for one in list(self._items("media")):
            if self._is_enough:
                return
            is_gone = any(_is_within(one.part.path, path) for path in self._edits.get(one.row.index, {}))
            if one.row.index not in kept and not is_gone:
                facts = {"omitted": "media", "media": one.part.tokens}
                self._replace(one, Edit(one.part.path, "note", self._stored(one), facts))

    def _drop_reasoning(self) -> None:
        """Drop the reasoning of loops that a newer prompt has ended."""
        newest = max((row.index for row in self._rows if row.original.has_prompt), default=0)
        for one in list(self._older("reasoning")):
            if self._is_enough or not self._dialect.ARGUMENTS_BESIDE_REASONING or one.row.index >= newest:
                return
            if any(part.kind != "reasoning" for part in one.row.original.parts):
                self._replace(one, Edit(one.part.path, "nothing"))

    def _oversize(self, items: Iterable[_Item], item: float) -> Iterator[_Item]:
        return (one for one in items if self.share_of(self._size(one)) > item * self.limit.item)

    def _cut(self, items: Iterable[_Item], item: float) -> None:
        """Cut what is larger than a message may be to its head and tail."""
        allowed = item * self.limit.item * self.limit.room / self._ratio
        for one in list(self._oversize(items, item)):
            if self._is_enough:
                return
            if one.part.kind == "result" or one.row.index not in self._signed:
                call = self._calls.get(one.key)
                facts = {"tokens": int(allowed)} | ({"call": self._again(call)} if call is not None else {})
                self._replace(one, Edit(one.part.path, "ends", self._stored(one), facts))

    def _fold(self, kept: frozenset[int]) -> None:
        """Drop the oldest units; the ledger stands for them. It would cost more than it gains close to `low`."""
        if self.share <= self.limit.low + _CLOSE:
            return
        opaque = [row.index for row in self._rows if row.original.role == "other"][-1:]
        system = {row.index for row in self._rows if row.original.role == "system"}
        for unit in self._units:
            indexes = [row.index for row in unit if row.index not in self._folded]
            if not indexes or not (kept | system).isdisjoint(indexes) or not set(opaque).isdisjoint(indexes):
                continue
            if self._is_enough:
                break
            if not self._span:
                self._book_ledger(Size(self._ledger_room, 4 * self._ledger_room))
            self._span += indexes
            self._folded.update(indexes)
            self.total -= sum((self._messages[index] for index in indexes), Size())
        if self._span:
            self._write_ledger()

    @property
    def _ledger_room(self) -> int:
        room = self.limit.room / self._ratio
        return int(min(max(_LEDGER_MIN_TOKENS, self.limit.digest * room), room / 5))

    def _write_ledger(self) -> None:
        history = self._replayed.history
        span = [history[index] for index in sorted(self._folded)]
        of_user = int(_USER_SHARE * self.limit.low * self.limit.room / self._ratio)
        self._ledger = ledger.build(span, self._ledger_room, of_user)
        text = ledger_text(self._ledger, self._spans, self._replayed.reads)
        self._book_ledger(Size(count(text), len(text)))

    def _book_ledger(self, size: Size) -> None:
        self.total += size - self._ledger_size
        self._ledger_size = size

    @property
    def _spans(self) -> Sequence[tuple[str, int]]:
        """What was folded and where it is stored; the last of them now, under a provisional reference."""
        known = self._replayed.state.spans
        if not self._span:
            return known
        if len(known) >= _SPANS_MAX:
            return [(_SPAN, len(self._folded))]
        return [*known, (_SPAN, len(self._span))]

    # What it comes to

    def _replace(self, one: _Item, edit: Edit) -> None:
        """Put something in place of a part if that is shorter; what lies within the part goes with it."""
        index, size = one.row.index, self._rendered_size(one.row, edit)
        gained = self._size(one) - size
        if gained.tokens < _GAIN_MIN_TOKENS:
            return
        self.total -= gained
        self._messages[index] -= gained
        self._edits[index] = _outside(one.part.path, self._edits.get(index, {})) | {one.part.path: edit}
        self._parts[index] = _outside(one.part.path, self._parts.get(index, {})) | {one.part.path: size}

    def _size(self, one: _Item) -> Size:
        """Return what a part takes now, with all that lies within it."""
        row = one.row
        edits, known = self._edits.get(row.index, {}), self._parts.get(row.index, {})
        size = Size()
        for part, original in zip(row.original.parts, row.original.sizes, strict=True):
            if _is_within(part.path, one.part.path):
                if part.path in edits and part.path not in known:
                    size += self._rendered_size(row, edits[part.path])
                else:
                    size += known.get(part.path, original)
        return size

    def _rendered_size(self, row: Row, edit: Edit) -> Size:
        new = rendered(self._request.dialect, edit, at(row.original.message, edit.path), self._replayed.reads)
        text = "" if new is REMOVED else new if isinstance(new, str) else dumps(new)
        return Size(count(text), len(text))

    def _store_span(self) -> None:
        indexes = sorted(self._folded if len(self._spans) == 1 else self._span)
        lines = "\n".join(dumps(self._request.messages[index]) for index in indexes)
        self.leaving[_SPAN] = Leaving(utf8(lines).encode(), "application/x-ndjson", "history")

    def state(self, ratio: float | None) -> State:
        """Return what is to be remembered of it."""
        history = self._replayed.history
        edits = {index: tuple(of.values()) for index, of in self._edits.items() if index not in self._folded}
        of = history_digest(one.digest for one in history)
        return State(
            len(history), of, edits, tuple(_ranges(sorted(self._folded))), self._ledger,
            tuple(self._spans), ratio or self._replayed.state.ratio, self.share, self._replayed.state.measures,
        )  # fmt: skip

    @property
    def counts(self) -> Mapping[str, int]:
        """How many parts and messages were sacrificed, by kind."""
        changed = ((index, path) for index, of in self._parts.items() if index not in self._folded for path in of)
        forms = Counter(self._edits[index][path].form for index, path in changed)
        return {
            "replaced": forms["note"],
            "shortened": forms["arguments"] + forms["nothing"],
            "truncated": forms["ends"],
            "dropped": len(self._span),
        }

    @property
    def prefix_kept(self) -> int:
        """How many messages at the start stay as they were sent last."""
        changed = {*self._span, *self._parts}
        return next((place for place, row in enumerate(self._rows) if row.index in changed), len(self._rows))

    @property
    def largest(self) -> list[str]:
        """What takes most of what is left, in words."""
        sizes = [
            (self._messages[row.index].tokens, f"message {row.index} ({row.original.role})")
            for row in self._rows
            if row.index not in self._folded
        ]
        sizes.append((self._replayed.overhead.tokens, "instructions and tools"))
        return [
            f"{what} {round(tokens * self._ratio):,} tokens"
            for tokens, what in sorted(sizes, reverse=True)[:_LARGEST_TOLD]
        ]


def _ranges(indexes: Sequence[int]) -> Iterator[tuple[int, int]]:
    start = 0
    for place, index in enumerate(indexes):
        if place + 1 == len(indexes) or indexes[place + 1] != index + 1:
            yield indexes[start], index + 1
            start = place + 1


def _is_within(path: Path, outer: Path) -> bool:
    return path[: len(outer)] == outer


def _outside(outer: Path, values: Mapping[Path, _Value]) -> dict[Path, _Value]:
    """Return what does not lie within a part."""
    return {path: value for path, value in values.items() if not _is_within(path, outer)}
