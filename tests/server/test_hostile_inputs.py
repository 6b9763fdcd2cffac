"""Whatever arguments, files, programs, web servers and clients send: a small safe reply, and the server goes on."""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import hostile_files
import hostile_site
import pytest
from bursar.budget import tokens
from hostile_tables import ARGUMENTS, COMMANDS, DOCUMENTS, FILES, FRAMES, META, ODD, PATTERNS, SESSION
from replies import reply_of
from wire import Client, module

SAFE_FOR_FACTS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u206f\ufff9-\ufffb\U000e0000-\U000e007f]"
)
ERROR = re.compile(r"[a-z]+(?:_[a-z]+)*: .+\. [A-Z\"].*[^.]\.|[a-z_]+: .+…")
OWN = """artifact path dir empty state file encoding newlines replaced changed exit_code ended took_s killed left fix
note status
ignored unlisted unfinished incomplete size preview lines bytes tail matches context spread ignoring_case as_literal of
searched left_out session artifacts same_as
not_utf8 shown_as earlier url final_url content_type code cause failed_at http_status error target_path download_dir
format width height mode animated frames blank orientation stripped declared sha256 received title author published
modified site language description found kind next unreadable from parts omitted words pages characters replaced
says images_embedded images_missing links_dropped notes fonts all_replaced entries truncated isolation more_facts tables
encoding cut image formulas byline""".split()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A workspace with everything in it that does harm."""
    base = tmp_path_factory.mktemp("hostile")
    folder = base / "workspace"
    folder.mkdir()
    hostile_files.build(folder)
    # Where files cost nothing: a hundred thousand of them take a disk a minute when it is busy.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as elsewhere:
        hostile_files.crowded(Path(elsewhere) / "crowd", 100_000)
        (base / "elsewhere").symlink_to(elsewhere)
        yield base
    # Deeper than Python's own way of removing a directory goes.
    subprocess.run(["rm", "-rf", folder / "deep"], check=True)


@pytest.fixture(scope="module")
def site():
    server, address = hostile_site.serve()
    yield address
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def server(place, site):
    """One server for the whole table."""
    options = ["--root", str(place / "workspace"), "--data-dir", str(place / "data"), "--allow-net", site]
    options += ["--patience-s", "1.5", "--ignore-robots"]
    odd = [Path("/dev"), Path("/proc/sys/kernel"), Path("/sys/kernel/mm"), (place / "elsewhere").resolve()]
    options += [f"--root={root}" for root in odd if root.is_dir()]
    with (place / "err").open("wb") as errors:
        client = Client(module(*options), stderr=errors)
        client.handshake()
        yield client
        client.close()
    log = (place / "err").read_text()
    assert SESSION not in log
    assert [line for line in log.splitlines() if not line.startswith("{")] == []


@pytest.fixture(autouse=True)
def _given_up(server):
    """A call that is never answered fails, and does not keep everybody waiting."""
    timer = threading.Timer(60, server.process.kill)
    timer.start()
    yield
    timer.cancel()


def small(text):
    assert len(text.encode()) <= 8192
    assert tokens.count(text) <= 2000
    assert "Traceback" not in text
    return text


def plain(value):
    """Check that nothing but a preview has what a reader does not see."""
    if isinstance(value, str):
        assert not SAFE_FOR_FACTS.search(value), value
    elif isinstance(value, dict):
        for name, inner in value.items():
            plain(name)
            plain(inner)
    elif isinstance(value, list):
        for inner in value:
            plain(inner)


def own_words(reply):
    """Check that the structure of a reply is bursar's."""
    assert set(reply) <= set(OWN), set(reply) - set(OWN)
    tail = [name for name in ("incomplete", "size", "empty", "preview", "parts", "omitted") if name in reply]
    assert list(reply)[len(reply) - len(tail) :] == tail, list(reply)
    if "artifact" in reply:
        assert re.fullmatch(r"(ses_\w{22}/)?a\d+(-[\w.-]{1,60})?", reply["artifact"], re.ASCII)
    if "incomplete" in reply:
        assert "; read_artifact(" in reply["incomplete"] or "read_artifact" not in reply["incomplete"]
    for part in reply.get("parts", ()):
        own_words(part)
    plain({name: value for name, value in reply.items() if name not in ("preview", "parts")})


def judge(answer):
    """Check a whole JSON-RPC answer to a tool call."""
    if "error" in answer:
        plain(small(answer["error"]["message"]))
        return None
    result = answer["result"]
    text = small(result["content"][0]["text"])
    assert not text.startswith("internal_error"), text
    if result.get("isError"):
        assert ERROR.fullmatch(text), text
        plain(text)
        return text
    reply = reply_of(text)
    own_words(reply)
    return reply


def answers_on(server):
    """Check that the same server does small things as before."""
    assert server.process.poll() is None
    reply = judge(server.request("tools/call", {"name": "read_file", "arguments": {"path": "note.txt"}}))
    assert reply["preview"] == "all is well\n"


def ask(server, tool, arguments):
    # Lone surrogates travel as escapes, as a client written in JavaScript sends them.
    server.last_id += 1
    message = {"jsonrpc": "2.0", "id": server.last_id, "method": "tools/call"}
    message["params"] = {"name": tool, "arguments": arguments, "_meta": {"progressToken": server.last_id}}
    server.write(json.dumps(message).encode() + b"\n")
    return judge(server.receive(server.last_id))


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_of_every_kind_do_no_harm(server, place, case):
    tool, arguments = ARGUMENTS[case]
    if isinstance(reference := arguments.get("artifact"), str):
        arguments = arguments | {"artifact": reference.replace("{data}", str(place / "data"))}
    reply = ask(server, tool, arguments)
    if case.startswith("reference") and arguments["artifact"].strip() != "a1":
        assert isinstance(reply, str)
    answers_on(server)


