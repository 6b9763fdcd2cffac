"""What is in a message, a JSON object or an object of an SDK with the same fields, and copies with parts replaced."""

import base64
import binascii
import copy
import dataclasses
import hashlib
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

Wire = Any
"""A message, a tool or a piece of one: a JSON object, or an object of an SDK with the same fields; never changed."""

Path = tuple[str | int, ...]
"""The way from a message to a value in it, by names and positions."""

REMOVED = object()
"""Put in place of an item of a list or a field, it takes it away."""

_IMAGE_MAX_TOKENS = 1600
_PIXELS_PER_TOKEN = 750
"""What providers count for a picture; larger ones are scaled down before."""

_DOCUMENT_BYTES_PER_TOKEN = 30
"""About what a page of PDF costs; providers do not say more."""

_HEADER_BYTES = 64 << 10
_TEXTS = {"text", "input_text", "output_text"}
_REASONINGS = {"thinking", "redacted_thinking", "reasoning"}


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a message that counts, and that may be replaced.

    Attributes:
        kind: what it is; `other` is counted and never touched.
        path: where its value stands in the message.
        value: itself.
        text: as the model reads it; empty for media.
        name: of the tool, for a call and, where the form tells it, for a result.
        call: the id that a call and its result share.
        tokens: what it costs, where that does not follow from the text.
    """

    kind: Literal["text", "call", "result", "media", "reasoning", "other"]
    path: Path
    value: Any
    text: str
    name: str = ""
    call: str = ""
    tokens: int = 0


def get(value: Wire, key: str) -> Any:  # noqa: ANN401 - whatever JSON can carry
    """Return a field of an object of either kind; None if it has none of that name."""
    return cast("Mapping[str, Any]", value).get(key) if isinstance(value, dict | Mapping) else getattr(value, key, None)


def put(value: Wire, path: Path, new: object) -> Any:  # noqa: ANN401 - whatever JSON can carry
    """Return a copy in which `new` stands at `path`; whatever does not lie on that way is the same object."""
    if not path:
        return new
    key, rest = path[0], path[1:]
    if isinstance(key, int):
        items = list(cast("Sequence[Any]", value))
        items[key : key + 1] = [] if new is REMOVED and not rest else [put(items[key], rest, new)]
        return items
    if isinstance(value, Mapping):
        fields = dict(cast("Mapping[str, Any]", value))
        if new is REMOVED and not rest:
            del fields[key]
        else:
            fields[key] = put(fields[key], rest, new)
        return fields
    clone = copy.copy(value)
    object.__setattr__(clone, key, None if new is REMOVED and not rest else put(getattr(value, key), rest, new))
    return clone


def dumps(value: object, *, only_set: bool = False) -> str:
    """Write anything that a message may hold as compact JSON.

    Args:
        value: it.
        only_set: of an SDK's objects without the fields that nobody gave a value, as the provider sent them.
    """
    return (_encode_set if only_set else _encode)(value)


def digest(value: object) -> str:
    """Return 16 hexadecimal digits that tell one value from another, in any process."""
    text = value if isinstance(value, str) else _encode_sorted(value)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _plain(value: object, *, only_set: bool = False) -> object:
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    dump = getattr(value, "model_dump", None)
    return dump(**({"exclude_unset": True} if only_set else {})) if callable(dump) else str(value)


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain).encode
_encode_set = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=partial(_plain, only_set=True)).encode
_encode_sorted = json.JSONEncoder(sort_keys=True, default=_plain).encode


def blocks(content: Wire, path: Path) -> Iterator[Part]:
    """Take apart what a message says: a text, or a list of texts, media, calls and results."""
    if isinstance(content, str):
        yield Part("text", path, content, content)
        return
    for number, block in enumerate(cast("Sequence[Any]", content or ())):
        place = (*path, number)
        kind = str(get(block, "type"))
        if isinstance(block, str):
            yield Part("text", place, block, block)
        elif kind in _TEXTS:
            yield Part("text", (*place, "text"), get(block, "text"), str(get(block, "text")))
        elif kind in _REASONINGS:
            yield Part("reasoning", place, block, dumps(block))
        elif kind == "tool_use":
            given = get(block, "input")
            yield Part("call", (*place, "input"), given, dumps(given), get(block, "name"), get(block, "id"))
        elif kind == "tool_result":
            yield from result(get(block, "content"), (*place, "content"), call=get(block, "tool_use_id"))
        elif (tokens := media_tokens(block)) is not None:
            yield Part("media", place, block, "", tokens=tokens)
        else:
            yield Part("other", place, block, dumps(block))


def result(content: Wire, path: Path, *, call: str, name: str = "") -> Iterator[Part]:
    """Take apart what a tool returned: one part for its text, and one for each medium in it."""
    if isinstance(content, str):
        yield Part("result", path, content, content, name, call)
        return
    is_list = isinstance(content, Sequence)
    within = list(blocks(content, path)) if is_list else []
    text = "\n".join(part.text for part in within if part.kind != "media") if is_list else dumps(content)
    yield Part("result", path, content, text, name, call)
    yield from (part for part in within if part.kind == "media")


def media_tokens(block: Wire) -> int | None:
    """Return about how many tokens a picture, sound or document costs; None if the block is none of these."""
    data, is_image = _data(block)
    if data is None:
        return None
    head = _decoded(data[: _HEADER_BYTES * 4 // 3 // 4 * 4]) if isinstance(data, str) else data[:_HEADER_BYTES]
    pixels = _pixels(head)
    if pixels or is_image:
        return min(_IMAGE_MAX_TOKENS, pixels // _PIXELS_PER_TOKEN + 1) if pixels else _IMAGE_MAX_TOKENS
    size = len(data) * 3 // 4 if isinstance(data, str) else len(data)
    return max(_IMAGE_MAX_TOKENS, size // _DOCUMENT_BYTES_PER_TOKEN)


def _data(block: Wire) -> tuple[str | bytes | None, bool]:
    """Return the base64 or the bytes of a medium, none of it for one that is only named by its address."""
    kind = str(get(block, "type") or get(block, "kind"))
    inner = next(
        (found for name in ("image_url", "source", "input_audio", "file") if (found := get(block, name))), block
    )
    if kind not in {"image_url", "input_image", "image", "document", "input_audio", "file", "input_file", "binary"}:
        return ("", kind == "image-url") if kind.endswith("-url") else (None, False)
    names = ("url", "data", "file_data")
    data = inner if isinstance(inner, str) else next((found for name in names if (found := get(inner, name))), "")
    if isinstance(data, str) and not data.startswith("data:") and not any(get(inner, name) for name in names[1:]):
        data = ""
    return (data.partition(",")[2] if isinstance(data, str) and data.startswith("data:") else data), "image" in kind


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b""


def _pixels(head: bytes) -> int:
    """Return the area of a picture as its header tells it; 0 if there is no telling."""
    if head.startswith(b"\x89PNG") and len(head) >= 24:
        width, height = struct.unpack(">II", head[16:24])
    elif head.startswith(b"GIF8") and len(head) >= 10:
        width, height = struct.unpack("<HH", head[6:10])
    elif head.startswith(b"\xff\xd8"):
        at = 2
        while at + 9 <= len(head) and not 0xC0 <= head[at + 1] <= 0xC3:
            at += 2 + int.from_bytes(head[at + 2 : at + 4])
        height, width = struct.unpack(">HH", head[at + 5 : at + 9]) if at + 9 <= len(head) else (0, 0)
    else:
        return 0
    return width * height
