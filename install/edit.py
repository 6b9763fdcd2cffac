"""One entry put into a configuration in JSON, TOML or YAML, or taken out: not a byte of anything else changes.

A parser says where things stand; the text is cut and joined there, so that comments, order and layout stay.
"""

import json
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import tree_sitter_json
import tree_sitter_toml
import tree_sitter_yaml
from tree_sitter import Language, Node, Parser

from ..errors import BursarError

Form = Literal["json", "jsonc", "toml", "yaml"]
"""`jsonc` is JSON for readers that take comments and commas before a closing bracket."""

_LANGUAGES = {
    "json": tree_sitter_json.language,
    "jsonc": tree_sitter_json.language,
    "toml": tree_sitter_toml.language,
    "yaml": tree_sitter_yaml.language,
}

_MAPPINGS = {"object", "block_mapping", "flow_mapping"}
_MEMBERS = {"pair", "block_mapping_pair", "flow_pair"}
_LISTS = {"block_sequence", "flow_sequence"}
_ITEMS = {"block_sequence_item", "flow_node"}
_WRAPPERS = {"document", "stream", "block_node", "flow_node"}


class Place(NamedTuple):
    """Where a configuration has its servers.

    Attributes:
        form: what the file is written in.
        keys: under which they stand.
        is_list: whether that is a list of mappings that each have a `name`, and not a mapping by names.
    """

    form: Form
    keys: tuple[str, ...]
    is_list: bool = False

    @property
    def dotted(self) -> str:
        """The keys, for people."""
        return ".".join(self.keys)


class _Splice(NamedTuple):
    """Bytes of the text from `start` to `end` that are replaced."""

    start: int
    end: int
    text: str


def has(data: bytes, place: Place, name: str) -> bool:
    """Tell whether a configuration, the bytes of a file, has an entry.

    Raises:
        BursarError: broken_configuration.
    """
    return _found(_parsed(data, place.form), place, name) is not None


def plain(data: bytes) -> bytes:
    """Return JSON with comments, and commas before closing brackets, as JSON that any reader takes.

    Raises:
        BursarError: broken_configuration.
    """
    made, waiting = bytearray(data), [_parsed(data, "jsonc")]
    while waiting:
        one = waiting.pop()
        left_out = one if one.type == "comment" else _last_comma(data, one) if _is_fault(one) else None
        if left_out is not None:
            made[left_out.start_byte : left_out.end_byte] = b" " * (left_out.end_byte - left_out.start_byte)
        waiting.extend(one.children)
    return bytes(made)


def entered(data: bytes, place: Place, name: str, entry: dict[str, Any]) -> bytes:
    """Return the configuration with an entry that it does not have; empty `data` is an empty configuration.

    Raises:
        BursarError: broken_configuration, also where the entry has no place because of what stands there.
    """
    end = "\r\n" if b"\r\n" in data else "\n"
    if not data.strip() and place.form in ("json", "jsonc"):
        data = b"{}\n"
    make = {"toml": _in_toml, "yaml": _in_yaml}.get(place.form, _in_json)
    made = _spliced(data, make(data, _parsed(data, place.form), place, name, entry), end)
    if not has(made, place, name):
        raise _broken(f"there is no place for an entry under {place.dotted}")
    return made


def removed(data: bytes, place: Place, name: str) -> bytes:
    """Return the configuration without an entry that it has.

    Raises:
        BursarError: broken_configuration.
    """
    found = _found(_parsed(data, place.form), place, name)
    if found is None:
        return data
    if place.form == "toml":
        return _without_tables(data, (*place.keys, name))
    start, end = found.start_byte, found.end_byte
    if found.type in {"block_mapping_pair", "block_sequence_item"}:
        start = data.rfind(b"\n", 0, start) + 1
        end = (data.find(b"\n", _last(found).end_byte) + 1) or len(data)
    else:
        before, after = found.prev_sibling, found.next_sibling
        if after is not None and data[after.start_byte : after.end_byte] == b",":
            end = after.end_byte
        if before is not None:
            is_comma = end == found.end_byte and data[before.start_byte : before.end_byte] == b","
            start = before.start_byte if is_comma else before.end_byte
    made = _spliced(data, _Splice(start, end, ""))
    if place.form == "yaml" and _deepest(tree := _parsed(made, "yaml"), place.keys) == (None, []):
        at = _member_of(tree, place).end_byte  # nothing is left, but a mapping or list has to be
        made = _spliced(made, _Splice(at, at, " []" if place.is_list else " {}"))
    return made


