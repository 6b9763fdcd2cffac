"""The result of a task: one sentence, whatever the task, the model, the disk or the log does."""

import json
import logging
import re
import unicodedata

import anyio
import pytest
import task_faults
from bursar.agent import task
from bursar.agent.task import Finished, is_task, report, reports
from bursar.budget import tokens
from bursar.history import Shelf

pytestmark = pytest.mark.anyio


@pytest.fixture
def shelf(tmp_path):
    opened = Shelf.open("", tmp_path)
    yield opened
    opened.session.close()


def answering(text):
    async def model(prompt):
        return text

    return model


def of_tokens(count):
    """Return a sentence of exactly so many tokens."""
    text = "It" + " works" * (count - 2) + "."
    assert tokens.count(text) == count
    return text


@pytest.mark.parametrize("seed", range(60))
async def test_whatever_fails_there_is_one_line_within_its_tokens(shelf, seed):
    assert await task_faults.trial(seed, shelf) == ""


@pytest.mark.parametrize("name", ["task:general", "task:explore", "task:skill:pdf.v2-x"])
def test_tasks_are_known_by_their_names(name):
    assert is_task(name)


@pytest.mark.parametrize(
    "name", ["task", "task:", "task:other", "task:skill:", "task:general ", "xtask:general", "bash"]
)
async def test_what_is_no_task_is_returned_as_it_is(name, shelf):
    assert not is_task(name)
    assert await report(name, "raw\n\nraw. " * 9000, shelf=shelf) == "raw\n\nraw. " * 9000
    assert shelf.session.artifacts() == []


async def test_a_sentence_of_4096_tokens_passes_and_one_more_is_cut(shelf):
    most = of_tokens(4096)
    assert await report("task:general", "raw", summarise=answering(most), shelf=shelf) == most
    assert await report("task:general", most) == most
    cut = await report("task:general", "raw", summarise=answering(of_tokens(4097)), shelf=shelf)
    assert cut.endswith("…")
    assert 4000 < tokens.count(cut) <= 4096
    assert re.search(r"ses_\w+/a\d+", cut)


async def test_all_that_a_model_says_is_kept_as_one_sentence(shelf):
    said = "# Result\n\n**Dr. Smith** fixed `src/app_b.py` v1.2.3. All 12 tests pass!\n\n* Done."
    line = await report("task:explore", "raw", summarise=answering(said))
    assert line == "Result; Dr. Smith fixed src/app_b.py v1.2.3; All 12 tests pass; Done."


async def test_the_raw_text_is_stored_before_the_model_is_asked_and_named(shelf):
    held = []

    async def model(prompt):
        held.extend(artifact.read(0, 99) for artifact in shelf.session.artifacts())
        raise RuntimeError

    line = await report("task:general", "The raw text. More of it.", summarise=model, shelf=shelf)
    assert held == [b"The raw text. More of it."]
    named = re.fullmatch(r"The raw text\. \(raw: (\S+)\)", line)
    assert named
    assert shelf.session.open(named[1]).read(0, 99) == held[0]


async def test_of_a_failure_the_last_error_is_told():
    raw = "Building the parts. It takes a while.\nsrc/a.py:3: error: wrong\nE   AssertionError: 3 != 4\nbye\n"
    assert "AssertionError: 3 != 4" in await report("task:general", raw, failed=True)


@pytest.mark.parametrize(("raw", "line"), [("", "empty or unreadable result"), ("… — …", "no model")])
async def test_without_any_word_the_reason_is_told(raw, line):
    assert await report("task:general", raw) == f"[Task摘要失败] 原因: {line}"


async def test_a_file_is_reported_as_a_text_is(tmp_path, shelf):
    path = tmp_path / "log"
    path.write_bytes(b"A first line\n" + b"more of the log\n" * 200_000)
    line = await report("task:general", path, shelf=shelf)
    assert line.startswith("A first line (raw: ")
    assert shelf.session.artifacts()[0].size == path.stat().st_size


async def test_tasks_that_end_in_one_turn_share_their_tokens(shelf):
    short = [Finished("task:general", "It works.") for _ in range(10)]
    long = [Finished("task:general", of_tokens(3000)) for _ in range(10)]
    lines = await reports([*short, *long], shelf=shelf)
    assert sum(map(tokens.count, lines)) <= 8000
    assert all(line.startswith("It works. (raw: ") for line in lines[:10])
    assert all(tokens.count(line) > 700 for line in lines[10:])


async def test_the_log_tells_each_report_completely_and_no_content(shelf, caplog):
    caplog.set_level(logging.INFO, "bursar.task")
    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(report, f"task:skill:s{number}", f"Secret {number}. " * (number + 1))
    told = [json.loads(record.getMessage().removeprefix("task ")) for record in caplog.records]
    assert len({one["id"] for one in told}) == 20
    assert {one["task"] for one in told} == {f"task:skill:s{number}" for number in range(20)}
    names = {
        "raw_tokens",
        "raw_bytes",
        "raw_sha256",
        "summary_tokens",
        "truncated",
        "fallback_used",
        "took_ms",
        "artifact",
    }
    assert all(names <= one.keys() for one in told)
    assert {one["fallback_used"] for one in told} == {"local"}
    assert "Secret" not in caplog.text


async def test_credentials_are_blanked_where_that_is_asked_for():
    key = "ghp_" + "a1B2" * 9
    assert key in await report("task:general", f"The token is {key} today.")
    assert key not in await report("task:general", f"The token is {key} today.", redact=True)


async def test_a_caller_that_gives_up_is_let_go():
    async def hangs(prompt):
        await anyio.sleep(60)

    with anyio.move_on_after(0.05) as scope:
        await report("task:general", "raw", summarise=hangs)
    assert scope.cancelled_caught


async def test_a_line_shows_all_that_is_in_it():
    line = await report("task:general", "It\x1b[31m is\u202e red\u2028and\x00 so on.")
    assert not any(unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp") for sign in line)


async def test_no_more_is_taken_apart_than_a_line_can_hold(monkeypatch):
    seen = []
    found = task._sentences
    monkeypatch.setattr(task, "_sentences", lambda text: seen.append(tokens.count(text)) or found(text))
    line = await report("task:general", "中。" * 64_000, summarise=answering("中。" * 64_000))
    assert line.endswith("…")
    assert tokens.count(line) <= 4096
    await report("task:general", "中。" * 64_000)
    assert max(seen) <= 2 * 4160
