"""A large session is looked at once, in a thread; the calls in it then take as long as in a small one."""

import time

from bursar.artifacts import Limits, Store


def stored(session, text):
    writer = session.writer(tool="test", did="store")
    writer.write(text)
    return writer.commit()


def test_after_a_survey_nothing_lists_the_directory_again(tmp_path, monkeypatch):
    store = Store(tmp_path / "store", Limits())
    first = store.create("local:0")
    for number in range(20):
        stored(first, b"%d" % number)
    handle = first.handle
    first.close()
    session = store.attach(handle, "local:0")
    assert not session.is_surveyed
    session.survey()
    assert session.is_surveyed

    def refused(_folder):
        raise AssertionError("the directory was listed")

    monkeypatch.setattr("bursar.artifacts.folder.Folder.entries", refused)
    artifact = stored(session, b"one more")
    assert artifact.id == "a21"
    assert session.same_as(artifact.sha256, artifact.size) is not None
    assert session.room.left() > 0


def test_what_other_processes_store_is_counted_after_a_while(tmp_path, monkeypatch):
    store = Store(tmp_path / "store", Limits())
    session = store.create("local:0")
    before = session.room.left()
    stored(store.attach(session.handle, "local:0"), bytes(100_000))
    later = time.monotonic() + 61
    monkeypatch.setattr("bursar.artifacts.session.time.monotonic", lambda: later)
    assert not session.is_surveyed
    session.survey()
    assert before - session.room.left() >= 100_000
