"""The documents tell the truth: what they show as a command runs, what they show as output is what comes out."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import fields

import pytest
from bursar.server.config import Settings, default_of
from rooms import ROOMS, ROOT

DOCUMENTS = [
    *(ROOT / f"{name}.md" for name in ("README", "SECURITY", "ARCHITECTURE", "CONTRIBUTING")),
    *sorted((ROOT / "docs").glob("*.md")),
]
WIDE = {"COLUMNS": "100", "NO_COLOR": "1", "PYTHON_COLORS": "0"}


def bursar(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "bursar", *words],
        capture_output=True,
        text=True,
        env=os.environ | WIDE,
        check=False,
        **options,
    )


HELP = bursar("--help").stdout


def commands(document):
    """Return the bursar commands of a document's shell blocks, in order."""
    for block in re.findall(r"```sh\n(.*?)```", document.read_text("utf-8"), re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:3] == ["uv", "run", "--no-dev"]:
                words = words[5:] if words[3:5] == ["--extra", "sql"] else words[3:]
            if words[:1] == ["bursar"] and words[1:2] in (["call"], ["tools"], ["--version"]):
                yield words[1:]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_of_a_document_runs(document, tmp_path):
    latest = ""
    for words in commands(document):
        filled = [re.sub(r"ses_…/a\d+", latest, word) for word in words]
        done = bursar(*filled, "--data-dir", str(tmp_path), cwd=ROOT)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        if words[0] == "call":
            latest = json.loads(done.stdout.partition("\n")[0]).get("artifact", latest)


def test_the_tools_document_shows_what_the_command_prints():
    shown = re.search(r"```text\n(.*?)```", (ROOT / "docs" / "tools.md").read_text("utf-8"), re.DOTALL)
    assert shown
    assert shown.group(1) == bursar("tools").stdout


def test_the_readme_tells_what_all_tools_cost():
    counted = re.search(r"^(\d+) tokens in all$", bursar("tools").stdout, re.MULTILINE)
    assert counted
    assert f"cost the model {counted[1]} tokens" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("setting", fields(Settings), ids=lambda setting: setting.name)
def test_every_setting_is_documented_and_in_the_help(setting):
    option = f"--{setting.name.replace('_', '-')}"
    row = f"| `{option}` | {setting.metadata['help']} | {default_of(setting.name)} |"
    assert row in (ROOT / "docs" / "settings.md").read_text("utf-8")
    assert option in HELP


def test_every_link_between_documents_leads_somewhere():
    for document in DOCUMENTS:
        prose = re.sub(r"`[^`\n]*`", "", document.read_text("utf-8"))
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
            assert (document.parent / target).exists(), (document.name, target)


NAMED = re.compile(r"(certificate|connect|connection)_[a-z_]+")
"""Codes of failed connections, which stand in tables."""


def codes(path):
    """Return the codes of errors that a module makes, as far as they are written there."""
    for call in ast.walk(ast.parse(path.read_text("utf-8"))):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id in ("BursarError", "Failure", "FetchError", "_too_large", "_redirect")
        ):
            named = call.args[1 if call.func.id in ("Failure", "FetchError") else 0]
            if isinstance(named, ast.Constant):
                yield named.value
        elif path.parent.name == "net" and isinstance(call, ast.Constant) and NAMED.fullmatch(str(call.value)):
            yield call.value


def test_every_code_of_an_error_is_documented_and_no_other():
    rows = re.findall(r"^\| (`[^|]*`) \|", (ROOT / "docs" / "errors.md").read_text("utf-8"), re.MULTILINE)
    documented = [code for row in rows for code in re.findall(r"`(\w+)`", row)]
    assert len(documented) == len(set(documented))
    made = {code for room in ROOMS for path in (ROOT / room).rglob("*.py") for code in codes(path)}
    assert made | {"internal_error"} == set(documented)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_everything_that_a_document_names_exists(document):
    prose = document.read_text("utf-8")
    rooms = "|".join(ROOMS)
    for place in re.findall(rf"`((?:tests|bench)/[\w/.]*|(?:docs|{rooms})/(?:[\w/]*/|[\w/]*[a-z]\.\w+))[` ]", prose):
        assert (ROOT / place).exists(), place
    suites = {path.name: path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    for name in re.findall(r"`(test_\w+\.py)`", prose):
        assert name in suites, name
    every = "\n".join(suites.values())
    for name in re.findall(r"`(test_\w+)`", prose):
        assert f"def {name}(" in every, name


def test_the_client_configuration_is_json_that_starts_the_server():
    server = json.loads((ROOT / "mcp.json").read_text("utf-8"))["mcpServers"]["bursar"]
    assert server["command"] == "uv"
    words = server["args"][server["args"].index("bursar") + 1 :]
    assert bursar(*words, stdin=subprocess.DEVNULL, cwd=ROOT).returncode == 0
