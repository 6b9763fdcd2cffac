"""Completion proposes the caller's own artifacts, and makes no session for it."""

import json

import anyio
import pytest
from mcp_types import ResourceTemplateReference
from transports import KINDS, connected, told
from wire import server as running

TEMPLATE = {"type": "ref/resource", "uri": "artifact://{session}/{id}"}
PROMPT = {"type": "ref/prompt", "name": "investigate"}


def completed(client, name, value="", ref=TEMPLATE, meta=None, **known):
    params = {"ref": ref, "argument": {"name": name, "value": value}} | ({"_meta": meta} if meta else {})
    if known:
        params["context"] = {"arguments": known}
    return client.request("completion/complete", params)["result"]["completion"]


def store(client, folder, count):
    """Store as many artifacts, and return their session."""
    for number in range(count):
        (folder / f"{number}.txt").write_text(f"file {number}\n")
        reply = json.loads(client.call("read_file", path=f"{number}.txt")[0])
    return reply["artifact"].partition("/")[0]


def test_ids_come_with_the_latest_first(client, folder):
    session = store(client, folder, 12)
    newest = [f"a{number}" for number in range(12, 0, -1)]
    assert completed(client, "id") == {"values": newest, "total": 12, "hasMore": False}
    assert completed(client, "id", "a1")["values"] == ["a12", "a11", "a10", "a1"]
    assert completed(client, "id", session=session)["values"] == newest
    assert completed(client, "artifact", ref=PROMPT)["values"] == newest
    assert completed(client, "id", "b")["values"] == []


def test_the_session_proposed_is_the_own(client, folder):
    session = store(client, folder, 1)
    assert completed(client, "session")["values"] == [session]
    assert completed(client, "session", session[:7])["values"] == [session]
    assert completed(client, "session", "ses_!")["values"] == []


def test_other_arguments_have_no_values(client, folder):
    store(client, folder, 1)
    assert completed(client, "question", ref=PROMPT)["values"] == []
    assert completed(client, "other")["values"] == []


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
    assert json.loads(client.call("read_artifact")[0])["artifacts"] == 0


def test_a_session_that_is_none_is_proposed_nothing_of(client, folder):
    session = store(client, folder, 2)
    for wrong in ("ses_0000000000000000000000", session[:-1], session + "x", "../", "\x00"):
        assert completed(client, "id", session=wrong)["values"] == []


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
def test_an_unknown_template_or_prompt_is_refused(client, ref):
    params = {"ref": ref, "argument": {"name": "id", "value": ""}}
    error = client.request("completion/complete", params)["error"]
    assert error["code"] == -32602
    assert len(error["message"]) < 300


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_proposed_over_every_transport_and_in_every_era(kind, options, folder):
    (folder / "note.txt").write_text("hello\n")
    ref = ResourceTemplateReference(uri="artifact://{session}/{id}")

    async def main():
        async with connected(kind, options) as client:
            artifact = told(await client.call_tool("read_file", {"path": "note.txt"}))["artifact"]
            session = artifact.partition("/")[0]
            named = await client.complete(ref, {"name": "id", "value": ""}, {"session": session})
            assert named.completion.values == ["a1"]
            unnamed = await client.complete(ref, {"name": "id", "value": ""})
            # Requests of the stateless era over HTTP have no session but the one that they name.
            assert unnamed.completion.values == ([] if kind == "http 2026-07-28" else ["a1"])

    anyio.run(main)
