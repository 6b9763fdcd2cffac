"""`bursar fit`, `bursar history` and `bursar task`: filters for programs in any language."""

import io
import json
import subprocess
import sys
import time
from pathlib import Path

import histories
import pytest
from bursar.history import Conversation, Limit
from bursar.server import cli_history
from bursar.server.cli import main
from strict_provider import rejected

TRANSCRIPTS = Path(__file__).parents[1] / "history" / "transcripts"


@pytest.fixture
def bursar(monkeypatch, capsysbinary):
    """Run the command in this process; return its exit status and what it wrote."""

    def run(*words, given=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        with pytest.raises(SystemExit) as ended:
            main(list(map(str, words)))
        out, err = capsysbinary.readouterr()
        return ended.value.code or 0, out.decode(), err.decode()

    return run


def long(turns):
    messages = [{"role": "user", "content": "Why is it red?"}]
    for turn in range(turns):
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{turn}", "content": f"line of part_{turn}\n" * 200})
    return messages


def test_a_body_is_fitted_and_all_else_in_it_stays(bursar, tmp_path):
    body = {"model": "gpt-5", "temperature": 0, "messages": long(30), "tools": histories.tools("chat")}
    words = ["fit", "--limit", 8000, "--data-dir", tmp_path, "--state", tmp_path / "state.json"]
    code, out, err = bursar(*words, given=json.dumps(body).encode())
    assert code == 0
    fitted = json.loads(out)
    assert {**fitted, "messages": 0} == {**body, "messages": 0}
    assert len(out) < len(json.dumps(body)) / 2
    assert not rejected("chat", fitted["messages"])
    assert json.loads(err.removeprefix("bursar: "))["dropped"] > 0
    body["messages"] += long(1)[1:]
    code, out, err = bursar(*words, given=json.dumps(body).encode())
    assert (code, err) == (0, "")
    assert json.loads(out)["messages"][: len(fitted["messages"])] == fitted["messages"]


def test_messages_alone_are_fitted_too(bursar, tmp_path):
    code, out, _ = bursar("fit", "--limit", 8000, "--data-dir", tmp_path, given=json.dumps(long(3)).encode())
    assert (code, json.loads(out)) == (0, long(3))


def test_what_cannot_fit_is_told_by_the_exit_status(bursar, tmp_path):
    messages = [{"role": "user", "content": "word " * 9000}]
    code, out, err = bursar("fit", "--limit", 2000, "--data-dir", tmp_path, given=json.dumps(messages).encode())
    assert (code, out) == (3, "")
    assert err.startswith("bursar: request_too_large: ")


@pytest.mark.parametrize("given", [b"", b"no json", b"7", b'{"model":"x"}', b"[1]", b'{"messages":7}'])
def test_an_input_that_is_no_request_is_told_in_one_line(bursar, tmp_path, given):
    code, out, err = bursar("fit", "--data-dir", tmp_path, given=given)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("bursar: bad_input: ")


def test_a_history_is_checked_and_damage_is_the_exit_status(bursar, tmp_path):
    path = tmp_path / "talk.jsonl"
    talk = Conversation.open(path, limit=Limit(), data_dir=tmp_path)
    talk.say("Hello " * 5000)
    talk.close()
    assert bursar("history", "check", path, "--data-dir", tmp_path)[:2] == (0, "bursar, chat: 1 messages\n")
    assert "Hello Hello" in bursar("history", "export", path, "--data-dir", tmp_path)[1]
    path.write_bytes(path.read_bytes()[:-9])
    code, _, err = bursar("history", "check", path, "--data-dir", tmp_path)
    assert code == 1
    assert "history_damaged: line 2: " in err
    assert bursar("history", "delete", path, "--data-dir", tmp_path)[0] == 0
    assert not path.exists()


def test_a_transcript_is_handed_over(bursar):
    code, out, _ = bursar("history", "digest", TRANSCRIPTS / "claude-code.jsonl")
    assert code == 0
    assert out.startswith("# Hand-over\n")


def test_a_task_is_summed_up_and_its_raw_text_stored(bursar, tmp_path):
    raw = b"It works in part_1. More of it.\n" * 9000
    code, out, _ = bursar("task", "--type", "explore", "--data-dir", tmp_path, given=raw)
    assert code == 0
    assert out.startswith("It works in part_1. (raw: ses_")
    code, out, _ = bursar("task", "--summariser", "echo It all works.", "--data-dir", tmp_path, given=raw)
    assert out.startswith("It all works. (raw: ses_")
    code, out, _ = bursar("task", "--summariser", "false", "--data-dir", "/dev/null", given=raw)
    assert (code, out) == (4, "It works in part_1.\n")


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "--dialect", "foo"],
        ["fit", "--limit", "0"],
        ["history", "digest", "x", "--tokens", "-5"],
        ["history", "check", "x", "--session", "ses_x"],
        ["fit", "--no"],
        ["history", "sing", "x"],
        ["task", "--type", "no"],
        ["history", "check", "no"],
    ],
)
def test_a_wrong_word_is_told_in_one_line(bursar, words):
    code, out, err = bursar(*words)
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_each_command_has_a_help_of_its_own(bursar):
    for command in ("fit", "history", "task"):
        code, out, _ = bursar(command, "--help")
        assert code == 0
        assert command in bursar("--help")[1]
        assert out.startswith(f"usage: bursar {command}")


