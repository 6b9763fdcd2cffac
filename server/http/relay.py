"""Between the processes of one server: a request that only one of them can answer reaches it through any other."""

import asyncio
import hmac
import json
import re
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import anyio
import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..callers import SESSION_META_KEY

_KEY = b"x-bursar-relay"
_PEER = b"x-bursar-peer"
_IF_HELD = b"x-bursar-if-held"
_OWN_HEADERS = {_KEY, _PEER, _IF_HELD}
"""Said between processes only; taken out of whatever comes from a client."""

_HOP_HEADERS = {b"connection", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect"}
"""What concerns one connection only."""

_SESSION = b"mcp-session-id"
_PREFIXED = re.compile(r"(?P<post>w[0-9]{1,4}-[0-9a-f]{8})\.(?P<id>[\x21-\x7e]{1,200})", re.ASCII)

_RELAYED = "bursar.relayed"
_READ_BYTES = 64 * 1024
_ELSEWHERE = 421
"""Answer of a process that was asked whether it holds a command, and does not."""


@dataclass(frozen=True, slots=True)
class Post:
    """Where one process of a server is reached by the others.

    Attributes:
        directory: private to the server; each process listens there.
        name: of the process, `w1-3f9a2c1b`: its number, and eight digits that no other process of that number had.
        key: a secret of this server's processes.
        is_first: of all processes that the server ever had.
    """

    directory: Path
    name: str
    key: str
    is_first: bool = False

    @property
    def number(self) -> int:
        """Which of the processes it is, from 0."""
        return int(self.name[1:].partition("-")[0])

    @property
    def door(self) -> Path:
        """The Unix socket it listens on."""
        return self.directory / f"{self.name}.sock"

    def listen(self) -> socket.socket:
        """Bind the socket and listen on it."""
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(str(self.door))
        listening.listen(256)
        listening.setblocking(False)
        return listening

    def others(self) -> list[Path]:
        """Return the sockets of the other processes."""
        return sorted(path for path in self.directory.glob("w*.sock") if path != self.door)


def was_relayed(scope: Scope) -> bool:
    """Tell whether a request came through another process of this server, which has counted it."""
    return bool(scope.get(_RELAYED))


@dataclass(frozen=True)
class Entrance:
    """Knows the requests that other processes pass on, before anything else looks at them.

    They carry a secret. The address they came from first is put in the place of theirs.
    """

    app: ASGIApp
    post: Post

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take what processes say to each other out of a request, and believe it if the secret is right."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        told = {name: value for name, value in scope["headers"] if name in _OWN_HEADERS}
        scope = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] not in _OWN_HEADERS]}
        if hmac.compare_digest(told.get(_KEY, b""), self.post.key.encode()):
            scope[_RELAYED] = "if held" if _IF_HELD in told else "to its session"
            scope["client"] = (told.get(_PEER, b"").decode("latin-1"), 0)
        await self.app(scope, receive, send)


