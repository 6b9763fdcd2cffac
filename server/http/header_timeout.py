"""HTTP/1.1 connections that may not keep the server waiting for their headers, nor others out."""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, ClassVar, cast

import h11
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

_CONNECTION = "bursar.connection"
"""Where a request's state has the connection that it came on."""


class HeaderTimeoutProtocol(H11Protocol):
    """Uvicorn's connection, closed when the headers of a request take too long to come, or when others need its place.

    Uvicorn waits for ever for the rest of a request's headers, and a connection that sends nothing counts as open. When
    as many are open as may be, a new one takes the place of one that waits for its client: of whoever has most of
    those, the one that has waited longest.
    """

    headers_s: float = 30.0
    """Seconds from the first byte of a request, or from the connection's start, to the end of its headers."""

    waiting: ClassVar[defaultdict[str, OrderedDict["HeaderTimeoutProtocol", None]]] = defaultdict(OrderedDict)
    """Connections of one server that wait for a request or its body, by who was last seen to use them; empty: unknown.
    Each in the order in which they came to wait."""

    who: str = ""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, _CONNECTION: self}
        self._watch()
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._take_a_place()
        self.wait()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of the headers if they are not all there."""
        before = cast("RequestResponseCycle | None", self.cycle)
        super().data_received(data)
        if self.cycle is not before and self._is_answering:
            self.wait_no_more()
        if self.conn.their_state is not h11.IDLE:
            self._relax()
        elif self._deadline is None and not self.transport.is_closing():
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._relax()
        self.wait_no_more()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self._is_answering and not self.transport.is_closing():
            self.wait()

    def wait(self) -> None:
        """Be one of those that wait for their clients."""
        self.waiting[self.who][self] = None

    def wait_no_more(self) -> None:
        """Be none of them."""
        theirs = self.waiting[self.who]
        theirs.pop(self, None)
        if not theirs:
            del self.waiting[self.who]

    @property
    def _is_answering(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and not cycle.response_complete

    def _take_a_place(self) -> None:
        if self.waiting:
            oldest = next(iter(max(self.waiting.values(), key=len)))
            oldest.wait_no_more()
            self.connections.discard(oldest)
            oldest.transport.close()

    def _watch(self) -> None:
        self._deadline = self.loop.call_later(self.headers_s, self.transport.close)

    def _relax(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def timely(headers_s: float) -> type[HeaderTimeoutProtocol]:
    """Return the class of connections whose headers must be in within so many seconds."""
    attributes: dict[str, Any] = {"headers_s": headers_s, "waiting": defaultdict[str, Any](OrderedDict)}
    return type("HeaderTimeoutProtocol", (HeaderTimeoutProtocol,), attributes)


@contextmanager
def waiting_for_body(scope: Scope, who: str) -> Generator[None]:
    """Let the connection of a request give its place away while it waits for the body that somebody is to send."""
    connection = scope.get("state", {}).get(_CONNECTION)
    if not isinstance(connection, HeaderTimeoutProtocol):
        yield
        return
    connection.wait_no_more()
    connection.who = who
    connection.wait()
    try:
        yield
    finally:
        connection.wait_no_more()
