"""The least a server on the SDK can be over HTTP: one echo tool, the SDK's own session manager, uvicorn."""

import contextlib
import socket

import uvicorn
from bare_server import call_tool, list_tools
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Route


def main():
    manager = StreamableHTTPSessionManager(app=Server("bare", on_list_tools=list_tools, on_call_tool=call_tool))

    @contextlib.asynccontextmanager
    async def lifespan(_):
        async with manager.run():
            yield

    app = Starlette(routes=[Route("/mcp", endpoint=StreamableHTTPASGIApp(manager))], lifespan=lifespan)
    listening = socket.socket(proto=socket.IPPROTO_TCP)  # by which asyncio knows that it may send at once
    listening.bind(("127.0.0.1", 0))
    listening.listen(1024)
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])


main()
