"""The way to a server that is elsewhere: the protocol's streamable HTTP, each request with a connection of its own."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from .. import __version__
from ..budget.clean import clean, utf8
from ..errors import BursarError
from ..guard.net import Net
from .frames import Frame, Frames
from .peer import MODERN, written
from .upstream import Upstream

if TYPE_CHECKING:
    from ..guard.net.endpoint import Endpoint, Posted

_SESSION = "mcp-session-id"
_EVENTS = "text/event-stream"
_KINDS = ("application/json", _EVENTS)
_SAID_BYTES = 2000
_SAID_CHARACTERS = 200
_END_S = 2.0


class HttpLink:
    """A server that messages are posted to.

    Attributes:
        hear: takes each message as it arrives, with the number of the request that it came as an answer to.
        ended: is told, once, that the server can no longer be used as it was, in words.
        failed: is told why a request gets no answer.
        schemas: gives the schema of a tool's arguments, by its name.
        version: see `Link`.
    """

    def __init__(self, upstream: Upstream, net: Net, frames: Callable[[], Frames]) -> None:
        """Connect to nothing yet.

        Args:
            upstream: the server.
            net: the way to it.
            frames: make what cuts the answer to one request.
        """
        self.hear: Callable[[Frame, int | None], None] = lambda frame, _: frame.drop()
        self.ended: Callable[[BursarError], None] = lambda _: None
        self.failed: Callable[[BursarError, int | None], None] = lambda _, __: None
        self.schemas: Callable[[str], Mapping[str, Any]] = lambda _: {}
        self.version = ""
        self._upstream = upstream
        self._net = net
        self._frames = frames
        self._session = ""
        self._posts: dict[int, asyncio.Task[None]] = {}
        self._opening = asyncio.Lock()
        self._endpoint: Endpoint | None = None

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a message; the answer to a request is heard later.

        Raises:
            BursarError: it is a notification or an answer, and could not be sent.
        """
        number = message.get("id") if "method" in message else None
        if not isinstance(number, int):
            await self._post(message, None)
            return
        task = self._posts[number] = asyncio.ensure_future(self._requested(message, number))
        task.add_done_callback(lambda _: self._posts.pop(number, None))

    def forget(self, request: int) -> bool:
        """Close the connection of a request; in the protocol's new way that is how it is cancelled."""
        if task := self._posts.get(request):
            task.cancel()
        return self.version == MODERN

    async def close(self) -> None:
        """Give up what goes on, and end the session there."""
        for task in list(self._posts.values()):
            task.cancel()
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is None:
            return
        if self._session:
            with suppress(BursarError, TimeoutError):
                async with asyncio.timeout(_END_S), endpoint.post(b"", self._headers({}), "DELETE"):
                    pass
        await endpoint.aclose()

    async def _requested(self, message: Mapping[str, Any], number: int) -> None:
        try:
            await self._post(message, number)
        except BursarError as error:
            self.failed(error, number)

    async def _post(self, message: Mapping[str, Any], number: int | None) -> None:
        async with self._opening:
            if self._endpoint is None:
                self._endpoint = await self._net.endpoint(self._upstream.url)
        frames = self._frames()
        async with self._endpoint.post(written(message), self._headers(message)) as answer:
            if message.get("method") == "initialize":
                self._session = answer.headers.get(_SESSION, "")
            kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
            if (coding := answer.headers.get("content-encoding", "identity")) != "identity":
                kind = f"{kind} in {coding}"
            if number is None and answer.status < 300:
                async for _ in answer.chunks:
                    pass
                return
            if answer.status == 404 and self._session:
                error = BursarError(
                    "upstream_ended",
                    f"{self._upstream.name} has forgotten its session",
                    "Call again: a new one is begun",
                )
                self.ended(error)
                raise error
            if kind not in _KINDS or 300 <= answer.status < 400 or answer.status in (202, 401, 403):
                raise self._refused(answer.status, await _head(answer), kind)
            cut, head = _Events(frames) if kind == _EVENTS else _Whole(frames), b""
            async for chunk in answer.chunks:
                head += chunk[: _SAID_BYTES - len(head)]
                for frame in cut.feed(chunk):
                    self.hear(frame, number)
            for frame in cut.end():
                self.hear(frame, number)
        self.failed(self._refused(answer.status, head, kind), number)

    def _headers(self, message: Mapping[str, Any]) -> dict[str, str]:
        params = cast("Mapping[str, Any]", message.get("params") or {})
        meta = cast("Mapping[str, Any]", params.get("_meta") or {})
        version = meta.get("io.modelcontextprotocol/protocolVersion") or self.version
        headers = {
            "accept": ", ".join(_KINDS),
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": f"bursar/{__version__}",
            **({"mcp-protocol-version": str(version)} if version else {}),
            **({_SESSION: self._session} if self._session else {}),
        }
        if version == MODERN and "method" in message:
            headers["mcp-method"] = str(message["method"])
            headers |= self._mirrored(params)
        return headers | dict(self._upstream.headers)

    def _mirrored(self, params: Mapping[str, Any]) -> Mapping[str, str]:
        """Return what of a request stands in its headers too, for whatever is between here and there."""
        from mcp.shared.inbound import (
            encode_header_value,
            find_invalid_x_mcp_header,
            mcp_param_headers,
            x_mcp_header_map,
        )

        name = params.get("name", params.get("uri"))
        if not isinstance(name, str):
            return {}
        headers = {"mcp-name": encode_header_value(utf8(name))}
        schema = self.schemas(name)
        if find_invalid_x_mcp_header(schema) is not None:
            return headers
        arguments = cast("Mapping[str, Any]", params.get("arguments") or {})
        return headers | mcp_param_headers(x_mcp_header_map(schema), arguments)

    def _refused(self, status: int, head: bytes, kind: str) -> BursarError:
        """Tell why a request has no answer, with what the server says of it."""
        name = self._upstream.name
        text = clean(self._upstream.secrets.blanked(head.decode("utf-8", "replace")), _SAID_CHARACTERS)
        said = f": {text}" if text else ""
        if status in (401, 403):
            fix = "Set its token in `headers` of its entry, and restart bursar"
            return BursarError("upstream_auth", f"{name} answers {status}{said}", fix)
        if 300 <= status < 400:
            what = f"{name} answers with a redirect ({status})"
            return BursarError("upstream_protocol", what, "Name the address that it leads to")
        if status >= 400:
            fix = "Try again later" if status >= 500 or status == 429 else "See its address"
            return BursarError("upstream_error", f"{name} answers {status}{said}", fix)
        if kind not in _KINDS:
            form = clean(kind, 60) or "nothing"
            what = f"{name} answers with {form}, which is no message{said}"
            return BursarError("upstream_protocol", what, "See that its url is that of its endpoint")
        return BursarError("upstream_protocol", f"{name} ended its answer before it was whole{said}", "Call again")


