"""HTTP/1.1 connections that may not keep the server waiting for their headers."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_HEADER_BYTES = 32 * 1024
"""Of one request: longer than any token or trace that clients send."""


class TimelyProtocol(H11Protocol):
    """Uvicorn's connection, closed when the headers of a request take too long to come.

    Uvicorn waits for ever for the rest of a request's headers, and a connection that sends nothing counts as open.
    """

    headers_s: float = 30.0
    """Seconds from the first byte of a request, or from the connection's start, to the end of its headers."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of the headers if they are not all there."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._relax()
        elif self._deadline is None and not self.transport.is_closing():
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._relax()
        super().connection_lost(exc)

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
    attributes: dict[str, Any] = {"headers_s": headers_s, "__doc__": TimelyProtocol.__doc__}
    return type("TimelyProtocol", (TimelyProtocol,), attributes)
