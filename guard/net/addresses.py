"""Which network addresses may be dialled: the rule alone, without a packet."""

import contextlib
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Self

from ...errors import BursarError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_METADATA = frozenset(
    ip_address(text)
    for text in (
        *("169.254.169.254", "fd00:ec2::254", "fd20:ce::254"),  # AWS, Azure, Google, OpenStack, Oracle and others
        *("169.254.170.2", "169.254.170.23", "fd00:ec2::23"),  # credentials of AWS containers
        *("168.63.129.16", "100.100.100.200", "192.0.0.192", "169.254.0.23"),  # Azure, Alibaba, Oracle, Tencent
    )
)

_REFUSED: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(text), reason)
    for text, reason in (
        ("0.0.0.0/8", "this host"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by a carrier (CGNAT)"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "for documentation"),
        ("192.88.99.0/24", "a 6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "for benchmarks"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
        ("2001::/23", "reserved (Teredo, ORCHID and the like)"),
        ("2001:db8::/32", "for documentation"),
        ("2002::/16", "a 6to4 form"),
        ("3fff::/20", "for documentation"),
        # What follows lies outside 2000::/3 and is refused anyway; here it gets its name.
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)


@dataclass(frozen=True, slots=True)
class Opening:
    """One address or range, and one port or all, that the user opened at the start."""

    network: Network
    port: int | None

    def covers(self, address: Address, port: int) -> bool:
        """Tell whether the user opened this address; one of a metadata service only by exactly its own address."""
        if self.port not in (None, port) or self.network.version != address.version:
            return False
        exact = self.network.prefixlen == self.network.max_prefixlen
        return address in self.network and (exact or address not in _METADATA)


@dataclass(frozen=True, slots=True)
class AllowNet:
    """What the user opened with `--allow-net`; empty by default."""

    openings: tuple[Opening, ...] = ()

    @classmethod
    def parse(cls, given: Iterable[str]) -> Self:
        """Read values such as `127.0.0.1:3000`, `10.0.0.0/8:80`, `[::1]:8080`, `localhost`; no port means any port.

        Raises:
            BursarError: `bad_allow_net`.
        """
        return cls(tuple(opening for text in given for opening in _openings(text.strip())))

    def covers(self, address: Address, port: int) -> bool:
        """Tell whether one of the openings covers this address and port."""
        return any(opening.covers(address, port) for opening in self.openings)


NOTHING = AllowNet()


def judge(address: str | Address, port: int, allow: AllowNet = NOTHING) -> str | None:
    """Say why this address must not be dialled on this port; None when it may be.

    IPv4: public addresses only. IPv6: only 2000::/3 without its special parts. An IPv4 address inside an IPv6 one
    (mapped, NAT64, ISATAP) is judged too. What the user opened is allowed, under the address that is really dialled.
    Sources: the IANA special-purpose registries, and what clouds document of their metadata services.
    """
    try:
        dialled = ip_address(address) if isinstance(address, str) else address
    except ValueError:
        return "not an address"
    if isinstance(dialled, IPv6Address):
        if dialled.scope_id is not None:
            return "link-local"
        if dialled.ipv4_mapped is not None:
            return judge(dialled.ipv4_mapped, port, allow)
    if allow.covers(dialled, port):
        return None
    if dialled in _METADATA:
        return "a cloud's metadata service"
    for network, reason in _REFUSED:
        if dialled.version == network.version and dialled in network:
            return reason
    return _judge_v6(dialled, port) if isinstance(dialled, IPv6Address) else None


def is_own(address: str) -> bool:
    """Tell whether an address belongs to this host, asking the kernel for the route to it; sends nothing."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # No route to it: then nothing will be dialled either.
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        # The kernel would talk from the address to the same address: only its own ones have such a route.
        probe.connect((address, 9))
        return bool(ip_address(str(probe.getsockname()[0])) == ip_address(address))
    return False


def _judge_v6(dialled: IPv6Address, port: int) -> str | None:
    inner: IPv4Address | None = None
    if dialled in _NAT64:
        inner, form = IPv4Address(int(dialled) & 0xFFFFFFFF), "NAT64"
    elif dialled not in _PUBLIC_V6:
        return "not a public IPv6 address"
    elif (int(dialled) >> 32) & 0xFFFFFFFF in _ISATAP:
        inner, form = IPv4Address(int(dialled) & 0xFFFFFFFF), "ISATAP"
    else:
        return None
    # Without the user's openings: the inner address is another network's, seen from its gateway.
    reason = judge(inner, port)
    return f"{form} of an address that is {reason}" if reason else None


def _openings(text: str) -> Sequence[Opening]:
    host, port = _split(text)
    if host.lower() == "localhost":
        return tuple(Opening(ip_network(address), port) for address in ("127.0.0.1", "::1"))
    try:
        return (Opening(ip_network(host), port),)
    except ValueError:
        raise _bad(text) from None


def _split(text: str) -> tuple[str, int | None]:
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        # `[fd00::]/8:80` as well as `[fd00::/8]:80`.
        if rest.startswith("/"):
            length, colon, port = rest.partition(":")
            host, rest = host + length, colon + port
        if not bracket or (rest and not rest.startswith(":")):
            raise _bad(text)
        return host, _port(rest[1:], text) if rest else None
    if text.count(":") > 1:
        return text, None
    host, colon, port = text.partition(":")
    return host, _port(port, text) if colon else None


def _port(text: str, whole: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535):
        raise _bad(whole)
    return int(text)


def _bad(text: str) -> BursarError:
    return BursarError(
        "bad_allow_net",
        f"--allow-net takes an address or a range, and a port, not {text!r}",
        "Write for example 127.0.0.1:3000, 10.0.0.0/8:80, [::1]:8080 or localhost:3000",
    )
