"""Tools that ask the client while a call runs, as protocols with a handshake do, and send it log messages."""

from typing import Any

import anyio
from bursar.tools.base import Call, Done, ToolArgs
from mcp_types import SamplingMessage, TextContent
from tooling import Nothing, aside, said, tool


@tool()
async def test_tool_with_logging(args: Nothing, call: Call) -> Done:
    """Sends three log messages."""
    asked = aside.get()
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await asked.ctx.session.send_log_message("info", text, related_request_id=asked.ctx.request_id)
        await anyio.sleep(0.05)
    return said("Three messages were sent.")


@tool()
async def test_logging_tool(args: Nothing, call: Call) -> Done:
    """Sends a log message if the request asks for it."""
    asked = aside.get()
    await asked.ctx.session.send_log_message("info", "a message", related_request_id=asked.ctx.request_id)
    return said("The message was offered.")


class Prompted(ToolArgs):
    prompt: str


@tool(Prompted)
async def test_sampling(args: Prompted, call: Call) -> Done:
    """Asks the client's model."""
    asked = aside.get()
    message = SamplingMessage(role="user", content=TextContent(type="text", text=args.prompt))
    result = await asked.ctx.session.create_message([message], max_tokens=100, related_request_id=asked.ctx.request_id)
    return said(f"LLM response: {result.content.text if result.content.type == 'text' else ''}")


async def _elicited(message: str, properties: dict[str, Any], required: list[str]) -> Done:
    asked = aside.get()
    schema = {"type": "object", "properties": properties, "required": required}
    result = await asked.ctx.session.elicit_form(message, schema, asked.ctx.request_id)
    return said(f"Elicitation completed: action={result.action}, content={result.content}")


class Asked(ToolArgs):
    message: str


@tool(Asked)
async def test_elicitation(args: Asked, call: Call) -> Done:
    """Asks the user two things."""
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    return await _elicited(args.message, properties, ["username", "email"])


@tool()
async def test_elicitation_sep1034_defaults(args: Nothing, call: Call) -> Done:
    """Asks the user with a default for every kind of answer."""
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await _elicited("Please provide user information", properties, [])


@tool()
async def test_elicitation_sep1330_enums(args: Nothing, call: Call) -> Done:
    """Asks the user to choose in every way that there is."""
    plain, titled = ["option1", "option2", "option3"], {"value1": "First", "value2": "Second", "value3": "Third"}
    choices = [{"const": value, "title": title} for value, title in titled.items()]
    properties = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": choices},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": choices}},
    }
    return await _elicited("Please choose", properties, [])
