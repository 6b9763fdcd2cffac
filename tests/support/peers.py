"""A real server process over HTTP and those who talk to it, of either era, as they or an enemy would."""

import itertools
import json
import os
import select
import subprocess
import time
from contextlib import contextmanager

import httpx2
from replies import reply_of
from wire import module

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
_ACCEPT = {"accept": "application/json, text/event-stream"}
_ids = itertools.count(1)


class Peer:
    """Somebody with a token or without."""

    def __init__(self, url, token=""):
        self.url = url
        self.base = url.removesuffix("/mcp")
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self.http = httpx2.Client(headers=headers, timeout=60, trust_env=False)
        self.transport_session = ""

    def post(self, body, headers):
        sent = {name: value for name, value in headers.items() if value}
        return self.http.post(self.url, json=body, headers=_ACCEPT | sent)

    def modern(self, method, params=None, headers=None, number=0):
        """Send a request of the stateless era."""
        given = dict(params or {})
        given["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "peer", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        } | given.get("_meta", {})
        routing = {"mcp-protocol-version": MODERN, "mcp-method": method}
        if name := given.get("name") or given.get("uri"):
            routing["mcp-name"] = name
        body = {"jsonrpc": "2.0", "id": number or next(_ids), "method": method, "params": given}
        return self.post(body, routing | (headers or {}))

    def handshake(self):
        """Open a session of the handshake era."""
        about = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "peer", "version": "1"}}
        answer = self.post({"jsonrpc": "2.0", "id": next(_ids), "method": "initialize", "params": about}, {})
        assert answer.status_code == 200, answer.text
        self.transport_session = answer.headers["mcp-session-id"]
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, self.routing())
        return self

    def routing(self):
        return {"mcp-session-id": self.transport_session, "mcp-protocol-version": HANDSHAKE}

    def old(self, method, params=None, headers=None, number=0):
        """Send a request of the handshake era."""
        body = {"jsonrpc": "2.0", "id": number or next(_ids), "method": method, "params": params or {}}
        return self.post(body, self.routing() | (headers or {}))

    def request(self, method, params=None):
        return (self.old if self.transport_session else self.modern)(method, params)

    def call(self, tool, /, meta=None, **arguments):
        """Call a tool; return its words and whether they are a refusal."""
        params = {"name": tool, "arguments": arguments} | ({"_meta": meta} if meta else {})
        message = told(self.request("tools/call", params))
        if "result" not in message:
            return json.dumps(message), True
        return message["result"]["content"][0]["text"], message["result"].get("isError", False)

    def done(self, tool, /, **arguments):
        """Call a tool that succeeds; return its reply."""
        text, is_error = self.call(tool, **arguments)
        assert not is_error, text
        return reply_of(text)


def told(answer):
    """Return the JSON-RPC message of an answer, which may be a stream of events."""
    if not answer.headers.get("content-type", "").startswith("text/event-stream"):
        try:
            return answer.json()
        except ValueError:
            return {"status": answer.status_code, "text": answer.text}
    data = [line.removeprefix("data:") for line in answer.text.splitlines() if line.startswith("data:")]
    return next(message for message in map(json.loads, filter(str.strip, data)) if "id" in message)


@contextmanager
def serving(*options, before=(), env=None, cwd=None):
    """Run a server while the block runs; yield its process and its address.

    Args:
        before: arguments of a program that becomes the server.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [*before, *module("serve", "--http", "127.0.0.1:0", *options)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment | (env or {}),
        cwd=cwd,
    )
    try:
        url = _address(process)
        _wait_until_healthy(url)
        yield process, url
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        process.stderr.close()


def _address(process):
    notes = ""
    while True:
        ready, _, _ = select.select([process.stderr], [], [], 60)
        words = os.read(process.stderr.fileno(), 65536).decode() if ready else ""
        if not words:
            raise AssertionError(f"the server said only {notes!r}")
        notes += words
        if "http://" in notes and notes.endswith("\n"):
            return next(word for word in notes.split() if word.startswith("http://"))


def _wait_until_healthy(url):
    health = url.removesuffix("/mcp") + "/healthz"
    for _ in range(600):
        try:
            if httpx2.get(health, trust_env=False).status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError("the server does not answer")


def token_file(place, *names):
    """Write a file that lists a token for each name; return the tokens."""
    from bursar.server.http.tokens import fresh_token

    made = [fresh_token(name) for name in names]
    place.write_text("".join(f"{line}\n" for _, line in made))
    place.chmod(0o600)
    return [token for token, _ in made]
