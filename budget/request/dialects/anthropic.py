"""Anthropic's Messages: results are blocks of the user's next message, thinking is signed."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from ..wire import Part, Wire, blocks, get
from . import chat
from .pairs import unpaired

ARGUMENTS_BESIDE_REASONING: bool = True
"""A signature is of the thinking alone; the provider's own clearing takes arguments away beside it."""

user, text_block = chat.user, chat.text_block


def role(message: Wire) -> Literal["system", "user", "assistant", "result", "other"]:
    """Tell who speaks."""
    if get(message, "role") == "user":
        content: Any = get(message, "content")
        is_result = not isinstance(content, str) and any(get(block, "type") == "tool_result" for block in content or ())
        return "result" if is_result else "user"
    return "assistant" if get(message, "role") == "assistant" else "other"


def parts(message: Wire) -> Iterator[Part]:
    """Take a message apart."""
    return blocks(get(message, "content"), ("content",))


def problems(messages: Sequence[Wire]) -> Iterator[str]:
    """Tell what the provider would reject."""
    if messages and get(messages[0], "role") != "user":
        yield "message 0: the first message has to be the user's"
    for number, message in enumerate(messages):
        content = get(message, "content")
        if role(message) == "other":
            yield f"message {number}: unknown role {get(message, 'role')!r}"
        if not content and number + 1 < len(messages):
            yield f"message {number}: no content"
        kinds = [] if isinstance(content, str) else [str(get(block, "type")) for block in content or ()]
        if "tool_result" in kinds and "tool_result" in kinds[kinds.count("tool_result") :]:
            yield f"message {number}: results have to stand before all else"
        yield from (
            f"message {number}: an empty text"
            for part in parts(message)
            if part.kind == "text" and not part.text.strip()
        )
        for part in parts(message):
            if part.kind == "reasoning" and not (get(part.value, "signature") or get(part.value, "data")):
                yield f"message {number}: thinking without its signature"
            if part.kind == "call" and not (isinstance(part.value, dict) or hasattr(part.value, "__dict__")):
                yield f"message {number}: the input of {part.call!r} is no object"
    yield from unpaired([list(parts(message)) for message in messages], is_adjacent=True)
