"""The shape of JSON and tables: keys, types, ranges and examples, merged over all values that stand in one place."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from math import isfinite, isnan
from operator import itemgetter
from typing import Any, cast

from ..clean import clean
from ..sql import WHOLE

_DEEPEST = 24
"""Deeper values are only counted."""

_FIELDS_MAX = 300
"""Keys of one object that are looked at; the most frequent ones."""

_MAP_MIN_KEYS = 24
"""An object with more keys than this, whose values are of one type, is taken for a map from names to values."""

_KINDS_MAX = 12
_KIND_MAX_CHARACTERS = 200
_LISTED_MAX = 4
"""So few values are listed even if each stands once."""

_PROBED = 1000
"""Values looked at to tell whether they are of few kinds."""

_LONG_CHARACTERS = 200
"""Of longer strings the length is told."""

_EXAMPLE_CHARACTERS = 120
_PARTS_MAX = 100
_DEEPEST_PART = 6
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:$|[T ]\d\d:\d\d)")


@dataclass(slots=True)
class Scalar:
    """What the values of one type have in common.

    Attributes:
        type: `int`, `float`, `str`, `bool`, `null`, `NaN`, `Infinity` or `-Infinity`.
        count: how many they are.
        example: the first of them, as it is written.
        span: the least and the greatest number or date, as `1..12`; empty for others, and when there is but one.
        kinds: the different values with their numbers, the most frequent first; empty when they are many.
    """

    type: str
    count: int
    example: str = ""
    span: str = ""
    kinds: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])


@dataclass(slots=True)
class Shape:
    """What the values of one place have in common.

    Attributes:
        count: number of values.
        scalars: one for each type.
        fields: of objects, by key.
        absent: keys of the objects that were not looked at.
        objects: number of objects.
        of_map: of objects that are maps, the shape of their values; `fields` is empty then.
        keys: of maps, the first keys.
        different: of maps, how many different keys.
        items: of lists, the shape of their elements.
        lists: number of lists.
        shortest: elements of the shortest list.
        longest: elements of the longest list.
    """

    count: int
    scalars: list[Scalar] = field(default_factory=list[Scalar])
    fields: dict[str, "Shape"] = field(default_factory=dict[str, "Shape"])
    absent: int = 0
    objects: int = 0
    of_map: "Shape | None" = None
    keys: tuple[str, ...] = ()
    different: int = 0
    items: "Shape | None" = None
    lists: int = 0
    shortest: int = 0
    longest: int = 0


def describe(values: list[Any], depth: int = 0) -> Shape:
    """Merge the shapes of all values; works column by column, so that most of it runs at the speed of C."""
    shape = Shape(len(values))
    types = Counter(map(type, values))
    for kind, count in types.items():
        same = values if count == len(values) else [value for value in values if type(value) is kind]
        if kind is dict:
            _objects(shape, same, depth)
        elif kind is list:
            _lists(shape, same, depth)
        else:
            shape.scalars += _scalars(kind, same)
    return shape


@dataclass(frozen=True, slots=True)
class Part:
    """A list of objects or a map in a document, which is a table of its own.

    Attributes:
        name: its key, with those above it as far as it must be told from others.
        path: the keys that lead to it.
        shape: of its elements or values.
        is_map: whether it is a map.
    """

    name: str
    path: tuple[str, ...]
    shape: Shape
    is_map: bool


def parts(shape: Shape) -> list[Part]:
    """Return the parts of a document that is an object, as far as one object leads to them; at most 100."""
    found: list[Part] = []
    taken = {WHOLE}
    for path, inner in islice(_parted(shape, ()), _PARTS_MAX):
        names = ("_".join(path[start:]) for start in range(len(path) - 1, -1, -1))
        numbered = (f"{path[-1]}_{number}" for number in range(2, _PARTS_MAX + 2))
        name = next(name for name in chain(names, numbered) if name and name.casefold() not in taken)
        taken.add(name.casefold())
        found.append(Part(name, path, inner.of_map or inner.items or inner, inner.of_map is not None))
    return found


def _parted(shape: Shape, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Shape]]:
    for key, inner in shape.fields.items() if shape.count == 1 and len(above) < _DEEPEST_PART else ():
        path = (*above, key)
        if inner.of_map is not None or (inner.lists and inner.items is not None and inner.items.objects):
            yield path, inner
        else:
            yield from _parted(inner, path)


def _objects(shape: Shape, objects: list[dict[str, Any]], depth: int) -> None:
    shape.objects = len(objects)
    keys = Counter(chain.from_iterable(objects))
    if depth >= _DEEPEST:
        shape.absent = len(keys)
        return
    are_seldom_shared = len(objects) > 2 and sum(keys.values()) < 2 * len(keys)
    if (len(keys) > _MAP_MIN_KEYS or are_seldom_shared) and _is_map(objects, len(keys)):
        shape.keys, shape.different = tuple(list(keys)[:_FIELDS_MAX]), len(keys)
        shape.of_map = describe(list(chain.from_iterable(one.values() for one in objects)), depth + 1)
        return
    looked_at = keys if len(keys) <= _FIELDS_MAX else dict(keys.most_common(_FIELDS_MAX))
    shape.absent = len(keys) - len(looked_at)
    for key, count in looked_at.items():
        if count == len(objects):
            column = list(map(itemgetter(key), objects))
        else:
            column = [one[key] for one in objects if key in one]
        shape.fields[key] = describe(column, depth + 1)


def _is_map(objects: list[dict[str, Any]], different: int) -> bool:
    """Tell a map from a record: its values are of one type, and records of many objects share their keys."""
    values = list(chain.from_iterable(list(one.values())[:200] for one in objects[:50]))
    types: set[type] = set(map(type, values))
    if len(types - {type(None)}) != 1:
        return False
    if len(objects) > 1 and 2 * different < 3 * max(map(len, objects[:200])):
        return False
    inner = [frozenset(cast("dict[str, Any]", value)) for value in values if isinstance(value, dict)]
    return not inner or len(set(inner)) <= max(4, len(inner) // 3)


def _lists(shape: Shape, lists: list[list[Any]], depth: int) -> None:
    shape.lists = len(lists)
    shape.shortest, shape.longest = min(map(len, lists)), max(map(len, lists))
    if shape.longest and depth < _DEEPEST:
        shape.items = describe(lists[0] if len(lists) == 1 else list(chain.from_iterable(lists)), depth + 1)


def _scalars(kind: type, values: list[Any]) -> list[Scalar]:
    if kind is type(None):
        return [Scalar("null", len(values))]
    if kind is float:
        # NaN and infinities are counted by themselves, for no range holds them.
        finite = list(filter(isfinite, values))
        odd = Counter(name_of(number) for number in values if not isfinite(number))
        return [*_numbers("float", finite), *(Scalar(name, count) for name, count in odd.items())]
    kinds = _kinds(values)
    if kind is int:
        return [Scalar("int", len(values), one.example, one.span, kinds) for one in _numbers("int", values)]
    if kind is bool:
        return [Scalar("bool", len(values), _written(values[0]), "", kinds)]
    longest = max(map(len, values))
    name = f"str[..{longest:,}]" if longest > _LONG_CHARACTERS else "str"
    return [Scalar(name, len(values), _written(values[0]), _dates(values), kinds)]


def _numbers(name: str, values: list[Any]) -> list[Scalar]:
    if not values:
        return []
    low, high = min(values), max(values)
    return [Scalar(name, len(values), _written(values[0]), f"{_written(low)}..{_written(high)}" if low != high else "")]


def _dates(values: list[str]) -> str:
    """Return the first and the last of dates that are written so that they can be compared as they stand."""
    first, last = min(values), max(values)
    if first == last or len(first) != len(last) or not (_DATE.match(first) and _DATE.match(last)):
        return ""
    return f"{_written(first)}..{_written(last)}"


def name_of(number: float) -> str:
    """Name what JSON has no number for, as those write it who write it all the same: `NaN`, `Infinity`, `-Infinity`."""
    return "NaN" if isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _kinds(values: list[Any]) -> list[tuple[str, int]]:
    """Return the different values and their numbers if they are few, the most frequent first."""
    if len(set(values[:_PROBED])) > _KINDS_MAX:
        return []
    counts = Counter(values)
    are_many = len(counts) > (_KINDS_MAX if len(values) > len(counts) else _LISTED_MAX)
    if are_many or any(isinstance(value, str) and len(value) > _KIND_MAX_CHARACTERS for value in counts):
        return []
    return [(_written(value), count) for value, count in counts.most_common()]


def _written(value: object) -> str:
    """Write a scalar shortly, a string in quotes."""
    if isinstance(value, str):
        return f"'{clean(value, _EXAMPLE_CHARACTERS)}'"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if len(text) <= 24 else f"{text[:12]}…({len(text)} digits)"
