"""LangChain's messages, its own objects; the package itself is never imported."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from ..wire import Part, Wire, blocks, dumps, get, put, result
from . import chat
from .pairs import unpaired

ARGUMENTS_BESIDE_REASONING: bool = False
"""The messages may go to any provider, so the strictest one's rule holds."""

text_block = chat.text_block

_ROLES: dict[str, Literal["system", "user", "assistant", "result"]] = {
    "system": "system",
    "human": "user",
    "ai": "assistant",
    "tool": "result",
}
_CALLS = {"tool_use", "tool_call", "function_call", "input_json_delta"}
"""Blocks that repeat what stands in `tool_calls`, which is what counts."""


def role(message: Wire) -> Literal["system", "user", "assistant", "result", "other"]:
    """Tell who speaks."""
    return _ROLES.get(str(get(message, "type")), "other")


def parts(message: Wire) -> Iterator[Part]:
    """Take a message apart."""
    content: Any = get(message, "content")
    if role(message) == "result":
        yield from result(content, ("content",), call=get(message, "tool_call_id"), name=get(message, "name") or "")
        return
    for part in blocks(content, ("content",)):
        if part.kind == "call" or str(get(part.value, "type")) in _CALLS:
            continue
        if part.kind != "text" or part.text:
            yield part
    for number, call in enumerate(get(message, "tool_calls") or ()):
        given = get(call, "args")
        yield Part(
            "call", ("tool_calls", number, "args"), given, dumps(given), str(get(call, "name")), str(get(call, "id"))
        )


def user(text: str, like: Wire | None) -> Wire:
    """Make a user's message: of the kind of the given one, or as JSON."""
    if like is None or isinstance(like, dict):
        return {"type": "human", "content": text}
    # Its id is that message's own.
    return put(put(like, ("content",), text), ("id",), None)


def problems(messages: Sequence[Wire]) -> Iterator[str]:
    """Tell what would be rejected."""
    for number, message in enumerate(messages):
        if role(message) == "other":
            yield f"message {number}: unknown type {get(message, 'type')!r}"
    yield from unpaired([list(parts(message)) for message in messages], is_adjacent=True)
