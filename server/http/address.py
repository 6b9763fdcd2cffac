"""Where the server listens: the address, whether only this machine can reach it, and what clients call it."""

import errno
import ipaddress
import re
import socket
import sys
from contextlib import suppress
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
    def places(self) -> tuple[str, ...]:
        """The IP addresses, or the name, to listen on: all that `localhost` may lead to, if it may be called that.

        Whoever else listened on one of them would be given the tokens of clients that try it first. For the same reason
        all addresses are those of both families, and a name stands for all that it leads to.
        """
        if self.host == "::1":
            return ("::1", "127.0.0.1")
        if self.host in ("localhost", "127.0.0.1"):
            return ("127.0.0.1", "::1")
        return (self.host, "::") if self.host == "0.0.0.0" else (self.host,)  # noqa: S104 - compared, not listened on

    @property
    def hosts(self) -> frozenset[str]:
        """What the Host header of a request to it may say, exactly."""
        names = {str(self)}
        if len(self.places) > 1 or self.is_everywhere:
            names |= {f"127.0.0.1:{self.port}", f"localhost:{self.port}", f"[::1]:{self.port}"}
        if self.port in _IMPLIED:
            names |= {name.removesuffix(f":{self.port}") for name in names}
        return frozenset(names)

    def listen(self) -> list[socket.socket]:
        """Bind sockets to all its places and listen on them, on one port.

        Raises:
            BursarError: cannot_listen, also if another program holds one of the places.
        """
        first, *beside = dict.fromkeys(address for place in self.places for address in self._addresses(place))
        for attempt in range(_PORT_TRIES):
            listening = [self._listen_at(first, self.port)]
            port = self.bound(listening[0]).port
            try:
                for place in beside:
                    with suppress(_NoSuchFamily):
                        listening.append(self._listen_at(place, port, is_beside=True))
            except BursarError:
                for held in listening:
                    held.close()
                if self.port or attempt == _PORT_TRIES - 1:
                    raise
            else:
                return listening
        raise AssertionError("the last attempt returns or raises")

    def _addresses(self, host: str) -> list[str]:
        try:
            found = socket.getaddrinfo(host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        except OSError as error:
            raise _cannot_listen(self, error.strerror or str(error)) from error
        return [str(place[0]) for *_, place in found]

    def _listen_at(self, host: str, port: int, *, is_beside: bool = False) -> socket.socket:
        try:
            family, kind, protocol, _, place = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            listening = socket.socket(family, kind, protocol)
            try:
                if sys.platform == "win32":  # where the other option would let others share the port
                    listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
                else:
                    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:  # everywhere means both families, whatever the system's setting
                    listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(is_beside or host != "::"))
                listening.bind(place)
                listening.listen(_BACKLOG)
                listening.setblocking(False)
            except BaseException:
                listening.close()
                raise
        except OSError as error:
            if is_beside and error.errno in _FAMILY_IS_MISSING:
                raise _NoSuchFamily from error
            reason = error.strerror or str(error)
            if is_beside:
                name = "localhost" if len(self.places) > 1 else self.host
                reason += f"; whoever listens there would be given the tokens of clients that call {name}:{port}"
            raise _cannot_listen(Address(host, port), reason) from error
        return listening

    def bound(self, listening: socket.socket) -> "Address":
        """Return the address with the port that a socket was given."""
        return Address(self.host, int(listening.getsockname()[1]))


_IMPLIED = {80}
"""Ports that clients leave out of the Host header."""

_BACKLOG = 1024

_PORT_TRIES = 16
"""Ports that the system chooses, until one is free at all places."""

_FAMILY_IS_MISSING = {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT}
"""Why nobody at all can listen there."""


def _cannot_listen(at: Address, reason: str) -> BursarError:
    fix = "Choose another with --http HOST:PORT; port 0 takes any that is free"
    return BursarError("cannot_listen", f"cannot listen on {at}: {reason}", fix)


class _NoSuchFamily(Exception):  # noqa: N818 - no failure
    """This system has no such address."""
