"""Clients that fill in every argument get what those get that leave the optional ones out."""

import pytest
from bursar.server.config import Settings
from bursar.tools import tools
from replies import reply_of
from wire import server as running

TOOLS = {tool.name: tool for tool in tools(Settings.copy_bytes)}


def empties(name):
    """Return every optional argument at the value that a client gives to say nothing."""
    fields = TOOLS[name].Args.model_fields
    properties = TOOLS[name].Args.model_json_schema()["properties"]
    empty = {}
    for argument, field in fields.items():
        if field.is_required():
            continue
        kinds = {kind.get("type") for kind in properties[argument].get("anyOf", [properties[argument]])}
        if "boolean" in kinds:
            empty[argument] = field.default
        elif kinds & {"integer", "number"}:
            empty[argument] = field.default if argument in TOOLS[name].Args.zeros else 0
        else:
            empty[argument] = field.default if argument in TOOLS[name].Args.empties else ""
    return empty


@pytest.mark.parametrize("name", TOOLS)
def test_empty_texts_and_zeros_are_the_defaults_of_every_tool(name):
    arguments = TOOLS[name].Args
    required = {
        argument: "https://example.org/x" for argument, field in arguments.model_fields.items() if field.is_required()
    }
    assert empties(name)
    assert arguments(**required, **empties(name)) == arguments(**required)
    nothing = dict.fromkeys(empties(name))
    assert arguments(**required, **nothing) == arguments(**required)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "notes.txt").write_text("one\ntwo\nthree\n")
    with running("--root", str(folder), "--data-dir", str(tmp_path_factory.mktemp("data"))) as client:
        yield client


def shown(client, tool, **arguments):
    text, is_error, _ = client.call(tool, **arguments)
    assert not is_error, text
    # What differs between any two calls.
    return {key: value for key, value in reply_of(text).items() if key not in {"artifact", "dir"}}


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("read_file", {"path": "notes.txt"}),
        ("read_file", {"path": "notes.txt", "lines": "2-3"}),
        ("terminal", {"command": "seq 3"}),
        ("directory_tree", {}),
        ("write_pdf", {"content": "# A\n\nb"}),
    ],
)
def test_a_call_with_every_argument_does_what_the_short_one_does(client, tool, given):
    full = shown(client, tool, **empties(tool) | given)
    assert full.keys() == shown(client, tool, **given).keys()


def test_an_artifact_is_paged_and_searched_with_every_argument_given(client):
    text, _, _ = client.call("terminal", command="seq 1 20000")
    artifact = {"artifact": reply_of(text)["artifact"]}
    for given in ({"lines": "51-53"}, {"bytes": "0-5"}, {"tail": 2}, {"grep": "7777$"}, {}):
        assert shown(client, "read_artifact", **empties("read_artifact") | artifact | given) == shown(
            client, "read_artifact", **artifact, **given
        )
