"""OpenAI's Responses: a list of items, in which reasoning belongs to the item behind it."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from ..wire import Part, Wire, blocks, dumps, get, result
from .chat import role as spoken_by
from .pairs import unpaired

ARGUMENTS_BESIDE_REASONING: bool = False
"""A reasoning item is checked against the item that it led to."""


def role(message: Wire) -> Literal["system", "user", "assistant", "result", "other"]:
    """Tell who speaks."""
    kind = str(get(message, "type") or "message")
    if kind == "message":
        return spoken_by(message)
    if kind.endswith("_call_output"):
        return "result"
    return "assistant" if kind == "reasoning" or kind.endswith("_call") else "other"


def parts(message: Wire) -> Iterator[Part]:
    """Take an item apart."""
    kind = str(get(message, "type") or "message")
    call = get(message, "call_id")
    if kind == "message":
        yield from blocks(get(message, "content"), ("content",))
    elif kind == "reasoning":
        yield Part("reasoning", (), message, dumps(message))
    elif call and kind in ("function_call", "custom_tool_call"):
        field = "arguments" if kind == "function_call" else "input"
        given = get(message, field)
        yield Part("call", (field,), given, str(given), str(get(message, "name")), call)
    elif call and kind.endswith("_call_output"):
        yield from result(get(message, "output"), ("output",), call=call)
    else:
        yield Part("call" if call else "other", (), message, dumps(message), kind.removesuffix("_call"), call or "")


def user(text: str, like: Wire | None) -> Wire:
    """Make a user's message."""
    return {"role": "user", "content": text}


def text_block(text: str, like: Wire) -> Any:  # noqa: ANN401 - whatever JSON can carry
    """Make what stands in place of a medium."""
    return {"type": "input_text", "text": text}


def problems(messages: Sequence[Wire]) -> Iterator[str]:
    """Tell what the provider would reject."""
    for number, message in enumerate(messages):
        behind = messages[number + 1] if number + 1 < len(messages) else None
        if get(message, "type") == "reasoning" and (behind is None or role(behind) != "assistant"):
            yield f"message {number}: reasoning without the item that it led to"
        if role(message) == "user" and not get(message, "content"):
            yield f"message {number}: no content"
    yield from unpaired([list(parts(message)) for message in messages], is_adjacent=False)
