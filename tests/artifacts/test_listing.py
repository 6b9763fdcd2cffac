import pytest
from bursar.errors import BursarError


def test_sessions_are_listed_with_their_artifacts_the_last_used_first(store, age):
    old, new = store.create("local:me"), store.create("tom")
    for _ in range(3):
        with old.writer(tool="t", did="d") as writer:
            writer.write(b"x")
        writer.commit()
    old.remove(old.open("a2"))
    age(old, 100)
    assert [(one.name, one.owner, one.artifacts) for one in store.listed()] == [
        (new.directory.name, "tom", ()),
        (old.directory.name, "local:me", ("a1", "a3")),
    ]


def test_a_visit_reads_everything_and_is_no_use_of_the_session(store, session, stored):
    artifact = stored(b"text\n")
    before = (session.directory / "lock").read_bytes()
    visit = store.visit(session.directory.name)
    assert visit.open("a1").read(0, 9) == b"text\n"
    assert visit.ids() == [artifact.id]
    assert visit.handle == ""
    assert (session.directory / "lock").read_bytes() == before
    visit.close()


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "aaaaaaaaaaaa", "a/b", "\x00", "ses_" + "a" * 22])
def test_nothing_but_a_session_is_visited(store, session, name):
    with pytest.raises(BursarError, match="unknown_session"):
        store.visit(name)


def test_what_is_no_session_is_not_listed(store, session):
    (store.root / "aaaaaaaaaaaa").mkdir()
    (store.root / "notes").mkdir()
    (store.root / "bbbbbbbbbbbb").symlink_to("/etc")
    assert [one.name for one in store.listed()] == [session.directory.name]
