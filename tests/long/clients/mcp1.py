# /// script
# requires-python = ">=3.11"
# dependencies = ["mcp==1.30.0"]
# ///
"""The `mcp` SDK 1.x: its ClientSession."""

from contextlib import AsyncExitStack, asynccontextmanager

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from plan import bearer, first_text, play


@asynccontextmanager
async def connect(plan):
    async with AsyncExitStack() as stack:
        if plan["transport"] == "stdio":
            server = StdioServerParameters(command=plan["command"], args=plan["args"])
            streams = await stack.enter_async_context(stdio_client(server))
        else:
            streams = await stack.enter_async_context(streamablehttp_client(plan["url"], headers=bearer(plan)))
        session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
        await session.initialize()

        async def call(name, arguments):
            result = await session.call_tool(name, arguments)
            return first_text(result.content), bool(result.isError)

        yield [tool.name for tool in (await session.list_tools()).tools], call


play(connect)
