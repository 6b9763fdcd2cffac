"""A call that its client has cancelled ends with all it started, and the server goes on as if it had not been."""

import itertools
import json
import threading
import time
import uuid
from contextlib import closing

import anyio
import httpx2
import pytest
from bursar.artifacts import engines
from bursar.server.bootstrap import open_dispatcher
from bursar.server.callers import Client
from bursar.server.config import Settings
from replies import reply_of
from test_ends import alive, wait_until
from test_progress import dribbling
from test_protocol import MODERN
from transports import KINDS, connected, http_client, listening, told
from wire import Client as Wire
from wire import module

HUGE_BYTES = 100 << 30
"""Of a file without content: to look for a line in it takes a minute."""


@pytest.fixture
def marker():
    return f"marker-{uuid.uuid4().hex}"


def sleeper(marker):
    """Return a command that takes ten minutes."""
    return f"python3 -c 'import time; time.sleep(600)' {marker}"


@pytest.fixture
def tree(marker):
    """A command with children of every kind, its own session included."""
    one = sleeper(marker)
    return f"echo early; setsid {one} & nohup {one} & {one}"


async def until(condition):
    assert await anyio.to_thread.run_sync(wait_until, condition)


async def call_and_cancel(client, tool, arguments, has_begun):
    """Call a tool, and give the call up when it has begun."""
    async with anyio.create_task_group() as group:
        group.start_soon(client.call_tool, tool, arguments)
        await until(has_begun)
        group.cancel_scope.cancel()


def bytes_read(pid):
    """Return how much a process has read so far, from wherever."""
    with open(f"/proc/{pid}/io") as counts:
        return int(counts.readline().split()[1])


def is_quiet(pid):
    """Tell whether a process reads nothing for a while."""
    before = bytes_read(pid)
    time.sleep(0.2)
    return bytes_read(pid) - before < 1 << 20


