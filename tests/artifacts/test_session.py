import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from bursar.artifacts import Limits, Store
from bursar.artifacts.session import source_of
from bursar.errors import BursarError
from lines import count_lines


def refusal(work):
    with pytest.raises(BursarError) as caught:
        work()
    return caught.value.code, caught.value.message, caught.value.fix


def test_ids_count_up(stored):
    assert [stored(b"x").id for _ in range(12)] == [f"a{n}" for n in range(1, 13)]


def test_artifacts_are_listed_oldest_first(session, stored):
    for _ in range(11):
        stored(b"x")
    assert [artifact.id for artifact in session.artifacts()] == [f"a{n}" for n in range(1, 12)]


def test_an_artifact_is_opened_by_id_reference_uri_or_path(store, session, stored):
    artifact = stored(b"content")
    for reference in ("a1", artifact.ref, f"artifact://{artifact.ref}", artifact.path, f"  {artifact.ref}\n"):
        assert session.open(reference).read(0, 9) == b"content"
    assert artifact.ref == f"{session.handle}/a1"


def test_a_reference_is_self_contained_for_the_same_owner(store, session, stored):
    artifact = stored(b"content")
    assert store.create("local:me").open(artifact.ref).read(0, 9) == b"content"
    assert refusal(lambda: store.create("local:you").open(artifact.ref))[0] == "unknown_artifact"


def test_every_failure_of_a_reference_reads_the_same(store, session, stored):
    artifact = stored(b"content")
    other = store.create("local:other")
    with other.writer(tool="t", did="d") as writer:
        writer.write(b"secret")
    theirs = writer.commit()
    directory = session.directory
    tries = [
        "", "a", "a0", "a2", "a01", "A1", "a1 a1", "a-1", "a99999999999", "1", "/", "//", "a1/", "ses_/a1", "/a1",
        "../a1", "a1\0", "а1", "ａ1", "a１", "/etc/passwd", "file://" + artifact.path, theirs.ref, theirs.path,
        f"{session.handle}/a2", f"{session.handle}/", f"{session.handle}//a1", f"ses_{'0' * 22}/a1",
        f"{directory}", f"{directory}/owner.json", f"{directory}/a1.json", f"{directory}/lock", f"{directory}/a1",
        f"{directory}/a1-y.log", f"{directory}/sub/a1-x.log",
    ]  # fmt: skip
    refusals = {refusal(lambda name=name: session.open(name)) for name in tries}
    assert len(refusals) == 1
    assert refusals.pop()[0] == "unknown_artifact"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"id":"a1"}', '{"id":"a2"}', "\0\0\0"])
def test_a_record_that_is_damaged_is_no_artifact(store, session, stored, text):
    stored(b"content")
    stored(b"more")
    (session.directory / "a1.json").write_text(text)
    again = store.attach(session.handle, "local:me")
    assert [artifact.id for artifact in again.artifacts()] == ["a2"]
    assert refusal(lambda: again.open("a1"))[0] == "unknown_artifact"
    with again.writer(tool="t", did="d") as writer:
        writer.write(b"third")
    assert writer.commit().id == "a3"


def test_a_record_cannot_point_outside_its_session(store, session, stored, tmp_path):
    stored(b"content")
    (tmp_path / "secret").write_text("secret!")
    record = session.directory / "a1.json"
    whole = record.read_text()
    for name in ("../secret", str(tmp_path / "secret"), "a2-x.log", "owner.json", ""):
        record.write_text(whole.replace("a1-x.log", name))
        again = store.attach(session.handle, "local:me")
        assert refusal(lambda again=again: again.open("a1"))[0] == "unknown_artifact"


def test_labels_become_harmless_file_names(session, stored):
    for label in ("../../etc/passwd", "x" * 500 + ".json", "ü日本.log", "", "...", "-rf", "a\0b\n c.txt", ".hidden"):
        name = os.path.basename(stored(b"x", label).path)
        assert re.fullmatch(r"a[0-9]+-[A-Za-z0-9_][A-Za-z0-9._-]{0,59}", name)
    assert stored(b"x", "x" * 500 + ".json").path.endswith("x.json")


