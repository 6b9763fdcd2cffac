"""Writes a shape as a type: `{name: str 'Bern', population?(7): int 12..400, tags: [0..9 × str 'a']}`."""

from dataclasses import dataclass

from ..clean import clean
from ..cut import Allowance
from ..json_size import within
from .shape import Scalar, Shape

_KEY_CHARACTERS = 60
_KINDS_OF_A_RANGE = 6
"""More numbers or dates say no more than the least and the greatest."""

_VALUE_CHARACTERS = 24
_FEW_KEYS = 3
"""So few names of what lies too deep take no more room than their number."""

_IN_KEYS = frozenset("_-.$@/+")
"""Signs that a key may hold without being put in quotes."""


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a shape is written.

    Attributes:
        names: of the keys of a map, which are values rather than names.
        kinds: most different values of one place that are listed with their numbers.
        characters: of an example.
        has_ranges: whether the least and the greatest value are written.
        has_types: whether types are.
        keys: of one object.
        depth: levels of objects and lists.
        tokens: more than so many are not worth it.
    """

    names: int = 2
    kinds: int = 0
    characters: int = 0
    has_ranges: bool = False
    has_types: bool = True
    keys: int = 300
    depth: int = 24
    tokens: int = 1 << 30


_FEW = ((120, 4), (60, 4), (40, 3), (24, 2), (12, 1), (4, 1), (1, 1))
_LEVELS = (
    Detail(160, 12, 100, has_ranges=True, tokens=330),
    Detail(2, 12, 40, has_ranges=True, tokens=330),
    Detail(2, 5, 20, has_ranges=True, tokens=330),
    Detail(60, 0, 12, tokens=450),
    Detail(2, 0, 12, tokens=450),
    Detail(tokens=450),
    Detail(2, 3, 16, has_ranges=True, depth=4, tokens=330),
    Detail(has_types=False),
    *(Detail(has_types=False, keys=keys, depth=depth) for keys, depth in _FEW),
)
"""From the fullest to the scantiest: names are worth more than types, and those more than ranges and examples."""


def fitted(shape: Shape, room: Allowance, *, is_part: bool = False, is_table: bool = False) -> str:
    """Write a shape with as much detail as is worth its room; empty if there is none.

    Args:
        shape: of a whole document, or of the rows of a table.
        room: for its JSON form.
        is_part: only a part was looked at: what that has most, least or how often, the whole may have more.
        is_table: write the columns without a bracket around them.
    """
    for detail in _LEVELS:
        writer = _Writer(detail, is_part)
        text = writer.fields(shape, detail.depth) if is_table else writer.shape(shape, detail.depth)
        if within(text, Allowance(min(room.tokens, detail.tokens), room.bytes)):
            return text
    return ""


@dataclass(frozen=True, slots=True)
class _Writer:
    detail: Detail
    is_part: bool

    def shape(self, shape: Shape, depth: int) -> str:
        """Write what stands in one place; what is of several types with bars between them."""
        parts = [self._object(shape, depth)] if shape.objects else []
        parts += [self._list(shape, depth)] if shape.lists else []
        scalars = sorted(shape.scalars, key=lambda scalar: -scalar.count)
        if self.detail.has_types and shape.count == 1:
            is_outermost = depth >= self.detail.depth - 1
            parts += [self._value(scalar, is_outermost) for scalar in scalars]
        elif self.detail.has_types:
            parts += [self._scalar(scalar, shape.count) for scalar in scalars]
        return "|".join(parts)

    def fields(self, shape: Shape, depth: int) -> str:
        """Write the keys of objects; one that some objects lack has a `?` and says how many have it."""
        shown: list[str] = []
        for key, inner in list(shape.fields.items())[: self.detail.keys]:
            some = "" if inner.count == shape.objects else "?" if self.is_part else f"?({inner.count:,})"
            value = self.shape(inner, depth - 1)
            shown.append(f"{_key(key)}{some}: {value}" if value else f"{_key(key)}{some}")
        more = len(shape.fields) + shape.absent - len(shown)
        return ", ".join([*shown, f"… {more:,} more keys"] if more else shown)

    def _object(self, shape: Shape, depth: int) -> str:
        if shape.of_map is not None:
            named = shape.keys[: self.detail.names if shape.different <= self.detail.names else 2]
            such = "" if len(named) == shape.different else "such as "
            value = self.shape(shape.of_map, depth - 1) if depth > 0 else ""
            keys = f"{self._count(shape.different)} keys {such}{', '.join(map(_key, named))}"
            return f"{{{keys}: {value}}}" if value else f"{{{keys}}}"
        if depth <= 0 and len(shape.fields) + shape.absent > _FEW_KEYS:
            return f"{{{self._count(len(shape.fields) + shape.absent)} keys}}"
        if depth <= 0:
            return f"{{{', '.join(map(_key, shape.fields))}}}"
        return f"{{{self.fields(shape, depth)}}}"

    def _list(self, shape: Shape, depth: int) -> str:
        if not shape.longest:
            return "[]"
        span = f"{shape.shortest:,}.." if shape.shortest < shape.longest and not self.is_part else ""
        inner = self.shape(shape.items, depth - 1) if shape.items is not None and depth > 0 else ""
        return f"[{span}{self._count(shape.longest)}{' × ' if inner else ''}{inner}]"

    def _count(self, number: int) -> str:
        return f"≥{number:,}" if self.is_part and number > 1 else f"{number:,}"

    def _value(self, scalar: Scalar, is_outermost: bool) -> str:
        """Write the only value of a place; where there is little room, those of the document itself."""
        most = self.detail.characters or (_VALUE_CHARACTERS if is_outermost else 0)
        return _cut(scalar.example or scalar.type, most) if most else ""

    def _scalar(self, scalar: Scalar, total: int) -> str:
        """Write the values if they are few, else their type and range or an example."""
        detail = self.detail
        kinds = scalar.kinds
        if len(kinds) == 1 and scalar.count == total and detail.characters and not self.is_part:
            return f"always {_cut(kinds[0][0], detail.characters)}"
        if (
            0 < len(kinds) <= (min(detail.kinds, _KINDS_OF_A_RANGE) if scalar.span else detail.kinds)
            and not self.is_part
        ):
            are_counted = total > len(kinds)
            return "|".join(_cut(value, 40) + (f" {count:,}×" if are_counted else "") for value, count in kinds)
        text = scalar.type
        if scalar.span and detail.has_ranges and not self.is_part:
            text += f" {scalar.span}"
        elif scalar.example and detail.characters:
            text += f" {_cut(scalar.example, detail.characters)}"
        return text if 10 * scalar.count >= total or self.is_part else f"{text} {scalar.count:,}×"


def _key(key: str) -> str:
    shown = clean(key, _KEY_CHARACTERS)
    return shown if shown and all(sign.isalnum() or sign in _IN_KEYS for sign in shown) else f"'{shown}'"


def _cut(written: str, characters: int) -> str:
    """Shorten what is in quotes."""
    if not written.startswith("'") or len(written) <= characters + 2:
        return written
    return f"{written[: characters + 1].rstrip('…')}…'"
