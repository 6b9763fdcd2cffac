# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.24.0"]
# ///
"""OpenAI Agents: its MCP servers, with their own time limits, called without a model."""

from contextlib import asynccontextmanager

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from plan import bearer, first_text, play


@asynccontextmanager
async def connect(plan):
    if plan["transport"] == "stdio":
        server = MCPServerStdio({"command": plan["command"], "args": plan["args"]})
    else:
        server = MCPServerStreamableHttp({"url": plan["url"], "headers": bearer(plan)})
    async with server:

        async def call(name, arguments):
            result = await server.call_tool(name, arguments)
            return first_text(result.content), bool(getattr(result, "is_error", getattr(result, "isError", False)))

        yield [tool.name for tool in await server.list_tools()], call


play(connect)
