"""pydantic-ai's messages, its own objects or their JSON; the package itself is never imported."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from ..wire import Part, Wire, blocks, dumps, get, put, result
from .pairs import unpaired

ARGUMENTS_BESIDE_REASONING: bool = False
"""The messages may go to any provider, so the strictest one's rule holds."""


def role(message: Wire) -> Literal["system", "user", "assistant", "result", "other"]:
    """Tell who speaks."""
    if get(message, "kind") != "request":
        return "assistant" if get(message, "kind") == "response" else "other"
    kinds = {_kind(part) for part in get(message, "parts")}
    return "result" if "result" in kinds else "user" if "user-prompt" in kinds or not kinds else "system"


def _kind(part: Wire) -> str:
    """Return the kind of a part; a demand to try again is the result of the call that it names."""
    kind = str(get(part, "part_kind"))
    if kind == "tool-return" or (kind == "retry-prompt" and get(part, "tool_name")):
        return "result"
    return kind


def parts(message: Wire) -> Iterator[Part]:
    """Take a message apart."""
    for number, part in enumerate(get(message, "parts")):
        path, kind = ("parts", number, "content"), _kind(part)
        content = get(part, "content")
        if kind == "result":
            yield from result(content, path, call=get(part, "tool_call_id"), name=get(part, "tool_name"))
        elif kind in ("user-prompt", "text"):
            yield from blocks(content, path)
        elif kind == "tool-call":
            given = get(part, "args")
            text = given if isinstance(given, str) else dumps(given)
            name, call = get(part, "tool_name"), get(part, "tool_call_id")
            yield Part("call", ("parts", number, "args"), given, text, name, call)
        elif kind == "thinking":
            yield Part("reasoning", ("parts", number), part, str(content))
        else:
            yield Part("other", path, part, content if isinstance(content, str) else dumps(part))


def user(text: str, like: Wire | None) -> Wire:
    """Make a user's message: of the kind of the given one, or as JSON."""
    prompts = [part for part in get(like, "parts") or () if _kind(part) == "user-prompt"]
    if like is None or not prompts:
        return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}
    return put(like, ("parts",), [put(prompts[0], ("content",), text)])


def text_block(text: str, like: Wire) -> Any:  # noqa: ANN401 - whatever JSON can carry
    """Make what stands in place of a medium."""
    return text


def problems(messages: Sequence[Wire]) -> Iterator[str]:
    """Tell what would be rejected."""
    for number, message in enumerate(messages):
        if role(message) == "other":
            yield f"message {number}: neither a request nor a response"
        if not get(message, "parts"):
            yield f"message {number}: no parts"
    yield from unpaired([list(parts(message)) for message in messages], is_adjacent=True)
