import json
import os
import threading
import time

import pytest
from bursar.artifacts import Artifact
from bursar.budget import tokens
from bursar.errors import BursarError
from bursar.server.schema import listed
from bursar.tools.base import Reading
from bursar.tools.read_artifact import ReadArtifact
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
    tool = listed(TOOL)
    whole = {"name": tool.name, "description": tool.description, "schema": tool.input_schema}
    assert tokens.count(json.dumps(whole, separators=(",", ":"))) <= 220
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
    assert text(reading) == "776- line 776\n777: line 777\n778- line 778\n"
    assert reading.facts == {"matches": 1}
    assert read(place, artifact="a1", grep="77$", lines="70-80", context=0).facts == {"matches": 1, "in": "lines 70-80"}
    assert read(place, artifact="a1", grep="no such thing").facts == {"matches": 0}
    assert read(place, artifact="a1", grep="line", tail=3).facts["matches"] == 3
    assert read(place, artifact="a1", grep="line 1$", bytes="0-20").facts["matches"] == 1


def test_without_an_artifact_the_latest_are_listed_first(place, log):
    with place.session.writer(tool="t", did="read\nnotes.md") as writer:
        writer.write(b"x")
    reading = read(place)
    first, second = text(reading).splitlines()
    assert first.startswith("a2  1 B  1 lines  ")
    assert first.endswith("t: read notes.md")
    assert second.startswith("a1  ")
    assert "12,000 lines" in second
    assert reading.facts == {"session": place.session.handle, "artifacts": 2}
    assert text(read(place, lines="2-")).startswith("a1  ")
    assert text(read(place, tail=1)).startswith("a1  ")
    assert text(read(place, lines="9-")) == ""


def test_an_empty_session_lists_nothing(place):
    assert read(place).facts["artifacts"] == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"artifact": "a1", "lines": "1", "bytes": "1"}, "bad_argument"),
        ({"artifact": "a1", "lines": "1", "tail": 1}, "bad_argument"),
        ({"artifact": "a1", "tail": 0}, "bad_argument"),
        ({"artifact": "a1", "tail": -5}, "bad_argument"),
        ({"grep": "x"}, "bad_argument"),
        ({"bytes": "1-2"}, "bad_argument"),
        ({"artifact": "a1", "lines": "x"}, "bad_range"),
        ({"artifact": "a1", "lines": "99999"}, "beyond_the_end"),
        ({"artifact": "a1", "grep": "("}, "bad_pattern"),
        ({"artifact": "a1", "grep": ""}, "bad_pattern"),
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


def test_waiting_ends_with_new_output(place):
    writer = place.session.writer(tool="terminal", did="$ serve")
    shared = writer.descriptor()
    os.write(shared, b"before\n")
    later = threading.Timer(0.2, os.write, (shared, b"after\n"))
    later.start()
    assert text(read(place, artifact="a1", wait_s=20)) == "before\nafter\n"
    later.join()
    writer.commit()


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
    assert reading.facts == {"state": "running", "matches": 1}
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
    assert text(read(place, artifact="a1", grep="two", context=0)) == "2: two\n"
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