def test_an_equal_content_is_found_by_hash_and_size(store, session, stored):
    first = stored(b"same")
    stored(b"other")
    second = stored(b"same")
    assert session.same_as(second.sha256, second.size).id == first.id
    assert store.attach(session.handle, "local:me").same_as(first.sha256, 4).id == first.id
    assert session.same_as(first.sha256, 5) is None
    assert session.same_as("", 4) is None


def test_a_partial_content_is_never_given_for_an_equal_one(session):
    writer = session.writer(tool="t", did="d")
    writer.write(b"cut off")
    partial = writer.commit("partial")
    assert session.same_as(partial.sha256, partial.size) is None


def test_a_copy_of_an_unchanged_file_is_found_by_its_source(store, session, tmp_path):
    file = tmp_path / "file"
    file.write_text("text")
    source = source_of(str(file), file.stat())
    with session.writer(tool="t", did="d") as writer:
        writer.write(b"text")
        copy = writer.commit(source=source)
    assert session.same_source(source).id == copy.id
    assert store.attach(session.handle, "local:me").same_source(source).id == copy.id
    file.write_text("longer text")
    assert session.same_source(source_of(str(file), file.stat())) is None


def test_a_referenced_file_is_not_copied_and_reads_like_a_stored_one(store, session, tmp_path, opener):
    file = tmp_path / "big"
    file.write_bytes(b"line\n" * 500_000)
    artifact = session.refer(str(file), file.stat(), tool="t", did="d", opener=opener, facts={"encoding": "x"})
    assert artifact.read(5, 5) == b"line\n"
    assert (artifact.lines, artifact.size, artifact.path) == (None, 2_500_000, str(file))
    assert count_lines(artifact) == 500_000
    assert not [name for name in os.listdir(session.directory) if name.startswith("a1-")]
    again = store.attach(session.handle, "local:me").open("a1", opener)
    assert again.read(0, 4) == b"line"
    assert again.facts == {"encoding": "x"}
    assert again.index().is_kept
    assert session.refer(str(file), file.stat(), tool="t", did="d", opener=opener).id == artifact.id


def test_a_reference_is_read_only_through_the_opener(session, tmp_path, opener):
    file = tmp_path / "big"
    file.write_text("text")
    session.refer(str(file), file.stat(), tool="t", did="d", opener=opener)
    assert refusal(lambda: session.open("a1").read(0, 1))[0] == "unknown_artifact"

    def refuse(path):
        raise BursarError("path_refused", path, "no")

    assert refusal(lambda: session.open("a1", refuse).read(0, 1))[0] == "path_refused"


@pytest.mark.parametrize("change", ["append", "touch", "replace", "shorten"])
def test_a_changed_source_is_reported(session, tmp_path, opener, change):
    file = tmp_path / "big"
    file.write_text("some text")
    artifact = session.refer(str(file), file.stat(), tool="t", did="d", opener=opener)
    if change == "append":
        file.write_text("some text and more")
    elif change == "touch":
        os.utime(file, ns=(1, 1))
    elif change == "replace":
        (tmp_path / "new").write_text("some text")
        os.replace(tmp_path / "new", file)
    else:
        file.write_text("some")
    assert refusal(lambda: artifact.read(0, 1))[0] == "source_changed"


@pytest.mark.parametrize("processes", [4])
def test_processes_in_one_session_never_share_an_id(store, session, processes):
    code = (
        "import sys; from pathlib import Path; from bursar.artifacts import Limits, Store\n"
        "session = Store(Path(sys.argv[1]), Limits()).attach(sys.argv[2], 'local:me')\n"
        "for n in range(40):\n"
        "    with session.writer(tool='t', did=sys.argv[3]) as writer: writer.write(f'{sys.argv[3]} {n}'.encode())\n"
        "    print(writer.commit().id, f'{sys.argv[3]} {n}', flush=True)\n"
    )
    command = [sys.executable, "-c", code, str(store.root), session.handle]
    running = [subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, text=True) for n in range(processes)]
    told = {}
    for process in running:
        for line in process.communicate()[0].splitlines():
            artifact, _, content = line.partition(" ")
            assert artifact not in told
            told[artifact] = content
        assert process.returncode == 0
    assert len(told) == 40 * processes
    assert {
        a.id: a.read(0, 99).decode() for a in Store(store.root, Limits()).attach(session.handle, "local:me").artifacts()
    } == told


