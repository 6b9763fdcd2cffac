"""Whether the SDK answers or the way around it, a client reads the same; what is the SDK's alone reaches it."""

import json
import os
import re

import anyio
import pytest
from bursar.server import express, stdio, stdio_transport
from bursar.server.config import Settings
from bursar.tools import tools
from harness import dispatching
from mcp_types import version as sdk
from test_protocol import HANDSHAKES, MODERN
from wire import INITIALIZE, Client, module

ARTIFACT = {"type": "ref/resource", "uri": "artifact://{session}/{id}"}
ALL_ALIKE = [
    *[{"method": method} for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list")],
    {"method": "tools/list", "params": {"cursor": "x"}},
    {"method": "tools/call", "params": {"name": "read_file", "arguments": {"path": "a.txt"}}},
    {"method": "tools/call", "params": {"name": "read_file", "arguments": {"path": "none.txt"}}},
    {"method": "tools/call", "params": {"name": "read_file", "arguments": {"path": 7, "odd": None}}},
    {"method": "tools/call", "params": {"name": "directory_tree"}},
    {"method": "tools/call", "params": {"name": "directory_tree", "arguments": None}},
    {"method": "tools/call", "params": {"name": "directory_tree", "arguments": {}, "unknown": 1}},
    {"method": "tools/call", "params": {"name": "none", "arguments": {}}},
    {"method": "tools/call", "params": {"arguments": {}}},
    {"method": "tools/call", "params": {"name": "read_file", "arguments": ["a.txt"]}},
    {"method": "prompts/get", "params": {"name": "investigate", "arguments": {"artifact": "a1"}}},
    {"method": "resources/read", "params": {"uri": "artifact://none/a1"}},
    {"method": "completion/complete", "params": {"ref": ARTIFACT, "argument": {"name": "id", "value": ""}}},
    {"method": "logging/setLevel", "params": {"level": "debug"}},
    {"method": "nothing/known", "params": {}},
    {"method": "ping"},
    {"method": "ping", "params": {"more": 1}},
    {"method": "server/discover"},
    {"method": "initialize"},
]
META = [{}, {"progressToken": "mine"}, {"progressToken": 7, "else": [1]}, {"progressToken": {}}, {"progressToken": 1.5}]
IDS = ["text", "", "7", 0, -1, 2**70]


@pytest.fixture
def talk(tmp_path, monkeypatch):
    """Return what a server answers to each message, one after the other; by the SDK from the first if it is so told."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.txt").write_text("hello\n")
    times = iter(range(1000))

    def talk(messages, *, by_sdk=False):
        sent, answers = os.pipe(), os.pipe()
        mine = {0: sent[0], 1: answers[1]}
        monkeypatch.setattr(stdio, "can_be_watched", lambda: True)
        monkeypatch.setattr(stdio_transport, "_take", lambda fd, _: mine[fd])
        monkeypatch.setattr(express, "collects_spans", lambda: by_sdk)
        told = []

        def ask():
            with open(sent[1], "wb", buffering=0) as to, open(answers[0], "rb") as back:
                for message in messages:
                    given = json.dumps({"jsonrpc": "2.0", **message}).encode()
                    to.write(given + b"\n")
                    if b'"id"' not in given:
                        continue
                    line = back.readline().decode()
                    told.append(json.loads(re.sub(r"ses_\w{22}", "ses", re.sub(rf"{place}/bursar/\w+", "/data", line))))
                to.close()
                assert back.read() == b""  # no more than an answer a request

        async def run():
            async with anyio.create_task_group() as both:
                both.start_soon(anyio.to_thread.run_sync, ask)
                await stdio._serve(dispatcher, anyio.Event(), lambda: None)
                os.close(answers[1])

        place = tmp_path / f"data{next(times)}"
        with dispatching(tmp_path / "workspace", place, *tools(Settings.copy_bytes)) as dispatcher:
            anyio.run(run)
        os.close(sent[0])
        return told

    return talk


def numbered(requests):
    return [{"id": number, **request} for number, request in enumerate(requests, 1)]


def met(version="2025-06-18", **more):
    about = {**INITIALIZE, "protocolVersion": version}
    return [{"id": "meet", "method": "initialize", "params": about, **more}, {"method": "notifications/initialized"}]


def enveloped(request, **more):
    params = request.get("params", {})
    return {**request, "params": {**params, "_meta": {**MODERN, **more}}}


@pytest.mark.parametrize("version", [*HANDSHAKES, "2026-07-28", "1999-01-01", ""])
def test_a_handshake(talk, version):
    conversation = [*met(version), *numbered([{"method": "ping"}, {"method": "tools/list"}])]
    assert talk(conversation) == talk(conversation, by_sdk=True)


@pytest.mark.parametrize(
    "about",
    [
        {},
        {**INITIALIZE, "clientInfo": {"name": "x"}},
        {**INITIALIZE, "capabilities": None},
        {**INITIALIZE, "capabilities": {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}},
        {**INITIALIZE, "protocolVersion": 7},
        {**INITIALIZE, "_meta": {"progressToken": 1}},
        {**INITIALIZE, "clientInfo": {"name": "x", "version": "1", "title": "X", "icons": []}, "more": 1},
    ],
    ids=json.dumps,
)
def test_a_handshake_of_another_form(talk, about):
    conversation = numbered([{"method": "initialize", "params": about}, {"method": "ping"}])
    assert talk(conversation) == talk(conversation, by_sdk=True)


def test_all_after_a_handshake(talk):
    conversation = [*met(), *numbered(ALL_ALIKE)]
    answers = talk(conversation)
    assert answers == talk(conversation, by_sdk=True)
    assert sum("result" in answer for answer in answers) >= 15


def test_all_without_a_handshake(talk):
    conversation = numbered(enveloped(request) for request in ALL_ALIKE)
    answers = talk(conversation)
    assert answers == talk(conversation, by_sdk=True)
    assert sum("result" in answer for answer in answers) >= 12


@pytest.mark.parametrize("request_", [{"method": "ping"}, {"method": "tools/list"}, {"method": "server/discover"}])
def test_a_first_message_without_handshake_or_envelope(talk, request_):
    conversation = [*numbered([request_]), *met(), {"id": 9, "method": "tools/list"}]
    assert talk(conversation) == talk(conversation, by_sdk=True)


@pytest.mark.parametrize("method", ["ping", "tools/list", "tools/call"])
@pytest.mark.parametrize(
    "of",
    [lambda call, meta: {**call, "_meta": meta}, lambda call, meta: {**call, "_meta": {**MODERN, **meta}}],
    ids=["bare", "enveloped"],
)
def test_what_a_request_says_beside(talk, method, of):
    call = {"name": "read_file", "arguments": {"path": "none.txt"}} if method == "tools/call" else {}
    after = numbered(
        {"method": method, "params": of(call, meta)}
        for meta in [*META, "text", None, []]
        if isinstance(meta, dict) or of({}, {})["_meta"] == {}
    )
    for conversation in ([*met(), *after], after):
        assert talk(conversation) == talk(conversation, by_sdk=True)


@pytest.mark.parametrize("missing", MODERN)
@pytest.mark.parametrize("value", [None, 7, {}, "2025-11-25"])
def test_an_envelope_of_another_form(talk, missing, value):
    meta = {**MODERN, missing: value}
    conversation = numbered(
        [{"method": "tools/list", "params": {"_meta": meta}}, {"method": "tools/list", "params": {"_meta": MODERN}}]
    )
    assert talk(conversation) == talk(conversation, by_sdk=True)


@pytest.mark.parametrize("identity", [*IDS, 1.5, None, True, [], "x" * 1000])
def test_an_id(talk, identity):
    first = {"id": identity, "method": "initialize", "params": INITIALIZE}
    conversation = [first, {"method": "notifications/initialized"}, {"id": identity, "method": "ping"}]
    assert talk(conversation) == talk(conversation, by_sdk=True)


@pytest.mark.parametrize(
    "odd", [{"jsonrpc": "1.0"}, {"jsonrpc": None}, {"more": 1}, {"params": None}, {"params": []}, {"result": {}}]
)
def test_a_request_of_another_form(talk, odd):
    conversation = [*met(), {"id": 1, "method": "ping", **odd}, {"id": 2, "method": "ping"}]
    assert talk(conversation) == talk(conversation, by_sdk=True)


def test_a_handshake_that_is_answered_under_an_id_that_comes_again(talk):
    conversation = [*met(), {"id": "meet", "method": "nothing/known"}, {"id": "meet", "method": "prompts/get"}]
    assert talk(conversation) == talk(conversation, by_sdk=True)


def test_a_second_handshake(talk):
    conversation = [*met(), *met("2025-11-25"), {"id": 1, "method": "tools/list"}]
    assert talk(conversation) == talk(conversation, by_sdk=True)


def test_notifications_alone_are_not_answered(talk):
    conversation = [{"method": "notifications/initialized"}, {"method": "notifications/unknown", "params": {"a": 1}}]
    assert talk(conversation) == talk(conversation, by_sdk=True) == []


def test_the_versions_are_those_of_the_sdk():
    assert tuple(sdk.HANDSHAKE_PROTOCOL_VERSIONS) == express.HANDSHAKE_VERSIONS
    assert express.MODERN_VERSION in sdk.MODERN_PROTOCOL_VERSIONS


def test_what_clients_mostly_ask_loads_no_sdk(options, folder, tmp_path):
    (folder / "a.txt").write_text("hello\n")
    with open(tmp_path / "imports", "w+") as imports:
        client = Client(module(*options), stderr=imports, env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"})
        client.handshake()
        client.tools()
        assert not client.call("read_file", path="a.txt")[1]
        assert loaded(imports) == set()
        client.request("resources/read", {"uri": "artifact://none/a1"})
        assert loaded(imports) == {"mcp", "mcp_types"}
        client.close()


def loaded(imports):
    imports.seek(0)
    return {"mcp", "mcp_types"} & {line.rpartition("|")[2].strip() for line in imports}