def left_over(data):
    """Return the files in the sessions that belong to no finished artifact."""
    known = {"owner.json", "lock", "calls.jsonl"}
    return [
        path.name
        for path in data.glob("bursar/*/*")
        if path.name not in known and not (path.name.startswith("a") and path.name[1:2].isdigit())
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_cancelled_command_ends_with_its_children_in_every_era_and_over_every_transport(kind, options, marker, tree):
    async def main():
        async with connected(kind, options) as client:
            await call_and_cancel(client, "terminal", {"command": tree}, lambda: len(alive(marker)) >= 3)
            await until(lambda: not alive(marker))
            assert told(await client.call_tool("terminal", {"command": "echo on"}))["preview"] == "on\n"

    anyio.run(main)


def test_what_a_cancelled_command_printed_is_kept_and_said_to_be_a_part(client, marker, tree):
    client.send("tools/call", {"name": "terminal", "arguments": {"command": tree}})
    assert wait_until(lambda: len(alive(marker)) >= 3)
    client.send("notifications/cancelled", {"requestId": client.last_id}, notify=True)
    assert wait_until(lambda: not alive(marker))
    assert wait_until(lambda: "a1  partial" in client.call("read_artifact")[0])
    reply = reply_of(client.call("read_artifact", artifact="a1")[0])
    assert (reply["state"], reply["preview"]) == ("partial", "early\n")


@pytest.fixture(scope="module", params=["handshake", "stateless"])
def wire(request, tmp_path_factory):
    """A raw connection in either era; `ask` sends a request and returns its id."""
    base = tmp_path_factory.mktemp("shared")
    client = Wire(module("--root", str(base), "--data-dir", str(base / "data")))
    if request.param == "handshake":
        client.handshake()
    meta = {} if request.param == "handshake" else {"_meta": MODERN}
    client.ask = lambda method, **params: client.send(method, params | meta)
    yield client
    client.kill()


def test_a_cancelled_call_is_not_answered_and_others_are_meanwhile(wire, marker):
    first = wire.ask("tools/call", name="terminal", arguments={"command": sleeper(marker)})
    assert wait_until(lambda: alive(marker))
    others = {wire.ask("tools/list"), wire.ask("tools/call", name="read_artifact", arguments={})}
    assert {wire.next()["id"] for _ in others} == others
    wire.send("notifications/cancelled", {"requestId": first, "reason": "enough"}, notify=True)
    assert wait_until(lambda: not alive(marker))
    last = wire.ask("tools/list")
    assert wire.next()["id"] == last


def test_a_ping_is_answered_while_a_call_runs(client, marker):
    client.send("tools/call", {"name": "terminal", "arguments": {"command": sleeper(marker)}})
    assert wait_until(lambda: alive(marker))
    assert client.request("ping")["result"] == {}


@pytest.mark.parametrize(
    "params",
    [
        {"requestId": 999},
        {"requestId": "never"},
        {"requestId": None},
        {"requestId": [1]},
        {},
        None,
        {"requestId": 1, "reason": 7},
        {"requestId": "\u202e" * 10_000},
    ],
)
def test_a_cancellation_of_what_is_not_there_changes_nothing(wire, params):
    wire.send("notifications/cancelled", params, notify=True)
    answered = wire.ask("tools/call", name="read_artifact", arguments={})
    assert wire.receive(answered)["result"]["content"]


def test_a_cancellation_of_what_was_answered_changes_nothing(wire):
    """As opencode sends one after every call."""
    for _ in range(5):
        answered = wire.ask("tools/call", name="read_artifact", arguments={})
        assert wire.receive(answered)["result"]["content"]
        wire.send("notifications/cancelled", {"requestId": answered}, notify=True)


@pytest.mark.needs("root")
@pytest.mark.parametrize("tool", ["read_file", "read_artifact"])
def test_a_cancelled_reading_reads_on_no_longer(client, folder, tool):
    with open(folder / "huge.txt", "wb") as file:
        file.truncate(HUGE_BYTES)
    artifact = reply_of(client.call("read_file", path="huge.txt", bytes="0-9")[0])["artifact"]
    arguments = {"path": "huge.txt"} if tool == "read_file" else {"artifact": artifact}
    client.send("tools/call", {"name": tool, "arguments": arguments | {"lines": "7-9"}})
    before = bytes_read(client.server)
    assert wait_until(lambda: bytes_read(client.server) > before + (64 << 20))
    client.send("notifications/cancelled", {"requestId": client.last_id}, notify=True)
    assert wait_until(lambda: is_quiet(client.server))
    assert not client.call("read_artifact")[1]


def test_a_cancelled_tree_is_walked_no_further(client, folder, options):
    for outer in range(100):
        (folder / f"{outer}").mkdir()
        for inner in range(200):
            (folder / f"{outer}" / f"{inner}").touch()
    client.send("tools/call", {"name": "directory_tree", "arguments": {"depth": 3}})
    client.send("notifications/cancelled", {"requestId": client.last_id}, notify=True)
    assert client.request("ping")["result"] == {}
    assert not client.call("directory_tree", depth=0)[1]


def test_a_cancelled_fetch_hangs_up_and_keeps_what_came(tmp_path, folder):
    hung_up = threading.Event()
    with dribbling(b"Content-Type: text/plain", itertools.repeat(b"word after word\n" * 100), hung_up) as address:
        options = ["--root", str(folder), "--data-dir", str(tmp_path / "data"), "--allow-net", address]
        client = Wire(module(*options))
        client.handshake()
        meta = {"_meta": {"progressToken": "p"}}
        client.send("tools/call", {"name": "web_fetch", "arguments": {"url": f"http://{address}/"}} | meta)
        while "bytes received" not in client.next()["params"]["message"]:
            pass
        client.send("notifications/cancelled", {"requestId": client.last_id}, notify=True)
        assert hung_up.wait(20)
    assert wait_until(lambda: "a1  partial" in client.call("read_artifact")[0])
    assert left_over(tmp_path / "data") == []
    client.close()


def test_a_cancelled_document_leaves_nothing_behind(client, folder, tmp_path):
    arguments = {"content": "| a | b |\n|---|---|\n" + "| text | text |\n" * 200_000, "path": "big.pdf"}
    client.send("tools/call", {"name": "write_pdf", "arguments": arguments, "_meta": {"progressToken": "p"}})
    assert client.next()["method"] == "notifications/progress"
    assert left_over(tmp_path / "data")
    client.send("notifications/cancelled", {"requestId": client.last_id}, notify=True)
    assert wait_until(lambda: not left_over(tmp_path / "data"))
    assert list(folder.iterdir()) == []
    assert not client.call("write_pdf", content="small", path="small.pdf")[1]


def test_a_cancelled_search_ends_its_process(tmp_path, folder, marker, monkeypatch):
    slow = tmp_path / "rg"
    slow.write_text(f"#!/bin/sh\nexec {sleeper(marker)}\n")
    slow.chmod(0o700)
    monkeypatch.setattr(engines, "ripgrep", lambda: str(slow))
    (folder / "log.txt").write_text("a line\n" * 300_000)

    async def main():
        settings = Settings(root=(folder,), data_dir=tmp_path / "data")
        async with open_dispatcher(settings) as dispatcher:
            client = Client("test", dispatcher.client("test").ceiling)
            await dispatcher.answer("read_file", {"path": "log.txt"}, client)
            async with anyio.create_task_group() as group:
                group.start_soon(dispatcher.answer, "read_artifact", {"artifact": "a1", "grep": "x"}, client)
                await until(lambda: alive(marker))
                group.cancel_scope.cancel()
            await until(lambda: not alive(marker))

    anyio.run(main)


class Handshake:
    """A session of the handshake era over HTTP, by hand."""

    def __init__(self, address):
        self.address = address
        self.streams = []
        self.headers = {"accept": "application/json, text/event-stream"}
        self.http = httpx2.Client(trust_env=False, timeout=60)
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        answer = self.post({"id": 0, "method": "initialize", "params": about})
        self.headers |= {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        self.post({"method": "notifications/initialized"})

    def post(self, message):
        return self.http.post(self.address, json={"jsonrpc": "2.0"} | message, headers=self.headers)

    def begin(self, identity, tool, **arguments):
        """Open the stream of a call's answer."""
        message = {"jsonrpc": "2.0", "id": identity, "method": "tools/call"}
        message["params"] = {"name": tool, "arguments": arguments}
        request = self.http.build_request("POST", self.address, json=message, headers=self.headers)
        self.streams.append(self.http.send(request, stream=True))
        return self.streams[-1]

    def close(self):
        for stream in self.streams:
            stream.close()
        self.http.close()

    def call(self, tool, **arguments):
        stream = self.begin(uuid.uuid4().hex, tool, **arguments)
        lines = [line for line in stream.iter_lines() if line.startswith(("data: {", "{"))]
        return json.loads(lines[-1].removeprefix("data: "))["result"]["content"][0]["text"]


@pytest.fixture
def handshake(options):
    with listening(*options) as (_, address), closing(Handshake(address)) as session:
        yield session


def test_hanging_up_does_not_cancel_a_call_of_a_handshake_session(handshake, folder):
    """Its protocol says that a lost connection is no cancellation: the call ends in its own time, and is kept."""
    command = "touch begun; until [ -e go ]; do sleep 0.1; done; echo done"
    stream = handshake.begin(1, "terminal", command=command)
    assert wait_until((folder / "begun").exists)
    stream.close()
    (folder / "go").touch()
    assert wait_until(lambda: "a1  5 B" in handshake.call("read_artifact"))
    assert reply_of(handshake.call("read_artifact", artifact="a1"))["preview"] == "done\n"


def test_a_call_is_cancelled_by_the_session_it_belongs_to_alone(handshake, marker):
    handshake.begin(1, "terminal", command=sleeper(marker))
    assert wait_until(lambda: alive(marker))
    with closing(Handshake(handshake.address)) as other:
        assert other.post({"method": "notifications/cancelled", "params": {"requestId": 1}}).status_code == 202
        assert other.call("read_artifact")
    assert alive(marker)
    handshake.post({"method": "notifications/cancelled", "params": {"requestId": 1}})
    assert wait_until(lambda: not alive(marker))


def test_the_end_of_a_session_ends_its_calls(handshake, marker):
    handshake.begin(1, "terminal", command=sleeper(marker))
    assert wait_until(lambda: alive(marker))
    assert handshake.http.delete(handshake.address, headers=handshake.headers).status_code == 200
    assert wait_until(lambda: not alive(marker))


def test_calls_with_the_same_id_all_end_with_their_session(handshake, folder, marker):
    for number in range(2):
        handshake.begin(5, "terminal", command=f"touch begun{number}; {sleeper(marker)}")
        assert wait_until((folder / f"begun{number}").exists)
    assert handshake.http.delete(handshake.address, headers=handshake.headers).status_code == 200
    assert wait_until(lambda: not alive(marker))


def test_a_request_without_a_handshake_ends_no_call_of_the_session_that_it_names(handshake, folder):
    stream = handshake.begin(1, "terminal", command="touch begun; until [ -e go ]; do sleep 0.1; done; echo done")
    assert wait_until((folder / "begun").exists)
    headers = handshake.headers | {"mcp-protocol-version": "2026-07-28", "mcp-method": "no/such"}
    message = {"jsonrpc": "2.0", "id": 9, "method": "no/such", "params": {"_meta": MODERN}}
    assert handshake.http.post(handshake.address, json=message, headers=headers).status_code == 404
    (folder / "go").touch()
    (line,) = [line for line in stream.iter_lines() if line.startswith("data: {")]
    assert "done" in line


def test_nobody_cancels_a_call_of_the_stateless_era_by_guessing_its_number(options, marker):
    async def main():
        with listening(*options) as (_, address):
            async with http_client(address, "2026-07-28") as client, anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "terminal", {"command": sleeper(marker)})
                await until(lambda: alive(marker))
                await anyio.to_thread.run_sync(guess, address)
                assert alive(marker)
                group.cancel_scope.cancel()
            await until(lambda: not alive(marker))

    def guess(address):
        headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
        with httpx2.Client(trust_env=False, headers=headers) as http:
            for number in range(10):
                params = {"requestId": number, "_meta": MODERN}
                cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
                assert http.post(address, json=cancelled).status_code == 202

    anyio.run(main)
