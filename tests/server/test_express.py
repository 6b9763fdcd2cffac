"""A call like the first of its connection is answered as that one was; whatever is not, as the SDK does."""

import base64
import io
import json
import threading
import time
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from PIL import Image
from test_ends import alive, wait_until
from test_protocol import MODERN
from wire import Client, module


@contextmanager
def serving(body):
    """Serve one picture on loopback; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "image/png")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{site.server_port}/red.png"
        site.shutdown()


def picture():
    made = io.BytesIO()
    Image.new("RGB", (64, 64), "red").save(made, "PNG")
    return made.getvalue()


SLOW = "python3 -c 'import time; time.sleep(600)'"


@pytest.fixture(params=["legacy", "modern"])
def called(options, folder, request):
    """A connection whose first call was answered, what each of its calls says beside its arguments, and that answer."""
    (folder / "a.txt").write_text("hello\n")
    with closing(Client(module(*options, "--allow-net", "127.0.0.1"))) as client:
        beside = {"_meta": MODERN} if request.param == "modern" else {}
        if not beside:
            client.handshake()
        call = {"name": "terminal", "arguments": {"command": "true"}, **beside}
        yield client, beside, client.request("tools/call", call)


def test_later_results_have_the_form_of_the_first(called):
    client, beside, first = called
    later = client.request("tools/call", {"name": "read_file", "arguments": {"path": "a.txt"}, **beside})
    assert later["result"]["content"] == [{"type": "text", "text": "hello\n"}]
    assert {**later, "id": 0, "result": {**later["result"], "content": []}} == {
        **first,
        "id": 0,
        "result": {**first["result"], "content": []},
    }
    failed = client.request("tools/call", {"name": "read_file", "arguments": {"path": "none.txt"}, **beside})
    assert failed["result"]["isError"]


def test_a_picture_stands_beside_its_text(called):
    client, beside, _ = called
    with serving(picture()) as there:
        call = {"name": "download_image", "arguments": {"url": there, "thumbnail": True}, **beside}
        text, shown = client.request("tools/call", call)["result"]["content"]
    assert text["type"] == "text"
    assert shown["mimeType"].startswith("image/")
    assert Image.open(io.BytesIO(base64.b64decode(shown["data"]))).getpixel((0, 0))[0] > 200


def test_a_call_that_is_withdrawn_ends_and_gets_no_answer(called, marker):
    client, beside, _ = called
    call = {"name": "terminal", "arguments": {"command": f"{SLOW} {marker}"}, **beside}
    withdrawn = client.send("tools/call", call)
    assert wait_until(lambda: alive(marker))
    client.send("notifications/cancelled", {"requestId": withdrawn}, notify=True)
    assert wait_until(lambda: not alive(marker))
    after = client.send("tools/call", {"name": "read_file", "arguments": {"path": "a.txt"}, **beside})
    assert client.next()["id"] == after


def test_a_call_with_a_token_is_told_how_far_it_has_come(called):
    client, beside, _ = called
    meta = {**beside.get("_meta", {}), "progressToken": "mine"}
    call = client.send("tools/call", {"name": "terminal", "arguments": {"command": "sleep 2.5"}, "_meta": meta})
    told = client.next()
    assert told["method"] == "notifications/progress"
    assert told["params"]["progressToken"] == "mine"
    assert told["params"]["progress"] > 0
    assert client.receive(call)["result"]["isError"] is False


def test_a_call_that_outlives_the_connection_is_told_so(options):
    with closing(Client(module(*options))) as client:
        client.handshake()
        client.call("terminal", command="true")
        identity = client.send("tools/call", {"name": "terminal", "arguments": {"command": SLOW}})
        time.sleep(0.5)
        client.process.stdin.close()
        assert client.next() == {
            "jsonrpc": "2.0",
            "id": identity,
            "error": {"code": -32000, "message": "Connection closed"},
        }


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "no_such_tool", "arguments": {}},
        {"name": "read_file", "arguments": ["a.txt"]},
        {"name": "read_file", "arguments": {"path": "a.txt"}, "_meta": {"progressToken": {}}},
        {"arguments": {"path": "a.txt"}},
        {"name": "read_file", "arguments": {"path": "a.txt"}, "_meta": "text"},
    ],
    ids=json.dumps,
)
def test_what_is_no_proper_call_is_refused_as_before_the_first(options, wrong):
    with closing(Client(module(*options))) as fresh:
        fresh.handshake()
        refused = fresh.request("tools/call", wrong)
        fresh.call("terminal", command="true")
        assert {**fresh.request("tools/call", wrong), "id": 0} == {**refused, "id": 0}
        assert "error" in refused


def test_a_connection_with_a_handshake_takes_no_call_without_one(options):
    with closing(Client(module(*options))) as client:
        client.handshake()
        client.call("terminal", command="true")
        call = {"name": "terminal", "arguments": {"command": "true"}, "_meta": MODERN}
        assert "error" in client.request("tools/call", call)


def test_a_client_that_introduces_itself_anew_is_known_by_its_new_name(options):
    with closing(Client(module(*options))) as client:
        client.handshake()
        client.call("terminal", command="true")
        named = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "claude-code", "version": "1"},
        }
        client.request("initialize", named)
        text = client.call("terminal", command="yes 'some words of text' | head -c 12000")[0]
        assert len(text) > 12_000  # that client takes it whole
