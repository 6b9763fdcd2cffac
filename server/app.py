"""What a server offers to an MCP client, whatever carries the messages."""

from collections.abc import Callable, Mapping
from typing import Any

import anyio
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    SERVER_INFO_META_KEY,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from opentelemetry import trace

from .. import __version__
from ..budget.clean import clean
from . import completion, log, prompts, resources
from .callers import Client
from .client import Context, client_of
from .dispatch import Answer, Dispatcher
from .schema import as_listed, instructions

Know = Callable[[Client, Mapping[str, Any]], None]
"""Is told who calls, and what stands in each result beside the answer."""


def build(dispatcher: Dispatcher, listed: anyio.Event, know: Know | None = None) -> Server[Any]:
    """Offer a dispatcher's tools and artifacts through the SDK's low-level server.

    Args:
        dispatcher: the choke point that answers calls.
        listed: set when a client has asked for the tools.
        know: is told at each call, if that may be answered in another way from then on.
    """
    tools = as_listed(dispatcher.tools.values(), takes_session=dispatcher.sessions.are_remote)
    schemas = {tool.name: tool.input_schema for tool in tools}  # else the SDK lists all tools at every call over HTTP

    async def list_tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        listed.set()
        return ListToolsResult(tools=tools)

    async def call_tool(ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        if params.name not in dispatcher.tools:
            named, offered = clean(params.name, 64), ", ".join(dispatcher.tools)
            log.event("unknown_tool", tool=named)
            raise MCPError(INVALID_PARAMS, f"unknown_tool: there is no {named!r}. This server offers {offered}.")
        client = client_of(ctx, dispatcher)
        if know is not None and not server.middleware:
            know(client, _stamp(server) if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else {})
        answer = await dispatcher.answer(params.name, params.arguments or {}, client)
        return CallToolResult(content=blocks(answer), is_error=answer.is_error)

    server = Server[Any](
        "bursar",
        version=__version__,
        title="Bursar",
        description="Tools that never flood a model's context",
        instructions=instructions(
            dispatcher.commands.known_isolation, dispatcher.tools, network=dispatcher.settings.terminal_net == "on"
        ),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=schemas.get,
    )
    server.middleware[:] = _spans(dispatcher)  # the SDK's own tells what is in requests and errors
    resources.offer(server, dispatcher)
    completion.offer(server, dispatcher)
    prompts.offer(server)
    return server


def _spans(dispatcher: Dispatcher) -> list[Any]:
    """Return what traces each message; nothing where nobody collects spans, for it costs as much as a small call."""
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return []
    from .telemetry import Spans

    return [Spans(dispatcher.tools)]


def _stamp(server: Server[Any]) -> Mapping[str, Any]:
    """Return what every result of a protocol without a handshake tells beside the answer."""
    return {"resultType": "complete", "_meta": {SERVER_INFO_META_KEY: server.server_info_stamp}}


def blocks(answer: Answer) -> list[ContentBlock]:
    """Return an answer as the protocol has it."""
    shown: list[ContentBlock] = [TextContent(type="text", text=answer.text)]
    if answer.picture is not None:
        import base64

        data = base64.b64encode(answer.picture.data).decode()
        shown.append(ImageContent(type="image", data=data, mime_type=answer.picture.media_type))
    return shown
