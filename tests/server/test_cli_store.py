"""Whoever owns a store lists, shows, searches, copies, removes and counts what is in it, and nothing of it acts."""

import json
import re

import pytest
from bursar.artifacts import Limits, Store
from bursar.budget import tokens
from bursar.errors import BursarError
from bursar.server import cli
from bursar.server.cli_store import COMMANDS, run
from bursar.server.costs import HANDLE_TOKENS, Costs, of_session
from bursar.tools.read_artifact import ReadArtifact
from bursar.tools.terminal import Terminal
from harness import dispatching

HOSTILE = b"\x1b]0;title\x07\x1b[2Jred\x9b31m \xe2\x80\xaetxt.exe\r\n\x00end \xff\n"


@pytest.fixture
def store(tmp_path):
    with_limits = Store(tmp_path / "bursar", Limits())
    yield with_limits
    with_limits.close()


@pytest.fixture
def kept(store):
    """A session with three artifacts, the last hostile."""
    session = store.create("local:me")
    for content in (b"first\nneedle one\n", b"second\n", HOSTILE):
        with session.writer(tool="terminal", did="$ made\x1b[31m it", label="terminal.log") as writer:
            writer.write(content)
        writer.commit()
    session.close()
    return session.directory.name


@pytest.fixture
def said(tmp_path, capfdbinary):
    """Return what runs a command and returns its status, what it writes, and what that is as JSON."""

    def called(*words):
        status = run([*words, "--data-dir", str(tmp_path)])
        return status, capfdbinary.readouterr().out

    return called


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def test_sessions_and_artifacts_are_listed(kept, said):
    (session,) = rows(said("sessions", "--json")[1])
    assert (session["session"], session["artifacts"], session["owner"]) == (kept, 3, "local:me")
    assert [row["artifact"] for row in rows(said("artifacts", kept[:4], "--json")[1])] == ["a1", "a2", "a3"]
    assert kept.encode() in said("sessions")[1]
    assert b"needle" not in said("artifacts")[1]


def test_what_is_piped_is_byte_for_byte(kept, said):
    assert said("show", "a3") == (0, HOSTILE)
    assert said("show", f"{kept}/a1") == (0, b"first\nneedle one\n")


@pytest.mark.parametrize("words", [["grep", "."], ["grep", ".", "--json"], ["artifacts"], ["artifacts", "--json"]])
def test_nothing_that_is_stored_acts_on_a_terminal(kept, said, words):
    written = said(*words)[1].decode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", written)


def test_a_pager_is_given_nothing_that_acts(kept, said, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("PAGER", f"tee {tmp_path / 'seen'}")
    said("show", "a3")
    assert (tmp_path / "seen").read_text() == "␛]0;title␇␛[2Jred\ufffd31m \ufffdtxt.exe\n␀end \ufffd\n"


def test_all_artifacts_are_searched(kept, said):
    assert said("grep", "needle") == (0, f"{kept}/a1:2:needle one\n".encode())
    assert said("grep", "-i", "SECOND", kept)[1] == f"{kept}/a2:1:second\n".encode()
    assert said("grep", "needle", f"{kept}/a2") == (1, b"")


def test_copies_are_byte_for_byte_and_overwrite_nothing(kept, said, tmp_path):
    said("export", kept, str(tmp_path / "out"))
    held = tmp_path / "out" / kept
    told = json.loads((held / "artifacts.json").read_text())
    assert [(held / one["path"]).read_bytes() for one in told][2] == HOSTILE
    with pytest.raises(BursarError, match="exists"):
        said("export", kept, str(tmp_path / "out"))


def test_sessions_and_artifacts_are_removed(kept, said, store):
    said("rm", f"{kept}/a2", "--yes")
    assert [one.artifacts for one in store.listed()] == [("a1", "a3")]
    assert said("rm", "--idle-days", "1", "--yes")[0] == 0
    assert len(store.listed()) == 1
    said("rm", kept, "--yes")
    assert store.listed() == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["show", "a9"], "unknown_artifact"),
        (["show", "zz"], "unknown_session"),
        (["show", "../../etc/passwd"], "unknown_session"),
        (["rm"], "bad_command_line"),
        (["grep", "("], "bad_pattern"),
        (["artifacts", "zz"], "unknown_session"),
    ],
)
def test_what_cannot_be_done_is_told(kept, said, words, code):
    with pytest.raises(BursarError, match=code):
        said(*words)


def test_an_empty_name_names_nothing(kept, said, store):
    for words in (["rm", "", "--yes"], ["rm", "/a1", "--yes"], ["export", "", "/nowhere"], ["grep", ".", ""]):
        with pytest.raises(BursarError, match="bad_command_line"):
            said(*words)
    assert [one.artifacts for one in store.listed()] == [("a1", "a2", "a3")]


def test_a_line_with_several_matches_is_written_once(kept, said):
    assert said("grep", "e", f"{kept}/a1")[1] == f"{kept}/a1:2:needle one\n".encode()


def test_lines_of_json_are_json_however_long(kept, said, store):
    session = store.create("local:me")
    with session.writer(tool="terminal", did="d") as writer:
        writer.write("中文\x1b\u202e ".encode() * 5000)
    writer.commit()
    session.close()
    (found,) = rows(said("grep", "文", "--json")[1])
    assert found["text"].startswith("中文")


def test_what_is_damaged_is_told_and_the_rest_is_done(kept, store, capfd):
    (store.root / kept / "a1-terminal.log").write_bytes(b"needle, but not what was stored")
    status = run(["grep", "second", "--data-dir", str(store.root.parent)])
    shown = capfd.readouterr()
    assert (status, shown.out) == (0, f"{kept}/a2:1:second\n")
    assert shown.err.startswith("bursar: damaged")


def test_every_command_is_reached():
    assert {name for name, module in cli._APART.items() if module == "cli_store"} == set(COMMANDS)


@pytest.mark.anyio
async def test_the_costs_are_those_of_the_replies_that_were_sent(tmp_path):
    sent, exactly, again = 0, 0, 0
    with dispatching(tmp_path, tmp_path / "data", Terminal(), ReadArtifact()) as dispatcher:
        client = dispatcher.client("test")
        calls = [("terminal", {"command": f"seq {n} {n * 900}"}) for n in range(1, 8)]
        calls += [("read_artifact", {"artifact": "a2", "lines": "5-90"}), ("terminal", {"command": "exit 3"})]
        calls += [("terminal", {"nothing": "x"}), ("read_artifact", {"artifact": "a99"})]
        for tool, arguments in calls:
            answer = await dispatcher.answer(tool, arguments, client)
            bare = re.sub("ses_[A-Za-z0-9]{22}", "", answer.text)
            exactly += tokens.count(answer.text)
            sent += tokens.count(bare)
            again += tokens.count(bare) if tool == "read_artifact" and not answer.is_error else 0
        store = dispatcher.store
        (listed,) = store.listed()
        costs = of_session(store.visit(listed.name))
    assert costs.handles == 1
    assert costs.sent == sent + HANDLE_TOKENS
    assert abs(costs.sent - exactly) <= 6
    assert costs.again == again
    assert costs.kept_out > 5 * sent
    assert costs + Costs() == costs
