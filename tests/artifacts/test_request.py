"""What a server asks of the store for callers it tells apart: deleting, and a private corner."""

import os
import stat

import pytest
from bursar.artifacts import Limits, Store
from bursar.errors import BursarError


@pytest.fixture
def store(tmp_path):
    place = Store(tmp_path / "store", Limits())
    yield place
    place.close()


def test_a_removed_session_is_gone_with_all_its_files(store):
    session = store.create("ann")
    (session.directory / "a1-text.txt").write_text("content")
    store.remove(session.handle, "ann")
    assert list(store.root.iterdir()) == []
    with pytest.raises(BursarError, match="unknown_session"):
        store.attach(session.handle, "ann")
    session.close()


@pytest.mark.skipif(os.name == "nt", reason="an open directory cannot be removed there")
@pytest.mark.parametrize("live", [False, True])
def test_who_writes_into_a_session_while_it_is_removed_stores_nothing(store, live):
    session = store.create("ann")
    writer = session.writer(tool="terminal", did="$ sleep", label="terminal.log")
    if live:
        os.write(writer.descriptor(), b"before")
    else:
        writer.write(b"before")
    Store(store.root, Limits()).remove(session.handle, "ann")
    if live:
        os.write(writer.descriptor(), b"after")
    else:
        writer.write(b"after")
    with pytest.raises(BursarError, match="unknown_session"):
        writer.commit(facts={"exit_code": 0})
    assert not writer.is_open
    for use in (session.artifacts, lambda: session.open("a1"), lambda: session.writer(tool="t", did="d")):
        with pytest.raises(BursarError, match="unknown_session"):
            use()
    assert list(store.root.iterdir()) == []
    session.close()


@pytest.mark.skipif(os.name == "nt", reason="an open directory cannot be removed there")
def test_a_removed_session_is_no_artifact_to_another_that_had_read_it(store):
    here, there = store.create("ann"), store.create("ann")
    with there.writer(tool="t", did="d") as writer:
        writer.write(b"content")
    reference = writer.commit().ref
    assert here.open(reference).size == 7
    store.remove(there.handle, "ann")
    with pytest.raises(BursarError, match="unknown_artifact"):
        here.open(reference)


@pytest.mark.parametrize("handle", ["own", "ses_" + "A" * 22, "", "ses_/../x"])
def test_only_the_owner_of_a_session_removes_it(store, handle):
    session = store.create("ann")
    given = session.handle if handle == "own" else handle
    with pytest.raises(BursarError) as refusal:
        store.remove(given, "bob")
    assert refusal.value.code == "unknown_session"
    assert session.directory.is_dir()
    session.close()


def test_the_private_corner_is_private_and_no_session(store):
    place = store.private(".corner")
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    (place / "secret").write_text("kept")
    place.chmod(0o755)
    assert store.private(".corner") == place
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    store.sweep()
    assert (place / "secret").read_text() == "kept"
