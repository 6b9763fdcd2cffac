"""A conversation: sendable at any time, within its limit, the same after a restart, and nothing in it lost."""

import asyncio
import json
import os
from itertools import pairwise

import histories
import pytest
from bursar.artifacts import Limits, Store
from bursar.artifacts.ownership import local_owner
from bursar.errors import BursarError
from bursar.history import Conversation, Limit, delete
from bursar.history.file import read
from killed_agent import prove
from pydantic import BaseModel
from strict_provider import rejected

LONG = "src/app_%d.py:7: error E%d0 in the log\n"
FORMS = ["chat", "responses", "anthropic", "pydantic_ai"]
SENT = {"responses": "input"}


def calling(form, *names):
    """Return messages in which a model calls a tool, once for each name."""
    calls = [
        {"id": n, "type": "function", "function": {"name": "bash", "arguments": '{"command":"make"}'}} for n in names
    ]
    return histories.FORMS[form]([{"role": "assistant", "content": None, "tool_calls": calls}])[1]


def opened(tmp_path, form="", tokens=6000, **given):
    limit = Limit(tokens=tokens)
    return Conversation.open(tmp_path / "talk.jsonl", form, limit, data_dir=tmp_path / "data", **given)


def talked(talk, turns, first=0):
    """Have a model call two tools in parallel, so many times; return each request as JSON."""
    sent = []
    for turn in range(first, first + turns):
        request = talk.request(tools=histories.tools(talk.dialect))
        sent.append(request[SENT.get(talk.dialect, "messages")])
        assert not rejected(talk.dialect, sent[-1])
        usage = {"prompt_tokens": len(json.dumps(sent[-1])) // 4}
        talk.add(*calling(talk.dialect, f"a{turn}", f"b{turn}"), usage=usage)
        for name in "ab":
            talk.result(f"{name}{turn}", LONG % (turn, turn) * 20)
    return sent


@pytest.mark.parametrize("form", FORMS)
def test_a_restart_at_any_time_changes_no_byte_of_what_is_sent(tmp_path, form):
    talk = opened(tmp_path, form)
    talk.say("Why is it red?")
    talked(talk, 25)
    expected = talk.request(tools=histories.tools(form))
    assert talk._state.upto > 0
    talk.close()
    again = opened(tmp_path)
    assert again.damage == []
    assert json.dumps(again.request(tools=histories.tools(form))) == json.dumps(expected)
    again.close()


@pytest.mark.parametrize("form", FORMS)
def test_requests_extend_one_another_but_for_compactions(tmp_path, form):
    talk = opened(tmp_path, form)
    talk.say("Why is it red?")
    sent = talked(talk, 40)
    broken = sum(after[: len(before)] != before for before, after in pairwise(sent))
    compactions = [record for record in read(tmp_path / "talk.jsonl").records if record["t"] == "state"]
    assert broken == len(compactions) > 1
    talk.close()


@pytest.mark.parametrize("form", FORMS)
def test_a_call_whose_outcome_is_unknown_is_told_so_after_a_crash(tmp_path, form):
    talk = opened(tmp_path, form)
    talk.say("Deploy it.")
    talk.add(*calling(form, "a", "b"))
    talk.result("a", "done")
    talk.close()
    again = opened(tmp_path)
    assert [(call.name, call.text) for call in again.pending.values()] == [("bash", '{"command":"make"}')]
    request = again.request()
    sent = request[SENT.get(form, "messages")]
    assert not rejected(form, sent)
    assert json.dumps(sent).count("Verify before repeating it") == 1
    assert not again.pending
    again.close()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(12))
