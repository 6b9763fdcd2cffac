"""OpenAI's chat completions, and the many that are compatible: DeepSeek, vLLM, Ollama, Mistral."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from ..wire import Part, Wire, blocks, get, result
from .pairs import unpaired

ARGUMENTS_BESIDE_REASONING: bool = True
"""Reasoning is a plain text here, which nothing signs."""

_ROLES: dict[str, Literal["system", "user", "assistant", "result"]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "result",
}


def role(message: Wire) -> Literal["system", "user", "assistant", "result", "other"]:
    """Tell who speaks."""
    return _ROLES.get(str(get(message, "role")), "other")


def parts(message: Wire) -> Iterator[Part]:
    """Take a message apart."""
    for name in ("reasoning_content", "reasoning"):
        if reasoning := get(message, name):
            yield Part("reasoning", (name,), reasoning, str(reasoning))
    content = get(message, "content")
    if role(message) == "result":
        yield from result(content, ("content",), call=get(message, "tool_call_id"), name=get(message, "name") or "")
    elif content is not None:
        yield from blocks(content, ("content",))
    for number, call in enumerate(get(message, "tool_calls") or ()):
        kind, field = ("custom", "input") if get(call, "type") == "custom" else ("function", "arguments")
        given = get(get(call, kind), field)
        path = ("tool_calls", number, kind, field)
        yield Part("call", path, given, str(given), str(get(get(call, kind), "name")), str(get(call, "id")))


def user(text: str, like: Wire | None) -> Wire:
    """Make a user's message."""
    return {"role": "user", "content": text}


def text_block(text: str, like: Wire) -> Any:  # noqa: ANN401 - whatever JSON can carry
    """Make what stands in place of a medium."""
    return {"type": "text", "text": text}


def problems(messages: Sequence[Wire]) -> Iterator[str]:
    """Tell what the provider would reject."""
    for number, message in enumerate(messages):
        if role(message) == "other":
            yield f"message {number}: unknown role {get(message, 'role')!r}"
        if role(message) == "assistant" and not get(message, "content") and not get(message, "tool_calls"):
            yield f"message {number}: an assistant's message without content or calls"
        if role(message) in ("user", "result") and get(message, "content") in (None, []):
            yield f"message {number}: no content"
    yield from unpaired([list(parts(message)) for message in messages], is_adjacent=True)
