"""Bursar is entered into any client's configuration and taken out again, and nothing else in it changes."""

import json
import os
import re
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from bursar.errors import BursarError
from bursar.install import edit
from bursar.install.clients import CLIENTS
from bursar.install.install import NAME, came_from, entering, is_entered, launched, leaving

CONFIGURATIONS = sorted(Path(__file__).with_name("configurations").iterdir())
"""As the clients and their users write them: `NAME.NUMBER.FORM`."""

BROKEN = [
    ("claude-desktop", "{"),
    ("claude-desktop", '{"mcpServers": {"a": 1,}}'),
    ("claude-desktop", '{"mcpServers": []}'),
    ("claude-desktop", "[]"),
    ("claude-code", "{} {}"),
    ("cursor", '{"mcpServers": {"a": tru}}'),
    ("cursor", '{"mcpServers": {,}}'),
    ("cursor", '{"mcpServers": null}'),
    ("vscode", "{\n"),
    ("vscode", '{"servers": "x"}'),
    ("zed", "{'a': 1}"),
    ("codex", "a = \n"),
    ("codex", "mcp_servers = {a = {command = 'x'}}\n"),
    ("codex", "[a\n"),
    ("goose", "a: [1\nb: {\n"),
    ("goose", "extensions: text\n"),
    ("goose", "- a\n- b\n"),
    ("goose", "a: 1\n---\nb: 2\n"),
    ("continue", "mcpServers: 7\n"),
    ("gemini", "\x00\x01"),
]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "CLINE_MCP_SETTINGS_PATH"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def configured(name, data):
    client = CLIENTS[name]
    file = client.file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return client, file


def value(client, data):
    """Read a configuration by a parser that bursar does not use for it."""
    text = data.decode("utf-8-sig")
    if client.place.form == "toml":
        return tomllib.loads(text.replace("\r\n", "\n"))
    if client.place.form == "yaml":
        return yaml.safe_load(text) or {}
    without = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda found: found[1] or "", text, flags=re.DOTALL)
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", without) or "{}")


def servers(client, read):
    for key in client.place.keys:
        read = read.get(key) or {}
    return {one["name"]: one for one in read} if isinstance(read, list) else read


over_all = pytest.mark.parametrize("sample", CONFIGURATIONS, ids=lambda path: path.name)


@over_all
def test_what_is_entered_is_the_entry_and_nothing_else(sample):
    client, file = configured(sample.name.partition(".")[0], sample.read_bytes())
    before = value(client, file.read_bytes())
    entering(client, ["--root", "/a b"]).apply()
    after = value(client, file.read_bytes())
    command, first = launched()
    entry = client.entry(command, [*first, "--root", "/a b"])
    assert servers(client, after) == servers(client, before) | {NAME: entry}
    for read in (before, after):
        read.pop(client.place.keys[0], None)
    assert after == before


@over_all
def test_no_more_than_one_line_of_before_is_written_anew(sample):
    client, _ = configured(sample.name.partition(".")[0], sample.read_bytes())
    lines = entering(client, []).diff().splitlines()[2:]
    assert sum(line.startswith("-") for line in lines) <= 1


@over_all
def test_taken_out_again_it_is_byte_for_byte_what_it_was(sample):
    client, file = configured(sample.name.partition(".")[0], sample.read_bytes())
    mode = file.stat().st_mode
    entering(client, []).apply()
    assert is_entered(client)
    leaving(client).apply()
    assert file.read_bytes() == sample.read_bytes()
    assert file.stat().st_mode == mode
    assert [one.name for one in file.parent.iterdir()] == [file.name]


@over_all
def test_taken_out_of_what_was_changed_since_the_change_stays(sample):
    client, file = configured(sample.name.partition(".")[0], sample.read_bytes())
    entering(client, []).apply()
    added = {"toml": b"\n# mine\n", "yaml": b"\n# mine\n", "jsonc": b"\n// mine\n", "json": b"\n\n"}[client.place.form]
    file.write_bytes(file.read_bytes() + added)
    leaving(client).apply()
    assert file.read_bytes().endswith(added)
    assert not is_entered(client)
    assert servers(client, value(client, file.read_bytes())) == servers(client, value(client, sample.read_bytes()))


