"""What a client meets on the wire, in every era of the protocol."""

import json
import os

import pytest
from wire import Client, module

HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
TOOLS = ["read_file", "terminal", "directory_tree", "read_artifact"]


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
    assert json.loads(reply["content"][0]["text"])["preview"] == "hello\n"
    client.close()


def test_an_unknown_tool_is_a_protocol_error_that_names_the_tools(client):
    error = client.request("tools/call", {"name": "cat", "arguments": {}})["error"]
    assert error["code"] == -32602
    assert "read_file" in error["message"]


def test_a_line_that_is_no_message_is_answered_and_the_next_one_too(client):
    client.write(b"{nonsense\n")
    client.write(b'{"jsonrpc":"2.0","id":[],"method":7}\n')
    client.write(b"\n")
    text, is_error, _ = client.call("directory_tree")
    assert not is_error, text


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


def test_a_frame_of_ten_megabytes_arrives_whole(client):
    text, is_error, _ = client.call("terminal", command="x" * 10_000_000)
    assert is_error or "exit_code" in json.loads(text)
    assert not client.call("directory_tree")[1]
