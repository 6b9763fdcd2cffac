"""Writes a shape so that a model reads it at a glance: nested like the data, with types for values."""

from dataclasses import dataclass
from math import isfinite
from typing import cast

from ..clean import clean
from .shape import Shape, name_of


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a shape, or of a sample, is written.

    Attributes:
        keys: of one object.
        depth: levels of nesting.
        examples: different values shown of one place.
        characters: of a string.
    """

    keys: int
    depth: int
    examples: int
    characters: int


LEVELS = (
    Detail(60, 10, 6, 120),
    Detail(40, 8, 5, 80),
    Detail(24, 6, 4, 60),
    Detail(16, 5, 3, 40),
    Detail(12, 4, 2, 30),
    Detail(10, 3, 1, 24),
    Detail(8, 2, 1, 16),
    Detail(4, 2, 0, 12),
    Detail(2, 1, 0, 8),
)
"""From the fullest to the scantiest."""


def written(shape: Shape, detail: Detail) -> object:
    """Write the shape of a whole document."""
    name, value = _named("", shape, detail, detail.depth)
    return {name: value} if name else value


def _named(key: str, shape: Shape, detail: Detail, depth: int) -> tuple[str, object]:
    """Write a shape under its key; what is a list shows that, and its length, behind the key."""
    if shape.lists and not shape.objects:
        span = f"{shape.shortest:,}" if shape.shortest == shape.longest else f"{shape.shortest:,}..{shape.longest:,}"
        other = scalars(shape, detail)
        name = f"{key}[{span}]" + (f"|{other}" if other else "")
        if shape.items is None:
            return name, "deeper" if shape.hidden else "empty"
        inner, value = _named("", shape.items, detail, depth)
        return name + inner, value
    return key, _value(shape, detail, depth)


def _value(shape: Shape, detail: Detail, depth: int) -> object:
    other = scalars(shape, detail)
    if not shape.objects:
        return other
    if shape.of_map is not None:
        different, examples = shape.keys
        shown = ", ".join(f"'{clean(key, detail.characters)}'" for key in examples)
        name, value = _named(f"<{different:,} keys such as {shown}>", shape.of_map, detail, depth - 1)
        written_object: object = {name: value} if depth > 0 else f"object of {different:,} keys"
    elif depth <= 0 or shape.hidden:
        shown = ", ".join(clean(key, 20) for key in list(shape.fields)[: detail.keys // 2])
        return f"object of {len(shape.fields) + shape.absent:,} keys: {shown}, …"
    else:
        written_object = _fields(shape, detail, depth)
    if shape.lists:
        list_name, list_value = _named("", _only_lists(shape), detail, depth - 1)
        return [written_object, {list_name: list_value}, *([other] if other else [])]
    return [written_object, other] if other else written_object


def _only_lists(shape: Shape) -> Shape:
    return Shape(shape.lists, items=shape.items, lists=shape.lists, shortest=shape.shortest, longest=shape.longest)


def _fields(shape: Shape, detail: Detail, depth: int) -> dict[str, object]:
    """Write the fields of objects; a field that some objects lack has a `?`, and says how many have it."""
    fields: dict[str, object] = {}
    for key, inner in list(shape.fields.items())[: detail.keys]:
        name, value = _named(clean(key, max(24, detail.characters)), inner, detail, depth - 1)
        if inner.count < shape.objects:
            name = f"{name}? ({inner.count:,} of {shape.objects:,})"
        fields[name] = value
    more = len(shape.fields) + shape.absent - min(len(shape.fields), detail.keys)
    return fields | ({"…": f"{more:,} more keys"} if more > 0 else {})


def scalars(shape: Shape, detail: Detail) -> str:
    """Write the types of scalar values, the most frequent first; one that is seldom tells how many it are."""
    parts: list[str] = []
    total = sum(count for count, _, _ in shape.scalars.values()) + shape.objects + shape.lists
    for count, phrase, examples in sorted(shape.scalars.values(), key=lambda scalar: -scalar[0]):
        text = phrase
        if detail.examples and examples:
            few = _few(examples, detail)
            text = f"{phrase} {few}"
        if count < total and 10 * count < total and "×" not in text:
            text = f"{text} {count:,}×"
        parts.append(text)
    return "|".join(parts)


def _few(examples: tuple[str, ...], detail: Detail) -> str:
    """Show the most frequent values, and always the rarest: it may be what matters."""
    if len(examples) <= detail.examples:
        return ", ".join(examples)
    shown = [*examples[: detail.examples - 1], "…", examples[-1]]
    return ", ".join(shown) + f" ({len(examples)} different)"


def trimmed(value: object, detail: Detail, depth: int | None = None) -> object:
    """Cut a sample value: long strings, long lists, wide and deep objects."""
    depth = detail.depth if depth is None else depth
    if isinstance(value, str):
        return clean(value, detail.characters) if len(value) > detail.characters or not value.isprintable() else value
    if isinstance(value, dict):
        return _trimmed_object(cast("dict[str, object]", value), detail, depth)
    if isinstance(value, list):
        return _trimmed_list(cast("list[object]", value), detail, depth)
    if isinstance(value, int) and len(text := str(value)) > 40:
        return f"{text[:16]}… ({len(text)} digits)"
    if isinstance(value, float) and not isfinite(value):
        return name_of(value)
    return value


def _trimmed_object(value: dict[str, object], detail: Detail, depth: int) -> object:
    if depth <= 0:
        return f"object of {len(value):,} keys" if value else value
    shown = {clean(key, 60): trimmed(value[key], detail, depth - 1) for key in list(value)[: detail.keys]}
    return shown | ({"…": f"{len(value) - detail.keys:,} more keys"} if len(value) > detail.keys else {})


def _trimmed_list(value: list[object], detail: Detail, depth: int) -> object:
    if depth <= 0:
        return f"list of {len(value):,}" if value else value
    most = max(1, detail.keys // 8)
    most += len(value) == most + 1
    shown = [trimmed(item, detail, depth - 1) for item in value[:most]]
    return shown + ([f"… {len(value) - most:,} more"] if len(value) > most else [])