def _in_json(data: bytes, tree: Node, place: Place, name: str, entry: dict[str, Any]) -> _Splice:
    held, missing = _deepest(tree, place.keys)
    if held is None or held.type != "object":
        raise _broken(f"what stands under {place.dotted} is no object")
    key, *rest = *missing, name
    value = entry
    for level in reversed(rest):
        value = {level: value}
    members = [child for child in held.named_children if child.type == "pair"]
    opening = held.children[0]
    if members and members[0].start_point.row == opening.start_point.row:
        text = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}, "
        return _Splice(opening.end_byte, opening.end_byte, text)
    outer = _indent(data, held.start_byte)
    inner = _indent(data, members[0].start_byte) if members else outer + (_unit(data, tree) if outer else "  ")
    unit = inner[len(outer) :] or "  "
    body = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", f"\n{inner}")
    text = f"\n{inner}{json.dumps(key)}: {body}"
    if members:
        return _Splice(_line_end(data, opening), _line_end(data, opening), f"{text},")
    if held.named_children:  # comments only
        return _Splice(opening.end_byte, opening.end_byte, text)
    return _Splice(opening.end_byte, held.end_byte - 1, f"{text}\n{outer}")


def _in_toml(data: bytes, _: Node, place: Place, name: str, entry: dict[str, Any]) -> _Splice:
    lines = [f"[{place.dotted}.{name}]", *(f"{key} = {_scalar(value)}" for key, value in entry.items())]
    gap = "" if not data.strip() else "\n" if data.endswith(b"\n") else "\n\n"
    return _Splice(len(data), len(data), f"{gap}{chr(10).join(lines)}\n")


def _in_yaml(data: bytes, tree: Node, place: Place, name: str, entry: dict[str, Any]) -> _Splice:
    if sum(node.type == "document" for node in tree.children) > 1:
        raise _broken("it holds several documents")
    held, missing = _deepest(tree, place.keys)
    if missing:
        if held is not None and held.type != "block_mapping":
            raise _broken(f"there is no block of lines that {place.dotted} can go into")
        gap = "" if not data or data.endswith(b"\n") else "\n"
        return _Splice(len(data), len(data), f"{gap}{place.dotted}:\n{_yaml(entry, place, name, '  ')}")
    if held is None:  # the key stands there with nothing behind it
        at = (data.find(b"\n", _member_of(tree, place).end_byte) + 1) or len(data)
        return _Splice(at, at, ("" if data.endswith(b"\n") else "\n") + _yaml(entry, place, name, "  "))
    if held.type in {"flow_mapping", "flow_sequence"}:
        text = json.dumps(entry if place.is_list else {name: entry}, ensure_ascii=False)
        at = held.children[0].end_byte
        return _Splice(at, at, (text if place.is_list else text[1:-1]) + (", " if held.named_children else ""))
    if held.type not in {"block_mapping", "block_sequence"}:
        raise _broken(f"a single value stands under {place.dotted}")
    first = next(child for child in held.named_children if child.type != "comment")
    at = data.rfind(b"\n", 0, first.start_byte) + 1
    return _Splice(at, at, _yaml(entry, place, name, " " * first.start_point.column))


def _yaml(entry: dict[str, Any], place: Place, name: str, indent: str) -> str:
    """Write an entry as a block of lines."""
    lines = [f"  {key}: {_scalar(value)}" for key, value in entry.items()]
    lines = ["- " + lines[0][2:], *lines[1:]] if place.is_list else [f"{name}:", *lines]
    return "".join(f"{indent}{line}\n" for line in lines)


def _scalar(value: object) -> str:
    """Write a text, number, truth or list of texts as JSON does, which TOML and YAML read too."""
    return json.dumps(value, ensure_ascii=False)


def _without_tables(data: bytes, keys: tuple[str, ...]) -> bytes:
    while True:
        root = _parsed(data, "toml")
        table = next((node for node in root.children if _table_keys(node)[: len(keys)] == keys), None)
        if table is None:
            return data
        end = (data.find(b"\n", _last(table).end_byte) + 1) or len(data)
        data = data[: table.start_byte] + data[end:]


def _table_keys(node: Node) -> tuple[str, ...]:
    """Return the keys of a table's head."""
    if node.type != "table":
        return ()
    return tuple(_words(node.named_children[0]))


def _words(key: Node) -> Iterator[str]:
    if key.type == "dotted_key":
        for part in key.named_children:
            yield from _words(part)
    else:
        text = (key.text or b"").decode()
        yield next(iter(tomllib.loads(f"{text} = 1"))) if text else ""


def _found(tree: Node, place: Place, name: str) -> Node | None:
    """Return the node of an entry, name and all."""
    if place.form == "toml":
        wanted = (*place.keys, name)
        return next((node for node in tree.children if _table_keys(node)[: len(wanted)] == wanted), None)
    held, missing = _deepest(tree, place.keys)
    if held is None or missing:
        return None
    if held.type in _LISTS:
        items = (child for child in held.named_children if child.type in _ITEMS)
        return next((item for item in items if _named(item) == name), None)
    return _member(held, name)


