"""A choke point with servers behind it, as the stub plays them."""

import sys
from dataclasses import replace
from pathlib import Path

from bursar.budget.reply import Reply

STUB = str(Path(__file__).parent / "mcp_stub.py")


def entry(mode="old", tools="", **own):
    """Describe the stub as a configuration does."""
    return {"command": sys.executable, "args": [STUB, mode, *([str(tools)] if tools else [])], **own}


def content(path):
    """Return what an artifact's file holds."""
    return Path(path).read_bytes()


class Behind:
    """A choke point with servers behind it, and what it has answered."""

    def __init__(self, dispatcher, gateway, data):
        self.dispatcher = dispatcher
        self.data = data
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

    def kept(self, pattern):
        """Return what the only artifact whose file is called so holds."""
        (found,) = self.data.glob(f"bursar/*/{pattern}")
        return found.read_bytes()

    async def refused(self, tool, given=None, **besides):
        """Call a tool of another server, and return the error."""
        answer = await self.answer("call_tool", tool=tool, arguments=given or {}, **besides)
        assert answer.is_error, answer.text
        return answer.text
