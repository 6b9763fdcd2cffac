"""A tool in one line: `search_files(path, pattern, excludePatterns?:[text])`, from the schema of its arguments."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..budget.clean import clean
from .definition import Definition
from .untyped import is_sequence, mapping, sequence, text

_CHOICES_MAX = 12
_CHOICES_CHARACTERS = 100
_DEPTH = 2
_STEPS_MAX = 1000
"""References to references make of a short schema one without end."""

_WORDS = {"integer": "int", "number": "num", "boolean": "bool", "string": "text", "null": "null"}
_SENTENCE_MAX_CHARACTERS = 120
_LINE_MAX_CHARACTERS = 160


class Signature(NamedTuple):
    """A tool in one line.

    Attributes:
        text: an argument stands with `?` if it may be left out, and with its type if that is no text.
        is_lossy: it leaves out something of the schema that matters, such as a long list of choices.
    """

    text: str
    is_lossy: bool


def signature(definition: Definition, name: str = "") -> Signature:
    """Write a definition as a signature, under another name if one is given."""
    written = _Written()
    arguments = written.members(definition.schema, 0)
    if not definition.schema:
        return Signature(f"{name or definition.name}(…)", is_lossy=True)
    return Signature(f"{name or definition.name}({arguments})", written.is_lossy)


def in_line(definition: Definition, name: str) -> str:
    """Return a tool as it stands in a list of several: its signature, cut if it is long, and what it is for."""
    written = signature(definition, name).text
    shown = written if len(written) <= _LINE_MAX_CHARACTERS else f"{written[: _LINE_MAX_CHARACTERS - 1]}…"
    return f"{shown} — {clean(sentence(definition))}"


def sentence(definition: Definition) -> str:
    """Return the first sentence of a description, in one line."""
    said = " ".join(definition.description.split())
    ends = [at for mark in (". ", "。", "! ") if (at := said.find(mark)) > 0]
    first = said[: min(ends)] if ends else said.rstrip(".")
    return first if len(first) <= _SENTENCE_MAX_CHARACTERS else first[: _SENTENCE_MAX_CHARACTERS - 1] + "…"


class _Written:
    def __init__(self) -> None:
        self.is_lossy = False
        self._steps = 0
        self._defined: Mapping[str, Any] = {}

    def members(self, schema: Mapping[str, Any], depth: int) -> str:
        """Write the arguments of a tool, or the members of an object."""
        if depth == 0:
            self._defined = mapping(schema.get("$defs")) or mapping(schema.get("definitions"))
        known = mapping(schema.get("properties"))
        needed = [one for one in sequence(schema.get("required")) if "default" not in mapping(known.get(text(one)))]
        first = [*(name for name in known if name in needed), *(name for name in known if name not in needed)]
        unknown = [text(name) for name in needed if name not in known]
        return ", ".join([*unknown, *(self._member(name, known[name], name in needed, depth) for name in first)])

    def _member(self, name: str, schema: object, is_needed: bool, depth: int) -> str:
        kind, default = self._kind(schema, depth), mapping(schema).get("default")
        is_told = isinstance(default, str | int | float) and default not in ("", False) and len(str(default)) <= 24
        shown = f"={_plain(default)}" if is_told else ""
        return f"{name}{'' if is_needed else '?'}{f':{kind}' if kind != 'text' else ''}{shown}"

    def _kind(self, schema: object, depth: int) -> str:
        told = mapping(schema)
        self._steps += 1
        if self._steps > _STEPS_MAX:
            return self._lost("any")
        if reference := text(told.get("$ref")):
            told = mapping(self._defined.get(reference.rpartition("/")[2]))
            depth += 1
            if not told or depth > _DEPTH:
                return self._lost("any")
        if choices := sequence(told.get("enum")):
            return self._choices(choices)
        if "const" in told:
            return _plain(told["const"])
        if others := sequence(told.get("anyOf")) or sequence(told.get("oneOf")):
            return self._either(others, depth)
        kind = told.get("type")
        if is_sequence(kind):
            return self._either([{**told, "type": one} for one in sequence(kind)], depth)
        if kind == "array" or (kind is None and "items" in told):
            return f"[{self._kind(told.get('items'), depth)}]"
        if kind == "object" or (kind is None and "properties" in told):
            if not told.get("properties"):
                return "object"
            return self._lost("object") if depth >= _DEPTH else f"{{{self.members(told, depth + 1)}}}"
        return self._lost("object") if "allOf" in told else _WORDS.get(text(kind), "any")

    def _either(self, others: list[Any], depth: int) -> str:
        kinds = list(dict.fromkeys(self._kind(one, depth) for one in others))
        return "|".join([kind for kind in kinds if kind != "null"] or ["null"])

    def _choices(self, choices: list[Any]) -> str:
        words = [_plain(choice) for choice in choices if choice is not None]
        shown = "|".join(words[:_CHOICES_MAX])
        if len(words) > _CHOICES_MAX or len(shown) > _CHOICES_CHARACTERS:
            return self._lost("|".join(words[:4]) + "|…")
        return shown

    def _lost(self, shown: str) -> str:
        self.is_lossy = True
        return shown


def _plain(value: object) -> str:
    """Write a value without quotes where that is clear."""
    if isinstance(value, str):
        return value if value.isprintable() and value and not set(value) & set(" |,()") else json.dumps(value)
    return json.dumps(value)
