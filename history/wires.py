"""What a conversation adds to a history by itself, in each form: results, and what stands for what was lost."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ..budget.request.dialects import DIALECTS
from ..budget.request.wire import Part, Wire, get

UNKNOWN = "The outcome of this call is unknown: the program ended before it was stored. Verify before repeating it."
LOST = "What stood here was damaged on the disk."

_LISTS = {"anthropic": "content", "pydantic_ai": "parts", "google": "parts"}
"""Where a message has all results of a turn together."""


def result(dialect: str, call: Part, text: str) -> Wire:
    """Make the message with the result of a call."""
    if dialect == "responses":
        kind = "custom_tool_call_output" if call.path == ("input",) else "function_call_output"
        return {"type": kind, "call_id": call.call, "output": text}
    if dialect == "anthropic":
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.call, "content": text}]}
    if dialect == "pydantic_ai":
        part = {"part_kind": "tool-return", "tool_name": call.name, "content": text, "tool_call_id": call.call}
        return {"kind": "request", "parts": [part]}
    if dialect == "google":
        response = {"name": call.name, "response": {"result": text}} | (
            {"id": call.call} if "#" not in call.call else {}
        )
        return {"role": "user", "parts": [{"function_response": response}]}
    return {"role": "tool", "tool_call_id": call.call, "content": text}


def turn(dialect: str, text: str, calls: Sequence[Part]) -> Iterator[Wire]:
    """Make the messages of a turn of the model's: what it said, and what it called."""
    if dialect == "responses":
        if text:
            yield {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        for call in calls:
            yield {"type": "function_call", "call_id": call.call, "name": call.name, "arguments": call.text}
    elif dialect == "anthropic":
        said = [{"type": "text", "text": text}] if text.strip() else []
        made = [{"type": "tool_use", "id": call.call, "name": call.name, "input": _object(call.text)} for call in calls]
        if said or made:
            yield {"role": "assistant", "content": [*said, *made]}
    elif text or calls:
        function = [{"name": call.name, "arguments": call.text} for call in calls]
        made = [
            {"id": call.call, "type": "function", "function": given}
            for call, given in zip(calls, function, strict=True)
        ]
        yield {"role": "assistant", "content": text or None} | ({"tool_calls": made} if made else {})


def _object(text: str) -> Mapping[str, Any]:
    """Return what a call was given as an object, as some forms want it."""
    try:
        given = json.loads(text)
    except ValueError:
        given = text
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {"input": given}


def guessed(messages: Sequence[Wire]) -> str:
    """Tell the form of messages by their fields."""
    for message in messages:
        if get(message, "parts") is not None:
            return "pydantic_ai" if get(message, "kind") else "google"
        if str(get(message, "type") or "message") != "message":
            return "responses"
        content: Any = get(message, "content")
        listed = cast("list[Any]", content) if isinstance(content, list) else list[Any]()
        kinds = {str(get(block, "type")) for block in listed}
        if get(message, "role") == "tool" or get(message, "tool_calls"):
            return "chat"
        if kinds & {"tool_use", "tool_result", "thinking"}:
            return "anthropic"
        if kinds & {"input_text", "output_text"}:
            return "responses"
    return "chat"


def append(dialect: str, messages: list[Wire], message: Wire) -> None:
    """Append a message; where the form wants the results of a turn in one, they go into the one before."""
    place = _LISTS.get(dialect)
    if place and messages and _is_results(dialect, messages[-1]) and _is_results(dialect, message):
        messages[-1] = {**messages[-1], place: [*get(messages[-1], place), *get(message, place)]}
    else:
        messages.append(message)


def _is_results(dialect: str, message: Wire) -> bool:
    parts = list(DIALECTS[dialect].parts(message))
    results = {part.path for part in parts if part.kind == "result"}
    return bool(results) and all(any(part.path[: len(path)] == path for path in results) for part in parts)


def calls_and_results(dialect: str, message: Wire) -> tuple[Mapping[str, Part], set[str]]:
    """Return the calls in a message by their ids, and the ids of those that it has results of."""
    parts = list(DIALECTS[dialect].parts(message))
    calls = {part.call: part for part in parts if part.kind == "call"}
    return calls, {part.call for part in parts if part.kind == "result"}


def note(dialect: str, pending: dict[str, Part], message: Wire) -> None:
    """Note which calls wait for a result when a message was added."""
    calls, results = calls_and_results(dialect, message)
    for name in results:
        pending.pop(name, None)
    pending.update(calls)


def ends_turn(dialect: str, message: Wire) -> bool:
    """Tell whether before a message all calls must have their results."""
    role = DIALECTS[dialect].role(message)
    return role == "user" or (role == "assistant" and dialect != "responses")


def mended(dialect: str, messages: Sequence[Wire]) -> list[Wire]:
    """Return a history that a provider accepts although some of its messages are lost; all that is left is in it."""
    form = DIALECTS[dialect]
    out: list[Wire] = []
    waiting: dict[str, Part] = {}
    for message in messages:
        calls, results = calls_and_results(dialect, message)
        is_lost = not out and form.role(message) not in ("system", "user")
        is_gap = bool(out) and dialect != "responses" and form.role(message) == form.role(out[-1]) == "assistant"
        is_orphan = not results <= waiting.keys()
        if is_orphan or ends_turn(dialect, message):
            for call in waiting.values():
                append(dialect, out, result(dialect, call, LOST))
            waiting = {}
        if is_lost or is_gap:
            out.append(form.user(LOST, None))
        if is_orphan:
            left = "\n".join(part.text for part in form.parts(message) if part.text)
            out.append(form.user(f"{LOST} What is left of it: {left}", None))
            continue
        waiting = {name: call for name, call in {**waiting, **calls}.items() if name not in results}
        append(dialect, out, message)
    led_to = [form.role(message) == "assistant" for message in [*out[1:], *out[:1]]]
    return [message for message, leads in zip(out, led_to, strict=True) if leads or get(message, "type") != "reasoning"]


def sendable(dialect: str, messages: Sequence[Wire], system: Wire | None, tools: Sequence[Wire]) -> dict[str, Any]:
    """Return what an SDK's call takes beside the model's name."""
    request: dict[str, Any] = {_NAMES.get(dialect, "messages"): list(messages)}
    if system is not None:
        if dialect == "chat":
            request["messages"] = [{"role": "system", "content": system}, *messages]
        else:
            request[_SYSTEM.get(dialect, "system")] = system
    return request | ({"tools": list(tools)} if tools else {})


_NAMES = {"responses": "input", "google": "contents"}
_SYSTEM = {"responses": "instructions", "google": "system_instruction"}
