"""What a server showed of a file in part is not written back for the whole, in whichever way a model does it."""

import json

import pytest
from bursar.budget.reply import Reply
from wire import server

BIG = "".join(f"line {number} of text\n" for number in range(30_000))
CODE = "".join(f"def f{number}(x):\n    return x + {number}\n\n\n" for number in range(3_000))


def shown(client, path, **how):
    reply = client.call("read_file", path=path, **how)[0]
    return reply, Reply.parse(reply).value


def as_new(text):
    return {"path": "new.txt", "new": text}


WAYS = {
    "the reply": lambda reply, told: as_new(reply),
    "over the file": lambda reply, told: {"path": "big.txt", "new": reply, "all": True},
    "the preview": lambda reply, told: as_new(json.dumps(told["preview"], separators=(",", ":"))),
    "the preview, laid out": lambda reply, told: as_new(json.dumps(told["preview"], indent=2)),
    "quoted": lambda reply, told: as_new("".join(f"> {line}\n" for line in reply.splitlines())),
    "fenced": lambda reply, told: as_new(f"```json\n{reply}\n```\n"),
    "indented": lambda reply, told: as_new("".join(f"    {line}\n" for line in reply.splitlines())),
    "with CRLF": lambda reply, told: as_new(f"begin\r\n{reply}\r\nend\r\n"),
    "with a byte order mark": lambda reply, told: as_new(f"\ufeff{reply}"),
    "in a string": lambda reply, told: as_new(json.dumps({"text": reply})),
    "in a string in a string": lambda reply, told: as_new(json.dumps(json.dumps(reply))),
    "for a line": lambda reply, told: {"path": "big.txt", "old": "line 17 of text\n", "new": reply},
    "among edits": lambda reply, told: {
        "path": "big.txt",
        "edits": [{"old": "line 1 of text\n", "new": "x\n"}, {"old": "line 17 of text\n", "new": reply}],
    },
    "head, gap and tail": lambda reply, told: as_new(
        f'{told["preview"]["head"]}"omitted":"{told["preview"]["omitted"]}"\n{told["preview"]["tail"]}'
    ),
    "head, the notice, tail": lambda reply, told: as_new(
        f"{told['preview']['head']}{told['incomplete']}\n{told['preview']['tail']}"
    ),
    "the notice as a comment": lambda reply, told: as_new(f"a = 1\n# {told['incomplete']}\nb = 2\n"),
    "into UTF-16": lambda reply, told: {"path": "wide.txt", "old": "two", "new": reply},
    "into a file with CRLF": lambda reply, told: {"path": "dos.txt", "old": "two", "new": reply},
    "everywhere": lambda reply, told: {"path": "big.txt", "old": "of text", "new": reply, "all": True},
    "behind much text": lambda reply, told: as_new("word " * 100_000 + f"\n{reply}"),
}


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    work = tmp_path_factory.mktemp("work")
    (work / "big.txt").write_text(BIG)
    (work / "code.py").write_text(CODE)
    (work / "wide.txt").write_bytes("\ufeffone\ntwo\n".encode("utf-16-le"))
    (work / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    return work


@pytest.fixture(scope="module")
def client(work):
    with server("--root", str(work), "--data-dir", str(work.parent / "data")) as client:
        yield client


@pytest.fixture(scope="module")
def big(client):
    return shown(client, "big.txt")


@pytest.mark.parametrize("way", WAYS)
def test_a_preview_written_back_is_refused_and_told_what_to_do(client, work, big, way):
    before = {path: path.read_bytes() for path in work.iterdir()}
    reply, is_error, _ = client.call("edit_file", **WAYS[way](*big))
    assert is_error, reply
    assert reply.startswith("truncated_content: ")
    assert "Read the part that is missing" in reply or "artifact" in reply
    assert {path: path.read_bytes() for path in work.iterdir()} == before


@pytest.mark.parametrize(
    ("path", "how"), [("code.py", {}), ("big.txt", {"lines": "5-20000"}), ("big.txt", {"grep": "line"})]
)
def test_so_is_what_else_shows_a_part(client, path, how):
    reply, told = shown(client, path, **how)
    assert "incomplete" in told
    assert client.call("edit_file", path="new.txt", new=reply)[0].startswith("truncated_content: ")
