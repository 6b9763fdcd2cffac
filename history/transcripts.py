"""Conversations that others wrote: transcripts of Claude Code and Codex, and plain lists of messages."""

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..artifacts import Artifact
from ..budget.request import Request, problems
from ..budget.request.wire import Wire, get
from ..errors import BursarError
from . import file, wires
from .conversation import Past, head
from .file import Damage
from .shelf import Shelf

_SCANNED = 200
"""So many of the first records tell what a file is."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation that was read.

    Attributes:
        kind: whose file it is: `bursar`, `claude-code`, `codex`, or `messages`.
        dialect: form of the messages.
        messages: the oldest first.
        damage: what cannot be read.
        problems: what a provider would reject.
    """

    kind: str
    dialect: str
    messages: Sequence[Wire]
    damage: Sequence[Damage]
    problems: Sequence[str]


def load(path: Path, data_dir: Path | None = None) -> Transcript:
    """Read a conversation, whoever wrote it.

    Args:
        path: of a history of bursar's; a transcript (`~/.claude/projects/*/*.jsonl`, `~/.codex/sessions/**/*.jsonl`);
            or messages as JSON: a list, the body of a request, or one on each line.
        data_dir: of bursar's artifacts.

    Raises:
        BursarError: history_unreadable.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BursarError("history_unreadable", f"{path}: {error.strerror}", "Name a file that you can read") from error
    if b'"c":"' in data and (contents := file.read(path)).records:
        with _opening(data_dir) as opened:
            past = Past(head(contents).dialect or "chat", contents, opened)
        return _transcript("bursar", past.dialect, past.messages, past.damage)
    damage: list[Damage] = []
    found = [cast("Mapping[str, Any]", one) for one in _values(data, damage) if isinstance(one, Mapping)]
    first = found[:_SCANNED]
    if any("message" in one and one.get("type") in ("user", "assistant") for one in first):
        return _transcript("claude-code", "anthropic", _claude_code(found), damage)
    if any("payload" in one or one.get("record_type") for one in first):
        return _transcript("codex", "responses", list(_codex(found)), damage)
    messages = [one for one in found if not {"role", "type", "kind"}.isdisjoint(one)]
    if not messages:
        raise BursarError("history_unreadable", f"{path} holds no messages", "Name a history or transcript")
    return _transcript("messages", wires.guessed(messages), messages, damage)


@contextmanager
def _opening(data_dir: Path | None) -> Generator[Callable[[str], Artifact]]:
    """Yield what opens artifacts of any session of this user's; it makes none."""
    shelves: dict[str, Shelf] = {}

    def opened(reference: str) -> Artifact:
        handle = reference.partition("/")[0] or "ses_"
        if handle not in shelves:
            shelves[handle] = Shelf.open(handle, data_dir)
        return shelves[handle].session.open(reference)

    try:
        yield opened
    finally:
        for shelf in shelves.values():
            shelf.session.close()


def _transcript(kind: str, dialect: str, messages: Sequence[Wire], damage: Sequence[Damage]) -> Transcript:
    return Transcript(kind, dialect, messages, damage, problems(Request(dialect, messages)))


def _values(data: bytes, damage: list[Damage]) -> Iterator[Any]:
    """Yield what stands in a file: the items of a list or a request's body, or one value from each line."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        for number, line in enumerate(data.split(b"\n"), start=1):
            if line.strip(b" \t\r"):
                try:
                    yield json.loads(line)
                except (ValueError, RecursionError):
                    damage.append(Damage(number, len(line), f"{len(line):,} bytes are no JSON"))
        return
    if isinstance(whole, dict):
        body = cast("dict[str, Any]", whole)
        whole = next((body[name] for name in ("messages", "input", "contents") if name in body), [body])
    yield from cast("list[Any]", whole) if isinstance(whole, list) else ()


def _claude_code(lines: Iterable[Mapping[str, Any]]) -> list[Wire]:
    """Return the messages of the main conversation; the blocks of one stand on lines of their own there."""
    held: list[Wire] = []
    last = ""
    for line in lines:
        message = line.get("message")
        if line.get("type") not in ("user", "assistant") or line.get("isSidechain") or not isinstance(message, Mapping):
            continue
        given = cast("Mapping[str, Any]", message)
        content: Any = given.get("content")
        name = str(given.get("id") or "")
        if name and name == last and isinstance(content, list):
            held[-1]["content"] = [*held[-1]["content"], *cast("list[Any]", content)]
        elif content:
            wires.append("anthropic", held, {"role": str(given.get("role") or line["type"]), "content": content})
            last = name
    return held


def _codex(lines: Iterable[Mapping[str, Any]]) -> Iterator[Wire]:
    """Yield the items of a rollout; in early versions they stand in it without an envelope."""
    for line in lines:
        item: Any = line.get("payload") if line.get("type") == "response_item" else line
        kind = str(get(item, "type"))
        if kind in ("message", "reasoning") or kind.endswith(("_call", "_call_output")):
            yield item
