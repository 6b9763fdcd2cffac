"""A log line tells what happened, and nothing that its reader is not to know."""

import json
import logging
import os

import pytest
from bursar.budget.redact import discreet
from bursar.server import log

HANDLE = "ses_" + "GD3t8KZiAXQTTa40KXeVXX"


@pytest.fixture
def written(tmp_path):
    """Run a function with standard error in a file; return its lines."""

    def written(work):
        path = tmp_path / "err"
        kept = os.dup(2)
        with path.open("wb") as file:
            os.dup2(file.fileno(), 2)
            try:
                work()
            finally:
                os.dup2(kept, 2)
                os.close(kept)
        return [json.loads(line) for line in path.read_bytes().splitlines()]

    return written


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mysql -u root -phunter2 db", "mysql -u *** -p*** db"),
        ("mysql -p hunter2", "mysql -p ***"),
        ("curl --user me:hunter2 https://x", "curl --user *** https://x"),
        ("tool --password=hunter2 --verbose", "tool --password=*** --verbose"),
        ("tool --api-key 'hunter 2' go", "tool --api-key *** go"),
        ("curl -H 'Authorization: Bearer hunter2' x", "curl -H 'Authorization: ***' x"),
        ("curl -b 'Cookie: sid=hunter2'", "curl -b 'Cookie: ***'"),
        ("DB_PASSWORD=hunter2 ./run", "DB_PASSWORD=*** ./run"),
        ("GET https://me:hunter2@example.com/x", "GET https://***@example.com/x"),
        ("GET https://x/?a=1&access_token=hunter2&b=2", "GET https://x/?a=1&access_token=***&b=2"),
        ("GET https://x/?X-Amz-Signature=hunter2", "GET https://x/?X-Amz-Signature=***"),
        ("echo " + "ghp_" + "a1B2" * 9, "echo [redacted:github-token]"),
        (f"read {HANDLE}/a1", "read ses_***/a1"),
        ("read_file", "read_file"),
        ("/home/me/project/a1-k.txt", "/home/me/project/a1-k.txt"),
    ],
)
def test_command_lines_and_addresses_lose_their_credentials(text, shown):
    assert discreet(text) == shown
    assert discreet(shown) == shown or "***" in discreet(shown)


def test_every_text_of_an_event_is_one_clean_line_without_credentials(written):
    values = {
        "text": "a\x1b[31m\u202eb\ud800\nc",
        "list": ["x\ny", f"{HANDLE}/a1"],
        "inner": {"k\n": "--token=hunter2"},
    }
    (line,) = written(lambda: log.event("made", **values, number=3))
    assert line["text"] == "a␛[31m\ufffdb\ufffd c"
    assert line["list"] == ["x y", "ses_***/a1"]
    assert line["inner"] == {"k ": "--token=***"}
    assert line["number"] == 3


def test_a_crash_is_told_by_its_place_and_not_by_what_it_quotes(written):
    def fail():
        try:
            try:
                raise ValueError("the content: hunter2")
            except ValueError as error:
                raise ExceptionGroup(HANDLE, [FileNotFoundError(2, "gone", "/secret/place")]) from error
        except ExceptionGroup:
            log.crash("made")

    (line,) = written(fail)
    told = " ".join(line["traceback"])
    assert "ValueError" in told
    assert "FileNotFoundError 2" in told
    assert "test_log.py" in told
    assert not any(secret in json.dumps(line) for secret in ("hunter2", HANDLE, "/secret/place"))


def test_a_crash_deep_in_recursion_fits_a_line(written):
    def deep(n):
        return deep(n + 1)

    def fail():
        try:
            deep(0)
        except RecursionError:
            log.crash("made")

    (line,) = written(fail)
    assert line["traceback"][-1] == "RecursionError"


def test_a_library_is_told_by_its_place_and_its_pattern(written):
    def fail():
        handler = logging.Handler()
        handler.emit = log.library
        logger = logging.getLogger("some.library")
        logger.propagate = False
        logger.addHandler(handler)
        try:
            raise ValueError("hunter2")
        except ValueError:
            logger.warning("dropped %r", "hunter2", exc_info=True)
            logger.warning(f"dropped {'hunter2'}")

    lines = written(fail)
    assert [line["event"] for line in lines] == ["library", "library"]
    assert lines[0]["words"] == "dropped %r"
    assert lines[0]["traceback"][-1] == "ValueError"
    assert "hunter2" not in json.dumps(lines)
