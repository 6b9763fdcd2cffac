"""Servers behind a choke point, as the stub plays them."""

import json
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from bursar.budget.reply import Reply
from bursar.server.bootstrap import open_dispatcher
from bursar.server.config import Settings

STUB = str(Path(__file__).parent.parent / "support" / "mcp_stub.py")


def entry(mode="old", tools="", **own):
    """Describe the stub as a configuration does."""
    return {"command": sys.executable, "args": [STUB, mode, *([str(tools)] if tools else [])], **own}


def content(path):
    """Return what an artifact's file holds."""
    return Path(path).read_bytes()


class Behind:
    """A choke point with servers behind it, and what it has answered."""

    def __init__(self, dispatcher, gateway):
        self.dispatcher = dispatcher
        self.gateway = gateway

    async def answer(self, called, patience_s=25.0, **arguments):
        client = self.dispatcher.client("test")
        client = replace(client, ceiling=replace(client.ceiling, patience_s=patience_s))
        return await self.dispatcher.answer(called, arguments, client)

    async def call(self, tool, given=None, patience_s=25.0, **besides):
        """Call a tool of another server, and return the reply as an object."""
        answer = await self.answer("call_tool", patience_s, tool=tool, arguments=given or {}, **besides)
        assert not answer.is_error, answer.text
        return Reply.parse(answer.text).value

    async def refused(self, tool, given=None, **besides):
        """Call a tool of another server, and return the error."""
        answer = await self.answer("call_tool", tool=tool, arguments=given or {}, **besides)
        assert answer.is_error, answer.text
        return answer.text


@pytest.fixture
def behind(tmp_path):
    """Return what opens a choke point with the servers of a configuration behind it."""

    @asynccontextmanager
    async def opened(servers, root=None, **settings):
        file = tmp_path / "mcp.json"
        file.write_text(json.dumps({"mcpServers": servers}))
        root = root or tmp_path / "root"
        root.mkdir(exist_ok=True)
        settings = {"root": (root,), "data_dir": tmp_path / "data", "mcp": (file,), **settings}
        async with open_dispatcher(Settings(**settings)) as dispatcher:
            tool = next(tool for tool in dispatcher.tools.values() if hasattr(tool, "_gateway"))
            yield Behind(dispatcher, tool._gateway)

    return opened


@pytest.fixture
def anyio_backend():
    return "asyncio"