def test_a_server_imports_nothing_of_histories_or_agents():
    show = "import sys; from bursar.server import cli, stdio, dispatch, app; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True).stdout.split()
    assert "bursar.server.app" in loaded
    rooms = ("bursar.history", "bursar.agent", "bursar.budget.request", "bursar.server.cli_history")
    assert not [name for name in loaded if name.startswith(rooms)]


def test_a_request_that_fits_makes_no_session(bursar, tmp_path):
    words = ["fit", "--data-dir", tmp_path, "--state", tmp_path / "state.json"]
    for _ in range(2):
        code, _, err = bursar(*words, given=json.dumps({"messages": long(1), "tools": None}).encode())
        assert (code, err) == (0, "")
    assert not (tmp_path / "bursar").exists()


@pytest.mark.parametrize("state", ["[]", "{}", '{"session":"x","state":[]}', "no"])
def test_a_file_that_is_no_state_is_told_in_one_line(bursar, tmp_path, state):
    (tmp_path / "state.json").write_text(state)
    code, out, err = bursar("fit", "--data-dir", tmp_path, "--state", tmp_path / "state.json", given=b"[]")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("bursar: bad_input: ")


def test_half_of_a_pair_of_surrogates_is_written_as_it_was_read(bursar, tmp_path):
    messages = b'[{"role":"user","content":"\\\\\\ud800"}]'
    code, out, _ = bursar("fit", "--data-dir", tmp_path, given=messages)
    assert (code, json.loads(out)) == (0, json.loads(messages))


def test_a_result_that_is_not_stored_is_told_beside_its_sentence(bursar, tmp_path, monkeypatch):
    code, out, err = bursar("task", "--data-dir", "/dev/null", given=b"It works.")
    assert (code, out) == (4, "It works.\n")
    assert err.startswith("bursar: not stored: ")

    def broken(*_, **__):
        raise OSError("broken")

    monkeypatch.setattr("bursar.artifacts.Session.writer", broken)
    code, out, err = bursar("task", "--data-dir", tmp_path, given=b"It works.")
    assert (code, out, err) == (4, "It works.\n", "bursar: not stored: broken\n")


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
def test_a_result_has_its_sentence_although_no_file_can_hold_it(bursar, tmp_path, monkeypatch):
    import tempfile

    def gone(*_, **__):
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", gone)
    code, out, _ = bursar("task", "--data-dir", tmp_path, given=b"It works.")
    assert code == 0
    assert out.startswith("It works. (raw: ses_")
    monkeypatch.undo()
    (tmp_path / "raw").symlink_to("/dev/full")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"It works.")))
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"")  # what a full disk took: nothing
    assert cli_history._held(tmp_path) == "It works."


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_a_summariser_that_takes_too_long_is_killed_with_what_it_started(bursar, tmp_path):
    left = tmp_path / "left"
    command = f"(sleep 1; touch {left}) & sleep 60; echo no"
    words = ["task", "--summariser", command, "--timeout", 0.2, "--data-dir", tmp_path]
    code, out, _ = bursar(*words, given=b"It works.")
    assert code == 0
    assert out.startswith("It works. (raw: ")
    time.sleep(1.2)
    assert not left.exists()
