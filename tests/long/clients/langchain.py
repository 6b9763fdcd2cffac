# /// script
# requires-python = ">=3.11"
# dependencies = ["langchain-mcp-adapters==0.3.2", "langchain-core==1.7.2"]
# ///
"""LangChain's adapters: a new server process or session for every call, as they do by default."""

from contextlib import asynccontextmanager

from langchain_core.tools import ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient
from plan import bearer, play


@asynccontextmanager
async def connect(plan):
    if plan["transport"] == "stdio":
        connection = {"transport": "stdio", "command": plan["command"], "args": plan["args"]}
    else:
        connection = {"transport": "streamable_http", "url": plan["url"], "headers": bearer(plan)}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"bursar": connection}).get_tools()}

    async def call(name, arguments):
        try:
            message = await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
        except ToolException as error:
            return str(error), True
        text = message.content
        if isinstance(text, list):
            text = next(block["text"] for block in text if block["type"] == "text")
        return text, message.status == "error"

    yield list(tools), call


play(connect)
