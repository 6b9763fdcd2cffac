"""`bursar mcp`: other MCP servers behind this one, listed, added, looked at and approved by their user."""

import argparse
import json
import os
import sys
import tomllib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from ..artifacts import Session
from ..errors import BursarError
from ..gateway.definition import Definition
from ..gateway.gateway import Gateway, pinned
from ..gateway.pins import Pinned, Pins, changes
from ..gateway.signature import signature
from ..gateway.untyped import mapping
from ..gateway.upstream import KEYS, load, parsed
from ..guard.net import AllowNet, Net, NetSettings
from ..guard.workers import Workers
from ..install.clients import CLIENTS
from . import log
from .behind import directory, gateway_of, states
from .bootstrap import store_of
from .cli_parser import Parser, add_settings, loaded
from .config import Settings

_EPILOG = """\
  list                            the servers, what is approved of each, and what their lists cost
  add NAME -- COMMAND [ARGUMENT ...], or add NAME URL
                                  enter a server
  import CLIENT                   enter the servers that a client has
  review [NAME ...]               start servers, and show what they offer otherwise than approved
  approve NAME ...                approve what they offer now
  call SERVER.TOOL [NAME=TEXT | NAME:=JSON ...]
                                  call a tool, as a model would

The configuration is the one that --mcp names, or ~/.config/bursar/mcp.json; a server uses it if it is started with
--mcp FILE.
"""

_SEARCHING = ("claude-code", "codex")
"""Clients that look tools up themselves: listed in full, each costs them its name only."""


def run(words: Sequence[str]) -> int:
    """Run `bursar mcp`.

    Returns:
        0, or 1 if a server could not be looked at, offers otherwise than approved, or answered with an error.

    Raises:
        BursarError: bad_command_line, bad_setting, read_failed, store_failed.
    """
    at = words.index("--") if "--" in words else len(words)
    given = vars(_parser().parse_intermixed_args(words[1:at]))
    action, rest = given.pop("action"), given.pop("words")
    settings = loaded(given)
    usual = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "bursar" / "mcp.json"
    files = settings.mcp or (usual,)
    if action == "add":
        return _add(files[0], rest, list(words[at + 1 :]))
    if action == "import":
        return _import(files[0], rest)
    if not settings.mcp and not usual.exists():
        fix = "Enter a server with `bursar mcp add NAME -- COMMAND ARGUMENT ...`, or name a configuration with --mcp"
        raise BursarError("bad_command_line", f"there is no configuration yet in {usual}", fix)
    settings = replace(settings, mcp=files)
    log.mute()
    if action == "list":
        return _list(settings)
    if action == "call":
        return _call(settings, rest)
    return anyio.run(_looked_at, settings, rest, action == "approve")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="bursar mcp",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("action", choices=["list", "add", "import", "review", "approve", "call"])
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    add_settings(parser)
    return parser


def _list(settings: Settings) -> int:
    failed = 0
    for name, state, fault in states(settings):
        sys.stdout.write(f"{name:20} {fault or state}\n")
        failed |= bool(fault)
    return failed


def _add(file: Path, words: Sequence[str], command: Sequence[str]) -> int:
    if not words or (len(words) > 1) == bool(command) or len(words) > 2:
        fix = "Write `bursar mcp add NAME -- COMMAND ARGUMENT ...` or `bursar mcp add NAME URL`"
        raise BursarError("bad_command_line", "`bursar mcp add` takes a name, and a command or an address", fix)
    entry = {"command": command[0], "args": list(command[1:])} if command else {"url": words[1]}
    _enter(file, {words[0]: entry})
    return 0


def _import(file: Path, words: Sequence[str]) -> int:
    if len(words) != 1 or words[0] not in CLIENTS:
        raise BursarError("bad_command_line", "`bursar mcp import` takes a client", f"Name one: {', '.join(CLIENTS)}")
    client = CLIENTS[words[0]]
    place, source = client.place, client.file()
    if place.form == "yaml" or place.is_list:
        what = f"the configuration of {client.title} is YAML, which is not read here"
        raise BursarError("bad_command_line", what, "Enter its servers with `bursar mcp add`")
    try:
        raw = source.read_bytes()
        told: object = tomllib.loads(raw.decode()) if place.form == "toml" else parsed(raw, source)
    except (OSError, ValueError) as error:
        raise BursarError("read_failed", f"{source} cannot be read: {error}", "See that it exists") from error
    for key in place.keys:
        told = mapping(told).get(key)
    own = {"bursar": {"show": "full"}} if client.name in _SEARCHING else {}
    entries = {name: _understood(mapping(entry)) | own for name, entry in mapping(told).items() if name != "bursar"}
    if not entries:
        raise BursarError("bad_command_line", f"{client.title} has no other server in {source}", "Name another client")
    _enter(file, entries)
    sys.stdout.write(f"Take them out of {source} once bursar offers them, or their tools are listed twice.\n")
    return 0


