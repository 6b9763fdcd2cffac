"""What a client meets on the wire, in every era of the protocol."""

import json
import os
import time
from contextlib import closing

import pytest
from bursar.artifacts import Limits, Store
from bursar.budget import tokens
from replies import reply_of
from wire import Client, module
from wire import server as running

HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
TOOLS = [
    "web_fetch",
    "read_file",
    "terminal",
    "directory_tree",
    "download_image",
    "write_pdf",
    "edit_file",
    "read_artifact",
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """One server for all that leaves it as it was."""
    base = tmp_path_factory.mktemp("shared")
    (base / "workspace").mkdir()
    with running("--root", str(base / "workspace"), "--data-dir", str(base / "data")) as client:
        client.folder = base / "workspace"
        yield client


@pytest.mark.parametrize("version", HANDSHAKES)
def test_every_handshake_version_is_agreed_to(options, version):
    client = Client(module(*options))
    about = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    assert client.request("initialize", about)["result"]["protocolVersion"] == version
    client.send("notifications/initialized", notify=True)
    assert [tool["name"] for tool in client.request("tools/list")["result"]["tools"]] == TOOLS
    client.close()


def test_the_stateless_version_needs_no_handshake(options, folder):
    (folder / "note.txt").write_text("hello\n")
    client = Client(module(*options))
    assert "2026-07-28" in client.request("server/discover", {"_meta": MODERN})["result"]["supportedVersions"]
    assert [t["name"] for t in client.request("tools/list", {"_meta": MODERN})["result"]["tools"]] == TOOLS
    call = {"name": "read_file", "arguments": {"path": "note.txt"}, "_meta": MODERN}
    reply = client.request("tools/call", call)["result"]
    assert reply_of(reply["content"][0]["text"])["preview"] == "hello\n"
    client.close()


def test_an_unknown_tool_is_a_protocol_error_that_names_the_tools(client):
    error = client.request("tools/call", {"name": "cat", "arguments": {}})["error"]
    assert error["code"] == -32602
    assert "read_file" in error["message"]


def test_an_unknown_tool_of_any_length_costs_little(client):
    error = client.request("tools/call", {"name": "x\x1b" * 500_000, "arguments": {}})["error"]
    assert len(error["message"]) < 400


def test_a_last_message_without_a_line_break_is_answered(options):
    client = Client(module(*options))
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    client.write(json.dumps(request).encode())
    client.process.stdin.close()
    assert client.receive(1)["result"]["protocolVersion"] == "2025-06-18"
    client.close()


def test_a_line_that_is_no_message_is_answered_and_the_next_one_too(client):
    client.write(b"{nonsense\n")
    client.write(b'{"jsonrpc":"2.0","id":[],"method":7}\n')
    client.write(b"\n")
    text, is_error, _ = client.call("directory_tree")
    assert not is_error, text


@pytest.mark.parametrize("rest", ['"params":[1]', '"params":7', '"method":5', '"method":"ping","params":"\\ud800"'])
def test_a_malformed_request_is_refused_under_its_own_id(client, rest):
    method = "" if "method" in rest else '"method":"tools/call",'
    client.write(f'{{"jsonrpc":"2.0","id":"odd",{method}{rest}}}\n'.encode())
    assert client.receive("odd")["error"]["code"] == -32600


def test_the_messages_of_a_batch_are_answered_each(client):
    pings = [{"jsonrpc": "2.0", "id": f"ping{number}", "method": "ping"} for number in range(3)]
    client.write(json.dumps([*pings, 17]).encode() + b"\n")
    assert {client.next()["id"] for _ in range(4)} == {"ping0", "ping1", "ping2", None}


def test_many_calls_at_once_share_what_one_turn_may_cost(client):
    (client.folder / "long.txt").write_text("word after word in a long line\n" * 3000)
    artifact = json.loads(client.call("read_file", path="long.txt")[0].partition("\n")[0])["artifact"]
    calls = [{"artifact": artifact, "lines": f"{n}-{n + 900}"} for n in range(1, 21)]
    ids = [client.send("tools/call", {"name": "read_artifact", "arguments": arguments}) for arguments in calls]
    texts = [client.next()["result"]["content"][0]["text"] for _ in ids]
    assert sum(map(tokens.count, texts)) <= 10_000


def test_a_lone_surrogate_in_an_argument_is_answered(client):
    request = {"jsonrpc": "2.0", "id": "s", "method": "tools/call"}
    request["params"] = {"name": "read_file", "arguments": {"path": "\ud800.txt"}}
    client.write(json.dumps(request).encode() + b"\n")
    assert client.receive("s")["result"]["isError"]


def test_progress_is_told_to_a_client_that_asks(client):
    arguments = {"command": "sleep 2.5", "timeout_s": 20}
    client.send("tools/call", {"name": "terminal", "arguments": arguments, "_meta": {"progressToken": "p"}})
    told = client.next()
    assert told["method"] == "notifications/progress"
    assert told["params"]["progressToken"] == "p"
    client.receive(client.last_id)


def test_a_client_that_never_reads_the_log_does_not_stop_the_server(options, folder):
    (folder / "note.txt").write_text("hello\n")
    read, write = os.pipe()
    client = Client(module(*options), stderr=write)
    client.handshake()
    for _ in range(600):
        assert not client.call("read_file", path="note.txt")[1]
    client.close()
    os.close(read)
    os.close(write)


def test_a_data_directory_that_cannot_be_written_is_an_error_and_not_the_end(tmp_path, folder):
    (tmp_path / "file").write_text("in the way")
    client = Client(module("--root", str(folder), "--data-dir", str(tmp_path / "file")))
    client.handshake()
    time.sleep(2.5)
    text, is_error, _ = client.call("directory_tree")
    assert is_error
    assert "internal_error" not in text
    client.close()


@pytest.mark.needs("root")
def test_references_into_many_sessions_do_not_pile_up(options, tmp_path):
    references = []
    with closing(Store(tmp_path / "data" / "bursar", Limits())) as store:
        for _ in range(12):
            with store.create(f"local:{os.getuid()}").writer(tool="t", did="d", label="note.txt") as writer:
                writer.write(b"hello\n")
            references.append(writer.commit().ref)
    client = Client(module(*options))
    client.handshake()
    for reference in references[:4]:
        assert not client.call("read_artifact", artifact=reference)[1]
    before = len(os.listdir(f"/proc/{client.server}/fd"))
    for reference in references:
        assert reply_of(client.call("read_artifact", artifact=reference)[0])["preview"] == "hello\n"
    assert len(os.listdir(f"/proc/{client.server}/fd")) <= before + 4
    client.close()


def test_whatever_is_wrong_with_a_reference_is_told_in_the_same_words(client):
    client.call("terminal", command="true")
    wrong = ["a99", "ses_0000000000000000000000/a1", "ses_x/a1", "../../etc/passwd", "/etc/passwd"]
    assert len({client.call("read_artifact", artifact=reference)[0] for reference in wrong}) == 1


def test_a_frame_of_ten_megabytes_arrives_whole(client):
    text, is_error, _ = client.call("terminal", command="x" * 10_000_000)
    assert is_error or "exit_code" in reply_of(text)
    assert not client.call("directory_tree")[1]
