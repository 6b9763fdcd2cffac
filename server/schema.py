"""A tool as clients list it: its description and a schema without a superfluous token."""

import inspect
from typing import Any, cast

from mcp_types import Tool as ListedTool
from mcp_types import ToolAnnotations

from ..tools.base import Tool, ToolArgs

_SESSION = {"type": "string", "description": "ses_… of an earlier artifact"}


def described(tool: Tool[Any], *, takes_session: bool = False) -> ListedTool:
    """Describe a tool for `tools/list`.

    Annotations are truthful: clients run only read-only tools in parallel and without asking.

    Args:
        tool: what to describe.
        takes_session: calls may name the session they work in.
    """
    schema = input_schema(tool.Args)
    if takes_session:
        schema["properties"] = {**schema["properties"], "session": _SESSION}
    return ListedTool(
        name=tool.name,
        description=inspect.cleandoc(type(tool).__doc__ or ""),
        input_schema=schema,
        annotations=ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.read_only,
            open_world_hint=tool.open_world,
        ),
    )


def input_schema(arguments: type[ToolArgs]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments, without titles, nulls and defaults that say nothing.

    An explicit null is accepted for every optional argument, but not advertised: models would send it.
    """
    schema = _plain(arguments.model_json_schema())
    # A tool's own arguments come before those that several tools share.
    properties = sorted(schema.get("properties", {}).items(), key=lambda one: one[0] not in arguments.__annotations__)
    return {"type": "object", "properties": dict(properties)} | {
        key: schema[key] for key in ("required", "additionalProperties") if key in schema
    }


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in schema.items() if key != "title"}
    if "default" in kept and not kept["default"]:
        del kept["default"]
    if "properties" in kept:
        kept["properties"] = {name: _plain(value) for name, value in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = _plain(kept["items"])
    if "anyOf" in kept:
        choices = [_plain(choice) for choice in cast("list[dict[str, Any]]", kept.pop("anyOf"))]
        choices = [choice for choice in choices if choice.get("type") != "null"]
        kept = (choices[0] if len(choices) == 1 else {"anyOf": choices}) | kept
    return kept
