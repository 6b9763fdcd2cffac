import hashlib
import json
import os
import subprocess
import sys
import threading
import time

import anyio
import pytest
from bursar.artifacts import Limits, Store
from bursar.artifacts.scan import Scan
from bursar.errors import BursarError
from lines import count_lines

posix = pytest.mark.skipif(os.name == "nt", reason="uses POSIX processes")


def write_until_it_fails(session, data):
    with session.writer(tool="t", did="d") as writer:
        while True:
            writer.write(data)


def names(session):
    return sorted(name for name in os.listdir(session.directory) if name not in {"lock", "owner.json"})


def test_what_is_written_is_what_is_read(stored):
    data = os.urandom(3_000_000) + b"\nlast"
    artifact = stored(data)
    assert artifact.read(0, len(data) + 1) == data
    assert artifact.sha256 == hashlib.sha256(data).hexdigest()
    assert artifact.size == len(data)
    assert artifact.lines == data.count(b"\n") + 1
    assert artifact.state == "whole"


@pytest.mark.parametrize(
    ("data", "lines"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"\n", 1), (b"a\nb", 2), (b"\r\n\r\n", 2)]
)
def test_an_unfinished_last_line_counts(stored, data, lines):
    assert stored(data).lines == lines


def test_nothing_shows_before_the_commit(store, session):
    writer = session.writer(tool="t", did="d")
    writer.write(b"x")
    assert session.artifacts() == []
    assert [name for name in names(session) if not name.startswith(".new-")] == []
    writer.commit()
    assert names(session) == ["a1-output", "a1.json"]


def test_the_content_file_holds_the_content_and_nothing_else(stored):
    artifact = stored(b"just this")
    with open(artifact.path, "rb") as file:
        assert file.read() == b"just this"


def test_discarding_leaves_nothing(session):
    writer = session.writer(tool="t", did="d")
    writer.write(b"x")
    writer.discard()
    writer.discard()
    assert names(session) == []
    live = session.writer(tool="t", did="d")
    live.descriptor()
    live.write(b"x")
    live.discard()
    assert names(session) == ["a1.json"]  # so that its number is not given to another
    assert (session.directory / "a1.json").read_bytes() == b""
    assert session.artifacts() == []


def test_committing_twice_gives_the_same_artifact(session):
    writer = session.writer(tool="t", did="d")
    assert writer.commit() == writer.commit("partial")
    with pytest.raises(ValueError, match="closed"):
        writer.write(b"late")


def test_an_exception_commits_what_was_captured_as_partial(session):
    def work():
        with session.writer(tool="t", did="d") as writer:
            writer.write(b"so far")
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert session.open("a1").state == "partial"
    assert session.open("a1").read(0, 9) == b"so far"


def test_an_exception_before_anything_was_captured_leaves_nothing(session):
    with pytest.raises(KeyError), session.writer(tool="t", did="d"):
        raise KeyError
    assert names(session) == []


def test_facts_are_kept_with_the_artifact(store, session):
    with session.writer(tool="t", did="d") as writer:
        writer.commit(facts={"exit_code": 3, "note": "ü", "ok": False, "none": None, "s": 1.5})
    facts = store.attach(session.handle, "local:me").open("a1").facts
    assert facts == {"exit_code": 3, "note": "ü", "ok": False, "none": None, "s": 1.5}


def test_lines_that_stand_out_are_found_while_streaming(store, session, stored):
    lines = [b"all is well %d" % n for n in range(50_000)]
    lines[25_000] = b"ERROR: it broke"
    stored(b"\n".join(lines))
    for artifact in (session.open("a1"), store.attach(session.handle, "local:me").open("a1")):
        assert (25_001, "ERROR: it broke") in artifact.notable.lines
        assert artifact.watched_bytes == artifact.size


