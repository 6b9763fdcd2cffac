"""What the user allows of the network, and what one fetch may cost."""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .addresses import AllowNet

Resolve = Callable[[str, int], Sequence[str]]
"""All addresses of a host name, in the order in which they are to be tried; blocks. Raises OSError."""


def system_resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system's resolver, odd spellings of numbers included: what counts is where they would be dialled."""
    # As bytes, so that Python's own (older) reading of international names stays out of it.
    found = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Sink(Protocol):
    """Takes the body, piece by piece."""

    def write(self, data: bytes, /) -> object:
        """Store some bytes."""
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What one fetch may cost.

    Attributes:
        connect_s: to resolve a name, to connect, and to agree on TLS, each.
        between_s: without a byte from the server.
        total_s: for everything, redirects and robots.txt included.
        redirects: how many are followed.
        head_bytes: of an answer before its body, interim answers included.
        wire_bytes: of a body as it is sent.
        body_bytes: of a body after decompression.
        ratio: decompressed to sent, once more than `ratio_from_bytes` came out.
    """

    connect_s: float = 10.0
    between_s: float = 10.0
    total_s: float = 30.0
    redirects: int = 10
    head_bytes: int = 256 * 1024
    wire_bytes: int = 32 * 1024 * 1024
    body_bytes: int = 64 * 1024 * 1024
    ratio: int = 200
    ratio_from_bytes: int = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class NetSettings:
    """How the user wants the network to be used.

    Attributes:
        allow: what `--allow-net` opens beside public addresses.
        proxy: `http://[user:password@]host:port`; resolves names and so owns the address rule. The environment's
            proxies are not used.
        obeys_robots: ask robots.txt before a page.
        user_agent: what sites are told.
        limits: what a fetch may cost unless its caller sets other limits.
        resolve: finds the addresses of a name.
        ca_file: certificates to trust instead of the system's.
    """

    allow: AllowNet = field(default_factory=AllowNet)
    proxy: str | None = None
    obeys_robots: bool = True
    user_agent: str = "bursar/0.1 (MCP server; reads single pages on request)"
    limits: Limits = field(default_factory=Limits)
    resolve: Resolve = system_resolve
    ca_file: str | None = None