def _understood(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of a client as this server writes it."""
    made = {key: entry[key] for key in ("command", "args", "env", "cwd", "url", "headers") if entry.get(key)}
    if isinstance(made.get("command"), list):  # opencode has all words in one list
        made["command"], made["args"] = made["command"][0], made["command"][1:]
    if environment := entry.get("environment"):
        made["env"] = environment
    return made


def _enter(file: Path, entries: Mapping[str, Any]) -> None:
    """Write servers into the configuration.

    Raises:
        BursarError: bad_setting, store_failed.
    """
    held: dict[str, Any] = parsed(file.read_bytes(), file) if file.exists() else {KEYS[0]: {}}
    key = next((key for key in KEYS if key in held), KEYS[0])
    held[key] = {**mapping(held.get(key)), **entries}
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as made:
            made.write(json.dumps(held, indent=2, ensure_ascii=False) + "\n")
        load([temporary])
        temporary.replace(file)
    except OSError as error:
        raise BursarError(
            "store_failed", f"{file} cannot be written: {error.strerror}", "Name another with --mcp"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
    sys.stdout.write(f"{', '.join(entries)}: entered in {file}\n")
    sys.stdout.write(f"Start bursar with --mcp {file}; `bursar mcp review` shows what they offer.\n")


async def _looked_at(settings: Settings, names: Sequence[str], approves: bool) -> int:
    async with _opened(settings) as (gateway, session):
        servers = {offered.upstream.name: offered.upstream for offered in gateway.servers}
        if unknown := [name for name in names if name not in servers]:
            raise BursarError(
                "bad_command_line", f"there is no server {unknown[0]!r}", f"Name one: {', '.join(servers)}"
            )
        if approves and not names:
            raise BursarError("bad_command_line", "`bursar mcp approve` names no server", "Name those to approve")
        pins, failed = Pins(directory(settings)), 0
        for name in names or servers:
            try:
                async with gateway.children.child(servers[name], session) as child:
                    live = pinned(servers[name], await child.tools(), is_approved=True)
                    lines, first = child.noise
            except BursarError as error:
                sys.stdout.write(f"{name}: {error}\n")
                failed = 1
                continue
            if lines:
                sys.stdout.write(f"{name}: {lines} lines that are no messages, such as {first!r}\n")
            differs = _tell(name, pins.load(servers[name]), live)
            if approves:
                pins.keep(servers[name], live)
                sys.stdout.write(
                    f"{name}: approved, {len(live.definitions)} tools; restart bursar to have them listed\n"
                )
            else:
                failed |= differs
    return failed


def _tell(name: str, approved: Pinned | None, live: Pinned) -> int:
    """Print what a server offers otherwise than approved; return 1 if that is anything."""
    if approved is None or not approved.is_approved:
        sys.stdout.write(f"{name}: {len(live.definitions)} tools, none approved\n")
        for definition in live.definitions.values():
            sys.stdout.write(f"  {_line(definition)}\n")
        sys.stdout.write(f"  `bursar mcp approve {name}` approves them.\n")
        return 1
    found = list(changes(approved, live))
    sys.stdout.write(f"{name}: {len(live.definitions)} tools, {'as approved' if not found else 'changed:'}\n")
    for tool, kind, words in found:
        sys.stdout.write(f"  {kind}: {tool}: {words}\n")
        for which, definition in (("was", approved.definitions.get(tool)), ("is", live.definitions.get(tool))):
            if definition is not None:
                sys.stdout.write(f"    {which}: {_line(definition)}\n")
    hidden = len(live.sent) - len(live.definitions)
    if hidden:
        sys.stdout.write(
            f"  {hidden} more are not offered: their names or arguments hide characters, or are no names\n"
        )
    return int(bool(found))


def _line(definition: Definition) -> str:
    said = " ".join(definition.description.split())
    return f"{signature(definition).text} - {said[:300]}{'…' if len(said) > 300 else ''}"


def _call(settings: Settings, words: Sequence[str]) -> int:
    if not words:
        raise BursarError("bad_command_line", "`bursar mcp call` names no tool", "Name one as SERVER.TOOL")
    from .cli_call import argument, call_once

    given = dict(argument(word) for word in words[1:])
    return call_once(replace(settings, mcp_tokens=1), "call_tool", {"tool": words[0], "arguments": given})


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncGenerator[tuple[Gateway, Session]]:
    """Yield the servers, and a session to start them for."""
    store = store_of(settings)
    session = store.create("local:review")
    net = Net(NetSettings(allow=AllowNet.parse(settings.allow_net), proxy=settings.proxy or None))
    async with Workers(hidden=[settings.data_dir]) as workers:
        gateway = gateway_of(settings, net, workers)
        try:
            yield gateway, session
        finally:
            await gateway.close()
            session.close()
            store.remove(session.handle, session.owner)