@dataclass(frozen=True)
class Relay:
    """Passes on what belongs to another process: its transport sessions, and input for the commands it runs.

    To clients, a session's id begins with the name of its process. A session of a process that died is unknown, so that
    clients begin a new one.

    Attributes:
        app: answers what belongs here, and knows nothing of prefixes.
        post: of this process.
        holds: tells whether this process runs the command that writes an artifact, given by its whole reference.
    """

    app: ASGIApp
    post: Post
    holds: Callable[[str], bool]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered where it belongs."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        session = next((value for name, value in scope["headers"] if name == _SESSION), b"").decode("latin-1")
        found = _PREFIXED.fullmatch(session)
        if found is not None and not was_relayed(scope) and found["post"] != self.post.name:
            other = self.post.directory / f"{found['post']}.sock"
            if not await self._pass_on(other, scope, receive, send):
                await _answer(send, 404, "Session not found")
            return
        if found is not None and found["post"] == self.post.name:
            scope = _with_header(scope, _SESSION, found["id"].encode())
        elif not session and scope["method"] == "POST":
            body, receive = await _whole(receive)
            held = _held_command(body)
            if held and not self.holds(held):
                if scope.get(_RELAYED) == "if held":
                    await _answer(send, _ELSEWHERE, "That command runs elsewhere")
                    return
                if not was_relayed(scope) and await self._ask_others(scope, body, receive, send):
                    return
        await self.app(scope, receive, self._naming(send))

    async def _ask_others(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> bool:
        """Have a request answered by the process that runs its command; return whether one does."""
        for other in self.post.others():
            if await self._pass_on(other, scope, _replay(body, receive), send, (_IF_HELD, b"1")):
                return True
        return False

    async def _pass_on(
        self, other: Path, scope: Scope, receive: Receive, send: Send, *extra: tuple[bytes, bytes]
    ) -> bool:
        """Have another process answer; return whether it did. It gave no sign if it is dead or has no such command."""
        body, receive = await _whole(receive)
        try:
            reader, writer = await asyncio.open_unix_connection(str(other))
        except OSError:
            return False
        client: Any = scope.get("client")
        own = [(_KEY, self.post.key.encode()), (_PEER, (client[0] if client else "").encode("latin-1")), *extra]
        try:
            return await _exchange(reader, writer, _request(scope, own, len(body)), body, receive, send)
        finally:
            writer.close()

    def _naming(self, send: Send) -> Send:
        """Put this process's name before the ids of sessions in answers."""

        async def name(message: Message) -> None:
            if message["type"] == "http.response.start":
                prefix = f"{self.post.name}.".encode()
                headers = [
                    (key, prefix + value if key.lower() == _SESSION else value) for key, value in message["headers"]
                ]
                message = {**message, "headers": headers}
            await send(message)

        return name


def _request(scope: Scope, own: Iterable[tuple[bytes, bytes]], length: int) -> h11.Request:
    left_out = {*_HOP_HEADERS, *_OWN_HEADERS, b"content-length"}
    headers = [(name, value) for name, value in scope["headers"] if name not in left_out]
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    return h11.Request(
        method=scope["method"],
        target=target,
        headers=[*headers, *own, (b"content-length", str(length).encode()), (b"connection", b"close")],
    )


async def _exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    request: h11.Request,
    body: bytes,
    receive: Receive,
    send: Send,
) -> bool:
    """Send a request and pass the answer on as it comes; when the client hangs up, so do we.

    Returns:
        Whether the other process answered.

    Raises:
        ConnectionError: it died in the middle of its answer.
    """
    wire = h11.Connection(h11.CLIENT)
    answered = False

    async def converse(done: anyio.CancelScope) -> None:
        nonlocal answered
        writer.write(
            (wire.send(request) or b"") + (wire.send(h11.Data(body)) or b"") + (wire.send(h11.EndOfMessage()) or b"")
        )
        try:
            await writer.drain()
            while True:
                event = wire.next_event()
                if event is h11.NEED_DATA:
                    wire.receive_data(await reader.read(_READ_BYTES))
                elif isinstance(event, h11.Response):
                    if event.status_code == _ELSEWHERE:
                        break
                    answered = True
                    headers = [(name, value) for name, value in event.headers if name not in _HOP_HEADERS]
                    await send({"type": "http.response.start", "status": event.status_code, "headers": headers})
                elif isinstance(event, h11.Data):
                    await send({"type": "http.response.body", "body": bytes(event.data), "more_body": True})
                elif isinstance(event, h11.EndOfMessage):
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
                    break
                elif not isinstance(event, h11.InformationalResponse):
                    break
        except (OSError, h11.RemoteProtocolError):
            if answered:
                raise ConnectionError("the process that owns the session died while it answered") from None
        done.cancel()

    async def hang_up_with_client(done: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        done.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(converse, tasks.cancel_scope)
        tasks.start_soon(hang_up_with_client, tasks.cancel_scope)
    return answered


async def _whole(receive: Receive) -> tuple[bytes, Receive]:
    """Return the body of a request, and a `receive` that gives it again."""
    pieces: list[bytes] = []
    while (message := await receive())["type"] == "http.request":
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            break
    body = b"".join(pieces)
    if message["type"] == "http.request":
        return body, _replay(body, receive)

    async def gone() -> Message:
        return message

    return body, gone


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _held_command(body: bytes) -> str:
    """Return the whole reference of the running command that a request is for; empty if it is for none."""
    if b'"terminal"' not in body or b'"artifact"' not in body:
        return ""
    try:
        params = json.loads(body)["params"]
        arguments = cast("dict[str, Any]", params["arguments"])
        reference = arguments["artifact"] if params["name"] == "terminal" else ""
        session = arguments.get("session") or params.get("_meta", {}).get(SESSION_META_KEY)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    if not isinstance(reference, str):
        return ""
    reference = reference.strip().removeprefix("artifact://")
    return reference if "/" in reference or not isinstance(session, str) else f"{session.strip()}/{reference}"


def _with_header(scope: Scope, name: bytes, value: bytes) -> Scope:
    return {**scope, "headers": [(key, value if key == name else old) for key, old in scope["headers"]]}


async def _answer(send: Send, status: int, message: str) -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": json.dumps(error).encode()})
