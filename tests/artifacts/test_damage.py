"""Files of the store that were damaged, planted, closed or deleted: an error or what is left, never wrong data."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from bursar.artifacts import Limits, Store
from bursar.artifacts.artifact import Opened
from bursar.errors import BursarError

posix = pytest.mark.skipif(os.name == "nt", reason="links, modes and pipes are POSIX")
SECRET = b"what belongs to another session"
GREEDY = Limits(idle_s=0, total_bytes=0, settle_s=0)


def again(session):
    return Store(session.directory.parent, Limits()).attach(session.handle, session.owner)


def code_of(work):
    with pytest.raises(BursarError) as caught:
        work()
    return caught.value.code


@pytest.fixture
def theirs(store):
    """Give the path of a content in another session."""
    other = store.create("local:other")
    with other.writer(tool="t", did="d", label="x.log") as writer:
        writer.write(SECRET)
    return writer.commit().path


def changed(**values):
    return lambda record: json.dumps(json.loads(record) | values).encode()


def with_source(content):
    source = {"path": "/etc/hostname", "size": 7, "mtime_ns": 1, "inode": 1}
    return changed(content=content, source=source)


DAMAGES = {
    "empty": lambda _: b"",
    "cut off": lambda record: record[:-10],
    "its last byte missing": lambda record: record[:-1],
    "garbage": lambda _: os.urandom(300),
    "zeros": lambda record: bytes(len(record)),
    "a list": lambda _: b"[1,2]",
    "deep": lambda _: b"[" * 200_000,
    "not UTF-8": lambda record: record.replace(b"test", b"te\xff\xfet"),
    "of another": changed(id="a2"),
    "infinite": lambda record: record.replace(b'"size":7', b'"size":1e999'),
    "no number": lambda record: record.replace(b'"size":7', b'"size":NaN'),
    "negative": changed(size=-7),
    "enormous": changed(size=10**40),
    "a size that is text": changed(size="7"),
    "a size that is true": changed(size=True),
    "lines that are a list": changed(lines=[3]),
    "a time beyond all calendars": changed(created=1e300),
    "a time that is none": lambda record: record.replace(b'"created":', b'"created":NaN,"was":'),
    "a name that is a number": changed(tool=7),
    "a hash that is null": changed(sha256=None),
    "a state that is unknown": changed(state="gone"),
    "a state that is a list": changed(state=[]),
    "facts in facts": changed(facts={"a": {"b": 1}}),
    "facts that are a list": changed(facts=[1]),
    "lines that stand out, but are none": changed(notable={"kinds": [], "lines": [["x", 1]]}),
    "a source of another kind": changed(source={"path": ["/etc/passwd"], "size": 1, "mtime_ns": 1, "inode": 1}),
    "a source with more to it": changed(source={"path": "/x", "size": 1, "mtime_ns": 1, "inode": 1, "open": 1}),
    "content elsewhere": changed(content="../secret"),
    "content elsewhere, with a source": with_source("../secret"),
    "content in the root, with a source": with_source("/etc/hostname"),
    "content of another artifact, with a source": with_source("a2-x.log"),
    "the owner for its content": with_source("owner.json"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_record_is_no_artifact_and_the_others_stay(session, stored, damage):
    artifact, other = stored(b"content"), stored(b"more")
    (session.directory.parent / "secret").write_bytes(SECRET)
    record = session.directory / "a1.json"
    record.write_bytes(DAMAGES[damage](record.read_bytes()))
    new = again(session)
    assert [there.id for there in new.artifacts()] == ["a2"]
    assert code_of(lambda: new.open("a1")) == "unknown_artifact"
    assert code_of(lambda: new.open(artifact.path)) == "unknown_artifact"
    assert new.open("a2").read(0, 9) == b"more" == other.read(0, 9)
    with new.writer(tool="t", did="d") as writer:
        writer.write(b"next")
    assert writer.commit().id == "a3"


@pytest.mark.parametrize("values", [{"size": 6}, {"size": 8}, {"sha256": "0" * 64}, {"mtime_ns": 1, "sha256": "ff"}])
def test_a_record_that_lies_about_its_content_is_never_believed(session, stored, values):
    stored(b"content")
    record = session.directory / "a1.json"
    record.write_bytes(changed(**values)(record.read_bytes()))
    os.utime(session.directory / "a1-x.log")
    assert code_of(lambda: again(session).open("a1").read(0, 9)) == "damaged"


@posix
def test_a_record_of_gigabytes_is_not_read(session, stored):
    stored(b"content")
    os.truncate(session.directory / "a1.json", 50 << 30)
    assert again(session).artifacts() == []


@posix
@pytest.mark.parametrize("name", ["a1.json", "a1-x.log", "a1.idx", "owner.json", "lock"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "nothing"])
def test_what_was_planted_in_the_place_of_a_file_is_neither_read_nor_waited_for(session, stored, theirs, name, kind):
    stored(b"line of a content\n" * 100_000)
    place = session.directory / name
    if place.exists():
        place.unlink()
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "link":
        place.symlink_to(theirs)
    refused = ""
    try:
        new = again(session)
        for artifact in new.artifacts():
            assert SECRET not in artifact.read(0, 1 << 20)
        new.open("a1").index()
    except BursarError as error:
        refused = error.code
    assert refused in {"", "unknown_session", "unknown_artifact", "read_failed", "damaged"}
    if name not in {"owner.json", "lock"}:
        with new.writer(tool="t", did="d") as writer:
            writer.write(b"next")
        assert writer.commit().read(0, 9) == b"next"


@posix
def test_a_second_name_of_another_sessions_content_is_not_read(session, theirs):
    writer = session.writer(tool="t", did="d", label="x.log")
    writer.descriptor()
    writer.write(b"x" * len(SECRET))
    writer.commit("partial")
    record, content = session.directory / "a1.json", session.directory / "a1-x.log"
    record.write_bytes(changed(sha256="")(record.read_bytes()))
    content.unlink()
    os.link(theirs, content)
    assert code_of(lambda: again(session).open("a1").read(0, 99)) == "damaged"


@posix
def test_a_content_of_its_own_with_a_second_name_is_read_if_it_is_what_was_stored(session, stored, tmp_path):
    artifact = stored(b"content")
    os.link(artifact.path, tmp_path / "backup")
    assert again(session).open("a1").read(0, 9) == b"content"
    (tmp_path / "backup").write_bytes(b"CONTENT")
    assert code_of(lambda: again(session).open("a1").read(0, 9)) == "damaged"


@posix
@pytest.mark.parametrize("size", [20, 3_000_000])
def test_a_content_that_was_changed_and_given_its_old_time_is_never_served_as_the_original(session, stored, size):
    artifact = stored(b"a" * size)
    former = os.stat(artifact.path)
    with open(artifact.path, "r+b") as file:
        file.write(b"B")
    os.utime(artifact.path, ns=(former.st_atime_ns, former.st_mtime_ns))
    assert os.stat(artifact.path).st_mtime_ns == former.st_mtime_ns
    for view in (artifact, session.open("a1"), again(session).open("a1")):
        assert code_of(lambda view=view: view.read(0, 10)) == "damaged"
    assert session.same_as(artifact.sha256, size) is None


def test_a_content_that_cannot_be_read_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    descriptor = os.open(tmp_path / "file", os.O_WRONLY)
    assert code_of(lambda: Opened(1, descriptor, may_grow=False).read(0, 1)) == "read_failed"
    os.close(descriptor)


def test_an_index_with_a_bit_flipped_is_made_anew(session, stored):
    data = b"".join(b"line %d\n" % number for number in range(400_000))
    stored(data)
    sidecar = session.directory / "a1.idx"
    damaged = bytearray(sidecar.read_bytes())
    damaged[25] ^= 1
    sidecar.write_bytes(damaged)
    artifact = again(session).open("a1")
    with artifact.opened() as content:
        start = artifact.index().start_of(content, 120_001)
    assert data[start:].startswith(b"line 120000\n")


@posix
@pytest.mark.parametrize("what", ["directory", "record", "content", "lock"])
def test_what_somebody_closed_to_the_user_himself_is_opened_again(what):
    code = (
        "import os, sys; from pathlib import Path; from bursar.artifacts import Limits, Store\n"
        "if not os.geteuid(): os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "root, what = Path(sys.argv[1]) / 'data', sys.argv[2]\n"
        "session = Store(root, Limits()).create('me')\n"
        "with session.writer(tool='t', did='d') as writer: writer.write(b'content')\n"
        "names = {'directory': '.', 'record': 'a1.json', 'content': writer.commit().path, 'lock': 'lock'}\n"
        "place = session.directory / names[what]\n"
        "place.chmod(0)\n"
        "with session.writer(tool='t', did='d') as writer: writer.write(b'next')\n"
        "assert writer.commit().id == 'a2'\n"
        "place.chmod(0)\n"
        "again = Store(root, Limits()).attach(session.handle, 'me')\n"
        "print(*(artifact.read(0, 9).decode() for artifact in again.artifacts()))\n"
        "assert place.stat().st_mode & 0o777 in {0o700, 0o600}\n"
    )
    # Not in `tmp_path`: root, who passes every mode, goes on as somebody else here.
    place = tempfile.mkdtemp()
    Path(place).chmod(0o777)
    run = subprocess.run([sys.executable, "-c", code, place, what], capture_output=True, text=True, check=False)
    subprocess.run(["rm", "-rf", place], check=True)
    assert (run.stdout, run.stderr) == ("content next\n", "")


@posix
def test_a_session_whose_lock_was_deleted_is_found_and_is_not_swept_while_in_use(store, session, stored, age):
    stored(b"content")
    (session.directory / "lock").unlink()
    user = again(session)
    session.close()
    age(user, 3600, GREEDY)
    assert Store(store.root, GREEDY).sweep().sessions == 0
    assert user.open("a1").read(0, 9) == b"content"


@posix
def test_a_session_whose_lock_was_deleted_counts_as_used_now(store, session, stored):
    stored(b"content")
    (session.directory / "lock").unlink()
    for _ in range(2):
        assert Store(store.root, Limits(idle_s=0, total_bytes=0)).sweep().sessions == 0
    assert session.open("a1").read(0, 9) == b"content"


@posix
def test_a_lock_that_somebody_keeps_does_not_make_anybody_wait_for_ever(session, stored):
    import fcntl

    stored(b"content")
    session.close()
    with open(session.directory / "lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert code_of(lambda: again(session)) == "session_locked"
    assert again(session).open("a1").read(0, 9) == b"content"


def test_a_session_whose_owner_was_deleted_belongs_to_nobody_and_goes(store, session, stored, age):
    stored(b"content")
    session.close()
    (session.directory / "owner.json").unlink()
    assert code_of(lambda: again(session)) == "unknown_session"
    age(session, 3600)
    assert Store(store.root, Limits()).sweep().sessions == 1
    assert not session.directory.exists()


@posix
def test_an_artifact_in_hand_keeps_its_session_from_being_swept(store, session, stored, age):
    artifact = again(session).open(stored(b"content").id)
    session.close()
    age(session, 1, GREEDY)
    assert Store(store.root, GREEDY).sweep().sessions == 0
    assert artifact.read(0, 9) == b"content"


@posix
def test_a_directory_that_somebody_made_in_a_session_goes_with_it(store, session, stored, tmp_path, age):
    stored(b"content")
    (tmp_path / "mine").write_text("not to be removed")
    (session.directory / "sub" / "deep").mkdir(parents=True)
    (session.directory / "sub" / "link").symlink_to(tmp_path)
    session.close()
    age(session, 1, GREEDY)
    assert Store(store.root, GREEDY).sweep().sessions == 1
    assert os.listdir(store.root) == []
    assert (tmp_path / "mine").read_text() == "not to be removed"


@posix
def test_a_link_in_the_place_of_the_directories_is_never_followed(store, session, stored, tmp_path):
    stored(b"content")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.rmtree(session.directory)
    session.directory.symlink_to(elsewhere)
    assert code_of(lambda: stored(b"x")) == "unknown_session"
    assert code_of(lambda: again(session)) == "unknown_session"
    shutil.rmtree(store.root)
    store.root.symlink_to(elsewhere)
    assert code_of(lambda: stored(b"x")) == "unknown_session"
    assert code_of(lambda: store.create("local:me")) == "data_directory_refused"
    assert os.listdir(elsewhere) == []


@pytest.mark.parametrize("text", ["", "{", '{"id":"a1"'])
def test_a_record_that_was_never_finished_takes_its_content_with_it(session, stored, text, age):
    for _ in range(3):
        stored(b"content")
    session.close()
    for number in (1, 3):
        (session.directory / f"a{number}.json").write_text(text)
    age(session, 3600)
    Store(session.directory.parent, Limits()).sweep()
    assert set(os.listdir(session.directory)) == {"lock", "owner.json", "a2.json", "a2-x.log", "a3.json"}


def test_a_damaged_record_keeps_its_content_for_whoever_can_mend_it(session, stored, age):
    stored(b"content")
    session.close()
    (session.directory / "a1.json").write_text('{"id":"a1","state":"of a later version"}')
    age(session, 3600)
    Store(session.directory.parent, Limits()).sweep()
    assert (session.directory / "a1-x.log").read_bytes() == b"content"


def test_a_number_is_never_given_to_a_second_artifact(session, stored):
    other = again(session)
    first = stored(b"first")
    assert other.open("a1").read(0, 9) == b"first"
    session.remove(first)
    with again(session).writer(tool="t", did="d", label="x.log") as writer:
        writer.write(b"second")
    assert writer.commit().id == "a2"
    assert [artifact.id for artifact in other.artifacts()] == ["a2"]
    assert code_of(lambda: other.open("a1").read(0, 9)) == "unknown_artifact"


def test_a_scan_that_failed_while_writing_is_done_again(session, monkeypatch):
    writer = session.writer(tool="t", did="d")
    writer.write(b"first\n")
    with monkeypatch.context() as patch:
        patch.setattr("bursar.artifacts.scan.Scan._look", None)
        with pytest.raises(TypeError):
            writer.write(b"second\n")
    artifact = writer.commit()
    assert (artifact.state, artifact.lines, artifact.read(0, 99)) == ("whole", 2, b"first\nsecond\n")
    assert again(session).open("a1").read(0, 99) == b"first\nsecond\n"


@pytest.mark.parametrize(
    "text",
    [
        '{"handle_sha256":"é","owner":"local:me"}',
        '{"handle_sha256":"\\ud800","owner":"\\ud800"}',
        '{"handle_sha256":' + "[" * 100_000 + ',"owner":"local:me"}',
        '{"handle_sha256":' + "9" * 5000 + ',"owner":1}',
        "[1]",
        "null",
        "é".encode("latin-1"),
    ],
)
def test_a_damaged_owner_is_nobody_and_its_session_is_kept_as_long_as_any(store, session, stored, age, text):
    stored(b"content")
    session.close()
    (session.directory / "owner.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert code_of(lambda: again(session)) == "unknown_session"
    age(session, 3600)
    assert Store(store.root, Limits()).sweep().sessions == 0
    age(session, 8 * 86400)
    assert Store(store.root, Limits()).sweep().sessions == 1
