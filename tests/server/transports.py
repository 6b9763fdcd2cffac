"""The SDK's own client beside a real server process, over each transport and in each era of the protocol."""

import os
import re
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation
from replies import reply_of
from wire import module

KINDS = ["stdio legacy", "stdio 2026-07-28", "http legacy", "http 2026-07-28"]
ABOUT = Implementation(name="test", version="1")


@contextmanager
def listening(*options):
    """Run a server over HTTP; yield its process and its address."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        module("serve", "--http", "127.0.0.1:0", "--no-auth", *options),
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        for line in process.stderr:
            if found := re.search(r"http://\S+", line):
                break
        else:
            raise AssertionError("the server did not say where it listens")
        yield process, found[0]
    finally:
        process.kill()
        process.wait(10)
        process.stderr.close()


@asynccontextmanager
async def connected(kind, options, **client):
    """Yield the SDK's client of a new server."""
    transport, mode = kind.split()
    if transport == "stdio":
        command, *words = module(*options)
        parameters = StdioServerParameters(command=command, args=words)
        async with Client(parameters, mode=mode, client_info=ABOUT, **client) as session:
            yield session
        return
    with listening(*options) as (_, address):
        async with http_client(address, mode, **client) as session:
            yield session


@asynccontextmanager
async def http_client(address, mode, **client):
    """Yield the SDK's client of a server that listens at an address."""
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
        transport = streamable_http_client(address, http_client=http)
        async with Client(transport, mode=mode, client_info=ABOUT, **client) as session:
            yield session


def told(result):
    """Return the object that a tool answered with."""
    return reply_of(result.content[0].text)


def python(code):
    """Return a shell command that runs some Python."""
    return f"{sys.executable} -c {code!r}"
