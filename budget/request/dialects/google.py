"""Google's contents: JSON in either spelling of its names, or the SDK's objects; calls may go without an id."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, cast

from ..wire import Part, Path, Wire, dumps, get, media_tokens, put
from .pairs import unpaired

ARGUMENTS_BESIDE_REASONING: bool = False
"""A signature stands beside the call that its thinking led to."""


def role(message: Wire) -> Literal["system", "user", "assistant", "result", "other"]:
    """Tell who speaks."""
    if get(message, "role") == "model":
        return "assistant"
    if any(_held(part, "functionResponse")[0] for part in get(message, "parts") or ()):
        return "result"
    return "user" if get(message, "role") in ("user", "function", None) else "other"


def parts(message: Wire) -> Iterator[Part]:
    """Take a message apart. Calls without an id are known by their name and place, as their results are."""
    seen: Counter[str] = Counter()
    for number, part in enumerate(get(message, "parts") or ()):
        path: Path = ("parts", number)
        if (signature := _held(part, "thoughtSignature")) != ("", None):
            yield Part("reasoning", (*path, signature[0]), signature[1], "")
        (call_at, call), (result_at, result) = _held(part, "functionCall"), _held(part, "functionResponse")
        if call_at or result_at:
            held = call if call_at else result
            name = str(get(held, "name"))
            key = str(get(held, "id") or f"{name}#{seen[name]}")
            seen[name] += not get(held, "id")
            if call_at:
                given = get(call, "args")
                yield Part("call", (*path, call_at, "args"), given, dumps(given), name, key)
            else:
                yield _result(get(result, "response"), (*path, result_at, "response"), name, key)
        elif get(part, "thought"):
            yield Part("reasoning", path, part, str(get(part, "text") or ""))
        elif isinstance(text := get(part, "text"), str):
            yield Part("text", (*path, "text"), text, text)
        elif (data := _held(part, "inlineData")[1]) is not None:
            kind = "image" if str(_held(data, "mimeType")[1]).startswith("image/") else "document"
            tokens = media_tokens({"type": kind, "source": {"data": get(data, "data")}}) or 0
            yield Part("media", path, part, "", tokens=tokens)
        else:
            yield Part("other", path, part, dumps(part))


def _held(part: Wire, name: str) -> tuple[str, Any]:
    """Return how a field is spelt here, and what it holds; an empty name if it is not there."""
    snake = "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name)
    return next(((one, found) for one in (name, snake) if (found := get(part, one)) is not None), ("", None))


def _result(response: object, path: Path, name: str, call: str) -> Part:
    """Take what a tool returned: itself, if it is the only thing that stands in its object."""
    fields = cast("dict[str, Any]", response) if isinstance(response, dict) else {}
    (key, value), *others = list(fields.items()) or [("", None)]
    if isinstance(value, str) and not others:
        return Part("result", (*path, key), value, value, name, call)
    return Part("result", path, response, dumps(cast("object", response)), name, call)


def user(text: str, like: Wire | None) -> Wire:
    """Make a user's message: of the kind of the given one, or as JSON."""
    if like is None or isinstance(like, dict):
        return {"role": "user", "parts": [{"text": text}]}
    said = next(part for part in get(like, "parts") if isinstance(get(part, "text"), str))
    return put(like, ("parts",), [put(said, ("text",), text)])


def text_block(text: str, like: Wire) -> Any:  # noqa: ANN401 - whatever JSON can carry
    """Make what stands in place of a medium."""
    return {"text": text} if isinstance(like, dict) else put(put(like, ("inline_data",), None), ("text",), text)


def problems(messages: Sequence[Wire]) -> Iterator[str]:
    """Tell what the provider would reject."""
    for number, message in enumerate(messages):
        if role(message) == "other":
            yield f"message {number}: unknown role {get(message, 'role')!r}"
        if not get(message, "parts"):
            yield f"message {number}: no parts"
    yield from unpaired([list(parts(message)) for message in messages], is_adjacent=True)
