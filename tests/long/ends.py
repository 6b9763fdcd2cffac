"""Signals and ends of input at random moments of heavy work: how soon the server has gone, and what it leaves.

    python tests/long/ends.py [ROUNDS]

Each round starts a server, on standard input and output or over HTTP, sends it hostile files, big outputs, searches
and PDFs at once, waits for up to three seconds and ends it. Then every process below it must have gone, and each
artifact that a reply named must be there with the size that the reply told.
"""

import contextlib
import ctypes
import itertools
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx2

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from replies import reply_of
from wire import module

BOUND_S = 2.0
VERSION = "2025-11-25"
CALLS = [
    ("read_file", {"path": "quotes.json"}),
    ("read_file", {"path": "rows.json"}),
    ("read_file", {"path": "table.csv"}),
    ("terminal", {"command": "seq 1 3000000"}),
    ("terminal", {"command": "yes | head -c 200000000; sleep 60"}),
    ("terminal", {"command": "setsid sleep 60 & sleep 60", "background": True}),
    ("write_pdf", {"path": "o.pdf", "overwrite": True, "content": "# T\n\n" + "word *and* words. " * 20_000}),
    ("directory_tree", {"path": "."}),
    ("read_file", {"path": "small.txt"}),
]
ADOPT = 36  # PR_SET_CHILD_SUBREAPER: whatever loses its parent comes to this process and can be counted


class Round:
    """One server, what it answered, and its end."""

    def __init__(self, folder, data, over_http):
        words = ["--root", str(folder), "--data-dir", str(data), "--patience-s", "20"]
        if over_http:
            words = ["serve", "--http", "127.0.0.1:0", "--no-auth", *words]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(module(*words), stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        self.data = data
        self.replies = []
        self._ids = itertools.count(1)
        self._send = self._over_http() if over_http else self._over_stdio()

    def _over_stdio(self):
        def send(message):
            with contextlib.suppress(OSError):
                self.process.stdin.write(json.dumps(message).encode() + b"\n")

        def listen():
            held = b""
            while part := os.read(self.process.stdout.fileno(), 1 << 20):
                *lines, held = (held + part).split(b"\n")
                self.replies += [json.loads(line) for line in lines]

        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        threading.Thread(target=listen, daemon=True).start()
        send(self._hello())
        while not self.replies:
            time.sleep(0.01)
        send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return send

    def _over_http(self):
        said = ""
        while "http://" not in said or not said.endswith("\n"):
            select.select([self.process.stderr], [], [])
            said += os.read(self.process.stderr.fileno(), 65536).decode()
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        url = next(word for word in said.split() if word.startswith("http://"))
        headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": VERSION}
        while True:
            with contextlib.suppress(httpx2.TransportError):
                hello = httpx2.post(url, json=self._hello(), headers=headers, trust_env=False)
                break
            time.sleep(0.02)
        headers["mcp-session-id"] = hello.headers["mcp-session-id"]

        def ask(message):
            with contextlib.suppress(httpx2.HTTPError, ValueError):
                answer = httpx2.post(url, json=message, headers=headers, trust_env=False, timeout=60)
                self.replies += [
                    json.loads(x[5:]) for x in answer.text.splitlines() if x.startswith("data:") and x[5:].strip()
                ]

        return lambda message: threading.Thread(target=ask, args=[message], daemon=True).start()

    def _hello(self):
        about = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "ends", "version": "1"}}
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": "initialize", "params": about}

    def work(self, seconds):
        """Send calls of every kind and let them run."""
        for tool, arguments in random.sample(CALLS, len(CALLS)):
            params = {"name": tool, "arguments": arguments}
            self._send({"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call", "params": params})
        time.sleep(seconds)

    def end(self, way):
        """End it; return how long that took, and whether anything below it went on for longer than the bound."""
        started = time.monotonic()
        if way == "end of input":
            self.process.stdin.close()
        else:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        took = time.monotonic() - started
        left = below()
        while left and time.monotonic() - started < BOUND_S:
            time.sleep(0.02)
            left = below()
        return took, left

    def lost(self):
        """Return the artifacts that a reply named and that are not there as it said."""
        found = []
        for message in self.replies:
            content = message.get("result", {}).get("content")
            if not content or message["result"].get("isError"):
                continue
            reply = reply_of(content[0]["text"])
            size = reply.get("size", {}).get("bytes")
            if size is None or reply.get("state") == "running":
                continue
            there = self.data.glob(f"bursar/*/{Path(reply['artifact']).name}")
            if all(path.stat().st_size != size for path in there):
                found.append(reply["artifact"])
        return found


def below():
    """Return what runs below this process, without what has ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, _, rest = entry.read_text().rpartition(")")
            state, parent = rest.split()[:2]
            if state != "Z" and int(parent) == os.getpid():
                found.append(name)
    return found


def main():
    """Run the rounds and print what came of them."""
    ctypes.CDLL(None).prctl(ADOPT, 1, 0, 0, 0)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    took, wrong, named = {}, [], 0
    with tempfile.TemporaryDirectory(prefix="bursar-ends-") as base:
        folder = Path(base, "work")
        folder.mkdir()
        (folder / "quotes.json").write_bytes(b'["' + b'\\"' * (9 << 20))
        (folder / "rows.json").write_bytes(b"[" + b"[1]\n" * 400_000)
        (folder / "table.csv").write_bytes(b"a,b\n" * 500_000)
        (folder / "small.txt").write_text("small\n")
        for number in range(rounds):
            over_http, way = number % 2 == 1, "end of input" if number % 4 == 0 else "SIGTERM"
            one = Round(folder, Path(base, f"data{number}"), over_http)
            one.work(random.random() * 3)
            seconds, left = one.end(way)
            lost, named = one.lost(), named + len(one.replies)
            took.setdefault(f"{'HTTP' if over_http else 'stdio'}, {way}", []).append(seconds)
            if seconds > BOUND_S or left or lost:
                wrong.append(f"round {number}: {seconds:.2f} s, left {left}, lost {lost}")
    for kind, seconds in took.items():
        seconds.sort()
        print(
            f"{kind:22} {len(seconds):4} times, median {seconds[len(seconds) // 2]:.2f} s, longest {seconds[-1]:.2f} s"
        )
    print(
        f"{named} replies; "
        + ("; ".join(wrong) if wrong else "nothing was lost, nothing was left, none took longer than 2 s")
    )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
