"""Servers behind a choke point, as the stub plays them."""

import json
from contextlib import asynccontextmanager

import pytest
from behind import Behind
from bursar.server.bootstrap import open_dispatcher
from bursar.server.config import Settings


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
            yield Behind(dispatcher, tool._gateway, settings["data_dir"])

    return opened


@pytest.fixture
def anyio_backend():
    return "asyncio"
