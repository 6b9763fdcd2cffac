"""A server over streamable HTTP to put behind another, of the protocol's SDK; names its address on standard error.

python http_stub.py [sse|json] [TOKEN]
"""

import asyncio
import contextlib
import socket
import sys

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount

SENT = sys.argv[1] if len(sys.argv) > 1 else "sse"
TOKEN = sys.argv[2] if len(sys.argv) > 2 else ""
STATE = {"count": 0}


async def listed(context, params):
    text = {"type": "string", "x-mcp-header": "Text"}
    schema = {"type": "object", "properties": {"text": text, "bytes": {"type": "integer"}}}
    names = ("say", "count", "big", "wait", "fault", "größe")
    return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=schema) for name in names])


async def read(context, params):
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text=f"at {params.uri}")])


async def called(context, params):
    given = params.arguments or {}
    if params.name == "fault":
        raise ValueError("it went wrong")
    if params.name == "count":
        STATE["count"] += 1
        text = str(STATE["count"])
    elif params.name == "big":
        text = "a line of text\n" * (given["bytes"] // 15)
    elif params.name == "wait":
        await asyncio.sleep(30)
        text = "waited"
    else:
        text = given["text"]
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


server = Server("http-stub", on_list_tools=listed, on_call_tool=called, on_read_resource=read)
manager = StreamableHTTPSessionManager(server, json_response=SENT == "json")


async def handled(scope, receive, send):
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    if TOKEN and headers.get("authorization") != f"Bearer {TOKEN}":
        await PlainTextResponse(f"no: {headers.get('authorization')}", 401)(scope, receive, send)
    else:
        await manager.handle_request(scope, receive, send)


@contextlib.asynccontextmanager
async def lifespan(app):
    async with manager.run():
        yield


listening = socket.create_server(("127.0.0.1", 0))
sys.stderr.write(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp\n")
sys.stderr.flush()
app = Starlette(routes=[Mount("/mcp", app=handled)], lifespan=lifespan)
uvicorn.Server(uvicorn.Config(app, log_config=None)).run(sockets=[listening])