def test_threads_in_one_session_never_share_an_id(session):
    from concurrent.futures import ThreadPoolExecutor

    def one(n):
        with session.writer(tool="t", did="d") as writer:
            writer.write(str(n).encode())
        return writer.commit()

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(one, range(200)))
    assert len({artifact.id for artifact in made}) == 200
    assert [artifact.read(0, 9) for artifact in made] == [str(n).encode() for n in range(200)]


def test_an_equal_content_that_was_damaged_is_not_given(session, stored):
    first = stored(b"same")
    os.truncate(first.path, 0)
    assert session.same_as(stored(b"same").sha256, 4) is None


def test_an_equal_content_that_was_touched_is_not_read_to_find_out(session, stored, monkeypatch):
    artifact = stored(b"content" * 1000)
    assert session.same_as(artifact.sha256, artifact.size).id == "a1"
    os.utime(artifact.path, (1, 1))
    with monkeypatch.context() as patch:
        patch.setattr("bursar.artifacts.contents._sha256", None)
        assert session.same_as(artifact.sha256, artifact.size) is None
    assert artifact.read(0, 7) == b"content"


def test_equal_contents_are_looked_for_among_the_latest_of_earlier_processes(store, session, stored, monkeypatch):
    made = [stored(b"content %d" % number) for number in range(12)]
    monkeypatch.setattr("bursar.artifacts.catalog._LOOK_BACK", 3)
    again = store.attach(session.handle, "local:me")
    assert [again.same_as(artifact.sha256, artifact.size) is not None for artifact in made] == [False] * 9 + [True] * 3
    assert len(again.artifacts()) == 12


def test_what_is_kept_in_memory_of_artifacts_is_bounded_and_all_are_found(session, stored, monkeypatch):
    monkeypatch.setattr("bursar.artifacts.catalog._KEPT", 3)
    made = [stored(b"content %d" % number) for number in range(12)]
    assert [artifact.id for artifact in session.artifacts()] == [artifact.id for artifact in made]
    assert session.open("a1").read(0, 9) == b"content 0"
    for kept in (session.catalog._settled, session.catalog._by_content):
        assert len(kept) <= 3
    assert session.same_as(made[-1].sha256, made[-1].size).id == "a12"
    assert session.same_as(made[1].sha256, made[1].size) is None


def _delete(session):
    shutil.rmtree(session.directory)


@pytest.mark.skipif(os.name == "nt", reason="an open directory cannot be removed there")
@pytest.mark.parametrize("what", ["the session", "the store"])
def test_a_session_whose_directory_was_deleted_is_unknown_and_never_made_again(store, session, stored, what):
    held = stored(b"lost")
    _delete(session if what == "the session" else SimpleNamespace(directory=store.root))
    assert session.is_gone
    for use in (lambda: stored(b"kept"), session.artifacts, lambda: session.open("a1"), lambda: session.spool("it")):
        assert refusal(use)[0] == "unknown_session"
    assert refusal(lambda: held.read(0, 9))[0] == "unknown_artifact"
    assert not session.directory.exists()
    assert store.create("local:me").artifacts() == []


@pytest.mark.skipif(os.name == "nt", reason="times of change are times of birth there")
def test_a_file_that_was_overwritten_and_given_its_old_time_is_another_source(session, tmp_path, opener):
    file = tmp_path / "file"
    file.write_text("one")
    os.utime(file, ns=(10**18, 10**18))
    artifact = session.refer(str(file), file.stat(), tool="t", did="d", opener=opener)
    before = source_of(str(file), file.stat())
    while source_of(str(file), file.stat()) == before:
        file.write_text("two")
        os.utime(file, ns=(10**18, 10**18))
    assert session.same_source(source_of(str(file), file.stat())) is None
    assert refusal(lambda: artifact.read(0, 3))[0] == "source_changed"


def test_a_record_from_before_times_of_change_were_kept_is_still_read(session, tmp_path, opener):
    file = tmp_path / "file"
    file.write_text("text")
    artifact = session.refer(str(file), file.stat(), tool="t", did="d", opener=opener)
    record = session.directory / "a1.json"
    given = json.loads(record.read_bytes())
    del given["source"]["ctime_ns"]
    record.write_text(json.dumps(given))
    again = Store(session.directory.parent, Limits()).attach(session.handle, "local:me").open("a1", opener)
    assert again.source == replace(artifact.source, ctime_ns=0)
    assert again.read(0, 9) == b"text"
