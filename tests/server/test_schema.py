"""What the model has to read before it can call anything."""

import subprocess
import sys

import pytest
from bursar.budget import tokens
from bursar.budget.json_size import dumps
from bursar.guard.sandbox.policy import Isolation
from bursar.server.config import Settings
from bursar.server.offer import as_listed
from bursar.server.schema import INSTRUCTIONS, instructions
from bursar.tools import tools
from wire import server

TOOLS = {tool["name"]: tool for tool in as_listed(tools(Settings.copy_bytes))}


READ_ONLY = {"web_fetch", "read_file", "directory_tree", "read_artifact"}
MAY_OVERWRITE = {"terminal", "write_pdf", "edit_file"}
REACHES_OUT = {"web_fetch", "terminal", "download_image", "write_pdf"}
FIRST_FOUR = {"read_file", "terminal", "directory_tree", "read_artifact"}


def cost(tool):
    return tokens.count(dumps(tool))


def test_all_that_a_client_lists_stays_small_with_the_instructions():
    told = instructions(Isolation("kernel", own_view=True), TOOLS)
    assert sum(map(cost, TOOLS.values())) + tokens.count(told) <= 1000


def test_the_four_that_need_no_network_stay_smaller_still():
    assert sum(cost(TOOLS[name]) for name in FIRST_FOUR) <= 600


def test_an_argument_that_several_tools_have_is_explained_once():
    texts = [
        (name, argument["description"])
        for tool in TOOLS.values()
        for name, argument in tool["inputSchema"]["properties"].items()
        if "description" in argument
    ]
    assert len(texts) == len(set(texts))
    assert all(
        "grep" in TOOLS[name]["inputSchema"]["properties"] for name in ("web_fetch", "read_file", "read_artifact")
    )


def test_the_instructions_are_not_cut_by_any_client():
    assert len(INSTRUCTIONS) <= 2048
    assert tokens.count(INSTRUCTIONS) <= 150


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_is_described_and_says_what_it_may_change(name):
    tool = TOOLS[name]
    assert 20 < len(tool["description"]) <= 2048
    hints = tool.get("annotations", {})
    assert bool(hints.get("readOnlyHint")) == (name in READ_ONLY)
    if name not in READ_ONLY:
        assert (hints.get("destructiveHint") is not False) == (name in MAY_OVERWRITE)
    assert (hints.get("openWorldHint") is not False) == (name in REACHES_OUT)


@pytest.mark.parametrize("name", TOOLS)
def test_a_schema_is_plain(name):
    schema = TOOLS[name]["inputSchema"]
    assert schema["type"] == "object"
    for argument in schema["properties"].values():
        assert "type" in argument or "anyOf" in argument
        assert "title" not in argument
        assert "null" not in dumps(argument)


def test_only_the_tools_that_are_wanted_are_offered(tmp_path):
    options = ["--root", str(tmp_path), "--data-dir", str(tmp_path / "data")]
    with server(*options, "--tools", "read_artifact", "--tools", "read_file") as client:
        listed = client.request("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in listed] == ["read_file", "read_artifact"]
        assert client.call("edit_file", path="x", new="y")[0].startswith("unknown_tool: ")
    refused = subprocess.run(
        [sys.executable, "-m", "bursar", *options, "--tools", "ls"], capture_output=True, text=True, check=False
    )
    assert refused.returncode
    assert "bad_setting: --tools names 'ls'" in refused.stderr
