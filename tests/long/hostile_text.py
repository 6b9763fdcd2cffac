"""Texts made to be slow, through every tool, while somebody else asks the server whether it is there.

    python tests/long/hostile_text.py [--every N] [--redact off|shown|stored]

Runs of each sign, pairs and beginnings of every format, 1 MB long, are read, fetched, printed, searched, paged, listed
and set as PDFs by one session over HTTP; another asks for `/healthz` every 50 ms. Printed are, for each way, the
longest that the other waited, the longest call, and what was not answered.
"""

import argparse
import http.server
import itertools
import json
import multiprocessing
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import ClassVar

import httpx2

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from replies import reply_of
from wire import module

EVERY_S = 0.05
PATIENCE_S = 60
VERSION = "2026-07-28"
SIGNS = [
    *"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ a1\t\r",
    *(
        "é",
        "中",
        "🙂",
        "👩‍👩‍👧‍👦",
        "a\u0301\u0327\u0316",
        "\u202e",
        "\u200d",
        "\x1b[31m",
        "\x9b",
        "\U000e0041",
        "\x00",
        "😀\n",
    ),
]
PIECES = [
    *(
        '\\"',
        '{"a":1},',
        "[{}],",
        "[1]\n",
        "{}\n",
        '"a\n",',
        "a,b\n",
        "1,\n",
        "<a>",
        "<!--",
        "</",
        "&#x",
        "## x\n",
        "[a](b)",
    ),
    *(
        "](",
        "![",
        "\\[",
        "**`",
        "- a: b\n",
        "  - ",
        "ERROR \n",
        "0 errors ",
        "2024-01-01 00:00:00 x\n",
        "+ a\n",
        "@@ -1 +1 @@\n",
    ),
    *("\u0301\u0316", "a7 ", "... [truncated]\n"),
    *("def f():\n", "password=", "ghp_", "-----BEGIN ", "\\*omitted", '"omitted":"', "|a|b\n", "\r\n", "\n"),
]
OPENINGS = [
    "",
    "[",
    '{"a":"',
    '["',
    "a,b,c\n1,2,3\n1,2,3\n",
    "diff --git a/a b/a\n",
    "# T\n",
    "<html><body>",
    "%PDF-1.7\n",
]
ARGUMENTS = {
    ("read_file", "path"): {},
    ("read_file", "grep"): {"path": "note.txt"},
    ("read_file", "lines"): {"path": "note.txt"},
    ("read_file", "sql"): {"path": "note.txt"},
    ("web_fetch", "url"): {},
    ("download_image", "url"): {},
    ("directory_tree", "path"): {},
    ("terminal", "command"): {},
    ("terminal", "cwd"): {"command": "true"},
    ("terminal", "input"): {"command": "cat > /dev/null"},
    ("write_pdf", "path"): {"content": "# T"},
    ("write_pdf", "title"): {"content": "# T"},
    ("edit_file", "path"): {"old": "a", "new": "b"},
    ("edit_file", "old"): {"path": "note.txt", "new": "b"},
    ("edit_file", "new"): {"path": "note.txt", "all": True},
    ("edit_file", "sql"): {"path": "saved.csv", "all": True},
    ("read_artifact", "artifact"): {},
    ("read_artifact", "search"): {},
    ("read_artifact", "sql"): {},
}
"""Arguments that are texts, and what else their calls need."""

ARGUMENT_BYTES = 400_000
"""Of the 4 MB that a body may have; JSON may take six for one."""

SUFFIXES = ["json", "jsonl", "csv", "md", "log", "py", "html", "yaml", "diff", "txt"]


class Site(http.server.BaseHTTPRequestHandler):
    """A server whose pages, feeds, rules, headers and redirects are hostile; the text is the query's number."""

    texts: ClassVar[list[bytes]] = []
    rules = b"User-agent: *\n" + (b"Disallow: /*" + b"a" * 45 + b"b" + b"a" * 44 + b"\n") * 4900

    def do_GET(self):
        path, _, number = self.path.partition("?")
        text = self.texts[int(number or 0)] if number.isdigit() else b""
        headers = {"content-type": "text/html; charset=utf-8"}
        status, body = 200, b"<html><title>x</title><body><article><h1>T</h1><p>" + text + b"</p><h2>" + text[:200_000]
        if path == "/robots.txt":
            body = self.rules
        elif path.startswith("/feed"):
            headers["content-type"] = "application/rss+xml"
            body = b"<rss><channel><item><title>" + text + b"</title></item></channel></rss>"
        elif path.startswith("/text"):
            headers["content-type"], body = "text/plain", text
        elif path.startswith("/json"):
            headers["content-type"], body = "application/json", text
        elif path.startswith("/header"):
            shown = text[:6000].replace(b"\n", b" ").replace(b"\r", b" ").replace(b"\x00", b" ").decode("latin-1")
            headers |= {"x-long": shown, "etag": shown, "content-type": f"text/html; charset={shown}"}
        elif path.startswith("/to"):
            status, headers["location"], body = 302, "/to" + "a" * 7000 + f"/{len(self.path)}", b""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


