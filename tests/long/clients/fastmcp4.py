# /// script
# requires-python = ">=3.11"
# dependencies = ["fastmcp==4.1.2"]
# ///
"""FastMCP: its Client."""

from contextlib import asynccontextmanager

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from plan import first_text, play


@asynccontextmanager
async def connect(plan):
    if plan["transport"] == "stdio":
        transport = StdioTransport(command=plan["command"], args=plan["args"])
    else:
        transport = StreamableHttpTransport(plan["url"], auth=plan["token"])
    async with Client(transport) as client:

        async def call(name, arguments):
            result = await client.call_tool(name, arguments, raise_on_error=False)
            return first_text(result.content), bool(result.is_error)

        yield [tool.name for tool in await client.list_tools()], call


play(connect)
