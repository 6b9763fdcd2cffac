"""HTTP/1.1 connections that may not keep the server waiting for their headers, nor others out."""

import asyncio
from collections import OrderedDict
from typing import Any, ClassVar, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MAX_HEADER_BYTES = 32 * 1024
"""Of one request: longer than any token or trace that clients send."""


class TimelyProtocol(H11Protocol):
    """Uvicorn's connection, closed when the headers of a request take too long to come, or when others need its place.

    Uvicorn waits for ever for the rest of a request's headers, and a connection that sends nothing counts as open. When
    as many are open as may be, a new one takes the place of the one that has had nothing to answer for longest.
    """

    headers_s: float = 30.0
    """Seconds from the first byte of a request, or from the connection's start, to the end of its headers."""

    idle: ClassVar[OrderedDict["TimelyProtocol", None]] = OrderedDict()
    """Connections of one server without a request that is being answered, in the order in which they came to be so."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._watch()
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._take_a_place()
        self.idle[self] = None

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of the headers if they are not all there."""
        super().data_received(data)
        if self._is_answering:
            self.idle.pop(self, None)
        if self.conn.their_state is not h11.IDLE:
            self._relax()
        elif self._deadline is None and not self.transport.is_closing():
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._relax()
        self.idle.pop(self, None)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self._is_answering and not self.transport.is_closing():
            self.idle[self] = None

    @property
    def _is_answering(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and not cycle.response_complete

    def _take_a_place(self) -> None:
        if self.idle:
            oldest, _ = self.idle.popitem(last=False)
            self.connections.discard(oldest)
            oldest.transport.close()

    def _watch(self) -> None:
        self._deadline = self.loop.call_later(self.headers_s, self._give_up)

    def _relax(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()


def timely(headers_s: float) -> type[TimelyProtocol]:
    """Return the class of connections whose headers must be in within so many seconds."""
    attributes: dict[str, Any] = {"headers_s": headers_s, "idle": OrderedDict(), "__doc__": TimelyProtocol.__doc__}
    return type("TimelyProtocol", (TimelyProtocol,), attributes)
