"""A real server process over HTTP, and requests to it as a client, or an enemy, would send them."""

import itertools
import json
import os
import select
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import httpx2
from replies import reply_of
from wire import module

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
ACCEPT = {"accept": "application/json, text/event-stream"}
_ids = itertools.count(1)


class Served:
    """One server process."""

    def __init__(self, process, url, notes, data):
        self.process = process
        self.url = url
        self.base = url.removesuffix("/mcp")
        self.host = self.base.removeprefix("http://")
        self.notes = notes
        self.data = data
        self.clients = []

    @property
    def token(self):
        return (self.data / "bursar" / ".server" / "token").read_text().strip()

    def user(self, token=None):
        return User(self, {"authorization": f"Bearer {token}"} if token else {})

    def errors(self):
        """End the server and return all it wrote on standard error."""
        self.end()
        return self.notes + self.process.stderr.read().decode()

    def end(self, number=signal.SIGTERM):
        """Return how many seconds the server took to end."""
        started = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(20)
        return time.monotonic() - started


class User:
    """Somebody who sends requests, of either era."""

    def __init__(self, served, headers):
        self.served = served
        self.http = httpx2.Client(headers=headers, timeout=30, trust_env=False, verify=False)
        served.clients.append(self.http)
        self.transport_session = None
        self.session = ""

    def post(self, body, **headers):
        return self.http.post(self.served.url, json=body, headers=ACCEPT | named(headers))

    def modern(self, method, params=None, **headers):
        """Send one request of the stateless era and return the answer of the transport."""
        given = dict(params or {})
        given["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        } | given.get("_meta", {})
        routing = {"mcp-protocol-version": MODERN, "mcp-method": method}
        if name := given.get("name") or given.get("uri"):
            routing["mcp-name"] = name
        body = {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": given}
        return self.post(body, **(routing | headers))

    def handshake(self):
        """Open a session of the handshake era."""
        about = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        answer = self.post({"jsonrpc": "2.0", "id": next(_ids), "method": "initialize", "params": about})
        assert answer.status_code == 200, answer.text
        self.transport_session = answer.headers["mcp-session-id"]
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **self.routing())
        return self

    def routing(self):
        return {"mcp-session-id": self.transport_session, "mcp-protocol-version": HANDSHAKE}

    def request(self, method, params=None, **headers):
        body = {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params or {}}
        return self.post(body, **(self.routing() | headers))

    def call(self, tool, meta=None, **arguments):
        """Call a tool in this user's era; return the text of the reply and whether it is an error."""
        params = {"name": tool, "arguments": arguments} | ({"_meta": meta} if meta else {})
        send = self.request if self.transport_session else self.modern
        result = told(send("tools/call", params))["result"]
        return result["content"][0]["text"], result.get("isError", False)

    def done(self, tool, **arguments):
        """Call a tool that succeeds; return its reply."""
        text, is_error = self.call(tool, **arguments)
        assert not is_error, text
        reply = reply_of(text)
        handle, _, name = reply.get("artifact", "").rpartition("/")
        if handle and not {"session", "artifact", "meta"} & arguments.keys():
            self.session = handle
        elif name and not handle:  # it is told once on a connection
            reply["artifact"] = f"{self.session}/{name}"
        return reply

    def refused(self, tool, **arguments):
        """Call a tool that refuses; return its words."""
        text, is_error = self.call(tool, **arguments)
        assert is_error, text
        return text


def named(headers):
    return {name.replace("_", "-"): value for name, value in headers.items() if value is not None}


def told(answer):
    """Return the JSON-RPC message of an answer, which may be a stream of events."""
    assert answer.status_code == 200, (answer.status_code, answer.text)
    if not answer.headers["content-type"].startswith("text/event-stream"):
        return answer.json()
    data = [line.removeprefix("data:") for line in answer.text.splitlines() if line.startswith("data:")]
    return next(message for message in map(json.loads, filter(str.strip, data)) if "id" in message)


def start(*options, root, data, address="127.0.0.1:0", program=(), **popen):
    """Start a server and wait until it says where it is."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    words = ["serve", "--http", address, "--root", str(root), "--data-dir", str(data), *options]
    command = [*program, *words] if program else module(*words)
    options = {"env": environment, "stderr": subprocess.PIPE, "bufsize": 0} | popen
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **options)


@contextmanager
def served(*options, root, data, address="127.0.0.1:0", program=()):
    """Run a server while the block runs."""
    process = start(*options, root=root, data=data, address=address, program=program)
    notes, running = "", None
    try:
        while not ("http://" in notes and notes.endswith("\n")):
            ready, _, _ = select.select([process.stderr], [], [], 60)
            words = os.read(process.stderr.fileno(), 65536).decode() if ready else ""
            assert words, f"the server said only {notes!r}"
            notes += words
        url = next(word for word in notes.split() if word.startswith("http://"))
        running = Served(process, url, notes, Path(data))
        wait_until_healthy(running)
        yield running
    finally:
        for client in running.clients if running else ():
            client.close()
        if process.poll() is None:
            process.kill()
        process.wait(10)
        process.stderr.close()


def wait_until_healthy(running):
    for _ in range(600):
        try:
            if httpx2.get(f"{running.base}/healthz", trust_env=False).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError("the server does not answer")


def until(condition, seconds=30.0):
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it never came to that")