@pytest.mark.parametrize("name", ["regex.txt", "one-line.txt", "errors.log", "nul.bin"])
def test_patterns_of_every_kind_end_in_time(server, name):
    artifact = ask(server, "read_file", {"path": name})["artifact"]
    for pattern in PATTERNS.values():
        ask(server, "read_artifact", {"artifact": artifact, "grep": pattern, "context": 10**9})
    answers_on(server)


@pytest.mark.parametrize("case", FILES)
def test_files_of_every_kind_do_no_harm(server, place, case):
    tool, arguments = FILES[case]
    if case == "tree of a crowd":
        arguments = {"path": str((place / "elsewhere").resolve() / "crowd"), "depth": 3}
    reply = ask(server, tool, arguments)
    assert "root:x:" not in json.dumps(reply)
    answers_on(server)


def test_a_file_that_changes_while_it_is_read_is_told_as_it_was_or_not_at_all(server, place):
    with hostile_files.Restless(place / "workspace"):
        for number in range(60):
            part = [{}, {"lines": "90000-90010"}, {"bytes": "400000-"}][number % 3]
            assert "root:x:" not in json.dumps(ask(server, "read_file", {"path": "restless.log"} | part))
            ask(server, "directory_tree", {"path": "."} if number % 10 == 0 else {"path": "names"})
    answers_on(server)


@pytest.mark.parametrize("path", hostile_site.PATHS)
def test_web_servers_of_every_kind_do_no_harm(server, site, path):
    tools = (
        ["download_image"] if path.startswith(("png", "gif", "eps", "ico", "tiff", "jpeg", "poly")) else ["web_fetch"]
    )
    if path in ("gzip", "svg", "html-as-png", "length-too-long", "nothing", "to-file"):
        tools = ["web_fetch", "download_image"]
    for tool in tools:
        reply = ask(
            server, tool, {"url": f"http://{site}/{path}"} | ({"thumbnail": True} if tool != "web_fetch" else {})
        )
        assert "root:x:" not in json.dumps(reply)
    answers_on(server)


def test_web_servers_that_never_end_are_given_up_together_and_others_go_on(server, site):
    waiting = [
        server.send("tools/call", {"name": tool, "arguments": {"url": f"http://{site}/{path}"}})
        for path in hostile_site.SLOW
        for tool in ("web_fetch", "download_image")
    ]
    small_one = server.send("tools/call", {"name": "read_file", "arguments": {"path": "note.txt"}})
    answered = []
    while len(answered) < len(waiting) + 1:
        message = server.next()
        if "id" in message:
            judge(message)
            answered.append(message["id"])
    assert sorted(answered) == sorted([*waiting, small_one])
    assert answered[0] == small_one
    answers_on(server)


@pytest.mark.parametrize("case", DOCUMENTS)
def test_documents_of_every_kind_become_a_pdf_or_an_error(server, case):
    reply = ask(server, "write_pdf", {"content": DOCUMENTS[case], "toc": case == "headings"})
    assert "root:x:" not in json.dumps(reply)
    answers_on(server)


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "../out.pdf"},
        {"path": "/etc/out.pdf"},
        {"path": "outside/out.pdf"},
        {"path": "note.txt/out.pdf"},
        {"path": "x" * 300 + ".pdf"},
        {"path": "a\nb\x1b.pdf"},
        {"path": "pipe.pdf\0"},
        {"page_size": "0x0mm"},
        {"page_size": "1e9x1e9mm"},
        {"page_size": "-1x-1mm"},
        {"margin_mm": 1000},
        {"margin_mm": -50},
        {"title": ODD * 1000},
    ],
    ids=lambda arguments: str(arguments)[:40],
)
def test_documents_of_every_form_stay_in_their_place(server, arguments):
    ask(server, "write_pdf", {"content": "x", **arguments})
    answers_on(server)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX shell")
@pytest.mark.parametrize("case", COMMANDS)
def test_commands_of_every_kind_do_no_harm(server, case):
    ask(server, "terminal", {"command": COMMANDS[case], "timeout_s": 6})
    answers_on(server)


@pytest.mark.parametrize("case", FRAMES)
def test_messages_of_every_kind_do_no_harm(server, case):
    server.write(FRAMES[case] + b"\n")
    wanted = server.send("tools/call", {"name": "read_file", "arguments": {"path": "note.txt"}})
    while (message := server.next()).get("id") != wanted:
        assert message["jsonrpc"] == "2.0"
        assert "Traceback" not in json.dumps(message)
        assert "root:x:" not in json.dumps(message)
        if "error" in message and not case.startswith(("a method of 1 MB", "an id of 1 MB")):
            assert len(message["error"]["message"]) < 2000
    judge(message)
    answers_on(server)


def test_calls_under_one_id_are_each_answered(server):
    frames = [json.dumps(META | {"id": "twice"}).encode() + b"\n"] * 3
    server.write(b"".join(frames))
    wanted = server.send("ping")
    seen = []
    while (message := server.next()).get("id") != wanted:
        seen.append(message["id"])
    assert "twice" in seen or server.receive("twice")
    answers_on(server)


def test_a_call_cancelled_a_thousand_times_does_no_harm(server):
    asked = server.send("tools/call", {"name": "terminal", "arguments": {"command": "sleep 60"}})
    for _ in range(1000):
        server.send("notifications/cancelled", {"requestId": asked}, notify=True)
    answers_on(server)
