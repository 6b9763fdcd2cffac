"""The servers that bursar is compared with, from their registries by pinned version, and how each is asked the same."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

NODE = "node@22.23.3"
"""context-mode refuses older ones."""

NPM = (
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@wonderwhy-er/desktop-commander@0.2.52",
    "context-mode@1.0.169",
)
PYPI = ("mcp-server-fetch==2026.10.24",)

Call = tuple[str, dict[str, Any]]
Look = Callable[[str], Call]


@dataclass(frozen=True)
class Server:
    """A server, and which of its calls does what.

    Attributes:
        command: given where it was installed, the directory to serve and one for its data, what starts it.
        small: the cheapest call that reads 100 bytes, of a file or, where that is all it can, of an address.
        looks: a plain first call for a file, a command, a tree or a page, by that word.
        search: the lines of a file, or of a page, that contain a text: the file or address, and the text.
    """

    name: str
    command: Callable[[Path, Path, Path], list[str]]
    small: Look
    looks: Mapping[str, Look] = field(default_factory=dict)
    search: Callable[[str, str], Call] | None = None


def grep(path: str, text: str) -> str:
    """Return the command by which any shell finds the lines of a file that contain a text."""
    return f"grep -nF -m 20 -e {quote(text)} {quote(path)}"


def bare(place: Path, root: Path, data: Path) -> list[str]:
    return [sys.executable, str(Path(__file__).with_name("bare_server.py"))]


def bursar(place: Path, root: Path, data: Path) -> list[str]:
    return [sys.executable, "-m", "bursar", "--root", str(root), "--data-dir", str(data), "--allow-net", "127.0.0.1"]


SERVERS = (
    Server("bare SDK server", bare, small=lambda _: ("echo", {"text": "x" * 100})),
    Server(
        "bursar",
        bursar,
        small=lambda path: ("read_file", {"path": path}),
        looks={
            "file": lambda path: ("read_file", {"path": path}),
            "command": lambda command: ("terminal", {"command": command}),
            "tree": lambda path: ("directory_tree", {"path": path}),
            "page": lambda url: ("web_fetch", {"url": url}),
        },
        search=lambda place, text: (
            ("web_fetch", {"url": place, "grep": text})
            if place.startswith("http:")
            else ("read_file", {"path": place, "grep": text})
        ),
    ),
    Server(
        "server-filesystem",
        lambda place, root, data: [str(place / "node_modules/.bin/mcp-server-filesystem"), str(root)],
        small=lambda path: ("read_text_file", {"path": path}),
        looks={
            "file": lambda path: ("read_text_file", {"path": path}),
            "tree": lambda path: ("directory_tree", {"path": path}),
        },
    ),
    Server(
        "Desktop Commander",
        lambda place, root, data: [str(place / "node_modules/.bin/desktop-commander")],
        small=lambda path: ("read_file", {"path": path}),
        looks={
            "file": lambda path: ("read_file", {"path": path}),
            "command": lambda command: ("start_process", {"command": command, "timeout_ms": 30_000}),
            "tree": lambda path: ("list_directory", {"path": path}),
            "page": lambda url: ("read_file", {"path": url, "isUrl": True}),
        },
        search=lambda path, text: ("start_process", {"command": grep(path, text), "timeout_ms": 30_000}),
    ),
    Server(
        "context-mode",
        lambda place, root, data: [str(place / "node_modules/.bin/context-mode")],
        small=lambda path: ("ctx_execute", {"language": "shell", "code": f"cat {quote(path)}"}),
        looks={
            "file": lambda path: ("ctx_index", {"path": path, "source": path}),
            "command": lambda command: ("ctx_execute", {"language": "shell", "code": command, "intent": "what failed"}),
            "tree": lambda path: ("ctx_execute", {"language": "shell", "code": f"find {quote(path)}"}),
            "page": lambda url: ("ctx_fetch_and_index", {"url": url, "source": url}),
        },
        search=lambda path, text: ("ctx_execute", {"language": "shell", "code": grep(path, text)}),
    ),
    Server(
        "mcp-server-fetch",
        lambda place, root, data: [
            *(str(place / "python/bin/mcp-server-fetch"), "--ignore-robots-txt", "--allow-private-ips")
        ],
        small=lambda url: ("fetch", {"url": url}),
        looks={"page": lambda url: ("fetch", {"url": url})},
    ),
)


def environment(place: Path, home: Path) -> dict[str, str]:
    """Return the environment for all of them: a home of their own, and the Node that was installed."""
    mine = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return mine | {"HOME": str(home), "PATH": f"{place / 'node_modules/node/bin'}{os.pathsep}{os.environ['PATH']}"}


def install(place: Path) -> None:
    """Fetch what is not there yet; what a registry does not give is told, and left out of the comparison."""
    place.mkdir(parents=True, exist_ok=True)
    npm = ["npm", "install", "--no-fund", "--no-audit", "--silent", "--prefix", str(place)]
    if not (place / "node_modules/.bin/context-mode").exists():
        quiet = environment(place, Path.home()) | {"PUPPETEER_SKIP_DOWNLOAD": "1"}
        # By itself first: what is installed after it looks at which Node runs.
        for packages in ((NODE,), NPM):
            subprocess.run([*npm, *packages], env=quiet, check=False)
    if not (place / "python/bin/mcp-server-fetch").exists():
        subprocess.run(["uv", "venv", "--quiet", "--clear", str(place / "python")], check=True)
        target = ["--python", str(place / "python/bin/python")]
        subprocess.run(["uv", "pip", "install", "--quiet", *target, *PYPI], check=False)