def test_of_a_huge_content_beginning_and_end_are_watched(monkeypatch, session, stored):
    monkeypatch.setattr("bursar.budget.notable.EFFORT", 2 << 20)
    lines = [b"all is well, line %d" % n for n in range(300_000)]
    for place, when in ((1000, b"first"), (150_000, b"then"), (299_000, b"in the end")):
        lines[place] = b"ERROR: it broke " + when
    artifact = stored(b"\n".join(lines))
    assert [number for number, _ in artifact.notable.lines] == [1001, 299_001]
    assert 2 << 20 <= artifact.watched_bytes < artifact.size


@posix
def test_a_process_writes_into_a_live_artifact(session):
    writer = session.writer(tool="terminal", did="$ sh", label="terminal.log")
    writer.write(b"before\n")
    process = subprocess.Popen(
        ["/bin/sh", "-c", "echo out; echo err >&2; read x; echo end"],
        stdin=subprocess.PIPE,
        stdout=writer.descriptor(),
        stderr=writer.descriptor(),
    )
    while writer.size < len(b"before\nout\nerr\n"):
        time.sleep(0.01)
    live = session.open("a1")
    assert (live.state, live.lines, live.sha256) == ("live", None, "")
    assert live.read(0, 99) == b"before\nout\nerr\n"
    assert writer.artifact.size == live.size
    process.communicate(b"\n")
    artifact = writer.commit(facts={"exit_code": process.returncode})
    assert artifact.read(0, 99) == b"before\nout\nerr\nend\n"
    assert artifact.sha256 == hashlib.sha256(b"before\nout\nerr\nend\n").hexdigest()
    assert (artifact.id, artifact.state, artifact.lines) == ("a1", "whole", 4)
    assert session.open("a1").facts == {"exit_code": 0}
    assert live.read(0, 99) == b"before\nout\nerr\n"


@posix
def test_a_large_capture_is_hashed_counted_and_indexed(session):
    writer = session.writer(tool="t", did="d")
    subprocess.run(["seq", "1", "1000000"], stdout=writer.descriptor(), check=True)
    artifact = writer.commit()
    expected = b"".join(b"%d\n" % n for n in range(1, 1_000_001))
    assert artifact.sha256 == hashlib.sha256(expected).hexdigest()
    assert artifact.lines == 1_000_000
    assert artifact.index().is_complete(artifact.size)
    assert artifact.index().start_of(artifact, 999_999) == len(expected) - 15


@posix
def test_a_process_that_empties_its_output_is_followed(session):
    writer = session.writer(tool="t", did="d")
    shared = writer.descriptor()
    os.write(shared, b"x" * 3_000_000)
    time.sleep(0.1)
    os.truncate(writer.artifact.path, 0)
    os.write(shared, b"new\n")
    artifact = writer.commit()
    assert artifact.read(0, 99) == b"new\n"
    assert artifact.sha256 == hashlib.sha256(b"new\n").hexdigest()


