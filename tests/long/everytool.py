"""One call of every tool, on a small workspace and a web site on loopback, and how to tell that each was answered."""

import io
import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from PIL import Image
from replies import reply_of

PAGE = """<!doctype html><html lang="en"><head><title>Purses</title></head><body><main><article><h1>Purses</h1>
<p>A bursar keeps the purse of a college and counts what comes in and what goes out of it, year after year.</p>
</article></main></body></html>"""

_STUB = str(Path(__file__).resolve().parents[1] / "support" / "mcp_stub.py")


@dataclass(frozen=True)
class Wanted:
    """A call, and what its answer has to contain.

    Attributes:
        label: column of the table.
        tool: its name.
        arguments: of the call; $ARTIFACT stands for the artifact of the call of `terminal` before.
        contains: part of the text of the reply.
        is_error: the call has to be refused.
    """

    label: str
    tool: str
    arguments: dict
    contains: str
    is_error: bool = False

    def met(self, text, is_error):
        """Tell whether an answer is what was wanted."""
        if is_error is None or is_error is not self.is_error or self.contains not in text:
            return False
        return self.is_error or isinstance(reply_of(text), dict)


def wanted(site, earlier):
    """Return one call of each tool, a reading of an artifact from an earlier process, and a refusal."""
    return [
        Wanted("web_fetch", "web_fetch", {"url": f"{site}/"}, "counts what comes in"),
        Wanted("read_file", "read_file", {"path": "notes.txt"}, "and bread"),
        Wanted("terminal", "terminal", {"command": "seq 1 20000"}, '"incomplete"'),
        Wanted("directory_tree", "directory_tree", {}, "notes.txt"),
        Wanted("download_image", "download_image", {"url": f"{site}/purse.png", "thumbnail": True}, "320"),
        Wanted("write_pdf", "write_pdf", {"content": "# Report\n\nAll is well."}, '"artifact"'),
        Wanted(
            "edit_file", "edit_file", {"path": "notes.txt", "old": "milk", "new": "milk"}, "nothing_to_change", True
        ),
        Wanted("read_artifact", "read_artifact", {"artifact": "$ARTIFACT", "lines": "19000-19001"}, "\n19000\n19001"),
        Wanted("earlier", "read_artifact", {"artifact": earlier}, "from before"),
        Wanted("full", "full__say", {"text": "heard in full"}, "heard in full"),
        Wanted("find_tool", "find_tool", {"query": "say something"}, "compact.say(text, times?:int=1)"),
        Wanted(
            "call_tool", "call_tool", {"tool": "compact.say", "arguments": {"text": "heard compact"}}, "heard compact"
        ),
        Wanted("call_read_tool", "call_read_tool", {"tool": "compact.count"}, "not_read_only", is_error=True),
        Wanted("refusal", "read_file", {"path": "/etc/hostname"}, "outside", is_error=True),
    ]


class _Site(BaseHTTPRequestHandler):
    def do_GET(self):
        kind, body = {"/": ("text/html", PAGE.encode()), "/purse.png": ("image/png", _picture())}.get(
            self.path, ("text/plain", b"")
        )
        self.send_response(200 if body else 404)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Say nothing."""


def _picture():
    data = io.BytesIO()
    Image.new("RGB", (320, 200), "teal").save(data, "PNG")
    return data.getvalue()


@contextmanager
def site():
    """Yield the address of a web site with a page and a picture."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def prepare(folder, address):
    """Make a workspace; return the options of a server on it, and the command that starts one."""
    (folder / "workspace").mkdir()
    (folder / "workspace" / "notes.txt").write_text("milk and bread\n")
    stub = {"command": sys.executable, "args": [_STUB]}
    servers = {
        "full": stub | {"bursar": {"show": "full", "only": ["say"]}},
        "compact": stub | {"bursar": {"show": "compact"}},
    }
    (folder / "behind.json").write_text(json.dumps({"mcpServers": servers}))
    options = ["--root", str(folder / "workspace"), "--data-dir", str(folder / "data")]
    options += ["--mcp", str(folder / "behind.json")]
    approve = [sys.executable, "-m", "bursar", "mcp", "approve", *servers, *options]
    subprocess.run(approve, stdout=subprocess.DEVNULL, check=True)
    return [*options, "--allow-net", address.removeprefix("http://")]


def earlier_artifact(options):
    """Make an artifact in a process of its own; return its reference."""
    command = [sys.executable, "-m", "bursar", "call", "terminal", "command=echo from before", *options]
    reply = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return reply_of(reply)["artifact"]
