"""A client of MCP over HTTP that costs little: one connection, one call at a time, in either era of the protocol."""

import asyncio
import itertools
import json

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
_IDS = itertools.count(1)
_CLIENT = {"name": "http-load", "version": "1"}


class Gone(Exception):  # noqa: N818 - what happened
    """The server ended the connection, or no longer knows the session."""


class Refused(Exception):  # noqa: N818 - what was answered
    """The server answered with an error: its status, and what it said."""


class Wire:
    """A keep-alive connection; `session` is the transport's id after a handshake."""

    def __init__(self, host, port, token="", *, modern):
        self.host, self.port, self.token, self.modern = host, port, token, modern
        self.session = ""
        self._reader = self._writer = None

    async def open(self):
        """Connect, and shake hands where the era has it."""
        await self._connect()
        if not self.modern:
            self.session = ""
            about = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": _CLIENT}
            await self.ask("initialize", about)
            await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, tool, arguments):
        """Call a tool; return whether it failed, and its text."""
        result = await self.ask("tools/call", {"name": tool, "arguments": arguments})
        return bool(result.get("isError")), result["content"][0]["text"]

    async def ask(self, method, params):
        """Send a request and return its result."""
        if self.modern:
            keys = {"protocolVersion": MODERN, "clientInfo": _CLIENT, "clientCapabilities": {}}
            about = {f"io.modelcontextprotocol/{key}": value for key, value in keys.items()}
            params = {**params, "_meta": about}
        message = {"jsonrpc": "2.0", "id": next(_IDS), "method": method, "params": params}
        answer = await self._send(message)
        if "error" in answer:
            raise Refused(200, answer["error"])
        return answer["result"]

    async def _send(self, message):
        try:
            return await self._exchange(message)
        except (OSError, EOFError, asyncio.IncompleteReadError) as error:
            self.close()
            raise Gone(repr(error)) from error

    async def _exchange(self, message):
        if self._writer is None:
            await self._connect()
        body = json.dumps(message).encode()
        lines = [
            "POST /mcp HTTP/1.1",
            f"host: {self.host}:{self.port}",
            "content-type: application/json",
            "accept: application/json, text/event-stream",
            f"content-length: {len(body)}",
        ]
        if self.token:
            lines.append(f"authorization: Bearer {self.token}")
        if self.modern:
            lines += [f"mcp-protocol-version: {MODERN}", f"mcp-method: {message['method']}"]
            if "name" in message["params"]:
                lines.append(f"mcp-name: {message['params']['name']}")
        elif self.session:
            lines += [f"mcp-protocol-version: {HANDSHAKE}", f"mcp-session-id: {self.session}"]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        status, headers, content = await self._answer()
        if status == 404 and not self.modern:
            raise Gone("unknown session")
        if status >= 400:
            raise Refused(status, content[:300])
        self.session = headers.get("mcp-session-id", self.session)
        if headers.get("content-type", "").startswith("text/event-stream"):
            events = [line[5:] for line in content.decode().splitlines() if line.startswith("data:")]
            return next(event for text in events if "id" in (event := json.loads(text or "{}")))
        return json.loads(content) if content else {}

    async def _answer(self):
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head[0].split()[1])
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        if "content-length" in headers:
            content = await self._reader.readexactly(int(headers["content-length"]))
        elif headers.get("transfer-encoding") == "chunked":
            pieces = []
            while size := int(await self._reader.readuntil(b"\r\n"), 16):
                pieces.append((await self._reader.readexactly(size + 2))[:-2])
            await self._reader.readexactly(2)
            content = b"".join(pieces)
        else:
            content = b""
        if headers.get("connection") == "close":
            self.close()
        return status, headers, content

    async def _connect(self):
        self.close()
        self._reader, self._writer = await asyncio.open_connection(self.host, self.port, limit=1 << 22)

    def close(self):
        """Hang up."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None
