"""What a server offers to an MCP client through the SDK, whatever carries the messages."""

from typing import Any

import anyio
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

from ..budget.clean import clean
from . import completion, log, prompts, resources
from .client import Context, client_of
from .dispatch import Dispatcher
from .express import collects_spans
from .offer import SERVER, Offer


def build(dispatcher: Dispatcher, listed: anyio.Event, offer: Offer | None = None) -> Server[Any]:
    """Offer a dispatcher's tools and artifacts through the SDK's low-level server.

    Args:
        dispatcher: the choke point that answers calls.
        listed: set when a client has asked for the tools.
        offer: what clients are told of it; made if it is not at hand.
    """
    offer = offer or Offer.of(dispatcher)
    tools = ListToolsResult.model_validate(offer.lists["tools/list"])
    schemas = {tool.name: tool.input_schema for tool in tools.tools}  # else the SDK lists all at every call over HTTP

    async def list_tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        listed.set()
        return tools

    async def call_tool(ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        if params.name not in dispatcher.tools:
            named, offered = clean(params.name, 64), ", ".join(dispatcher.tools)
            log.event("unknown_tool", tool=named)
            raise MCPError(INVALID_PARAMS, f"unknown_tool: there is no {named!r}. This server offers {offered}.")
        answer = await dispatcher.answer(params.name, params.arguments or {}, client_of(ctx, dispatcher))
        return CallToolResult.model_validate({"content": answer.blocks(), "isError": answer.is_error})

    server = Server[Any](
        SERVER["name"],
        version=SERVER["version"],
        title=SERVER["title"],
        description=SERVER["description"],
        instructions=offer.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=schemas.get,
    )
    server.middleware[:] = _spans(dispatcher)  # the SDK's own tells what is in requests and errors
    resources.offer(server, dispatcher, offer.lists)
    completion.offer(server, dispatcher)
    prompts.offer(server, offer.lists)
    return server


def _spans(dispatcher: Dispatcher) -> list[Any]:
    """Return what traces each message; nothing where nobody collects spans, for it costs as much as a small call."""
    if not collects_spans():
        return []
    from .telemetry import Spans

    return [Spans(dispatcher.tools)]