@posix
def test_a_live_artifact_whose_writer_was_killed_reads_as_partial(store, session):
    code = (
        "import sys, time; from pathlib import Path; from bursar.artifacts import Limits, Store\n"
        "session = Store(Path(sys.argv[1]), Limits()).attach(sys.argv[2], 'local:me')\n"
        "writer = session.writer(tool='t', did='d'); writer.descriptor(); writer.write(b'so far')\n"
        "print(writer.artifact.ref, flush=True); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, str(store.root), session.handle]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        reference = process.stdout.readline().strip()
        assert session.open(reference).state == "live"
        process.kill()
    artifact = session.open(reference)
    assert (artifact.state, artifact.size, artifact.read(0, 9)) == ("partial", 6, b"so far")
    assert count_lines(artifact) == 1


@posix
def test_a_live_artifact_is_live_for_its_own_process_too(session):
    writer = session.writer(tool="t", did="d")
    writer.descriptor()
    assert [artifact.state for artifact in session.artifacts()] == ["live"]
    writer.commit()
    assert [artifact.state for artifact in session.artifacts()] == ["whole"]


@posix
def test_what_outlives_its_command_adds_nothing(session):
    writer = session.writer(tool="t", did="d")
    late = os.dup(writer.descriptor())
    os.write(late, b"in time\n")
    artifact = writer.commit()
    os.write(late, b"too late\n")
    os.close(late)
    assert session.open("a1").read(0, 99) == b"in time\n"
    assert artifact.sha256 == hashlib.sha256(b"in time\n").hexdigest()


@pytest.mark.parametrize("how", ["shorter", "changed", "gone"])
def test_a_content_that_was_tampered_with_is_never_shown(session, stored, how):
    artifact = stored(b"the original")
    if how == "shorter":
        os.truncate(artifact.path, 5)
    elif how == "changed":
        with open(artifact.path, "wb") as file:
            file.write(b"the 0riginal")
    else:
        os.unlink(artifact.path)
    for view in (artifact, session.open("a1")):
        with pytest.raises(BursarError) as caught:
            view.read(0, 99)
        assert caught.value.code == ("unknown_artifact" if how == "gone" else "damaged")


def test_a_content_that_was_restored_from_a_backup_is_shown(session, stored):
    artifact = stored(b"the original")
    os.utime(artifact.path, (1, 1))
    assert session.open("a1").read(0, 99) == b"the original"


def test_a_session_that_is_full_refuses_more_and_keeps_what_it_has(tmp_path):
    session = Store(tmp_path / "data", Limits(session_bytes=10_000)).create("me")
    with session.writer(tool="t", did="d") as writer:
        writer.write(b"x" * 5000)
    with pytest.raises(BursarError, match="quota"):
        write_until_it_fails(session, b"y" * 1000)
    first, second = session.artifacts()
    assert (first.state, first.size) == ("whole", 5000)
    assert second.state == "partial"
    assert 0 < second.size <= 5000
    assert second.read(0, second.size) == b"y" * second.size


@posix
def test_a_full_disk_is_a_clear_error_and_loses_nothing_stored(tmp_path):
    code = (
        "import json, resource, signal, sys; from pathlib import Path; from bursar.artifacts import Limits, Store\n"
        "from bursar.errors import BursarError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "session = Store(Path(sys.argv[1]), Limits()).create('me')\n"
        "with session.writer(tool='t', did='d') as first: first.write(b'first')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000000, 1000000))\n"
        "try:\n"
        "    with session.writer(tool='t', did='d') as writer:\n"
        "        while True: writer.write(b'x' * 70000)\n"
        "except BursarError as error: print(json.dumps([error.code, error.message]))\n"
        "print(json.dumps([[a.state, a.size, a.lines] for a in session.artifacts()]))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "data")], capture_output=True, text=True, check=True
    )
    (kind, message), artifacts = map(json.loads, run.stdout.splitlines())
    assert kind == "disk_full"
    assert "no room" in message
    assert artifacts == [["whole", 5, 1], ["partial", 1_000_000, 1]]


@pytest.mark.needs("mounts")
def test_on_a_full_file_system_what_fits_is_kept_as_partial(tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", place], check=True)
    try:
        store = Store(place / "data", Limits())
        session = store.create("me")
        with session.writer(tool="t", did="d") as first:
            first.write(b"first")
        with pytest.raises(BursarError, match="disk_full"):
            write_until_it_fails(session, b"0123456789\n" * 5000)
        whole, partial = session.artifacts()
        assert whole.read(0, 9) == b"first"
        assert partial.state == "partial"
        assert partial.size > 1_000_000
        content = partial.read(0, partial.size)
        assert content == (b"0123456789\n" * 200_000)[: partial.size]
        assert partial.sha256 == hashlib.sha256(content).hexdigest()
        os.unlink(partial.path)
        with session.writer(tool="t", did="d") as again:
            again.write(b"there is room again")
        assert again.commit().read(0, 99) == b"there is room again"
    finally:
        session.close()
        store.close()
        subprocess.run(["umount", "-l", place], check=True)


def test_finishing_is_the_same_as_committing(session):
    async def work():
        small = session.writer(tool="t", did="d")
        small.write(b"x")
        large = session.writer(tool="t", did="d")
        large.write(b"y" * 5_000_000)
        return await small.finish(), await large.finish("partial", facts={"a": 1})

    small, large = anyio.run(work)
    assert (small.state, small.size) == ("whole", 1)
    assert (large.state, large.size, large.facts) == ("partial", 5_000_000, {"a": 1})


def test_a_writer_that_is_forgotten_leaves_no_artifact(session):
    writer = session.writer(tool="t", did="d")
    writer.write(b"x")
    del writer
    assert session.artifacts() == []
    assert names(session) == []


@posix
def test_without_nameless_files_everything_works_the_same(monkeypatch, session, stored):
    monkeypatch.setattr("bursar.artifacts.folder.Folder._can_name", lambda folder: False)
    artifact = stored(b"content")
    assert artifact.read(0, 9) == b"content"
    writer = session.writer(tool="t", did="d")
    os.write(writer.descriptor(), b"live")
    assert session.open("a2").state == "live"
    writer.commit()
    discarded = session.writer(tool="t", did="d")
    discarded.write(b"x")
    discarded.discard()
    assert names(session) == ["a1-x.log", "a1.json", "a2-output", "a2.json"]


def test_a_process_is_given_no_descriptor_in_a_session_that_is_full(tmp_path):
    session = Store(tmp_path, Limits(session_bytes=5000)).create("me")
    with session.writer(tool="t", did="d") as writer:
        writer.write(b"x" * 3000)
        descriptor = session.writer(tool="t", did="d")
        descriptor.descriptor()
        assert 0 < descriptor.room < 5000
        writer.write(b"x" * 500)
    descriptor.discard()
    full = session.writer(tool="t", did="d")
    with session.writer(tool="t", did="d") as writer:
        writer.write(b"x" * writer.room)
    with pytest.raises(BursarError) as refused:
        full.descriptor()
    assert refused.value.code == "quota"
    assert "--session-quota-bytes" in refused.value.fix
    assert full.artifact is None
    session.close()


def follow_with(session, data):
    writer = session.writer(tool="t", did="d")
    os.write(writer.descriptor(), data)
    return writer.commit()


@pytest.mark.parametrize("failure", [ValueError("a bug"), MemoryError(), RuntimeError("can't start new thread")])
def test_a_scan_that_breaks_off_is_done_again_and_never_taken_for_the_whole(session, monkeypatch, failure):
    data = os.urandom(5 << 20)
    feed = Scan.feed
    failures = iter([failure])

    def failing_once(self, block):
        if self.size >= 1 << 20 and (failure := next(failures, None)) is not None:
            raise failure
        feed(self, block)

    monkeypatch.setattr(Scan, "feed", failing_once)
    artifact = follow_with(session, data)
    assert next(failures, None) is None
    assert (artifact.state, artifact.size, artifact.sha256) == ("whole", len(data), hashlib.sha256(data).hexdigest())
    assert artifact.lines == data.count(b"\n") + 1


def test_where_no_thread_is_to_be_had_a_content_is_scanned_at_its_end(session, monkeypatch):
    def no_thread(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_thread)
    data = b"one\ntwo\n" * 100_000
    artifact = follow_with(session, data)
    assert (artifact.state, artifact.lines, artifact.sha256) == ("whole", 200_000, hashlib.sha256(data).hexdigest())


def test_a_content_that_somebody_else_wrote_into_is_not_called_whole(session, monkeypatch):
    monkeypatch.setattr("bursar.artifacts.folder.Folder._can_name", lambda folder: False)
    writer = session.writer(tool="t", did="d")
    writer.write(b"ours")
    (unfinished,) = (name for name in names(session) if name.startswith(".new-"))
    with open(session.directory / unfinished, "ab") as file:
        file.write(b"theirs")
    artifact = writer.commit()
    assert (artifact.state, artifact.read(0, 100)) == ("partial", b"ours")
