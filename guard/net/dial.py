"""The network backend under the HTTP client: it resolves, judges, dials what it judged, and counts what arrives."""

import socket
import ssl
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv6Address, ip_address
from typing import Any, cast

import anyio
import httpcore2
from httpcore2 import SOCKET_OPTION

from ..fair import FairQueue
from . import addresses
from .addresses import AllowNet
from .failures import FetchError
from .settings import Resolve

_MOST_ADDRESSES = 64
_MOST_TRIES = 4

_CERTIFICATE = {10: "certificate_expired", 18: "certificate_self_signed", 62: "certificate_wrong_name"}
"""Codes of errors by those of OpenSSL (X509_V_ERR_*)."""


def _backend() -> httpcore2.AsyncNetworkBackend:
    return cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())


@dataclass(slots=True)
class Watch:
    """How far one fetch has come: what the failure says, and what the limits count.

    Attributes:
        doing: what the fetch does at the moment, in words.
        head_bytes: bytes of the answer received before its final headers were complete.
        in_body: whether the final headers are complete.
    """

    max_head_bytes: int
    doing: str = "starting"
    head_bytes: int = 0
    in_body: bool = False

    def arrived(self, count: int) -> None:
        """Count bytes from the network.

        Raises:
            FetchError: more than any honest answer has before its body.
        """
        if self.in_body:
            return
        self.head_bytes += count
        if self.head_bytes > self.max_head_bytes:
            told = f"the server sent {self.head_bytes:,} bytes without coming to the content"
            raise FetchError("size", "headers_too_large", told, "The server is faulty or hostile; use another source")

    def next_answer(self, doing: str) -> None:
        """Start counting the headers of another answer."""
        self.doing, self.head_bytes, self.in_body = doing, 0, False


@dataclass(slots=True)
class Dialler(httpcore2.AsyncNetworkBackend):
    """Connects to public addresses, and to those the user opened, only.

    The name is resolved once per connection; every address is judged; exactly a judged one is dialled; and the peer is
    judged again. `Host` and TLS still see the name. So neither a spelling, nor a redirect, nor a name that changes
    its address between the check and the connection leads elsewhere.
    """

    allow: AllowNet
    resolve: Resolve
    resolving: FairQueue
    watch: Watch
    inner: httpcore2.AsyncNetworkBackend = field(default_factory=_backend)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Open a connection to one of the addresses of `host`, if all of them are allowed.

        Raises:
            FetchError: no address, a refused one, or none that answers.
        """
        self.watch.doing = f"looking up {host}"
        found = await self._look_up(host, port, timeout)
        for address in found:
            self._check(host, address, port)
        self.watch.doing = f"connecting to {host}"
        tries = found[:_MOST_TRIES]
        patience = None if timeout is None else timeout / len(tries)
        for number, address in enumerate(tries, 1):
            try:
                stream = await self.inner.connect_tcp(address, port, patience, socket_options=socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                if number == len(tries):
                    raise _unreachable(host, address, port, error) from error
                continue
            await self._check_peer(stream, host, address, port)
            self.watch.doing = f"waiting for the answer of {host}"
            return Metered(stream, self.watch)
        raise _unknown(host, None)

    async def _look_up(self, host: str, port: int, timeout: float | None) -> list[str]:
        found: Sequence[str] = ()
        try:
            with anyio.fail_after(timeout):
                found = await self.resolving.in_thread(partial(self.resolve, host, port))
        except TimeoutError:
            raise FetchError("name", "name_timeout", f"the name {host} was not resolved in time", "Try again") from None
        except (OSError, UnicodeError) as error:
            raise _unknown(host, error) from error
        except RuntimeError as error:  # the system has no thread to give
            told = f"the system has no thread to look up {host} in"
            raise FetchError("name", "busy", told, "Try again later") from error
        if not found:
            raise _unknown(host, None)
        if len(found) > _MOST_ADDRESSES:
            raise FetchError("name", "too_many_addresses", f"{host} has {len(found)} addresses", "Use another host")
        return [_plain(address) for address in found]

    def _check(self, host: str, address: str, port: int) -> None:
        reason = addresses.judge(address, port, self.allow)
        if reason is None and not self.allow.covers(ip_address(address), port) and addresses.is_own(address):
            reason = "an address of this machine itself"
        if reason is not None:
            raise refusal(host, address, port, reason)

    async def _check_peer(self, stream: httpcore2.AsyncNetworkStream, host: str, address: str, port: int) -> None:
        peer = cast("Sequence[object] | None", stream.get_extra_info("server_addr"))
        reached = str(peer[0]) if peer else ""
        if _plain(reached) != address:
            await stream.aclose()
            raise refusal(host, reached, port, "not the address that was dialled")
        try:
            self._check(host, address, port)
        except FetchError:
            await stream.aclose()
            raise


@dataclass(slots=True)
class Forwarder(httpcore2.AsyncNetworkBackend):
    """Connects to the proxy that the user named, which from there on decides what is reached."""

    watch: Watch
    inner: httpcore2.AsyncNetworkBackend = field(default_factory=_backend)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Open a connection to the proxy."""
        self.watch.doing = "connecting to the proxy"
        return Metered(await self.inner.connect_tcp(host, port, timeout, local_address, socket_options), self.watch)


