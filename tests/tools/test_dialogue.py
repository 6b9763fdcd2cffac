"""Programs that ask are answered on a terminal of their own, by a client of a real server in its sandbox."""

import re
import shutil

import dialogues
import pytest
from bursar.budget import tokens
from dialogues import DIALOGUES, PASSWORDS
from replies import reply_of
from wire import server

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="commands have no terminals on Windows")

ANSWER_TOKENS = 150


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    work = tmp_path_factory.mktemp("work")
    dialogues.files(work)
    if shutil.which("git"):  # what needs it is marked so
        dialogues.repository(work, "rebased")
        dialogues.added(work)
    return work


@pytest.fixture(scope="module")
def client(work):
    with server("--root", str(work), "--data-dir", str(work.parent / "data"), "--patience-s", "20") as client:
        yield client


def begun(client, command, **given):
    reply, is_error, _ = client.call("terminal", command=command, tty=True, **given)
    assert not is_error, reply
    return re.search(r"\b(a\d+)", reply_of(reply).get("artifact", ""))[1], reply


def typed(client, artifact, text):
    reply, is_error, _ = client.call("terminal", artifact=artifact, input=text)
    assert not is_error, reply
    return reply


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.needs(*d[1].split())) for n, d in DIALOGUES.items()]
)
def test_a_program_is_driven_through_its_dialogue(client, name):
    command, _, steps = DIALOGUES[name]
    artifact, first = begun(client, command)
    assert tokens.count(first) <= ANSWER_TOKENS
    for text, wanted in steps:
        reply = typed(client, artifact, text)
        assert tokens.count(reply) <= ANSWER_TOKENS
        assert "\x1b" not in reply
        if wanted is None:
            assert "state" not in reply_of(reply)
        else:
            assert wanted in reply
    if steps[-1][1] is not None:
        client.call("terminal", artifact=artifact, stop=True)


@pytest.mark.needs("vi")
def test_of_a_full_screen_the_rows_at_the_cursor_are_shown_and_all_on_request(client, work):
    (work / "many.txt").write_text("".join(f"row {row} of a text that takes some room\n" for row in range(90)))
    artifact, first = begun(client, "vi -u NONE many.txt")
    assert tokens.count(first) <= ANSWER_TOKENS
    assert "row 0 of" in first
    needed = int(re.search(r"max_tokens=(\d+) alone", reply_of(first)["screen"])[1])
    whole, _, _ = client.call("terminal", artifact=artifact, max_tokens=needed)
    assert [f"row {row} of" in whole for row in (0, 12, 22, 23)] == [True, True, True, False]
    below = typed(client, artifact, "\x06\x06G")
    assert "row 89 of" in below
    assert tokens.count(below) <= ANSWER_TOKENS
    client.call("terminal", artifact=artifact, stop=True)


def test_of_a_long_answer_the_end_is_shown_and_all_on_request(client):
    artifact, _ = begun(client, "python3 -q")
    reply = typed(client, artifact, "for n in range(300): print('number', n)\n\n")
    assert tokens.count(reply) <= ANSWER_TOKENS
    assert "number 299" in reply
    told = reply_of(reply)["earlier"]
    assert "number 7\n" in client.call("read_artifact", artifact=artifact, bytes=told.split()[1])[0].replace("\r", "")
    whole, _, _ = client.call("terminal", artifact=artifact, max_tokens=int(re.search(r"max_tokens=(\d+)", told)[1]))
    assert "number 7\n" in whole
    assert "number 299" in whole
    typed(client, artifact, "\x04")


def test_what_takes_too_long_to_draw_is_shown_as_it_came_and_no_longer(client):
    bomb = r"import sys, time; sys.stdout.write('ab' + '\x1b[9999b' * 70_000); sys.stdout.flush(); time.sleep(60)"
    artifact, first = begun(client, f'python3 -c "{bomb}"')
    assert tokens.count(first) <= ANSWER_TOKENS
    assert "could not be drawn" in reply_of(first)["screen"]
    client.call("terminal", artifact=artifact, stop=True)


@pytest.mark.needs("git", "vi")
def test_what_a_dialogue_did_is_done(client, work):
    place = dialogues.repository(work, "both")
    artifact, _ = begun(client, "cd both && GIT_EDITOR='vi -u NONE' git rebase -i HEAD~2")
    typed(client, artifact, ":2s/pick/fixup/\n")
    typed(client, artifact, ":wq\n")
    assert (
        dialogues.subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=place, capture_output=True).stdout
        == b"2\n"
    )


@pytest.mark.parametrize("ask", PASSWORDS.values(), ids=PASSWORDS)
def test_a_password_prompt_is_refused_and_waits_for_nobody(client, ask):
    reply, is_error, _ = client.call("terminal", command=ask, tty=True)
    assert not is_error
    told = reply_of(reply)
    assert (told["ended"], "key or a token" in told["fix"]) == ("password prompt", True)


def test_a_program_that_has_no_answer_yet_is_waited_for(client):
    artifact, _ = begun(client, "python3 -q")
    assert "\nlate\n" in typed(client, artifact, "import time; time.sleep(1.2); print('late')\n")
    typed(client, artifact, "\x04")


def test_what_was_drawn_over_is_not_shown_and_stays_in_the_artifact(client):
    command = r"for i in 1 2 3; do printf '\r%d0 %%' $i; done; printf '\r\033[Kdone\n'; printf 'abc\b\bX\n'"
    reply, _, _ = client.call("terminal", command=command, tty=True)
    assert reply.endswith("done\naXc")
    stored = re.search(r"\b(a\d+)", client.call("read_artifact")[0])[1]
    raw, _, _ = client.call("read_artifact", artifact=stored, grep="30 %", count=True)
    assert reply_of(raw)["matches"] == 1


def test_a_terminal_cannot_be_typed_into_by_what_runs_on_it(client):
    code = (
        "import fcntl,sys\ntry:\n  fcntl.ioctl(0, 0x5412, b'x')\nexcept OSError as error: print('refused', error.errno)"
    )
    reply, _, _ = client.call("terminal", command=f'python3 -c "{code}"', tty=True)
    assert "refused" in reply


def test_what_a_program_left_on_its_terminal_ends_with_it(client):
    reply, _, _ = client.call("terminal", command="setsid sleep 876 & sleep 877 & exit", tty=True)
    assert "state" not in reply_of(reply)
    assert "sleep 87" not in client.call("terminal", command="ps -ef | grep '[s]leep 87'")[0]


def test_a_dialogue_that_ignores_signals_is_stopped(client):
    artifact, _ = begun(client, "trap '' HUP INT TERM; while :; do read x; done")
    reply, _, _ = client.call("terminal", artifact=artifact, stop=True)
    assert reply_of(reply)["ended"] == "stopped"


def test_more_than_a_program_reads_is_told_and_costs_nobody_else_anything(client):
    artifact, _ = begun(client, "stty -icanon -echo; sleep 60")
    reply, is_error, _ = client.call("terminal", artifact=artifact, input="x" * 400_000)
    assert not is_error
    assert "unsent" in reply_of(reply)
    assert "here" in client.call("terminal", command="echo here")[0]
    client.call("terminal", artifact=artifact, stop=True)


def test_input_may_come_with_the_command(client):
    _, reply = begun(client, "python3 -q", input="20+22\n")
    assert "\n42\n" in reply
