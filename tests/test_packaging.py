"""What is built for people is whole: the desktop extension, the image, the workflows."""

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from bursar import __version__
from bursar.server.config import Settings

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    spec = importlib.util.spec_from_file_location("mcpb", ROOT / "packaging" / "mcpb.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    place = tmp_path_factory.mktemp("bundle")
    with zipfile.ZipFile(module.bundle(place)) as held:
        held.extractall(place / "held")
    return place / "held"


def test_the_desktop_extension_names_the_wheel_it_holds_and_its_version(bundle):
    project = tomllib.loads((bundle / "pyproject.toml").read_text())
    assert (bundle / project["tool"]["uv"]["sources"]["bursar"]["path"]).is_file()
    assert json.loads((bundle / "manifest.json").read_text())["version"] == __version__


def test_the_desktop_extension_starts_a_server_as_it_says(bundle, tmp_path):
    server = json.loads((bundle / "manifest.json").read_text())["server"]
    words = [word.replace("${user_config.root}", str(tmp_path)) for word in server["mcp_config"]["args"]]
    given = words[words.index(server["entry_point"]) + 1 :]
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize"} | {
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    }
    done = subprocess.run(
        [sys.executable, bundle / server["entry_point"], *given, "--data-dir", tmp_path / "data"],
        input=json.dumps(asked) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["version"] == __version__


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_what_a_workflow_runs_is_there(path):
    held = yaml.safe_load(path.read_text("utf-8"))
    steps = [step.get("run", "") for job in held.get("jobs", {}).values() for step in job["steps"]]
    named = re.findall(r"(?:^|[\s(])((?:\.ci|packaging|tests)/[\w/.]+)", "\n".join(steps))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_workflows_try_every_version_of_python_that_is_promised():
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    promised = [line.rpartition(" ")[2] for line in classifiers if re.search(r":: 3\.\d+$", line)]
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    assert all(job["strategy"]["matrix"]["python"] == promised for job in jobs.values())


def test_the_image_starts_the_server_with_options_that_it_has():
    command = re.search(r"^CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    options = [word for word in json.loads(command[1]) if word.startswith("--")]
    assert all(word[2:].replace("-", "_") in Settings.__dataclass_fields__ for word in options)
