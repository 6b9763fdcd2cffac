import json
import os
import re
import threading
import time
from contextlib import contextmanager

import pytest
from bursar.artifacts import Artifact, engines, search
from bursar.budget import tokens
from bursar.budget.request import Limit, Request, fit
from bursar.errors import BursarError
from bursar.server.schema import described
from bursar.tools.base import Reading
from bursar.tools.read_artifact import ReadArtifact
from bursar.tools.running import still_running
from histories import tools
from tool_place import Place

TOOL = ReadArtifact()


@pytest.fixture
def log(place: Place) -> Artifact:
    with place.session.writer(tool="terminal", did="$ make", label="terminal.log") as writer:
        writer.write(b"".join(b"line %d\n" % n for n in range(1, 12_001)))
    return writer.commit(facts={"exit_code": 2})


def read(place: Place, **arguments: object) -> Reading:
    outcome = place.call(TOOL, **arguments)
    assert isinstance(outcome, Reading)
    return outcome


def text(reading: Reading) -> str:
    return "".join(piece.text for piece in reading.page.pieces)


def refused(place: Place, **arguments: object) -> BursarError:
    with pytest.raises(BursarError) as caught:
        place.call(TOOL, **arguments)
    return caught.value


def test_what_the_model_reads_of_it_is_short():
    assert tokens.count(json.dumps(described(TOOL), separators=(",", ":"))) <= 220
    assert TOOL.read_only


def test_a_range_of_lines_is_shown_with_its_place(place, log):
    reading = read(place, artifact="a1", lines="4000-4002")
    assert text(reading) == "line 4000\nline 4001\nline 4002\n"
    assert reading.facts == {"lines": "4000-4002 of 12000"}
    assert reading.artifact.ref == log.ref


def test_numbers_are_taken_for_ranges(place, log):
    assert text(read(place, artifact="a1", lines=7)) == "line 7\n"


@pytest.mark.parametrize("form", ["id", "ref", "path"])
def test_an_artifact_is_known_by_id_reference_and_path(place, log, form):
    assert text(read(place, artifact=getattr(log, form), tail=1)) == "line 12000\n"


def test_bytes_and_tails_are_shown(place, log):
    assert text(read(place, artifact="a1", bytes="5-6")) == "1\n"
    assert text(read(place, artifact="a1", bytes="-6")) == "12000\n"
    assert text(read(place, artifact="a1", lines="-2")) == "line 11999\nline 12000\n"
    assert read(place, artifact="a1", tail=2).facts["lines"] == "11999-12000 of 12000"


def test_bytes_that_are_no_text_are_base64_and_say_so(place):
    with place.session.writer(tool="t", did="d") as writer:
        writer.write(b"\xff\x00")
    reading = read(place, artifact="a1", bytes="0-1")
    assert text(reading) == "/wA="
    assert reading.facts["shown_as"] == "base64"


def test_an_artifact_alone_is_shown_from_its_beginning_with_what_is_known(place, log):
    reading = read(place, artifact="a1")
    assert text(reading).startswith("line 1\nline 2\n")
    assert reading.page.after is not None
    assert reading.facts["of"] == "$ make"
    assert reading.facts["lines"] == "1-12000 of 12000"


def test_a_pattern_is_found_with_its_context(place, log):
    reading = read(place, artifact="a1", grep="line 777$", context=1)
    assert text(reading) == "776-line 776\n777:line 777\n778-line 778\n"
    assert reading.facts == {"matches": 1}
    assert read(place, artifact="a1", grep="77$", lines="70-80").facts == {"matches": 1}
    assert read(place, artifact="a1", grep="no such thing").facts == {"matches": 0}
    assert read(place, artifact="a1", grep="line", tail=3).facts["matches"] == 3
    assert read(place, artifact="a1", grep="line 1$", bytes="0-20").facts["matches"] == 1


def test_without_an_artifact_the_latest_are_listed_first(place, log):
    with place.session.writer(tool="t", did="read\nnotes.md") as writer:
        writer.write(b"x")
    reading = read(place)
    first, second = text(reading).splitlines()
    assert first.startswith("a2  1 B  1 line  ")
    assert first.endswith("t: read notes.md")
    assert second.startswith("a1  ")
    assert "12,000 lines" in second
    assert reading.facts == {"session": place.session.handle, "artifacts": 2}
    assert text(read(place, lines="2-")).startswith("a1  ")
    assert text(read(place, tail=1)).startswith("a1  ")


def test_a_call_that_was_repeated_and_brought_the_same_is_one_line_of_the_list(place):
    for did, content in [("fetched x", b"1"), ("fetched y", b"1"), ("fetched x", b"1"), ("fetched x", b"2")]:
        with place.session.writer(tool="web_fetch", did=did) as writer:
            writer.write(content)
    listed = text(read(place)).splitlines()
    assert [line.partition(" ")[0] for line in listed] == ["a4", "a3", "a2"]
    assert [line.endswith("fetched x (2 times)") for line in listed] == [False, True, False]
    assert text(read(place, lines="2-2")) == listed[1] + "\n"
    assert text(read(place, lines="9-")) == ""


