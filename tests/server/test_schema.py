"""What the model has to read before it can call anything."""

import pytest
from bursar.budget import tokens
from bursar.budget.json_size import dumps
from bursar.server.config import Settings
from bursar.server.instructions import INSTRUCTIONS
from bursar.server.schema import described
from bursar.tools import tools

TOOLS = {tool.name: described(tool) for tool in tools(Settings.copy_bytes)}


READ_ONLY = {"web_fetch", "read_file", "directory_tree", "read_artifact"}
MAY_OVERWRITE = {"terminal", "write_pdf"}
REACHES_OUT = {"web_fetch", "terminal", "download_image", "write_pdf"}
FIRST_FOUR = {"read_file", "terminal", "directory_tree", "read_artifact"}


def cost(tool):
    return tokens.count(dumps({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}))


def test_all_descriptions_and_schemas_together_stay_small():
    assert sum(map(cost, TOOLS.values())) <= 1500


def test_the_four_that_need_no_network_stay_smaller_still():
    assert sum(cost(TOOLS[name]) for name in FIRST_FOUR) <= 900


def test_the_instructions_are_not_cut_by_any_client():
    assert len(INSTRUCTIONS) <= 2048
    assert tokens.count(INSTRUCTIONS) <= 150


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_is_described_and_says_what_it_may_change(name):
    tool = TOOLS[name]
    assert 20 < len(tool.description) <= 2048
    assert tool.annotations.read_only_hint == (name in READ_ONLY)
    assert tool.annotations.destructive_hint == (name in MAY_OVERWRITE)
    assert tool.annotations.open_world_hint == (name in REACHES_OUT)


@pytest.mark.parametrize("name", TOOLS)
def test_a_schema_is_plain_and_closed(name):
    schema = TOOLS[name].input_schema
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    for argument in schema["properties"].values():
        assert "type" in argument or "anyOf" in argument
        assert argument.get("description")
        assert "title" not in argument
        assert "null" not in dumps(argument)
