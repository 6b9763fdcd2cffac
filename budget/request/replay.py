"""A history as a state has it sent: parts replaced, ranges folded into the ledger, all else the same objects."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from .. import cut
from .dialects import DIALECTS
from .recall import Reader, reader, shortened
from .state import Edit, Measured, Request, Size, State, history_digest
from .wire import REMOVED, Path, Wire, dumps, get, put

LEDGER = -1
"""Stands for the index of the ledger, which is in no history."""

LEAF_MIN_CHARACTERS = 300
"""Shorter texts in arguments stay: what stands for them is hardly less."""

_LEAF_HEAD_CHARACTERS = 100
_TOOLS_TOKENS = 250
"""What providers say of their own where tools are offered: Anthropic tells of 346, with DeepSeek it measures so."""

_NO_BYTES_LIMIT = 1 << 30


@dataclass(frozen=True, slots=True)
class Row:
    """A message of a request.

    Attributes:
        index: where the history has it.
        original: as it is there.
        sent: as it is sent.
    """

    index: int
    original: Measured
    sent: Measured


@dataclass(frozen=True, slots=True)
class Replayed:
    """A request as it would be sent.

    Attributes:
        request: what it is made of; its messages are a copy.
        state: the one it was made with; a fresh one if the given one is of another history.
        reads: what the request offers to read with.
        history: all messages that there are.
        rows: those that are sent.
        overhead: what instructions and tools cost.
        size: what all of it costs, by our own count.
    """

    request: Request
    state: State
    reads: Reader
    history: Sequence[Measured]
    rows: Sequence[Row]
    overhead: Size
    size: Size


def replay(request: Request, state: State) -> Replayed:
    """Make of a history what is sent; what was made for the last request is not made again."""
    measures, reads = state.measures, reader(request.tools)
    preamble = Size(_TOOLS_TOKENS if request.tools else 0)
    overhead = sum((measures.of_text(_text_of(one)) for one in (request.system, *request.tools) if one), preamble)
    known: Replayed | None = measures.last
    if known is None or known.state is not state or known.reads != reads or not _extends(request, known.request):
        known = _start(request, state, reads)
    history, rows, size = list(known.history), list(known.rows), known.size - known.overhead + overhead
    for index in range(len(history), len(request.messages)):
        one = measures.of(request.dialect, request.messages[index])
        history.append(one)
        rows.append(Row(index, one, one))
        size += one.size
    measures.forget(len(request.messages))
    copied = replace(request, messages=list(request.messages))
    measures.last = Replayed(copied, known.state, reads, history, rows, overhead, size)
    return measures.last


def _extends(request: Request, before: Request) -> bool:
    return request.dialect == before.dialect and request.messages[: len(before.messages)] == before.messages


def _start(request: Request, state: State, reads: Reader) -> Replayed:
    """Replay the part of a history that a state is about."""
    measures, dialect = state.measures, request.dialect
    history = [measures.of(dialect, message) for message in request.messages[: state.upto]]
    if len(history) < state.upto or (state.upto and history_digest(one.digest for one in history) != state.of):
        return Replayed(request, State(ratio=state.ratio, measures=measures), reads, [], [], Size(), Size())
    folded = {index for start, end in state.folded for index in range(start, end)}
    rows = [
        Row(index, original, _edited(request, index, original, state, reads))
        for index, original in enumerate(history)
        if index not in folded
    ]
    if folded:
        goal = first_prompt(history)
        like = history[goal].message if goal >= 0 else None
        message = DIALECTS[dialect].user(ledger_text(state.ledger, state.spans, reads), like)
        place = next((place for place, row in enumerate(rows) if row.index > max(goal, _leading(history))), len(rows))
        rows.insert(place, Row(LEDGER, one := measures.of(dialect, message), one))
    return Replayed(request, state, reads, history, rows, Size(), sum((row.sent.size for row in rows), Size()))


def first_prompt(history: Sequence[Measured]) -> int:
    """Return the index of the first message in which a user speaks; -1 if none does."""
    return next((index for index, one in enumerate(history) if one.has_prompt), -1)


def _leading(history: Sequence[Measured]) -> int:
    """Return the index of the last of the instructions at the start; -1 without any."""
    return next((index for index, one in enumerate(history) if one.role != "system"), len(history)) - 1


def _text_of(value: Wire) -> str:
    return value if isinstance(value, str) else dumps(value)


def _edited(request: Request, index: int, original: Measured, state: State, reads: Reader) -> Measured:
    edits = state.edits.get(index)
    if not edits:
        return original
    return state.measures.of(request.dialect, _with(request.dialect, original.message, edits, reads))


def _with(dialect: str, message: Wire, edits: Sequence[Edit], reads: Reader) -> Wire:
    # From behind, so that what is taken away moves nothing that is still to be replaced.
    for edit in sorted(edits, key=lambda edit: edit.path, reverse=True):
        message = put(message, edit.path, rendered(dialect, edit, at(message, edit.path), reads))
    return message


def at(value: Wire, path: Path) -> Any:  # noqa: ANN401 - whatever JSON can carry
    """Return what stands at a path."""
    for key in path:
        value = get(value, key) if isinstance(key, str) else value[key]
    return value


def rendered(dialect: str, edit: Edit, value: Wire, reads: Reader) -> Any:  # noqa: ANN401 - whatever JSON can carry
    """Return what stands in place of a value."""
    if edit.form == "nothing":
        return REMOVED
    if edit.form == "arguments":
        return _arguments(value, reads.call(edit.stored) or "not in this request")
    how = reads.call(edit.stored) or reads.again(*edit.facts.get("call", ("", ""))) or "nothing here can read it"
    told = {name: fact for name, fact in edit.facts.items() if name not in ("omitted", "call", "tokens")}
    if edit.form == "ends":
        half = cut.Allowance(int(edit.facts["tokens"]) // 2, _NO_BYTES_LIMIT)
        text = value if isinstance(value, str) else dumps(value)
        head, tail = cut.head(text, half), cut.tail(text, half)
        left_out = f"{len(text) - len(head) - len(tail)} characters; {how}"
        note: Any = {"head": head, "omitted": left_out, "tail": tail}
    else:
        note = {"omitted": f"{edit.facts['omitted']}; {how}", **told}
    if "media" in edit.facts:
        return DIALECTS[dialect].text_block(dumps(note), value)
    # Where a form wants an object, an object has to stay.
    return note if isinstance(value, dict) else dumps(note)


def _arguments(value: Wire, how: str) -> Any:  # noqa: ANN401 - whatever JSON can carry
    """Return arguments with each long text in them replaced by where it is; of the same kind, and valid JSON."""
    text = value if isinstance(value, str) else dumps(value)
    try:
        given = json.loads(text)
    except ValueError:
        given = text
    short = _short(given, how)
    if len(dumps(short)) > 2 * LEAF_MIN_CHARACTERS + len(text) // 4 and not isinstance(short, str):
        short = _stored(text, how)
    return dumps(short) if isinstance(value, str) else short


def _short(value: Any, how: str) -> Any:  # noqa: ANN401 - whatever JSON can carry
    if isinstance(value, str):
        return _stored(value, how) if len(value) > LEAF_MIN_CHARACTERS else value
    if isinstance(value, list):
        return [_short(item, how) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: _short(item, how) for name, item in cast("dict[str, Any]", value).items()}
    return value


def _stored(text: str, how: str) -> Mapping[str, Any]:
    return {"stored": how, "chars": len(text), "head": shortened(text, _LEAF_HEAD_CHARACTERS)}


def ledger_text(ledger: Mapping[str, Any], spans: Sequence[tuple[str, int]], reads: Reader) -> str:
    """Write the message that stands for all that was folded."""
    left_out = f"{sum(messages for _, messages in spans)} earlier messages of this conversation are left out"
    how = [reads.call(reference) for reference, _ in spans if reads.call(reference)] or ["nothing here can read them"]
    return dumps({"earlier": left_out, "read": how} | dict(ledger))


def replaced_references(state: State, references: Mapping[str, str]) -> State:
    """Return a state in which what was stored is known by its reference instead of a provisional one."""

    def known(edit: Edit) -> Edit:
        return replace(edit, stored=references[edit.stored]) if edit.stored in references else edit

    edits = {index: tuple(map(known, of)) for index, of in state.edits.items()}
    return replace(
        state, edits=edits, spans=tuple((references.get(one, one), messages) for one, messages in state.spans)
    )