def test_an_empty_session_lists_nothing(place):
    assert read(place).facts["artifacts"] == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"artifact": "a1", "lines": "1", "bytes": "1"}, "bad_argument"),
        ({"artifact": "a1", "lines": "1", "tail": 1}, "bad_argument"),
        ({"artifact": "a1", "tail": -5}, "bad_argument"),
        ({"grep": "x"}, "bad_argument"),
        ({"bytes": "1-2"}, "bad_argument"),
        ({"artifact": "a1", "lines": "x"}, "bad_range"),
        ({"artifact": "a1", "lines": "99999"}, "beyond_the_end"),
        ({"artifact": "a1", "grep": "("}, "bad_pattern"),
        ({"artifact": "a9"}, "unknown_artifact"),
        ({"artifact": "../a1"}, "unknown_artifact"),
        ({"artifact": "\0"}, "unknown_artifact"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_code_and_a_cure(place, log, arguments, code):
    error = refused(place, **arguments)
    assert error.code == code
    assert error.fix


def test_another_session_is_refused_as_if_it_were_not_there(place, log):
    with pytest.raises(BursarError) as theirs:
        place.call(TOOL, place.store.create("local:2"), artifact=log.ref)
    with pytest.raises(BursarError) as nobodys:
        place.call(TOOL, place.store.create("local:2"), artifact="a77")
    assert str(theirs.value) == str(nobodys.value)


def test_a_running_one_shows_its_end_and_its_state(place):
    writer = place.session.writer(tool="terminal", did="$ serve")
    shared = writer.descriptor()
    os.write(shared, b"".join(b"request %d\n" % n for n in range(5000)))
    reading = read(place, artifact="a1")
    assert text(reading).endswith("request 4999\n")
    assert len(text(reading)) < 5000
    assert reading.facts["state"] == "running"
    assert reading.facts["bytes"] == writer.size
    writer.commit("partial", facts={"exit_code": 1})
    ended = read(place, artifact="a1")
    assert (ended.facts["state"], ended.facts["exit_code"]) == ("partial", 1)


def counting(place, numbers, *, ends=True):
    """Start a command that prints a line for each number, one every 30 ms; return its writer and its thread."""
    writer = place.session.writer(tool="terminal", did="$ count")
    shared = writer.descriptor()

    def work():
        for number in numbers:
            os.write(shared, b"line %d\n" % number)
            time.sleep(0.03)
        if ends:
            writer.commit(facts={"exit_code": 0})

    worker = threading.Thread(target=work)
    worker.start()
    return writer, worker


def test_waiting_gathers_lines_until_the_command_ends(place):
    _, worker = counting(place, range(20))
    reading = read(place, artifact="a1", wait_s=20)
    worker.join()
    assert text(reading) == "".join(f"line {number}\n" for number in range(20))
    assert reading.facts["exit_code"] == 0


def test_waiting_for_the_rest_gathers_it_until_the_command_ends(place):
    _, worker = counting(place, range(9))
    reading = read(place, artifact="a1", lines="2-", wait_s=20)
    worker.join()
    assert text(reading) == "".join(f"line {number}\n" for number in range(1, 9))
    assert "state" not in reading.facts


def test_the_calls_that_are_advised_to_wait_differ_as_time_goes_on():
    advice = {str(still_running(took_s)["note"]) for took_s in (4.0, 8.1, 12.2, 54.0)}
    assert len(advice) == 4


def test_waiting_ends_with_the_command(place):
    writer = place.session.writer(tool="terminal", did="$ serve")
    os.write(writer.descriptor(), b"all\n")
    later = threading.Timer(0.2, writer.commit, kwargs={"facts": {"exit_code": 7}})
    later.start()
    reading = read(place, artifact="a1", wait_s=20)
    later.join()
    assert reading.facts["exit_code"] == 7
    assert "state" not in reading.facts


def test_waiting_with_a_pattern_ends_with_a_match(place):
    writer = place.session.writer(tool="terminal", did="$ serve")
    shared = writer.descriptor()

    def work():
        for line in (b"starting\n", b"still starting\n", b"ready on port 80\n"):
            time.sleep(0.1)
            os.write(shared, line)

    worker = threading.Thread(target=work)
    worker.start()
    reading = read(place, artifact="a1", grep="ready", wait_s=20)
    worker.join()
    assert (reading.facts["state"], reading.facts["matches"]) == ("running", 1)
    writer.commit()


def test_waiting_is_never_longer_than_the_client_does(place):
    place.patience_s = 0.1
    writer = place.session.writer(tool="terminal", did="$ serve")
    writer.descriptor()
    assert read(place, artifact="a1", wait_s=10_000).facts["state"] == "running"
    assert read(place, artifact="a1", wait_s=-1).facts["state"] == "running"
    writer.commit()


def test_a_large_content_reports_progress_or_none_and_is_found_the_same(place, tmp_path):
    with place.session.writer(tool="t", did="d") as writer:
        writer.write(b"".join(b"%d\n" % n for n in range(1, 500_001)))
    assert text(read(place, artifact="a1", lines="400000-400001")) == "400000\n400001\n"


def test_a_referenced_file_is_read_by_the_rules_for_files(place):
    path = place.write("big.log", b"one\ntwo\n")
    place.session.refer(
        str(path), path.stat(), tool="read_file", did="read big.log", opener=lambda name: os.open(name, 0)
    )
    assert text(read(place, artifact="a1", lines="2")) == "two\n"
    assert text(read(place, artifact="a1", grep="two")) == "2:two\n"
    outside = place.base / "outside.log"
    outside.write_bytes(b"secret")
    place.session.refer(str(outside), outside.stat(), tool="t", did="d", opener=lambda name: os.open(name, 0))
    assert refused(place, artifact="a2").code == "path_outside_roots"
    path.write_bytes(b"changed\n")
    assert refused(place, artifact="a1").code == "source_changed"


@pytest.mark.parametrize(
    ("arguments", "did"),
    [
        ({}, "listed artifacts"),
        ({"artifact": "ses_x/a7"}, "read a7"),
        ({"artifact": "a7", "lines": "1-2"}, "read a7 lines 1-2"),
        ({"artifact": "a7", "grep": "x"}, "'x' in a7"),
    ],
)
def test_the_action_is_told_in_one_line_without_the_handle(arguments, did):
    assert TOOL.did(TOOL.Args(**arguments)) == did


def test_in_a_document_the_heading_above_a_match_is_shown(place):
    with place.session.writer(tool="t", did="d", label="page.md") as writer:
        writer.write(b"## Page 1\nx\n## Page 2\nneedle\n")
    assert text(read(place, artifact="a1", grep="needle")) == "3=## Page 2\n4:needle\n"


def test_of_many_matches_as_many_are_shown_as_are_asked_for(place):
    with place.session.writer(tool="t", did="d") as writer:
        writer.write(b"".join(b"needle %d\n" % n for n in range(1000)))
    assert read(place, artifact="a1", grep="needle").page.pieces[60:] == []
    assert len(read(place, artifact="a1", grep="needle", max_tokens=1000).page.pieces) > 150


def test_a_search_ends_before_the_client_gives_up_and_tells_what_it_found(place, monkeypatch):
    with place.session.writer(tool="t", did="d") as writer:
        writer.write(b"needle\n" * 5000)
    grep, deadlines, over = search.grep, [], threading.Event()

    async def watched(artifact, query, deadline_s=10.0, progress=None):
        deadlines.append(deadline_s)
        try:
            return await grep(artifact, query, deadline_s, progress)
        finally:
            over.set()

    monkeypatch.setattr(search, "grep", watched)
    monkeypatch.setattr(engines._Ripgrep, "count", lambda self, *, lines: over.wait(60))
    place.patience_s = 1.0
    reading = read(place, artifact="a1", grep="needle")
    assert deadlines[0] <= 0.9
    assert str(reading.facts["matches"]).startswith("more than ")
    assert text(reading).startswith("1:needle\n2:needle\n")


def test_a_range_that_is_not_there_yet_is_waited_for(place):
    writer, worker = counting(place, range(1, 7), ends=False)
    reading = read(place, artifact="a1", lines="5-5", wait_s=20)
    worker.join()
    assert text(reading) == "line 5\n"
    assert reading.facts["state"] == "running"
    assert text(read(place, artifact="a1", lines="2-3", wait_s=600)) == "line 2\nline 3\n"
    assert text(read(place, artifact="a1", bytes="7-13", wait_s=600)) == "line 2\n"
    writer.commit()


def test_a_range_that_does_not_come_is_no_error_for_who_waits(place):
    writer = place.session.writer(tool="terminal", did="$ serve")
    os.write(writer.descriptor(), b"line 1\n")
    reading = read(place, artifact="a1", lines="9999-", wait_s=0.1)
    assert (text(reading), reading.facts["state"]) == ("", "running")
    assert reading.facts["beyond"] == "line 9,999 is beyond the end: there is 1 line"
    error = refused(place, artifact="a1", lines="9999-")
    assert error.code == "beyond_the_end"
    assert "wait_s" in error.fix
    later = threading.Timer(0.1, writer.commit, kwargs={"facts": {"exit_code": 7}})
    later.start()
    ended = read(place, artifact="a1", lines="9999-", wait_s=20)
    later.join()
    assert (ended.facts["exit_code"], "state" in ended.facts) == (7, False)


def test_who_waits_again_is_shown_only_what_is_new(place):
    writer = place.session.writer(tool="terminal", did="$ serve")
    shared = writer.descriptor()
    os.write(shared, b"first\n")
    assert text(read(place, artifact="a1", wait_s=0.05)) == "first\n"
    os.write(shared, b"second\n")
    news = read(place, artifact="a1", wait_s=0.05)
    assert (text(news), news.facts["state"], news.facts["bytes"]) == ("second\n", "running", "6-12 of 13")
    assert read(place, artifact="a1", wait_s=0.05).facts["bytes"] == "none new of 13"
    assert text(read(place, artifact="a1")) == "first\nsecond\n"
    os.write(shared, b"x" * 20_000 + b"\nlast\n")
    assert text(read(place, artifact="a1", wait_s=0.05)).endswith("xxx\nlast\n")
    os.write(shared, b"bye\n")
    writer.commit(facts={"exit_code": 3})
    ended = read(place, artifact="a1", wait_s=20)
    assert (text(ended), ended.facts["exit_code"]) == ("bye\n", 3)
    assert text(read(place, artifact="a1", wait_s=20)).startswith("first\n")


def test_a_line_that_takes_too_long_to_find_is_told_before_the_client_gives_up(place, monkeypatch):
    with place.session.writer(tool="t", did="d") as writer:
        writer.write(b"0123456789\n" * 1_000_000)
    place.session.directory.joinpath("a1.idx").unlink()
    session = place.store.attach(place.session.handle, "local:1")
    read_at = Artifact.opened

    @contextmanager
    def slow(self):
        with read_at(self) as content:
            content_read = content.read

            def crawl(offset, length):
                time.sleep(0.1)
                return content_read(offset, length)

            content.read = crawl
            yield content

    place.patience_s = 0.3
    monkeypatch.setattr(Artifact, "opened", slow)
    with pytest.raises(BursarError) as caught:
        place.call(TOOL, session, artifact="a1", lines="999999-")
    assert caught.value.code == "timeout"
    assert "Call again" in caught.value.fix
    monkeypatch.setattr(Artifact, "opened", read_at)
    place.patience_s = 30
    outcome = place.call(TOOL, session, artifact="a1", lines="999999-")
    assert text(outcome) == "0123456789\n" * 2


def test_a_context_that_is_cut_is_told(place):
    with place.session.writer(tool="t", did="d") as writer:
        writer.write((b"x" * 300 + b"\n") * 50 + b"NEEDLE\n" + (b"x" * 300 + b"\n") * 50)
    reading = read(place, artifact="a1", grep="NEEDLE", context=50)
    assert reading.facts["context"] == 'only the nearest lines; lines="1-101" shows all about line 51'
    assert len(text(reading)) < 5000


def test_words_are_searched_for_in_all_artifacts_or_in_one(place, log):
    with place.session.writer(tool="t", did="d") as writer:
        writer.write(b"the needle of line 7\n")
    found = read(place, search="line needle")
    assert text(found).startswith("a2:1:the needle of line 7\na1:")
    assert found.facts == {"searched": 2}
    assert found.artifact is None
    assert text(read(place, artifact="a1", search="needle")) == ""
    assert refused(place, search="needle", grep="x").code == "bad_argument"
    assert refused(place, search="...").code == "bad_argument"
    assert TOOL.did(TOOL.Args(search="x")) == "'x' in all artifacts"


def test_every_call_that_a_fitted_request_names_finds_what_was_left_out(place):
    def store(leaving):
        with place.session.writer(tool=leaving.name, did="", label="request.log") as writer:
            writer.write(leaving.data)
        return writer.commit().ref

    messages = [{"role": "user", "content": "Why is it red?"}]
    for number in range(80):
        function = {"name": "bash", "arguments": json.dumps({"command": f"cat > {number} <<E\n" + "x = 1\n" * 60})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": f"secret_said_{number}", "tool_calls": [call]})
        result = "row of a log\n" * 150 + f"secret_seen_{number}\n"
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    sent = fit(Request("chat", messages, None, tools("chat")), Limit(tokens=16_000, recent=0.2), store)
    assert min(sent.told[kind] for kind in ("replaced", "dropped")) > 0
    shown = json.dumps(sent.messages)
    named = set(re.findall(r"read_artifact\(artifact=\W+(ses_\w+/a\d+)", shown))
    for number in range(0, 80, 7):
        for fact in (f"secret_said_{number}", f"secret_seen_{number}"):
            found = (read(place, artifact=name, grep=rf"{fact}\b").facts["matches"] for name in named)
            assert f"{fact}\\n" in shown or f'"{fact}"' in shown or any(found)
