"""Where the server listens: the address, whether only this machine can reach it, and what clients call it."""

import ipaddress
import re
import socket
import sys
from dataclasses import dataclass

from ...errors import BursarError
from ..config import HTTP_ADDRESS

_FORM = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9._-]+)):(?P<port>[0-9]{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port to listen on.

    Attributes:
        host: a name or an IP address, without brackets.
        port: 0 lets the system choose.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read `HOST:PORT`, `[IPv6]:PORT` or `PORT`.

        Raises:
            BursarError: bad_setting.
        """
        found = _FORM.fullmatch(f"127.0.0.1:{text}" if text.isdigit() else text)
        port = int(found["port"]) if found else -1
        if found is None or not 0 <= port <= 65535:
            fix = f"Write HOST:PORT, such as {HTTP_ADDRESS} or [::1]:8756, or a port alone"
            raise BursarError("bad_setting", f"--http cannot be {text!r}", fix)
        return cls((found["six"] or found["host"]).lower(), port)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this machine can reach it; a name other than `localhost` is taken for reachable."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def is_everywhere(self) -> bool:
        """Whether it stands for all addresses of this machine."""
        try:
            return ipaddress.ip_address(self.host).is_unspecified
        except ValueError:
            return False

    @property
    def hosts(self) -> frozenset[str]:
        """What the Host header of a request to it may say, exactly."""
        names = {str(self)}
        if self.is_loopback or self.is_everywhere:
            names |= {f"127.0.0.1:{self.port}", f"localhost:{self.port}", f"[::1]:{self.port}"}
        if self.port in _IMPLIED:
            names |= {name.removesuffix(f":{self.port}") for name in names}
        return frozenset(names)

    def listen(self) -> socket.socket:
        """Bind a socket and listen on it.

        Raises:
            BursarError: cannot_listen.
        """
        try:
            family, kind, protocol, _, place = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            listening = socket.socket(family, kind, protocol)
            try:
                if sys.platform == "win32":  # where the other option would let others share the port
                    listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
                else:
                    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listening.bind(place)
                listening.listen(_BACKLOG)
                listening.setblocking(False)
            except BaseException:
                listening.close()
                raise
        except OSError as error:
            reason = error.strerror or str(error)
            fix = "Choose another with --http HOST:PORT; port 0 takes any that is free"
            raise BursarError("cannot_listen", f"cannot listen on {self}: {reason}", fix) from error
        return listening

    def bound(self, listening: socket.socket) -> "Address":
        """Return the address with the port that a socket was given."""
        return Address(self.host, int(listening.getsockname()[1]))


_IMPLIED = {80}
"""Ports that clients leave out of the Host header."""

_BACKLOG = 1024
