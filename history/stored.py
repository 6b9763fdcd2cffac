"""Values whose long texts lie in artifacts, so that no line of a history is long, and the same values whole again."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from ..artifacts import Artifact
from ..budget.request.wire import dumps
from ..errors import BursarError
from .file import LINE_MAX_BYTES, encoded
from .shelf import DOOR_BYTES, Shelf

Opened = Callable[[str], Artifact]
"""Opens an artifact by its reference."""

_VALUE_MAX_BYTES = LINE_MAX_BYTES - 128
"""The rest is for the number, the time and the checksum."""

_PLACE, _ITSELF = "$artifact", "$itself"


def taken_out(value: Any, shelf: Shelf, tool: str) -> Any:  # noqa: ANN401 - whatever JSON can carry
    """Return a value in which each text of more than 8 KiB, or all of it, is named by its artifact.

    Raises:
        BursarError: as `Shelf.store` does.
    """

    def name(text: str, label: str) -> Mapping[str, Any]:
        data = text.encode("utf-8", "surrogatepass")
        return {_PLACE: shelf.store(data, tool, "part of a history", label).ref, "chars": len(text)}

    def short(inner: Any) -> Any:  # noqa: ANN401 - whatever JSON can carry
        if isinstance(inner, str):
            return name(inner, "txt") if len(inner) > DOOR_BYTES else inner
        if isinstance(inner, list):
            return [short(item) for item in cast("list[Any]", inner)]
        if isinstance(inner, Mapping):
            fields = {key: short(item) for key, item in cast("Mapping[str, Any]", inner).items()}
            return {_ITSELF: fields} if _PLACE in fields or _ITSELF in fields else fields
        return inner

    line = short(value)
    return {**name(dumps(value), "json"), "json": True} if len(encoded(line)) > _VALUE_MAX_BYTES else line


def put_back(value: Any, opened: Opened, tell: Callable[[str], None]) -> Any:  # noqa: ANN401 - whatever JSON can carry
    """Return a value as it was before `taken_out`; None if all of it is gone, which is told.

    A text in it that is gone is told, and said in its place.
    """
    if isinstance(value, list):
        return [put_back(item, opened, tell) for item in cast("list[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    fields = cast("Mapping[str, Any]", value)
    if _PLACE in fields:
        return _read(fields, opened, tell)
    return {key: put_back(item, opened, tell) for key, item in fields.get(_ITSELF, fields).items()}


def _read(place: Mapping[str, Any], opened: Opened, tell: Callable[[str], None]) -> Any:  # noqa: ANN401 - whatever JSON can carry
    try:
        artifact = opened(str(place[_PLACE]))
        text = artifact.read(0, artifact.size).decode("utf-8", "surrogatepass")
    except BursarError as error:
        tell(f"{place.get('chars', 0):,} characters of {place[_PLACE]} are gone: {error.message}")
        return None if "json" in place else gone(place)
    return json.loads(text) if "json" in place else text


def gone(place: Any) -> str:  # noqa: ANN401 - whatever JSON can carry
    """Return what stands for a text whose artifact is gone."""
    return dumps({"omitted": f"{place.get('chars', 0)} characters that have expired; run the call again"})


def references(value: Any) -> Iterator[str]:  # noqa: ANN401 - whatever JSON can carry
    """Yield the artifacts that a value names after `taken_out`."""
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from references(item)
    elif isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        if _PLACE in fields:
            yield str(fields[_PLACE])
            return
        for item in fields.get(_ITSELF, fields).values():
            yield from references(item)
