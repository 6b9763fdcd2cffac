"""What a tool of another server is: cleaned before anybody sees it, and compared with what was approved."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..budget.clean import clean
from .untyped import is_mapping, is_sequence, mapping, sequence, text

DESCRIPTION_MAX_CHARACTERS = 2048
"""As much as Claude Code shows of one."""

SCHEMA_MAX_BYTES = 32 * 1024
"""A longer schema is shown as a signature alone, and arguments are not checked against it."""

_NAME_MAX_CHARACTERS = 128
_DEPTH_MAX = 64

_UNSEEN = frozenset(map(chr, (0x00AD, 0x034F, 0x180E, 0x200B, 0x2060, 0x2061, 0x2062, 0x2063, 0x2064, 0xFEFF)))
"""Characters that nobody sees and models read, besides what `clean` replaces."""

_JOINERS = "\u200c\u200d"
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool as a model may be told of it.

    Attributes:
        name: as its server calls it.
        description: without what nobody sees.
        schema: of its arguments, cleaned likewise; empty if it is too long.
        hints: annotations that its server gives.
        sha256: of all this as the server sent it.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    hints: Mapping[str, bool]
    sha256: str

    @classmethod
    def of(cls, sent: object) -> "Definition | None":
        """Understand a definition as a server sends it; None if it is none, or hides something where it is not text."""
        told = mapping(sent)
        name = text(told.get("name"))
        if not name or len(name) > _NAME_MAX_CHARACTERS or seen(name) != name or clean(name) != name:
            return None
        schema = mapping(told.get("inputSchema")) or {"type": "object"}
        try:
            raw = canonical({**{key: told.get(key) for key in ("description", "annotations")}, "inputSchema": schema})
            shown: dict[str, Any] = {} if len(canonical(schema)) > SCHEMA_MAX_BYTES else _cleaned(schema, 0)
        except (ValueError, RecursionError):
            return None
        annotations = mapping(told.get("annotations"))
        hints = {hint: value for hint in _HINTS if isinstance(value := annotations.get(hint), bool)}
        said = text(told.get("description")) or text(annotations.get("title")) or text(told.get("title"))
        return cls(name, described_as(said), shown, hints, hashlib.sha256(raw).hexdigest())

    @property
    def is_read_only(self) -> bool:
        """Whether its server says that it changes nothing."""
        return self.hints.get("readOnlyHint", False)

    @property
    def is_sound(self) -> bool:
        """Whether its schema is one that providers take: they refuse all tools of a request for one that is not."""
        return self.schema.get("type") == "object" and _is_sound(self.schema)

    @property
    def required(self) -> frozenset[str]:
        """Names of the arguments that it needs; servers fill in those that have a default, whatever they require."""
        known = self.properties
        named = [text(name) for name in sequence(self.schema.get("required"))]
        return frozenset(name for name in named if name and "default" not in mapping(known.get(name)))

    @property
    def properties(self) -> Mapping[str, Any]:
        """Schemas of its arguments, by their names."""
        return mapping(self.schema.get("properties"))


def loosened(approved: Definition, live: Definition) -> str:
    """Tell in what a tool asks for more than was approved, or may do more; empty if in nothing."""
    if more := live.required - approved.required:
        return f"it needs {', '.join(sorted(more))} now"
    if approved.is_read_only and not live.is_read_only:
        return "it may change things now"
    if live.hints.get("openWorldHint", True) and not approved.hints.get("openWorldHint", True):
        return "it may reach beyond this machine now"
    if live.hints.get("destructiveHint", True) and not approved.hints.get("destructiveHint", True):
        return "it may destroy things now"
    return ""


_TYPES = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))


def _is_sound(schema: object) -> bool:
    """Tell whether a schema has what JSON Schema has in the places that providers look at."""
    if isinstance(schema, bool):
        return True
    if not is_mapping(schema):
        return False
    told = mapping(schema)
    kinds = told.get("type", [])
    named = sequence(kinds) if is_sequence(kinds) else [kinds]
    lists = [told[key] for key in ("required", "enum", "anyOf", "oneOf", "allOf") if key in told]
    tables = [told[key] for key in ("properties", "$defs", "definitions") if key in told]
    if not set(map(str, named)) <= _TYPES or not all(map(is_sequence, lists)) or not all(map(is_mapping, tables)):
        return False
    inner = [one for table in tables for one in mapping(table).values()]
    inner += [one for key in ("anyOf", "oneOf", "allOf") for one in sequence(told.get(key))]
    inner += [told[key] for key in ("items", "additionalProperties") if key in told]
    return all(isinstance(one, str) for one in sequence(told.get("required"))) and all(map(_is_sound, inner))


def canonical(value: object) -> bytes:
    """Write JSON in one way, whatever the order of its keys and its blanks.

    Raises:
        ValueError: it has numbers that JSON has not.
        RecursionError: it is too deep.
    """
    form = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return form.encode()


def seen(said: str) -> str:
    """Return a text without the characters that nobody sees; of those, joiners stay in scripts and emoji."""
    if said.isascii() and said.isprintable():
        return said
    return "".join(_seen(said))


def _seen(said: str) -> Iterator[str]:
    before = ""
    for at, character in enumerate(said):
        if character in "\n\t":
            yield character
        elif character in _UNSEEN:
            continue
        elif character in _JOINERS:
            if before > "\u0300" and at + 1 < len(said) and said[at + 1] > "\u0300":
                yield character
        elif any(ord(character) in selectors for selectors in _SELECTORS):
            # One belongs to the character before it; a row of them spells what nobody sees.
            if before and not any(ord(before) in selectors for selectors in _SELECTORS):
                yield character
        elif clean(character) == character:
            yield character
        before = character


def described_as(said: str, limit: int = DESCRIPTION_MAX_CHARACTERS) -> str:
    """Return a description as it may be shown."""
    shown = seen(said[: 4 * limit]).strip()
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


_TEXTS = frozenset({"description", "title", "$comment", "pattern", "format"})


def _cleaned(value: Any, depth: int, key: str = "") -> Any:  # noqa: ANN401 - as JSON has it
    """Return a schema whose texts are clean.

    Raises:
        ValueError: a name or a value in it hides something: changed, it would no longer be what its server knows.
    """
    if depth > _DEPTH_MAX:
        raise ValueError("too deep")
    if isinstance(value, str):
        if key in _TEXTS:
            return described_as(value)
        if seen(value) != value:
            raise ValueError("hides something")
        return value
    if is_sequence(value):
        return [_cleaned(one, depth + 1, key) for one in sequence(value)]
    if not is_mapping(value):
        return value
    made: dict[str, Any] = {}
    for name, one in mapping(value).items():
        if seen(name) != name:
            raise ValueError("hides something")
        is_argument = key == "properties"
        made[name] = _cleaned(one, depth + 1, "" if is_argument else name)
    return made
