"""The least a server on the SDK can be: one echo tool on the low-level Server and the SDK's own stdio transport."""

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


async def list_tools(ctx, params):
    return ListToolsResult(tools=[Tool(name="echo", description="Say it again.", input_schema=SCHEMA)])


async def call_tool(ctx, params):
    return CallToolResult(content=[TextContent(type="text", text=params.arguments["text"])])


async def main():
    server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