@pytest.mark.parametrize("name", CLIENTS)
def test_a_configuration_that_was_not_there_is_gone_again(name, home):
    client = CLIENTS[name]
    entering(client, []).apply()
    assert servers(client, value(client, client.file().read_bytes()))[NAME]
    leaving(client).apply()
    assert [path for path in home.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(("name", "text"), BROKEN)
def test_a_broken_configuration_is_left_alone_and_told(name, text):
    client, file = configured(name, text)
    with pytest.raises(BursarError, match="broken_configuration") as refused:
        entering(client, [])
    assert str(file) in refused.value.message
    assert file.read_bytes() == text.encode()
    assert [one.name for one in file.parent.iterdir()] == [file.name]


def test_what_is_no_utf_8_is_told():
    client, file = configured("cursor", '{"a": 1}'.encode("utf-16"))
    with pytest.raises(BursarError, match="it is not UTF-8"):
        entering(client, [])
    assert file.read_bytes() == '{"a": 1}'.encode("utf-16")


@pytest.mark.parametrize("name", CLIENTS)
def test_entered_twice_it_stands_there_once(name):
    client = CLIENTS[name]
    entering(client, ["--root", "/a"]).apply()
    once = client.file().read_bytes()
    change = entering(client, ["--root", "/b"])
    assert change.before == change.after == once


def test_a_link_is_followed_and_stays(home):
    real = home / "dotfiles.json"
    real.write_text("{}\n")
    link = home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    entering(CLIENTS["cursor"], []).apply()
    assert link.is_symlink()
    assert NAME in real.read_text()
    leaving(CLIENTS["cursor"]).apply()
    assert link.is_symlink()
    assert real.read_text() == "{}\n"


def test_secrets_of_others_are_not_shown():
    client, _ = configured("cursor", '{\n  "mcpServers": {\n    "a": {"env": {"KEY": "sk-secret"}}\n  }\n}\n')
    assert "sk-secret" not in entering(client, []).diff()


def run(*words, home, cwd, before=None):
    return subprocess.run(
        [sys.executable, "-m", "bursar", "install", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        preexec_fn=before,
        env=os.environ | {"HOME": str(home)},
    )


def test_all_that_are_found_are_changed_and_a_broken_one_does_not_stop_the_others(home):
    configured("cursor", "{}")
    configured("codex", "a =\n")
    configured("goose", "extensions: {}\n")
    done = run("--all", "--root", str(home), home=home, cwd=home)
    assert done.returncode == 1
    assert "Codex" in done.stderr
    assert "broken_configuration" in done.stderr
    assert {name for name, client in CLIENTS.items() if name != "codex" and is_entered(client)} == {"cursor", "goose"}


def test_tried_only_nothing_is_written(home):
    done = run("cursor", "--dry-run", "--", "--terminal", "off", home=home, cwd=home)
    assert done.returncode == 0
    assert '"--terminal"' in done.stdout.replace("+", "")
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_a_client_without_a_directory_of_its_own_needs_a_project(home):
    assert "--root" in run("claude-desktop", home=home, cwd=home).stderr
    project = home / "project"
    project.mkdir()
    assert run("claude-desktop", home=home, cwd=project).returncode == 0
    arguments = json.loads(CLIENTS["claude-desktop"].file().read_text())["mcpServers"][NAME]["args"]
    assert arguments[-2:] == ["--root", str(project)]


def test_what_the_disk_refuses_leaves_the_configuration_as_it_was(home):
    _, file = configured("cursor", "{}")
    done = run("cursor", home=home, cwd=home, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    assert "configuration_not_written" in done.stderr
    assert file.read_text() == "{}"
    assert not [one for one in file.parent.iterdir() if one.name.startswith(".")]


def test_a_place_that_cannot_be_read_is_told(home):
    (home / ".cursor").write_text("no directory")
    assert "read_failed" in run("cursor", home=home, cwd=home).stderr


def test_what_its_client_has_written_meanwhile_is_not_overwritten(home):
    client, file = configured("cursor", "{}")
    change = entering(client, [])
    file.write_text('{"new": 1}')
    with pytest.raises(BursarError, match="changed meanwhile"):
        change.apply()
    assert [(one.name, one.read_text()) for one in file.parent.iterdir()] == [("mcp.json", '{"new": 1}')]


def test_a_variable_that_is_set_says_where_a_configuration_lies(home, monkeypatch):
    configured("claude-code", "{}")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "elsewhere"))
    assert CLIENTS["claude-code"].file() == home / "elsewhere" / ".claude.json"


@pytest.mark.parametrize("name", ["goose", "continue"])
def test_where_bursar_was_alone_an_empty_mapping_or_list_is_left(name):
    client, file = configured(name, "")
    entering(client, []).apply()
    file.write_bytes(file.read_bytes() + b"other: 1\n")
    leaving(client).apply()
    assert value(client, file.read_bytes()) == {client.place.keys[0]: [] if client.place.is_list else {}, "other": 1}


@pytest.mark.parametrize(
    ("direct_url", "options"),
    [
        (None, []),
        ('{"url": "file:///a/b.whl", "archive_info": {}}', ["--from", "file:///a/b.whl"]),
        (
            '{"url": "https://x.test/b", "vcs_info": {"vcs": "git", "commit_id": "1"}}',
            ["--from", "git+https://x.test/b"],
        ),
    ],
)
def test_what_uvx_ran_is_entered_with_what_it_came_from(direct_url, options):
    assert came_from(direct_url) == options


def test_a_client_that_nobody_knows_is_told(home):
    done = run("cursr", home=home, cwd=home)
    assert done.returncode == 2
    assert "cursor" in done.stderr


def test_without_a_client_all_are_listed(home):
    configured("cursor", "{}")
    told = run(home=home, cwd=home).stdout
    assert all(name in told for name in CLIENTS)
    assert re.search(r"cursor +found", told)


def test_a_server_as_it_was_entered_starts(home):
    run("cursor", "--root", str(home), home=home, cwd=home)
    entry = json.loads(CLIENTS["cursor"].file().read_text())["mcpServers"][NAME]
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize"} | {
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    }
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input=json.dumps(asked) + "\n",
        capture_output=True,
        text=True,
        cwd=Path("/"),
        check=False,
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "bursar"


def test_a_deep_configuration_is_told_as_broken():
    client, _ = configured("claude-desktop", '{"a":' * 100_000)
    with pytest.raises(BursarError, match="broken_configuration"):
        entering(client, [])


def test_an_entry_is_found_by_its_keys_alone():
    place = edit.Place("jsonc", ("mcpServers",))
    assert not edit.has(b'{"other": {"bursar": {}}, "mcpServers": {"x": {"bursar": 1}}}', place, NAME)
    assert edit.has(b'{"mcpServers": {"b\\u0075rsar": {}}}', place, NAME)
