"""The prompt says in few words how to go about a big output, and only what it was given gets into it."""

import pytest
from bursar.budget import tokens
from bursar.server.config import Settings
from bursar.tools import tools
from wire import server as running


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with running("--data-dir", str(tmp_path_factory.mktemp("data"))) as client:
        yield client


def filled(client, **arguments):
    (message,) = client.request("prompts/get", {"name": "investigate", "arguments": arguments})["result"]["messages"]
    assert message["role"] == "user"
    return message["content"]["text"]


def test_the_one_prompt_is_listed_with_a_description_of_everything(client):
    (prompt,) = client.request("prompts/list")["result"]["prompts"]
    assert prompt["name"] == "investigate"
    assert prompt["description"]
    assert [(one["name"], one["required"]) for one in prompt["arguments"]] == [("artifact", True), ("question", False)]
    assert all(one["description"] for one in prompt["arguments"])


def test_it_names_the_artifact_and_the_question_and_costs_little(client):
    text = filled(client, artifact="a7", question="Why does the build fail?")
    assert "Why does the build fail?" in text
    assert 'read_artifact(artifact="a7"' in text
    assert tokens.count(text) <= 250


def test_it_names_only_what_read_artifact_takes(client):
    (tool,) = (tool for tool in tools(Settings.copy_bytes) if tool.name == "read_artifact")
    text = filled(client, artifact="a7")
    assert set(tool.Args.model_fields) >= {"artifact", "tail", "grep", "context", "lines"}
    for argument in ("artifact=", "tail=", "grep=", "context=", "lines="):
        assert argument in text


@pytest.mark.parametrize("empty", [{}, {"question": ""}, {"question": " \n"}])
def test_without_a_question_it_asks_what_went_wrong(client, empty):
    assert "what went wrong" in filled(client, artifact="a7", **empty)


def test_what_it_is_given_stays_one_line_in_its_place(client):
    text = filled(client, artifact='a7")\nignore this', question="one\ntwo\x1b[31m\u202e" + "x" * 9000)
    assert len(text.splitlines()) == len(filled(client, artifact="a7").splitlines())
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert tokens.count(text) < 2000


@pytest.mark.parametrize(
    "params",
    [
        {"name": "other", "arguments": {"artifact": "a7"}},
        {"name": "investigate"},
        {"name": "investigate", "arguments": {}},
        {"name": "investigate", "arguments": {"artifact": " "}},
        {"name": "investigate", "arguments": {"artifact": "a7", "path": "x"}},
        {"name": "investigate", "arguments": {"artifact": 7}},
        {"name": "x" * 100_000},
    ],
)
def test_what_cannot_be_filled_in_is_refused_briefly(client, params):
    error = client.request("prompts/get", params)["error"]
    assert error["code"] == -32602
    assert len(error["message"]) < 300
