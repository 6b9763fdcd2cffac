"""An artifact is read as a resource under the same budget, and by the same session alone, as by a tool."""

import base64
import json
from pathlib import Path

import anyio
import pytest
from bursar.budget import tokens
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference
from replies import path_of, reply_of
from transports import KINDS, connected, told
from wire import server as running

LINES = "".join(f"line {number} of a long output\n" for number in range(1, 5001))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A workspace that the tests share, as they share a server."""
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def options(folder, tmp_path_factory):
    return ["--root", str(folder), "--data-dir", str(tmp_path_factory.mktemp("data"))]


@pytest.fixture(scope="module")
def client(options):
    with running(*options) as client:
        yield client


@pytest.fixture
def read(client):
    """Read a resource; returns its one content."""

    def read(uri):
        (content,) = client.request("resources/read", {"uri": uri})["result"]["contents"]
        assert content["uri"] == uri
        return content

    return read


@pytest.fixture
def stored(client, folder):
    """Store a file as an artifact; returns its address."""

    def stored(content, name="file.txt"):
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return f"artifact://{client.everywhere(client.artifact_of(client.call('read_file', path=name)[0]))}"

    return stored


def refused(client, uri):
    return client.request("resources/read", {"uri": uri})["error"]


def test_the_template_is_listed_and_the_list_of_resources_stays_empty(client, stored):
    stored("something")
    (template,) = client.request("resources/templates/list")["result"]["resourceTemplates"]
    assert template["uriTemplate"] == "artifact://{session}/{id}"
    assert template["description"]
    assert client.request("resources/list")["result"]["resources"] == []


def test_a_short_text_is_the_content_itself(read, stored):
    content = read(stored("first\n„second“ 二\n"))
    assert (content["mimeType"], content["text"]) == ("text/plain", "first\n„second“ 二\n")


def test_a_short_text_that_was_shown_before_is_the_content_again(client, read, stored):
    text = "".join(f"{number} a line\n" for number in range(200))
    address = stored(text)
    for _ in range(3):
        client.call("read_file", path="file.txt")
        assert read(address)["text"] == text


def test_json_that_was_stored_is_a_text_and_not_taken_for_a_reply(read, stored):
    content = read(stored('{"incomplete": "not really"}', "some.json"))
    assert (content["mimeType"], content["text"]) == ("text/plain", '{"incomplete": "not really"}')


def test_a_long_text_is_a_small_reply_that_says_how_to_read_on(client, read, stored):
    content = read(stored(LINES))
    assert content["mimeType"] == "application/json"
    assert len(content["text"].encode()) <= 8192
    assert tokens.count(content["text"]) <= 2000
    reply = reply_of(content["text"])
    assert "read_artifact(artifact=" in reply["incomplete"]
    assert reply["size"]["lines"] == 5000


def test_a_part_is_read_by_lines_bytes_tail_and_pattern(read, stored):
    address = stored(LINES)
    lines = LINES.splitlines(keepends=True)
    assert read(f"{address}?lines=100-102")["text"] == "".join(lines[99:102])
    assert read(f"{address}?bytes=0-9")["text"] == LINES[:10]
    assert read(f"{address}?tail=2")["text"] == "".join(lines[-2:])
    assert read(f"{address}?tail=2")["mimeType"] == "text/plain"
    found = read(f"{address}?grep=line%20(4999%7C5000)&lines=4000-")
    assert found["text"] == "4999:line 4999 of a long output\n5000:line 5000 of a long output\n"
    assert found["mimeType"] == "text/plain"


def test_a_plus_in_a_pattern_is_a_plus(read, stored):
    address = stored("a\naa\nb\n")
    assert read(f"{address}?grep=^a+$")["text"] == "1:a\n2:aa\n"


def test_a_part_that_does_not_fit_is_a_small_reply(read, stored):
    content = read(f"{stored(LINES)}?lines=1-4000")
    assert content["mimeType"] == "application/json"
    assert len(content["text"].encode()) <= 8192
    assert "incomplete" in reply_of(content["text"])


def test_a_part_that_is_no_text_does_not_pass_for_one(read, stored):
    content = read(f"{stored(bytes(range(256)) * 8, 'x.bin')}?bytes=128-200")
    assert content["mimeType"] == "application/json"
    assert reply_of(content["text"])["shown_as"] == "base64"


def test_a_small_binary_content_is_a_blob_under_its_media_type(read, stored):
    data = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    content = read(stored(data, "dot.png"))
    assert content["mimeType"] == "image/png"
    assert base64.b64decode(content["blob"]) == data


def test_a_large_binary_content_is_a_small_reply(read, stored):
    content = read(stored(bytes(range(256)) * 400, "noise.bin"))
    assert content["mimeType"] == "application/json"
    assert len(content["text"].encode()) <= 8192
    assert "blob" not in content


def test_what_a_running_command_wrote_so_far_does_not_pass_for_its_output(client, read):
    reply = reply_of(client.call("terminal", command="echo so far; sleep 30", background=True)[0])
    content = read(f"artifact://{client.everywhere(reply['artifact'])}")
    assert content["mimeType"] == "application/json"
    assert reply_of(content["text"])["state"] == "running"


@pytest.mark.parametrize(
    "change",
    [
        "artifact://ses_0000000000000000000000/a1",
        "{session}/a99",
        "{session}/a0",
        "{session}/a1/",
        "{session}/a1/../a1",
        "{session}/./a1",
        "{session}%2Fa1",
        "{session}/%611",
        "{session}//a1",
        "{session}/a1#a1",
        "{session}/a1\n",
        "{session}/A1",
        "{session}",
        "artifact://a1",
        "artifact:///a1",
        "ARTIFACT{rest}/a1",
        "file:///etc/passwd",
        "../../etc/passwd",
        "",
        "artifact://\x1b[31m",
        "artifact://" + "x" * 100_000,
    ],
)
def test_whatever_is_wrong_with_an_address_is_told_in_the_same_words(client, stored, change):
    session = stored("secret").rpartition("/")[0]
    expected = refused(client, f"{session}/a12345")
    assert (expected["code"], expected["message"][:17]) == (-32602, "unknown_artifact:")
    uri = change.replace("{session}", session).replace("{rest}", session.removeprefix("artifact"))
    error = refused(client, uri)
    assert (error["code"], error["message"]) == (expected["code"], expected["message"])
    assert len(json.dumps(error)) < 4000


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ("lines=x", "bad_range"),
        ("lines=999999", "beyond_the_end"),
        ("lines=1&bytes=1", "bad_argument"),
        ("lines=1&lines=2", "bad_argument"),
        ("tail=many", "bad_argument"),
        ("tail=0", "bad_argument"),
        ("page=2", "bad_argument"),
        ("artifact=a2", "bad_argument"),
        ("session=x", "bad_argument"),
        ("grep=(", "bad_pattern"),
    ],
)
def test_a_wrong_part_is_told_in_words(client, stored, part, code):
    error = refused(client, f"{stored('text')}?{part}")
    assert error["code"] == -32602
    assert error["message"].startswith(f"{code}: ")


def test_a_content_that_was_changed_behind_the_store_is_refused(client, stored, folder):
    (folder / "kept.txt").write_text("as it was stored")
    artifact = client.artifact_of(client.call("read_file", path="kept.txt")[0])
    path = Path(client.directory, f"{artifact}-kept.txt")
    path.chmod(0o600)
    path.write_text("AS IT WAS STORED")
    error = refused(client, f"artifact://{client.everywhere(artifact)}")
    assert error["code"] == -32603
    assert error["message"].startswith("damaged: ")


@pytest.mark.parametrize("kind", KINDS)
def test_resources_completion_and_prompts_work_over_every_transport_and_in_every_era(kind, options, folder):
    (folder / "note.txt").write_text("hello\n")

    async def main():
        async with connected(kind, options) as client:
            assert (await client.list_resources()).resources == []
            (template,) = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "artifact://{session}/{id}"
            artifact = told(await client.call_tool("read_file", {"path": "note.txt"}))["artifact"]
            (content,) = (await client.read_resource(f"artifact://{artifact}")).contents
            assert (content.text, content.mime_type) == ("hello\n", "text/plain")
            with pytest.raises(MCPError) as caught:
                await client.read_resource(f"artifact://{artifact}9")
            assert caught.value.code == -32602
            await proposes(client, kind, artifact)
            assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["investigate"]
            (message,) = (await client.get_prompt("investigate", {"artifact": "a7"})).messages
            assert "a7" in message.content.text

    async def proposes(client, kind, artifact):
        session, _, name = artifact.partition("/")
        last = name.partition("-")[0]
        ref = ResourceTemplateReference(uri="artifact://{session}/{id}")
        named = await client.complete(ref, {"name": "id", "value": ""}, {"session": session})
        assert named.completion.values == [last]
        unnamed = await client.complete(ref, {"name": "id", "value": ""})
        # Requests of the stateless era over HTTP have no session but the one that they name.
        assert unnamed.completion.values == ([] if kind == "http 2026-07-28" else [last])

    anyio.run(main)


def test_each_call_is_in_one_session_by_its_references_whichever_process_it_goes_to(options, folder):
    """As from LangChain, CrewAI, llama-index and mcporter, which start one for every call."""
    (folder / "note.txt").write_text(LINES)
    with running(*options) as first:
        reference = reply_of(first.call("read_file", path="note.txt")[0])["artifact"]
    address = f"artifact://{reference}"
    for given, number in ((reference, 17), (address, 4000)):
        with running(*options) as other:
            reply = reply_of(other.call("read_artifact", artifact=given, lines=f"{number}-{number}")[0])
            assert reply["preview"] == f"line {number} of a long output\n"
            (content,) = other.request("resources/read", {"uri": f"{address}?lines=5-5"})["result"]["contents"]
            assert content["text"] == "line 5 of a long output\n"


def test_a_path_opens_what_another_process_has_stored_only_for_who_goes_on_with_its_session(options, folder):
    (folder / "note.txt").write_text("from another process\n")
    with running(*options) as first:
        reply = reply_of(first.call("read_file", path="note.txt")[0])
    session = reply["artifact"].partition("/")[0]
    with running(*options) as stranger:
        for tool, name in (("read_artifact", "artifact"), ("read_file", "path")):
            text, is_error, _ = stranger.call(tool, **{name: path_of(reply)})
            assert is_error, text
            assert "from another process" not in text
    with running(*options, "--session", session) as heir:
        for tool, name in (("read_artifact", "artifact"), ("read_file", "path")):
            assert reply_of(heir.call(tool, **{name: path_of(reply)})[0])["preview"] == "from another process\n"