def _named(item: Node) -> str:
    mapping = _unwrapped(item.named_children[-1] if item.type == "block_sequence_item" else item)
    pair = _member(mapping, "name") if mapping is not None and mapping.type in _MAPPINGS else None
    value = pair.child_by_field_name("value") if pair is not None else None
    return _text(value) if value is not None else ""


def _deepest(tree: Node, keys: Sequence[str]) -> tuple[Node | None, list[str]]:
    """Return what stands under the keys, as far as they are there, and the keys that are not."""
    place = _unwrapped(tree)
    for number, key in enumerate(keys):
        pair = _member(place, key) if place is not None and place.type in _MAPPINGS else None
        if pair is None:
            return place, list(keys[number:])
        value = pair.child_by_field_name("value")
        place = None if value is None else _unwrapped(value)
    return place, []


def _member_of(tree: Node, place: Place) -> Node:
    """Return the pair that holds the servers, which is there."""
    held, _ = _deepest(tree, place.keys[:-1])
    pair = _member(held, place.keys[-1]) if held is not None else None
    if pair is None:
        raise _broken(f"there is nothing under {place.dotted}")
    return pair


def _unwrapped(node: Node) -> Node | None:
    """Return what a document or a value is: a mapping, a list or a single value; None if there is nothing in it."""
    while node.type in _WRAPPERS:
        inner = [child for child in node.named_children if child.type not in {"comment", "tag", "anchor", "ERROR"}]
        if not inner:
            return None
        node = inner[0]
    return node


def _member(mapping: Node, key: str) -> Node | None:
    for pair in mapping.named_children:
        if pair.type in _MEMBERS:
            found = pair.child_by_field_name("key")
            if found is not None and _text(found) == key:
                return pair
    return None


def _text(node: Node) -> str:
    """Return a key or a text without its quotes."""
    text = (node.text or b"").decode("utf-8", "replace").strip()
    if text[:1] == '"':
        try:
            return str(json.loads(text))
        except ValueError:
            return text.strip('"')
    return text.strip("'")


def _parsed(data: bytes, form: Form) -> Node:
    """Parse a configuration.

    Raises:
        BursarError: broken_configuration: it is not what its reader takes; says from which line on.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _broken("it is not UTF-8") from None
    if form == "toml":
        try:
            tomllib.loads(text.replace("\r\n", "\n"))
        except tomllib.TOMLDecodeError as error:
            raise _broken(str(error)) from None
    if form == "json" and text.strip():
        try:
            json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _broken(str(error)) from None
    tree = Parser(Language(_LANGUAGES[form]())).parse(data).root_node
    for fault in _faults(tree):
        if not (form == "jsonc" and _last_comma(data, fault) is not None):
            raise _broken(f"line {fault.start_point.row + 1} cannot be read")
    return tree


def _faults(node: Node) -> Iterator[Node]:
    todo = [node]
    while todo:
        one = todo.pop()
        if _is_fault(one):
            yield one
        elif one.has_error:
            todo.extend(one.children)


def _is_fault(node: Node) -> bool:
    return node.type == "ERROR" or node.is_missing


def _last(node: Node) -> Node:
    """Return the last thing in a block; comments behind it are counted to it by the parser, but are not its own."""
    while inner := [child for child in node.named_children if child.type != "comment"]:
        node = inner[-1]
    return node


def _last_comma(data: bytes, fault: Node) -> Node | None:
    """Return the comma before a closing bracket that a fault is about: the parser misses an item behind it, or it."""
    after = fault.next_sibling
    while after is not None and after.type == "comment":
        after = after.next_sibling
    comma = fault.prev_sibling if fault.is_missing else fault
    is_comma = comma is not None and data[comma.start_byte : comma.end_byte] == b","
    is_behind = fault.is_missing or fault.prev_named_sibling is not None
    return comma if is_comma and is_behind and after is not None and after.type in {"}", "]"} else None


def _indent(data: bytes, at: int) -> str:
    """Return the blanks that the line of a place begins with."""
    line = data[data.rfind(b"\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())].decode()


def _unit(data: bytes, tree: Node) -> str:
    """Return by how much the first level is indented."""
    place = _unwrapped(tree)
    first = next((child for child in place.named_children if child.type == "pair"), None) if place is not None else None
    return (_indent(data, first.start_byte) if first is not None else "") or "  "


def _line_end(data: bytes, opening: Node) -> int:
    """Return the end of a bracket, or of the comment that explains it on the same line."""
    after = opening.next_sibling
    is_beside = after is not None and after.type == "comment" and after.start_point.row == opening.end_point.row
    return after.end_byte if after is not None and is_beside else opening.end_byte


def _spliced(data: bytes, splice: _Splice, end: str = "\n") -> bytes:
    return data[: splice.start] + splice.text.replace("\n", end).encode() + data[splice.end :]


def _broken(why: str) -> BursarError:
    return BursarError(
        "broken_configuration", why, "Mend the file, or enter the server by hand as docs/clients.md shows"
    )
