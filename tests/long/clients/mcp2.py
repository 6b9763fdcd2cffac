# /// script
# requires-python = ">=3.11"
# dependencies = ["mcp==2.3.0"]
# ///
"""The `mcp` SDK 2.x: its Client, in the era that the plan names."""

from contextlib import AsyncExitStack, asynccontextmanager

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from plan import bearer, first_text, play


@asynccontextmanager
async def connect(plan):
    async with AsyncExitStack() as stack:
        if plan["transport"] == "stdio":
            server = StdioServerParameters(command=plan["command"], args=plan["args"])
        else:
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=bearer(plan), timeout=60))
            server = streamable_http_client(plan["url"], http_client=http)
        client = await stack.enter_async_context(Client(server, mode=plan["era"]))

        async def call(name, arguments):
            result = await client.call_tool(name, arguments)
            return first_text(result.content), bool(result.is_error)

        yield [tool.name for tool in (await client.list_tools()).tools], call


play(connect)