class Other:
    """Somebody who asks every 50 ms, and remembers the longest wait since it was last asked for.

    It is a process of its own: what is measured is the server, not how busy this one is.
    """

    def __init__(self, base):
        context = multiprocessing.get_context("spawn")
        self._longest = context.Value("d", 0.0)
        self._process = context.Process(target=ask, args=(base, self._longest), daemon=True)
        self._process.start()

    def end(self):
        """Let it ask no more."""
        self._process.kill()
        self._process.join()

    def longest(self):
        """Return the longest wait since this was last called, in seconds, and forget it."""
        with self._longest.get_lock():
            longest, self._longest.value = self._longest.value, 0.0
        return longest


def ask(base, longest):
    """Ask the server whether it is there, until it no longer is."""
    with httpx2.Client(trust_env=False, timeout=120) as http_client:
        while True:
            started = time.monotonic()
            http_client.get(f"{base}/healthz").raise_for_status()
            with longest.get_lock():
                longest.value = max(longest.value, time.monotonic() - started)
            time.sleep(EVERY_S)


class User:
    """Calls tools in one session, without a connection of its own."""

    def __init__(self, base):
        self._url = f"{base}/mcp"
        self._http = httpx2.Client(trust_env=False, timeout=PATIENCE_S + 30)
        self._ids = itertools.count(1)
        self.session = None

    def call(self, tool, **arguments):
        if self.session:
            arguments["session"] = self.session
        about = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "hostile-text", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": tool, "arguments": arguments, "_meta": about}
        body = {"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call", "params": params}
        headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": VERSION}
        headers |= {"mcp-method": "tools/call", "mcp-name": tool}
        answer = self._http.post(self._url, json=body, headers=headers)
        lines = [line.removeprefix("data:") for line in answer.text.splitlines() if line.startswith("data:")]
        message = next((m for m in map(json.loads, filter(str.strip, lines)) if "id" in m), None) or answer.json()
        result = message["result"]
        text = result["content"][0]["text"]
        if not result.get("isError"):
            reply = reply_of(text)
            reference = reply.get("artifact") or next(
                (p["artifact"] for p in reply.get("parts", ()) if "artifact" in p), ""
            )
            self.session = self.session or reference.partition("/")[0] or None
            return reference
        if text.startswith(("internal_error", "timeout")):
            raise AssertionError(text[:200])
        return ""


