"""Completion proposes the caller's own artifacts, and makes no session for it."""

import pytest
from replies import reply_of
from wire import server as running

TEMPLATE = {"type": "ref/resource", "uri": "artifact://{session}/{id}"}
PROMPT = {"type": "ref/prompt", "name": "investigate"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One server, for whatever does not ask how many artifacts its session has."""
    folder = tmp_path_factory.mktemp("workspace")
    with running("--root", str(folder), "--data-dir", str(tmp_path_factory.mktemp("data"))) as client:
        client.session = store(client, folder, 2)
        yield client


def completed(client, name, value="", ref=TEMPLATE, meta=None, **known):
    params = {"ref": ref, "argument": {"name": name, "value": value}} | ({"_meta": meta} if meta else {})
    if known:
        params["context"] = {"arguments": known}
    return client.request("completion/complete", params)["result"]["completion"]


def store(client, folder, count):
    """Store as many artifacts, and return their session."""
    for number in range(count):
        (folder / f"{number}.txt").write_text(f"file {number}\n")
        client.call("read_file", path=f"{number}.txt")
    return client.session


def test_ids_come_with_the_latest_first(client, folder):
    session = store(client, folder, 12)
    newest = [f"a{number}" for number in range(12, 0, -1)]
    assert completed(client, "id") == {"values": newest, "total": 12, "hasMore": False}
    assert completed(client, "id", "a1")["values"] == ["a12", "a11", "a10", "a1"]
    assert completed(client, "id", session=session)["values"] == newest
    assert completed(client, "artifact", ref=PROMPT)["values"] == newest
    assert completed(client, "id", "b")["values"] == []


def test_the_session_proposed_is_the_own(shared):
    assert completed(shared, "session")["values"] == [shared.session]
    assert completed(shared, "session", shared.session[:7])["values"] == [shared.session]
    assert completed(shared, "session", "ses_!")["values"] == []


def test_other_arguments_have_no_values(shared):
    assert completed(shared, "question", ref=PROMPT)["values"] == []
    assert completed(shared, "other")["values"] == []


def test_no_more_than_a_hundred_are_proposed_and_all_are_counted(client, folder):
    store(client, folder, 103)
    found = completed(client, "id")
    assert found["values"] == [f"a{number}" for number in range(103, 3, -1)]
    assert (found["total"], found["hasMore"]) == (103, True)


def test_nothing_is_proposed_and_nothing_made_before_there_is_a_session(client, options):
    assert completed(client, "id")["values"] == []
    assert completed(client, "session")["values"] == []
    assert completed(client, "id", meta={"bursar/session": 7})["values"] == []
    assert completed(client, "id", meta={"bursar/session": "ses_0000000000000000000000"})["values"] == []
    assert reply_of(client.call("read_artifact")[0])["artifacts"] == 0


def test_a_session_that_is_none_is_proposed_nothing_of(shared):
    session = shared.session
    for wrong in ("ses_0000000000000000000000", session[:-1], session + "x", "../", "\x00"):
        assert completed(shared, "id", session=wrong)["values"] == []


def test_a_session_is_gone_on_with_in_another_process(client, folder, options):
    session = store(client, folder, 2)
    with running(*options) as other:
        assert completed(other, "id", session=session)["values"] == ["a2", "a1"]
        assert completed(other, "id", meta={"bursar/session": session})["values"] == ["a2", "a1"]
        assert completed(other, "id")["values"] == []
        assert completed(other, "session")["values"] == []


@pytest.mark.parametrize(
    "ref",
    [
        {"type": "ref/resource", "uri": "artifact://{other}"},
        {"type": "ref/prompt", "name": "other"},
        {"type": "ref/prompt", "name": "x" * 10_000},
    ],
)
def test_an_unknown_template_or_prompt_is_refused(shared, ref):
    params = {"ref": ref, "argument": {"name": "id", "value": ""}}
    error = shared.request("completion/complete", params)["error"]
    assert error["code"] == -32602
    assert len(error["message"]) < 300
