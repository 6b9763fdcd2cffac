"""Tools that answer with every kind of content, and with news of a changed list."""

from typing import Annotated, Any

import anyio
from bursar.errors import BursarError
from bursar.server.progress import EVERY_S
from bursar.tools.base import Call, Done, Picture, ToolArgs
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from mcp_types import AudioContent
from media import PNG, WAV, base64_of, embedded
from pydantic import Field
from tooling import Nothing, aside, said, tool

bus = InMemorySubscriptionBus()


@tool()
async def test_simple_text(args: Nothing, call: Call) -> Done:
    """Answers with a short text."""
    return said("This is a simple text response for testing.")


@tool()
async def test_image_content(args: Nothing, call: Call) -> Done:
    """Answers with an image."""
    return said("one pixel", picture=Picture("image/png", PNG))


@tool()
async def test_audio_content(args: Nothing, call: Call) -> Done:
    """Answers with a sound."""
    aside.get().blocks.append(AudioContent(type="audio", data=base64_of(WAV), mime_type="audio/wav"))
    return said("one sample")


@tool()
async def test_embedded_resource(args: Nothing, call: Call) -> Done:
    """Answers with an embedded resource."""
    resource = embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    aside.get().blocks.append(resource)
    return said("one resource")


@tool()
async def test_multiple_content_types(args: Nothing, call: Call) -> Done:
    """Answers with a text, an image and a resource."""
    resource = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
    aside.get().blocks.append(resource)
    return said("Multiple content types test:", picture=Picture("image/png", PNG))


@tool()
async def test_error_handling(args: Nothing, call: Call) -> Done:
    """Always fails."""
    raise BursarError("intended", "This tool intentionally returns an error for testing", "Nothing needs mending")


@tool()
async def test_tool_with_progress(args: Nothing, call: Call) -> Done:
    """Reports its progress in three steps, slowly: the client is told of them once a second."""
    for done in (0, 50, 100):
        await call.progress(done, 100, "steps")
        await anyio.sleep(EVERY_S * 1.2)
    return said("Progress was reported.")


class Regional(ToolArgs):
    region: Annotated[str, Field(description="Goes into a header too", json_schema_extra={"x-mcp-header": "Region"})]
    rank: Annotated[int, Field(description="Goes into a header too", json_schema_extra={"x-mcp-header": "Rank"})] = 0


@tool(Regional)
async def test_header_arguments(args: Regional, call: Call) -> Done:
    """Has arguments that clients repeat in headers."""
    return said(f"{args.region} {args.rank}")


class Person(ToolArgs):
    name: str = ""


@tool(Person)
async def json_schema_2020_12_tool(args: Person, call: Call) -> Done:
    """Is listed with a schema that uses much of JSON Schema 2020-12."""
    return said(args.name)


JSON_SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""Bursar's own schemas are written without what a tool's arguments never need; this one is listed as it stands."""


@tool()
async def test_trigger_tool_change(args: Nothing, call: Call) -> Done:
    """Tells whoever listens that the tools have changed."""
    await bus.publish(ToolsListChanged())
    return said("told")


@tool()
async def test_trigger_prompt_change(args: Nothing, call: Call) -> Done:
    """Tells whoever listens that the prompts have changed."""
    await bus.publish(PromptsListChanged())
    return said("told")