def texts(length, every):
    """Return one of so many texts: runs, pieces behind openings."""
    made = [(opening + piece * (length // len(piece.encode()))) for piece in SIGNS + PIECES for opening in OPENINGS]
    return [text.encode() for text in made[::every]]


def ways(user, folder, made):
    """Yield each way of a text through the server: its name, and a call of one text by its number."""

    def read(suffix):
        def way(number):
            place = folder / f"x.{suffix}"
            place.write_bytes(made[number])
            user.call("read_file", path=place.name)

        return way

    for suffix in SUFFIXES:
        yield f"read_file .{suffix}", read(suffix)
    for kind in ("page", "feed", "text", "json", "header", "to" + "a" * 7000):
        yield f"web_fetch {kind[:6]}", lambda n, kind=kind: user.call("web_fetch", url=f"{SITE}/{kind}?{n}")

    kinds = ("page", "feed", "json", "text")
    yield "web_fetch list", lambda n: user.call("web_fetch", url=[f"{SITE}/{kind}?{n}" for kind in kinds])

    def page(number):
        (folder / "p.txt").write_bytes(made[number])
        artifact = user.call("terminal", command="cat p.txt")
        if artifact:
            user.call("read_artifact", artifact=artifact, lines="1-400")
            user.call("read_artifact", artifact=artifact, grep="(a|b)*c|omitted")
            user.call("read_artifact", artifact=artifact, bytes="1000-60000")

    yield "terminal and read_artifact", page
    yield (
        "write_pdf content",
        lambda n: user.call("write_pdf", path="o.pdf", overwrite=True, content=made[n].decode()[:300_000]),
    )

    def tree(number):
        (folder / "t").mkdir(exist_ok=True)
        (folder / "t" / ".gitignore").write_bytes(made[number][:250_000])
        name = made[number][:80].decode("utf-8", "ignore").replace("/", "_").replace("\0", "_") or "x"
        (folder / "t" / name).touch()
        user.call("directory_tree", path="t")

    yield "directory_tree .gitignore", tree

    (folder / "note.txt").write_text("a\n")
    for (tool, name), others in ARGUMENTS.items():
        yield (
            f"{tool} {name}=",
            lambda n, tool=tool, name=name, others=others: user.call(
                tool, **others, **{name: made[n][:ARGUMENT_BYTES].decode("utf-8", "ignore")}
            ),
        )

    def printed(number):
        (folder / "x.md").write_bytes(b"![](" + made[number][:ARGUMENT_BYTES] + b")\n")
        if artifact := user.call("read_file", path="x.md"):
            user.call("write_pdf", artifact=artifact, path="o.pdf", overwrite=True)

    yield "write_pdf picture", printed


SITE = ""


def main():
    """Run it and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1, help="send one of so many texts")
    parser.add_argument("--redact", default="shown")
    parser.add_argument("--only", default="", help="ways whose name begins so")
    parser.add_argument("--bytes", type=int, default=1_000_000)
    options = parser.parse_args()
    made = texts(options.bytes, options.every)
    Site.texts = made
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    global SITE
    SITE = f"http://127.0.0.1:{site.server_port}"
    with tempfile.TemporaryDirectory(prefix="bursar-hostile-") as base:
        folder = Path(base, "work")
        folder.mkdir()
        given = ["--no-auth", "--patience-s", str(PATIENCE_S), "--allow-net", f"127.0.0.1:{site.server_port}"]
        words = ["serve", "--http", "127.0.0.1:0", "--root", str(folder), "--data-dir", f"{base}/data", *given]
        server = subprocess.Popen(module(*words, "--redact", options.redact), stderr=subprocess.PIPE, bufsize=0)
        said = ""
        while "http://" not in said or not said.endswith("\n"):
            select.select([server.stderr], [], [])
            said += os.read(server.stderr.fileno(), 65536).decode()
        threading.Thread(target=server.stderr.read, daemon=True).start()
        url = next(word for word in said.split() if word.startswith("http://"))
        try:
            measure(url.removesuffix("/mcp"), folder, made, options.only)
        finally:
            server.terminate()
            started = time.monotonic()
            server.wait(30)
            print(f"the server ended {time.monotonic() - started:.2f} s after SIGTERM")


def measure(base, folder, made, only):
    """Send every text every way."""
    other, user = Other(base), User(base)
    try:
        user.call("read_artifact")
        time.sleep(2)
        other.longest()
        time.sleep(5)
        said = f"alone the other waits {other.longest() * 1000:.0f} ms at most"
        print(f"{len(made)} texts of {len(made[0]):,} bytes; {said}", flush=True)
        print(f"{'way':28} {'other waits':>12} {'longest call':>13}  worst text, not answered", flush=True)
        overall = max(sent(name, way, made, other) for name, way in ways(user, folder, made) if name.startswith(only))
    finally:
        other.end()
    print(f"the longest wait of the other: {overall * 1000:.0f} ms")


def sent(name, way, made, other):
    """Send every text one way, print how long that took; return the longest wait of the other."""
    worst, longest, worst_text, failures = 0.0, 0.0, b"", []
    for number, text in enumerate(made):
        started = time.monotonic()
        try:
            way(number)
        except Exception as error:
            failures.append(f"{text[:12]!r}: {type(error).__name__} {str(error)[:80]}")
        longest = max(longest, time.monotonic() - started)
        if (waited := other.longest()) > worst:
            worst, worst_text = waited, text[:16]
    print(f"{name:28} {worst * 1000:9.0f} ms {longest:11.2f} s  {worst_text!r} {'; '.join(failures[:3])}", flush=True)
    return worst


if __name__ == "__main__":
    main()
