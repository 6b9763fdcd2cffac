"""Web servers on loopback that say exactly what they are told to, byte by byte, well-behaved or not."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from bursar.guard.net import Limits, Net, NetSettings
from bursar.guard.net.addresses import AllowNet
from bursar.guard.net.settings import system_resolve


@dataclass
class Asked:
    """One request as it came."""

    target: str
    headers: dict[str, str]


Answer = bytes | Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Site:
    """A running server; `answers` by path may be changed at any time."""

    port: int
    answers: dict[str, Answer]
    scheme: str = "http"
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    running: set[asyncio.Task] = field(default_factory=set)

    def url(self, path: str = "/", host: str = "site.test") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def paths(self) -> list[str]:
        return [asked.target for asked in self.asked]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.running.add(task := asyncio.current_task())
        try:
            await self._answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.running.discard(task)
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not writer.is_closing():
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            asked = Asked(first.split(" ")[1], headers)
            self.asked.append(asked)
            answer = self.answers.get(asked.target.partition("?")[0], page(b"not here", 404))
            if isinstance(answer, bytes):
                writer.write(answer)
            else:
                await answer(asked, writer)
            await writer.drain()


@asynccontextmanager
async def site(answers: Mapping[str, Answer], tls=None) -> AsyncIterator[Site]:
    running = Site(0, dict(answers), "https" if tls else "http")
    server = await asyncio.start_server(running.serve, "127.0.0.1", 0, ssl=tls)
    running.port = server.sockets[0].getsockname()[1]
    try:
        yield running
    finally:
        server.close()
        for task in (left := list(running.running)):
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        # A transport says goodbye to its socket some turns of the loop later.
        await asyncio.sleep(0.01)


def page(body: bytes = b"", status: int = 200, length: int | None = None, **headers: str) -> bytes:
    """A whole answer; `length` lies about the body's."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body) if length is None else length}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def redirect(location: str, status: int = 302) -> bytes:
    return page(b"", status, Location=location)


def then_close(answer: bytes) -> Answer:
    """Say something and hang up."""

    async def say(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        writer.close()

    return say


def without_end(first: bytes, piece: bytes, pause_s: float = 0.0) -> Answer:
    """Begin as `first` and go on with `piece` until the other side has enough."""

    async def say(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return say


def resolver(names: Mapping[str, list[str]]):
    """Knows `names`, and numbers in every spelling; asks no name server."""

    def resolve(host: str, port: int) -> list[str]:
        if host in names:
            return names[host]
        with suppress(OSError):
            socket.inet_aton(host.rstrip("."))
            return list(system_resolve(host, port))
        if ":" in host:
            return list(system_resolve(host, port))
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    return resolve


def net_for(*sites: Site, names: Mapping[str, list[str]] | None = None, allow=(), **settings) -> Net:
    """A net that may reach exactly these sites, as `site.test` or `127.0.0.1`, within short limits."""
    known = {"site.test": ["127.0.0.1"], "other.test": ["127.0.0.1"], **(names or {})}
    opened = AllowNet.parse([*(f"127.0.0.1:{site.port}" for site in sites), *allow])
    settings.setdefault("limits", Limits(connect_s=2, between_s=0.5, total_s=2))
    settings.setdefault("obeys_robots", False)
    return Net(NetSettings(allow=opened, resolve=resolver(known), **settings))


class Sink:
    """Keeps the beginning of what it gets, and counts the rest."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.size = 0

    def write(self, data: bytes) -> None:
        self.size += len(data)
        if len(self.data) < 1 << 20:
            self.data += data
