"""`bursar mcp` lists, adds, imports, reviews, approves and calls servers behind bursar."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

STUB = Path(__file__).parent.parent / "support" / "mcp_stub.py"


@pytest.fixture
def place(tmp_path):
    (tmp_path / "root").mkdir()
    return tmp_path


def mcp(place, *words, code=0):
    home = {"HOME": str(place), "XDG_CONFIG_HOME": str(place / "config"), "BURSAR_DATA_DIR": str(place / "data")}
    done = subprocess.run(
        [sys.executable, "-m", "bursar", "mcp", *map(str, words)],
        capture_output=True,
        text=True,
        env=os.environ | home,
        cwd=place / "root",
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_server_is_entered_reviewed_approved_listed_and_called(place):
    assert "there is no configuration yet" in mcp(place, "list", code=2)
    entered = mcp(place, "add", "stub", "--", sys.executable, STUB)
    assert f"stub: entered in {place}/config/bursar/mcp.json" in entered
    assert "not looked at yet" in mcp(place, "list")
    assert "say(text, times?:int=1) - Does say." in mcp(place, "review", "stub", code=1)
    assert "approved, 10 tools" in mcp(place, "approve", "stub")
    assert "stub: 10 tools, as approved" in mcp(place, "review")
    assert "10 tools, listed as full" in mcp(place, "list")
    assert "heard" in mcp(place, "call", "stub.say", "text=heard")
    assert "unknown_tool" in mcp(place, "call", "stub.nothing", code=1)


def test_what_changed_is_shown_until_it_is_approved(place):
    tools = place / "root" / "tools.json"
    before = {"name": "read", "description": "Reads.", "inputSchema": {"type": "object"}}
    tools.write_text(json.dumps([before]))
    mcp(place, "add", "stub", "--", sys.executable, STUB, "old", tools)
    mcp(place, "approve", "stub")
    needed = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
    tools.write_text(json.dumps([before | {"inputSchema": needed}, {"name": "more", "inputSchema": {}}]))
    shown = mcp(place, "review", code=1)
    assert "loosened: read: it needs key now" in shown
    assert "was: read() - Reads." in shown
    assert "is: read(key) - Reads." in shown
    assert "new: more: it was not there" in shown
    mcp(place, "approve", "stub")
    assert "as approved" in mcp(place, "review")


def test_servers_of_a_client_are_imported(place):
    servers = {"files": {"command": "npx", "args": ["-y", "x"], "env": {"K": "v"}}, "bursar": {"command": "bursar"}}
    (place / ".cursor").mkdir()
    (place / ".cursor" / "mcp.json").write_text('{ // mine\n "mcpServers": ' + json.dumps(servers) + "}")
    assert "files: entered in" in mcp(place, "import", "cursor")
    entered = json.loads((place / "config" / "bursar" / "mcp.json").read_text())
    assert entered == {"mcpServers": {"files": {"command": "npx", "args": ["-y", "x"], "env": {"K": "v"}}}}
    (place / ".codex").mkdir()
    (place / ".codex" / "config.toml").write_text('[mcp_servers.git]\ncommand = "git-mcp"\n')
    mcp(place, "import", "codex")
    entered = json.loads((place / "config" / "bursar" / "mcp.json").read_text())
    assert entered["mcpServers"]["git"] == {"command": "git-mcp", "bursar": {"show": "full"}}
    assert "is YAML, which is not read here" in mcp(place, "import", "goose", code=2)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add",), "takes a name, and a command or an address"),
        (("add", "x"), "takes a name, and a command or an address"),
        (("add", "x y", "--", "z"), "a server is called 'x y'"),
        (("add", "x", "ftp://y"), "no http or https address"),
        (("import", "nobody"), "takes a client"),
        (("call",), "there is no configuration yet"),
        (("drop",), "invalid choice"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_written(place, words, told):
    assert told in mcp(place, *words, code=2)
    assert not (place / "config" / "bursar" / "mcp.json").exists()


def test_a_server_that_does_not_start_is_told_and_the_others_are_looked_at(place):
    mcp(place, "add", "gone", "--", "no-such-program")
    mcp(place, "add", "stub", "--", sys.executable, STUB)
    shown = mcp(place, "review", code=1)
    assert "gone: upstream_start: gone cannot be started: there is no program 'no-such-program'" in shown
    assert "stub: 10 tools, none approved" in shown
    assert "cannot be started" in mcp(place, "list", code=1)
