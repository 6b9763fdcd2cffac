"""How a server over HTTP ends, and what ends with it or with a connection."""

import json
import random
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from over_http import ACCEPT, MODERN, served, start

ENDED = (0, -signal.SIGALRM)
"""By itself, or by the kernel where the machine is too busy for that."""

GONE_S = 8
"""A server is gone in two seconds; a busy machine gets more, and what is stuck here is so for ten minutes."""


def until(happened, limit_s=30):
    """Wait until something is true."""
    deadline = time.monotonic() + limit_s
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


class Sleeper:
    """A command that outlasts the test unless it is ended, told from others by how long it sleeps."""

    def __init__(self):
        self.seconds = f"300.{random.randrange(10**9)}"
        self.arguments = {"command": f"exec sleep {self.seconds}", "timeout_s": 300}

    @property
    def is_running(self):
        words = f"sleep\0{self.seconds}\0".encode()
        return any(words == commandline for commandline in map(read, Path("/proc").glob("[0-9]*/cmdline")))

    def begin(self, user):
        """Have it run by a call that nobody waits for."""
        threading.Thread(target=lambda: quietly(user.call, "terminal", **self.arguments), daemon=True).start()
        until(lambda: self.is_running)
        return self


def read(file):
    try:
        return file.read_bytes()
    except OSError:
        return b""


def quietly(step, *arguments, **named):
    try:
        step(*arguments, **named)
    except (httpx2.HTTPError, AssertionError, KeyError):
        return


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_with_its_commands_and_frees_the_address(root, tmp_path, number):
    with served("--no-auth", root=root, data=tmp_path) as running:
        sleeper = Sleeper().begin(running.user().handshake())
        running.end(number)
        assert running.process.returncode in ENDED
        until(lambda: not sleeper.is_running)
        host, port = running.host.rsplit(":", 1)
        with socket.socket() as again:
            again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            again.bind((host, int(port)))


def test_killed_it_takes_its_commands_along(root, tmp_path):
    with served("--no-auth", root=root, data=tmp_path) as running:
        sleeper = Sleeper().begin(running.user().handshake())
        running.end(signal.SIGKILL)
        until(lambda: not sleeper.is_running)


def test_listening_streams_do_not_keep_it_from_ending(root, tmp_path):
    with served("--no-auth", root=root, data=tmp_path) as running:
        user = running.user().handshake()
        with user.http.stream("GET", running.url, headers=ACCEPT | user.routing()) as stream:
            assert stream.status_code == 200
            running.end()
        assert running.process.returncode in ENDED


def test_a_thread_that_nothing_ends_does_not_keep_it(root, tmp_path):
    program = [sys.executable, str(Path(__file__).parents[1] / "stuck.py")]
    with served("--no-auth", root=root, data=tmp_path, program=program) as running:
        user = running.user().handshake()
        begun = tmp_path / "begun"
        threading.Thread(target=lambda: quietly(user.call, "read_file", path=str(begun)), daemon=True).start()
        until(begun.exists)
        assert running.end() < GONE_S
        assert running.process.returncode in ENDED


def test_a_second_signal_ends_it_at_once(root, tmp_path):
    with served("--no-auth", root=root, data=tmp_path) as running:
        user = running.user().handshake()
        with user.http.stream("GET", running.url, headers=ACCEPT | user.routing()):
            running.process.send_signal(signal.SIGTERM)
            running.end(signal.SIGTERM)
        assert running.process.returncode in ENDED


def test_a_connection_that_closes_ends_its_call_in_the_stateless_era(root, tmp_path):
    meta = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
    sleeper = Sleeper()
    params = {"name": "terminal", "arguments": sleeper.arguments, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    with served("--no-auth", root=root, data=tmp_path) as running:
        host, port = running.host.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(
                f"POST /mcp HTTP/1.1\r\nHost: {running.host}\r\nAccept: application/json, text/event-stream\r\n"
                f"Content-Type: application/json\r\nMcp-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\n"
                f"Mcp-Name: terminal\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
            )
            until(lambda: sleeper.is_running)
        until(lambda: not sleeper.is_running)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdks_client_talks_to_it_in_either_era(two, mode):
    running, ann, _ = two

    async def talk():
        http = httpx2.AsyncClient(headers={"authorization": f"Bearer {ann}"}, trust_env=False)
        async with http, Client(streamable_http_client(running.url, http_client=http), mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            answer = await client.call_tool("read_file", {"path": "note.txt"})
            return client.protocol_version, names, answer.content[0].text

    version, names, text = anyio.run(talk)
    assert version == {"legacy": "2025-11-25", "auto": MODERN}[mode]
    assert "read_artifact" in names
    assert "the note" in text


def test_without_a_place_to_listen_standard_input_is_served(root, tmp_path):
    process = start(root=root, data=tmp_path, address="")
    _, words = process.communicate(timeout=30)
    assert process.returncode == 0
    assert b"http://" not in words
