"""Conversations of others are read, checked, exported and handed over."""

import json
import re
from pathlib import Path

import pytest
from atif import Trajectory
from bursar.budget import tokens
from bursar.errors import BursarError
from bursar.history import Conversation, Limit
from bursar.history.exports import converted, markdown, trajectory
from bursar.history.handover import handover
from bursar.history.transcripts import load
from strict_provider import rejected

HERE = Path(__file__).parent / "transcripts"
KINDS = {"claude-code": "anthropic", "codex": "responses"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_transcript_is_read_as_messages_that_its_provider_accepts(kind):
    found = load(HERE / f"{kind}.jsonl")
    assert (found.kind, found.dialect, list(found.problems), list(found.damage)) == (kind, KINDS[kind], [], [])
    assert not rejected(found.dialect, found.messages)
    assert "sub-agent" not in json.dumps(found.messages)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["chat", "responses", "anthropic"])
def test_a_transcript_is_exported_in_any_form(kind, form):
    sent = converted(load(HERE / f"{kind}.jsonl"), form)
    assert not rejected(form, sent)
    text = json.dumps(sent)
    for fact in ("Find why CI is red", "pytest -q", "FAILED tests/test_x.py::test_y", "The root cause is f"):
        assert fact in text


@pytest.mark.parametrize("kind", KINDS)
def test_a_hand_over_tells_goal_deeds_files_and_errors_within_its_tokens(kind):
    told = handover(load(HERE / f"{kind}.jsonl"), 600)
    assert tokens.count(told) <= 600
    for fact in ("Find why CI is red", "pytest -q", "/src/app_b.py", "Error: 3 != 4", "The root cause is f"):
        assert fact in told


@pytest.mark.parametrize("most", [100, 300, 2000])
def test_a_hand_over_of_a_long_history_stays_within_its_tokens(tmp_path, most):
    talk = Conversation.open(tmp_path / "talk.jsonl", limit=Limit(), data_dir=tmp_path)
    talk.say("The goal. " * 500)
    for number in range(50):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "bash", "arguments": f'{{"c":"make x_{number}"}}'},
        }
        talk.add({"role": "assistant", "content": f"I decided to use part_{number} instead.", "tool_calls": [call]})
        talk.result(f"c{number}", f"error: no /src/part_{number}.py\n" * 30)
        talk.say(f"Also look at other_{number}.")
    talk.close()
    found = load(tmp_path / "talk.jsonl", tmp_path)
    assert tokens.count(handover(found, most)) <= most
    assert found.kind == "bursar"


def test_a_line_that_is_no_json_costs_itself_only_and_is_told(tmp_path):
    lines = (HERE / "codex.jsonl").read_bytes().splitlines(keepends=True)
    lines[3] = b"\0" * 50 + b"\n"
    (tmp_path / "torn.jsonl").write_bytes(b"".join([*lines, b'{"timestamp": "2026']))
    found = load(tmp_path / "torn.jsonl")
    assert [one.line for one in found.damage] == [4, 10]
    assert len(found.messages) == len(load(HERE / "codex.jsonl").messages)


@pytest.mark.parametrize("body", ["messages", "input"])
def test_the_body_of_a_request_is_read(tmp_path, body):
    (tmp_path / "body.json").write_text(json.dumps({"model": "x", body: [{"role": "user", "content": "Hello"}]}))
    assert len(load(tmp_path / "body.json").messages) == 1


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"\xff\xfe", b"{}", b"[[1]]", b'{"messages":7}'])
def test_what_holds_no_messages_is_refused(tmp_path, data):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(BursarError, match="history_unreadable"):
        load(tmp_path / "x")


@pytest.mark.parametrize("kind", KINDS)
def test_a_transcript_is_exported_as_a_trajectory(kind):
    made = trajectory(load(HERE / f"{kind}.jsonl"))
    read = Trajectory.model_validate(made)
    called = {call.tool_call_id for step in read.steps for call in step.tool_calls or ()}
    returned = {result.source_call_id for step in read.steps if step.observation for result in step.observation.results}
    assert called
    assert returned == called
    for fact in ("Find why CI is red", "pytest -q", "FAILED tests/test_x.py::test_y", "The root cause is f"):
        assert fact in json.dumps(made)


def test_a_trajectory_has_thoughts_and_results_without_a_call(tmp_path):
    path = tmp_path / "messages.json"
    call = {"type": "tool_use", "id": "a", "name": "bash", "input": {"command": "make"}}
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Build it.", "signature": "x"}, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "done"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b", "content": "of nothing"}]},
    ]
    path.write_text(json.dumps(messages))
    read = Trajectory.model_validate(trajectory(load(path)))
    assert [step.source for step in read.steps] == ["user", "agent", "system"]
    assert read.steps[1].reasoning_content == "Build it."
    assert read.steps[1].observation.results[0].content == "done"
    assert read.steps[2].observation.results[0].content == "of nothing"


def test_people_read_a_conversation_as_markdown():
    text = markdown(load(HERE / "claude-code.jsonl"))
    assert re.search(r"## user\n\nFind why CI is red", text)
    assert "call Bash" in text


def test_what_the_user_said_beside_results_is_exported(tmp_path):
    path = tmp_path / "messages.json"
    call = {"type": "tool_use", "id": "a", "name": "bash", "input": {}}
    told = [{"type": "tool_result", "tool_use_id": "a", "content": "done"}, {"type": "text", "text": "Faster, please."}]
    messages = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": told},
    ]
    path.write_text(json.dumps(messages))
    out = converted(load(path), "chat")
    assert [message["role"] for message in out] == ["user", "assistant", "tool", "user"]
    assert "Faster, please." in str(out[-1]["content"])
