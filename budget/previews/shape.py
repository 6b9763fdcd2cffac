"""The shape of JSON: keys, types, ranges and examples, merged over all values that stand in the same place."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from math import isfinite, isnan
from operator import itemgetter
from typing import Any, cast

from ..clean import clean
from ..severity import severity

_DEEPEST = 24
"""Deeper values are only counted."""

_FIELDS_MAX = 300
"""Keys of one object that are looked at; the most frequent ones."""

_MAP_MIN_KEYS = 24
"""An object with more keys than this, whose values are of one type, is taken for a map from names to values."""

_CATEGORIES_MAX = 12
_CATEGORY_MAX_CHARACTERS = 40
_PROBED = 1000
"""Values looked at to tell whether they can be categories."""

RARE_PERCENT = 1
"""A category with at most this share of the values stands out."""

_RARE_ERROR_PERCENT = 10
"""The same for one that tells of an error."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:$|[T ]\d\d:\d\d)")


@dataclass(slots=True)
class Shape:
    """What the values of one place have in common.

    Attributes:
        count: number of values.
        scalars: by type name (`int`, `float`, `str`, `bool`, `null`), NaN and infinities by their own: how many, a
            phrase that describes them, and examples.
        rare: values of few kinds that occur seldom, as they are written in JSON, with their number.
        fields: of objects, by key.
        absent: keys of the objects that were not looked at.
        objects: number of objects.
        of_map: of objects that are maps, the shape of their values; `fields` is empty then.
        keys: of maps, how many different keys, and some of them.
        items: of lists, the shape of their elements.
        lists: number of lists.
        shortest: elements of the shortest list.
        longest: elements of the longest list.
        hidden: the values lie too deep to be looked at.
    """

    count: int
    scalars: dict[str, tuple[int, str, tuple[str, ...]]] = field(
        default_factory=dict[str, tuple[int, str, tuple[str, ...]]]
    )
    rare: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    fields: dict[str, "Shape"] = field(default_factory=dict[str, "Shape"])
    absent: int = 0
    objects: int = 0
    of_map: "Shape | None" = None
    keys: tuple[int, tuple[str, ...]] = (0, ())
    items: "Shape | None" = None
    lists: int = 0
    shortest: int = 0
    longest: int = 0
    hidden: bool = False


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
            _scalars(shape, kind, same)
    return shape


def _objects(shape: Shape, objects: list[dict[str, Any]], depth: int) -> None:
    shape.objects = len(objects)
    if depth >= _DEEPEST:
        shape.hidden = True
        return
    keys = Counter(chain.from_iterable(objects))
    if len(keys) > _MAP_MIN_KEYS and _is_map(objects, len(keys)):
        shape.keys = (len(keys), tuple(clean(key, 40) for key in list(keys)[:2]))
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
    if depth >= _DEEPEST:
        shape.hidden = True
    elif shape.longest:
        shape.items = describe(lists[0] if len(lists) == 1 else list(chain.from_iterable(lists)), depth + 1)


def _scalars(shape: Shape, kind: type, values: list[Any]) -> None:
    if kind is type(None):
        shape.scalars["null"] = (len(values), "null", ())
        return
    if kind is float and not (values := _finite(shape, values)):
        return
    name = {str: "str", int: "int", float: "float", bool: "bool"}[kind]
    categories = _categories(values) if kind is not float else None
    if categories is not None and len(values) > len(categories):
        shown = tuple(f"{_written(value)} {count:,}×" for value, count in categories)
        shape.rare += _rare(categories, len(values))
        shape.scalars[name] = (len(values), name, shown)
    elif kind is str:
        shape.scalars[name] = (len(values), *_strings(values))
    elif kind is bool:
        shape.scalars[name] = (len(values), "bool" if len(set(values)) > 1 else _written(values[0]), ())
    else:
        low, high = min(values), max(values)
        span = f"{name} {_written(low)}..{_written(high)}" if low != high else f"{name} {_written(low)}"
        shape.scalars[name] = (len(values), span, ())


def _strings(values: list[str]) -> tuple[str, tuple[str, ...]]:
    """Tell the lengths of long strings and an example, of dates the first and the last."""
    lengths = set(map(len, values)) if len(values) < _PROBED else (min(map(len, values)), max(map(len, values)))
    low, high = min(lengths), max(lengths)
    if low == high and _DATE.match(values[0]):
        first, last = min(values), max(values)
        if first != last and _DATE.match(first) and _DATE.match(last):
            return "str", (f"{_written(first)}..{_written(last)}",)
    size = "" if high <= 24 else f"[{low:,}..{high:,}]" if low < high else f"[{high:,}]"
    return f"str{size}", (_written(values[0]),)


def _finite(shape: Shape, numbers: list[float]) -> list[float]:
    """Count NaN and infinities by themselves, for no range holds them; returns the other numbers."""
    finite = [number for number in numbers if isfinite(number)]
    if len(finite) < len(numbers):
        for name, count in Counter(name_of(number) for number in numbers if not isfinite(number)).items():
            shape.scalars[name] = (count, f"{name} {count:,}×" if count < shape.count else name, ())
    return finite


def name_of(number: float) -> str:
    """Name what JSON has no number for, as those write it who write it all the same: `NaN`, `Infinity`, `-Infinity`."""
    return "NaN" if isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _categories(values: list[Any]) -> list[tuple[Any, int]] | None:
    """Return the different values and their numbers if they are few, the most frequent first."""
    if len(set(values[:_PROBED])) > _CATEGORIES_MAX:
        return None
    counts = Counter(values)
    if len(counts) > _CATEGORIES_MAX or any(isinstance(value, str) and len(value) > 200 for value in counts):
        return None
    return counts.most_common()


def _rare(categories: Iterable[tuple[Any, int]], total: int) -> list[tuple[str, int]]:
    return [
        (str(value), count)
        for value, count in categories
        if isinstance(value, str) and value and len(value) <= 80 and 100 * count <= _rare_percent(value) * total
    ]


def _rare_percent(value: str) -> int:
    return _RARE_ERROR_PERCENT if severity(value.encode("utf-8", "replace")) else RARE_PERCENT


def _written(value: object) -> str:
    """Write a scalar shortly, a string in quotes."""
    if isinstance(value, str):
        return f"'{clean(value, _CATEGORY_MAX_CHARACTERS)}'"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if len(text) <= 24 else f"{text[:12]}…({len(text)} digits)"
