# /// script
# requires-python = ">=3.11"
# dependencies = ["pydantic-ai-slim[mcp]==2.68.0"]
# ///
"""Pydantic AI: its MCPToolset, called without a model."""

import json
from contextlib import asynccontextmanager

from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from plan import bearer, play
from pydantic_ai.mcp import MCPToolset


@asynccontextmanager
async def connect(plan):
    if plan["transport"] == "stdio":
        transport = StdioTransport(command=plan["command"], args=plan["args"])
        toolset = MCPToolset(transport, tool_error_behavior="error")
    else:
        toolset = MCPToolset(plan["url"], headers=bearer(plan), tool_error_behavior="error")
    async with toolset:

        async def call(name, arguments):
            try:
                result = await toolset.direct_call_tool(name, arguments)
            except ToolError as error:
                return str(error), True
            if isinstance(result, list):
                result = result[0]
            return result if isinstance(result, str) else json.dumps(result), False

        yield [tool.name for tool in await toolset.list_tools()], call


play(connect)