@dataclass(slots=True)
class Metered(httpcore2.AsyncNetworkStream):
    """A connection whose arriving bytes are counted."""

    inner: httpcore2.AsyncNetworkStream
    watch: Watch

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read some bytes."""
        data = await self.inner.read(max_bytes, timeout)
        self.watch.arrived(len(data))
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of `buffer`."""
        await self.inner.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection."""
        await self.inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """Begin TLS for the name that was asked for.

        Raises:
            FetchError: the server is not who it should be, or speaks no TLS.
        """
        self.watch.doing = f"agreeing on TLS with {server_hostname}"
        try:
            secured = await self.inner.start_tls(ssl_context, server_hostname, timeout)
        except httpcore2.ConnectError as error:
            raise _untrusted(server_hostname or "", error) from error
        self.watch.doing = f"waiting for the answer of {server_hostname}"
        return Metered(secured, self.watch)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as the interface has it
        """Ask the connection below."""
        return self.inner.get_extra_info(info)


def refusal(host: str, address: str, port: int, reason: str) -> FetchError:
    """Say that an address is not dialled, and how the user could open it."""
    shown = f"[{address}]" if ":" in address else address
    place = host if host == address else f"{host} ({address})"
    fix = f"Only the user can open it, by starting bursar with --allow-net {shown}:{port}"
    told = f"{place} is {reason} and is not fetched by default"
    return FetchError("address_refused", "address_refused", told, fix)


def _plain(address: str) -> str:
    """Write an address in one way; an IPv4 one in IPv6 clothes as what it is."""
    try:
        read = ip_address(address)
    except ValueError:
        return address
    return str(read.ipv4_mapped or read) if isinstance(read, IPv6Address) else str(read)


def _unknown(host: str, error: Exception | None) -> FetchError:
    if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN:
        fix = "Try again; perhaps there is no network"
        return FetchError("name", "name_server_silent", f"no name server answered for {host}", fix)
    return FetchError("name", "unknown_name", f"there is no host named {host}", "Check the spelling of the address")


def _unreachable(host: str, address: str, port: int, error: Exception) -> FetchError:
    if isinstance(error, httpcore2.ConnectTimeout):
        message, code = f"{host} ({address}) port {port} did not answer in time", "connect_timeout"
    else:
        cause = error.__cause__
        refused = isinstance(cause, ConnectionRefusedError) or isinstance(
            getattr(cause, "__cause__", None), ConnectionRefusedError
        )
        code = "connection_refused" if refused else "unreachable"
        said = "refused the connection" if refused else "cannot be reached"
        message = f"{host} ({address}) port {port} {said}"
    return FetchError("connect", code, message, "Check the address and port, or try again later")


def _untrusted(host: str, error: Exception) -> FetchError:
    cause = error.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        code = _CERTIFICATE.get(cause.verify_code, "certificate_untrusted")
        why = cause.verify_message.strip().rstrip(".")
        told = f"the certificate of {host} is not accepted: {why}"
        return FetchError("tls", code, told, "Use another source for this")
    said = getattr(cause, "reason", None)
    why = f" ({str(said).lower().replace('_', ' ')})" if said else ""
    told = f"{host} and this client could not agree on TLS{why}"
    return FetchError("tls", "tls_failed", told, "Use http:// if it is not encrypted")
