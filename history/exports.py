"""Conversations in other forms: of other providers, as a trajectory that tools for agents read, for people."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from .. import __version__
from ..budget.request.dialects import DIALECTS
from ..budget.request.wire import Part, Wire, get
from . import wires
from .transcripts import Transcript


class _Taken(NamedTuple):
    """A message taken apart: who speaks, what is said, what is called, what calls returned, what was thought."""

    role: str
    said: str
    calls: Sequence[Part]
    results: Sequence[Part]
    thought: str


def _taken(dialect: str, message: Wire) -> _Taken:
    form = DIALECTS[dialect]
    parts = list(form.parts(message))
    results = [part for part in parts if part.kind == "result"]
    within = [part.path for part in results]
    own = [part for part in parts if not any(part.path[: len(path)] == path for path in within)]
    said = [part.text or "[media]" for part in own if part.kind in ("text", "media") and part.value is not None]
    calls = [part for part in parts if part.kind == "call"]
    thought = "\n".join(filter(None, (_thought(part.value) for part in own if part.kind == "reasoning")))
    return _Taken(form.role(message), "\n".join(said), calls, results, thought)


def _thought(value: Wire) -> str:
    """Return what a model thought, where that is told in words."""
    return value if isinstance(value, str) else str(get(value, "thinking") or get(value, "text") or "")


def converted(transcript: Transcript, dialect: str) -> list[Wire]:
    """Return the messages in another form: texts, calls and results; of media only that they were there.

    Reasoning stays out: it is signed for the provider that wrote it.
    """
    if dialect == transcript.dialect:
        return list(transcript.messages)
    out = list[Wire]()
    for message in transcript.messages:
        taken = _taken(transcript.dialect, message)
        for part in taken.results:
            wires.append(dialect, out, wires.result(dialect, part, part.text))
        if taken.role == "assistant":
            for one in wires.turn(dialect, taken.said, taken.calls):
                out.append(one)
        elif taken.said:
            spoken = DIALECTS[dialect].user(taken.said, None)
            is_system = taken.role == "system" and dialect == "chat"
            out.append({**spoken, "role": "system"} if is_system else spoken)
    return wires.mended(dialect, out)


def trajectory(transcript: Transcript) -> dict[str, Any]:
    """Return a conversation in the Agent Trajectory Interchange Format, version 1.8.

    Its rules: harbor-framework/harbor, rfcs/0001-trajectory-format.md. Results stand in the step whose calls they are
    of; of media only that they were there.
    """
    steps = list[dict[str, Any]]()
    made = dict[str, dict[str, Any]]()
    for message in transcript.messages:
        taken = _taken(transcript.dialect, message)
        for part in taken.results:
            step = made.get(part.call)
            if step is None:
                step = _step(steps, "system", "")
            source = {"source_call_id": part.call} if part.call in made else {}
            observation = step.setdefault("observation", {"results": []})
            observation["results"].append({**source, "content": part.text})
        if taken.role == "assistant":
            step = _step(steps, "agent", taken.said)
            if taken.thought:
                step["reasoning_content"] = taken.thought
            if taken.calls:
                step["tool_calls"] = [_called(part) for part in taken.calls]
                made |= {part.call: step for part in taken.calls}
        elif taken.said:
            _step(steps, "system" if taken.role == "system" else "user", taken.said)
    agent = {"name": transcript.kind, "version": "unknown"}
    told = {"exported_by": f"bursar {__version__}", "damage": [str(one) for one in transcript.damage]}
    return {"schema_version": "ATIF-v1.8", "agent": agent, "steps": steps, "extra": told}


def _step(steps: list[dict[str, Any]], source: str, message: str) -> dict[str, Any]:
    steps.append({"step_id": len(steps) + 1, "source": source, "message": message})
    return steps[-1]


def _called(part: Part) -> dict[str, Any]:
    arguments: object = None
    with suppress(ValueError, RecursionError):
        arguments = json.loads(part.text)
    if not isinstance(arguments, dict):
        arguments = {"raw": part.text}
    return {"tool_call_id": part.call, "function_name": part.name, "arguments": arguments}


def markdown(transcript: Transcript) -> str:
    """Return a conversation for people."""
    form, lines = DIALECTS[transcript.dialect], list[str]()
    for message in transcript.messages:
        lines.append(f"## {form.role(message)}\n")
        for part in form.parts(message):
            if part.kind == "text":
                lines.append(f"{part.text}\n")
            elif part.kind in ("call", "result"):
                fence = "`" * max(3, 1 + max((len(run) for run in part.text.split() if set(run) == {"`"}), default=0))
                lines.append(f"{part.kind} {part.name or part.call}\n\n{fence}\n{part.text}\n{fence}\n")
            elif part.kind == "media":
                lines.append("[media]\n")
    return "\n".join(lines)
