"""The clients that bursar can be entered for: where each keeps its configuration, and the form of an entry in it."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .edit import Place

Entry = dict[str, Any]

WORKSPACE = "${workspaceFolder}"
"""Replaced by some editors with the directory that is open."""

HERE = "."
"""Clients in a terminal start their servers where they were started."""


@dataclass(frozen=True, slots=True)
class Client:
    """One program that speaks to MCP servers.

    Attributes:
        name: as people write it on the command line.
        title: as it calls itself.
        files: where its configuration may lie, relative to the places of `_places`; the first that is there counts,
            but where a variable says it, if it is set.
        place: where that has its servers.
        root: the directory that it means by itself; empty if it has none, so that one must be named.
        entry: makes the entry of a server from its command and arguments.
    """

    name: str
    title: str
    files: tuple[str, ...]
    place: Place
    root: str
    entry: Callable[[str, Sequence[str]], Entry]

    def file(self) -> Path:
        """Return the configuration, or where it would be made."""
        told = [path for text in self.files if text.startswith("$") and (path := _path(text)) is not None]
        candidates = told or [path for path in map(_path, self.files) if path is not None]
        there = next((path for path in candidates if path.exists()), None)
        return there or next((path for path in candidates if path.parent.is_dir()), candidates[0])

    @property
    def is_here(self) -> bool:
        """Whether it was ever used by this user: its directory is there."""
        file = self.file()
        return file.exists() or (file.parent.is_dir() and file.parent != Path.home())


def _plain(command: str, arguments: Sequence[str]) -> Entry:
    return {"command": command, "args": list(arguments)}


def _typed(command: str, arguments: Sequence[str]) -> Entry:
    return {"type": "stdio"} | _plain(command, arguments)


def _opencode(command: str, arguments: Sequence[str]) -> Entry:
    return {"type": "local", "command": [command, *arguments], "enabled": True}


def _codex(command: str, arguments: Sequence[str]) -> Entry:
    """Else it leaves a server out that is not ready within a second, without a word."""
    return _plain(command, arguments) | {"required": True}


def _goose(command: str, arguments: Sequence[str]) -> Entry:
    given = {"name": "bursar", "type": "stdio", "cmd": command, "args": list(arguments)}
    return given | {"enabled": True, "timeout": 300}


def _continue(command: str, arguments: Sequence[str]) -> Entry:
    return {"name": "bursar"} | _plain(command, arguments)


_JSON = Place("json", ("mcpServers",))
_COMMENTED = Place("jsonc", ("mcpServers",))

_CODEX = ("$CODEX_HOME/config.toml", "HOME/.codex/config.toml")
_OPENCODE = ("XDG/opencode/opencode.json", "XDG/opencode/opencode.jsonc")
_CLINE = (
    "$CLINE_MCP_SETTINGS_PATH",
    "CONFIG/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    "HOME/.cline/data/settings/cline_mcp_settings.json",
)

CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client("claude-desktop", "Claude Desktop", ("CONFIG/Claude/claude_desktop_config.json",), _JSON, "", _plain),
        Client(
            "claude-code", "Claude Code", ("$CLAUDE_CONFIG_DIR/.claude.json", "HOME/.claude.json"), _JSON, HERE, _typed
        ),
        Client("cursor", "Cursor", ("HOME/.cursor/mcp.json",), _COMMENTED, WORKSPACE, _plain),
        Client("vscode", "VS Code", ("CONFIG/Code/User/mcp.json",), Place("jsonc", ("servers",)), WORKSPACE, _typed),
        Client("windsurf", "Windsurf", ("HOME/.codeium/windsurf/mcp_config.json",), _JSON, "", _plain),
        Client("zed", "Zed", ("ZED/settings.json",), Place("jsonc", ("context_servers",)), HERE, _plain),
        Client("codex", "Codex", _CODEX, Place("toml", ("mcp_servers",)), HERE, _codex),
        Client("gemini", "Gemini CLI", ("HOME/.gemini/settings.json",), _COMMENTED, HERE, _plain),
        Client("opencode", "opencode", _OPENCODE, Place("jsonc", ("mcp",)), HERE, _opencode),
        Client("goose", "Goose", ("GOOSE/config.yaml",), Place("yaml", ("extensions",)), HERE, _goose),
        Client("cline", "Cline", _CLINE, _JSON, "", _plain),
        Client(
            "continue",
            "Continue",
            ("HOME/.continue/config.yaml",),
            Place("yaml", ("mcpServers",), is_list=True),
            "",
            _continue,
        ),
    )
}
"""From their documentation and from guides to them, read in November 2026; docs/clients.md says which were tried."""


def _path(text: str) -> Path | None:
    """Return where something lies on this system; None if that hangs on a variable that is not set."""
    first, _, rest = text.partition("/")
    if first.startswith("$"):
        place = os.environ.get(first[1:])
        return Path(place, rest) if place else None
    return _places()[first] / rest


def _places() -> Mapping[str, Path]:
    home = Path.home()
    xdg = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    if sys.platform == "win32":
        roaming = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
        goose = roaming / "Block" / "goose" / "config"
        return {"HOME": home, "XDG": xdg, "CONFIG": roaming, "ZED": roaming / "Zed", "GOOSE": goose}
    if sys.platform == "darwin":
        config, zed = home / "Library" / "Application Support", home / ".config" / "zed"
    else:
        config, zed = xdg, xdg / "zed"
    return {"HOME": home, "XDG": xdg, "CONFIG": config, "ZED": zed, "GOOSE": xdg / "goose"}