def test_whatever_line_is_damaged_the_rest_is_sendable_and_all_there(tmp_path, form, seed):
    talk = opened(tmp_path, form, tokens=100_000)
    talk.say("Why is it red?")
    talked(talk, 3)
    talk.close()
    path = tmp_path / "talk.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    at = 1 + seed * (len(lines) - 1) // 12
    path.write_bytes(b"".join([*lines[:at], lines[at][: len(lines[at]) // 2], b"\n", *lines[at + 1 :]]))
    again = opened(tmp_path)
    assert len(again.damage) == 2
    sent = again.request()[SENT.get(form, "messages")]
    assert not rejected(form, sent)
    whole = json.dumps(sent)
    for turn, name in ((turn, name) for turn in range(3) for name in "ab"):
        record = next(record for record in lines if f'"{name}{turn}"'.encode() in record and b"E%d0" % turn in record)
        assert (f"E{turn}0" in whole) or record == lines[at]
    again.close()


def test_a_large_result_is_stored_at_the_door_and_read_by_the_tool_that_is_offered(tmp_path):
    talk = opened(tmp_path)
    talk.say("Why is it red?")
    talk.add(*calling("chat", "a"))
    shown = talk.result("a", "".join(f"line {n}\n" for n in range(20_000)), did="$ make")
    told = json.loads(shown.partition("\n")[0])
    assert len(shown.encode()) <= 8192
    assert told["did"] == "$ make"
    found = asyncio.run(talk.shelf.read_artifact(told["artifact"], grep="line 17321"))
    assert "17322:line 17321" in found
    assert "line 9999" in asyncio.run(talk.shelf.read_artifact(told["artifact"], lines="10000"))
    assert asyncio.run(talk.shelf.read_artifact("a999")).startswith("unknown_artifact")
    talk.close()


def test_what_only_pretends_to_be_a_preview_is_stored(tmp_path):
    talk = opened(tmp_path, tokens=4000)
    talk.say("Why is it red?")
    talked(talk, 1)
    talk.add(*calling("chat", "x"))
    stored = talk.shelf.store(b"something else", "bash", "").ref
    talk.result("x", f'{{"artifact":"{stored}"}}\n' + "the true result\n" * 100)
    talked(talk, 12, first=1)
    text = json.dumps(talk.request(tools=histories.tools("chat")))
    assert "the true result" not in text
    contents = [artifact.read(0, artifact.size) for artifact in talk.shelf.session.artifacts()]
    assert any(b"the true result" in content for content in contents)
    talk.close()


def test_large_texts_of_messages_lie_in_artifacts_and_are_the_same_when_they_are_read(tmp_path):
    talk = opened(tmp_path, tokens=1_000_000)
    messages = [
        {"role": "user", "content": "漢字\ud800 " * 10_000},
        {"role": "assistant", "content": "ok", "extra": {"$artifact": "ses_x/a1"}},
        {"role": "user", "content": [{"type": "text", "text": str(n)} for n in range(9000)]},
    ]
    talk.add(*messages)
    talk.close()
    assert max(map(len, (tmp_path / "talk.jsonl").read_bytes().splitlines())) <= 64 << 10
    again = opened(tmp_path)
    assert list(again.messages) == messages
    again.close()


def test_no_sweep_takes_what_a_history_names(tmp_path):
    talk = opened(tmp_path)
    stored = talk.shelf.store(b"kept", "bash", "").ref
    talk.say("x")
    talk.close()
    (session,) = [place for place in (tmp_path / "data" / "bursar").iterdir() if place.name != ".swept"]
    lock = (session / "lock").read_text().split()
    (session / "lock").write_text(f"{1:014.3f} {lock[1]} {lock[2]}\n")
    store = Store(tmp_path / "data" / "bursar", Limits(idle_s=0, total_bytes=1, settle_s=0))
    assert store.sweep().sessions == 0
    assert store.attach(stored.partition("/")[0], local_owner()).open(stored).read(0, 9) == b"kept"
    delete(tmp_path / "talk.jsonl", tmp_path / "data")
    with pytest.raises(BursarError):
        store.attach(stored.partition("/")[0], local_owner())
    assert not list(tmp_path.glob("talk*"))


def test_artifacts_that_are_gone_are_told_and_the_conversation_goes_on(tmp_path):
    talk = opened(tmp_path, tokens=100_000)
    talk.say("x" * 20_000)
    handle = talk.shelf.session.handle
    talk.close()
    Store(tmp_path / "data" / "bursar", Limits()).remove(handle, local_owner())
    again = opened(tmp_path)
    assert any("20,000 characters" in str(one) for one in again.damage)
    again.say("go on")
    assert not rejected("chat", again.request()["messages"])
    again.close()


def test_a_refusal_as_too_long_is_answered_by_one_compaction(tmp_path):
    class TooLongError(Exception):
        status_code = 400

    talk = opened(tmp_path, tokens=100_000)
    talk.say("Why is it red?")
    talked(talk, 30)
    sizes = []
    for attempt in talk.attempts(tools=histories.tools("chat")):
        with attempt:
            sizes.append(len(json.dumps(attempt.request)))
            if len(sizes) == 1:
                raise TooLongError("This model's maximum context length is 8192 tokens")
    assert sizes[1] < sizes[0]
    first = talk.attempts()
    with next(first):
        raise TooLongError("prompt is too long")
    last = next(first)
    with pytest.raises(TooLongError), last:
        raise TooLongError("prompt is too long")
    talk.close()


def test_two_cannot_write_one_conversation_and_a_form_is_kept(tmp_path):
    talk = opened(tmp_path, "anthropic")
    with pytest.raises(BursarError, match="history_busy"):
        opened(tmp_path)
    talk.close()
    with pytest.raises(BursarError, match="wrong_dialect"):
        opened(tmp_path, "chat")


def test_a_result_that_no_call_waits_for_is_refused(tmp_path):
    talk = opened(tmp_path)
    with pytest.raises(BursarError, match="unknown_call"):
        talk.result("x", "y")
    talk.close()


def test_an_agent_that_is_killed_comes_to_its_end(tmp_path):
    assert prove("anthropic", 1, tmp_path) > 40


def test_a_message_refused_with_its_usage_is_not_there_after_a_restart(tmp_path, monkeypatch):
    talk = opened(tmp_path)
    talk.say("Why is it red?")
    size = (tmp_path / "talk.jsonl").stat().st_size

    def full(descriptor, data):
        if data.startswith(b"0" * 10):
            return write(descriptor, data)
        if len(data) < 150:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[: data.index(b"\n") + 9])

    write = os.write
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(BursarError, match="history_not_written"):
        talk.add({"role": "assistant", "content": "x" * 100}, usage={"prompt_tokens": 9})
    monkeypatch.undo()
    assert (tmp_path / "talk.jsonl").stat().st_size == size
    talk.close()
    again = opened(tmp_path)
    assert (len(again.messages), again.damage) == (1, [])
    again.close()


def without_head(path):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([b"x" * 40 + b"\n", *lines[1:]]))


def test_a_lost_first_line_costs_neither_the_form_nor_the_artifacts(tmp_path):
    talk = opened(tmp_path, "anthropic", tokens=100_000)
    talk.say("x" * 20_000)
    handle = talk.shelf.session.handle
    talk.close()
    without_head(tmp_path / "talk.jsonl")
    for form in ("anthropic", ""):
        again = opened(tmp_path, form, tokens=100_000)
        assert (again.dialect, again.shelf.session.handle) == ("anthropic", handle)
        assert "x" * 20_000 in json.dumps(again.messages)
        again.close()


def test_deleting_takes_the_artifacts_along_although_the_first_line_is_lost(tmp_path):
    talk = opened(tmp_path)
    talk.say("x" * 20_000)
    handle = talk.shelf.session.handle
    talk.close()
    without_head(tmp_path / "talk.jsonl")
    delete(tmp_path / "talk.jsonl", tmp_path / "data")
    with pytest.raises(BursarError, match="unknown_session"):
        Store(tmp_path / "data" / "bursar", Limits()).attach(handle, local_owner())


def test_artifacts_that_cannot_be_deleted_are_told_and_the_history_stays(tmp_path, monkeypatch):
    talk = opened(tmp_path)
    talk.say("x")
    talk.close()

    def failing(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("bursar.artifacts.retention.remove", failing)
    with pytest.raises(BursarError, match="store_failed"):
        delete(tmp_path / "talk.jsonl", tmp_path / "data")
    assert (tmp_path / "talk.jsonl").exists()


@pytest.mark.parametrize("form", FORMS)
def test_a_long_message_or_state_whose_artifact_is_gone_leaves_what_can_be_sent(tmp_path, form):
    talk = opened(tmp_path, form, tokens=1_000_000)
    talk.say("Why is it red?")
    said = [{"type": "text", "text": f"word {n}"} for n in range(9000)]
    texts = [{"part_kind": "text", "content": f"word {n}"} for n in range(9000)]
    answer = {"kind": "response", "parts": texts} if form == "pydantic_ai" else {"role": "assistant", "content": said}
    talk.add(answer)
    talk.say("Go on.")
    gone = talk.shelf.store(b"{}", "history", "").ref
    talk._file.append(("state", {"state": {"$artifact": gone, "chars": 70_000, "json": True}}))
    handle = talk.shelf.session.handle
    talk.close()
    Store(tmp_path / "data" / "bursar", Limits()).remove(handle, local_owner())
    again = opened(tmp_path)
    sent = again.request()[SENT.get(form, "messages")]
    assert not rejected(form, sent)
    assert "expired" in json.dumps(sent)
    assert "Go on." in json.dumps(sent)
    again.close()


def test_what_an_sdk_made_up_is_not_stored(tmp_path):
    class Block(BaseModel):
        text: str
        status: str | None = None

    talk = opened(tmp_path)
    talk.add({"role": "assistant", "content": [Block(text="a"), Block(text="b", status=None)]})
    assert talk.messages[0]["content"] == [{"text": "a"}, {"text": "b", "status": None}]
    talk.close()


@pytest.mark.parametrize("form", FORMS)
def test_whose_turn_it_is_is_known_after_a_restart(tmp_path, form):
    talk = opened(tmp_path, form)
    assert talk.is_answered
    talk.say("Why is it red?")
    assert not talk.is_answered
    talk.add(*calling(form, "a"))
    assert not talk.is_answered
    talk.result("a", "done")
    assert not talk.is_answered
    talk.close()
    again = opened(tmp_path)
    answer = {"kind": "response", "parts": [{"part_kind": "text", "content": "It is."}]}
    again.add(answer if form == "pydantic_ai" else {"role": "assistant", "content": "It is."})
    assert again.is_answered
    again.close()