async def _head(answer: "Posted") -> bytes:
    """Return the beginning of an answer."""
    head = b""
    async for chunk in answer.chunks:
        head += chunk[: _SAID_BYTES - len(head)]
        if len(head) == _SAID_BYTES:
            break
    return head


class _Whole:
    """An answer that is one message."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames

    def feed(self, block: bytes) -> Iterator[Frame]:
        """Take in a block; line breaks stand between the words of JSON, never in its texts."""
        yield from self._frames.feed(block.replace(b"\n", b" "))

    def end(self) -> Iterator[Frame]:
        """Yield the message."""
        if self._frames.size:
            yield self._frames.end()


class _Events:
    """An answer that is a stream of server-sent events, each with a message (WHATWG HTML, section 9.2)."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._begun = b""
        self._in_data = False

    def feed(self, block: bytes) -> Iterator[Frame]:
        """Take in a block, and yield the messages that are whole."""
        at = 0
        while at < len(block):
            end = block.find(b"\n", at)
            part = block[at:] if end < 0 else block[at:end]
            at = len(block) if end < 0 else end + 1
            if self._in_data:
                self._add(part)
            else:
                self._begun += part
                if self._begun.startswith(b"data:"):
                    self._in_data, begun, self._begun = True, self._begun[5:], b""
                    self._add(begun)
                elif len(self._begun) > _SAID_BYTES:
                    self._begun = b":"  # another field, of which nothing is wanted
            if end >= 0:
                if not self._in_data and not self._begun.strip(b"\r") and self._frames.size:
                    yield self._frames.end()
                elif self._in_data:
                    self._add(b" ")
                self._in_data, self._begun = False, b""

    def end(self) -> Iterator[Frame]:
        """Yield what came without the empty line behind it."""
        if self._frames.size:
            yield self._frames.end()

    def _add(self, part: bytes) -> None:
        for _ in self._frames.feed(part):
            pass  # there is no line break in it
