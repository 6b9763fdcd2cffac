import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from bursar.artifacts import Limits, Store
from bursar.errors import BursarError


def modes(root):
    for folder, names, files in os.walk(root):
        for name in names:
            yield stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode), True
        for name in files:
            yield stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode), False


def refusal(work):
    with pytest.raises(BursarError) as caught:
        work()
    return caught.value.code, caught.value.message, caught.value.fix


def test_a_handle_has_at_least_128_random_bits(store):
    handles = {store.create("me").handle for _ in range(50)}
    assert len(handles) == 50
    assert all(re.fullmatch(r"ses_[0-9A-Za-z]{22}", handle) for handle in handles)
    assert 62**22 > 2**128


def test_the_disk_shows_no_handle(store, session, stored):
    stored(b"content")
    for folder, names, files in os.walk(store.root):
        for name in names + files:
            path = os.path.join(folder, name)
            assert session.handle not in path
            assert not os.path.isfile(path) or session.handle.encode() not in Path(path).read_bytes()


def test_a_session_is_found_again_by_its_handle_and_owner(store, session, stored):
    artifact = stored(b"kept")
    again = Store(store.root, Limits()).attach(session.handle, "local:me")
    assert again.open(artifact.ref).read(0, 10) == b"kept"
    assert [kept.id for kept in again.artifacts()] == [artifact.id]


def test_every_failure_to_attach_reads_the_same(store, session):
    own = session.handle
    tries = [
        "",
        "ses_",
        own[:-1],
        own + "x",
        own.lower() + "",
        "../" + own,
        "ses_" + "0" * 22,
        own.replace("ses_", "SES_"),
    ]
    refusals = {refusal(lambda handle=handle: store.attach(handle, "local:me")) for handle in tries if handle != own}
    refusals.add(refusal(lambda: store.attach(own, "local:other")))
    assert len(refusals) == 1
    assert refusals.pop()[0] == "unknown_session"


def test_an_owner_record_that_was_tampered_with_opens_nothing(store, session):
    record = session.directory / "owner.json"
    session.close()
    for text in ("", "{}", "[]", '{"handle_sha256":"0","owner":"local:me"}', "\xff"):
        record.write_text(text)
        assert refusal(lambda: store.attach(session.handle, "local:me"))[0] == "unknown_session"


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
@pytest.mark.parametrize("umask", ["000", "022", "077", "277", "777"])
def test_directories_are_0700_and_files_0600_whatever_the_umask(tmp_path, umask):
    code = (
        "import sys; from pathlib import Path; from bursar.artifacts import Limits, Store\n"
        "session = Store(Path(sys.argv[1]) / 'a' / 'b' / 'bursar', Limits()).create('me')\n"
        "writer = session.writer(tool='t', did='d'); writer.write(b'1'); writer.commit()\n"
        "live = session.writer(tool='t', did='d'); live.descriptor(); live.write(b'x' * 3000000); live.commit()\n"
    )
    command = f"umask {umask}; exec '{sys.executable}' -c \"$0\" '{tmp_path}/x'"
    subprocess.run(["/bin/sh", "-c", command, code], check=True)
    found = list(modes(tmp_path))
    assert {mode for mode, is_folder in found if is_folder} == {0o700}
    assert {mode for mode, is_folder in found if not is_folder} == {0o600}
    assert len(found) >= 9


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_a_mode_that_somebody_opened_up_is_healed(store, session):
    session.directory.chmod(0o755)
    store.root.chmod(0o777)
    again = Store(store.root, Limits()).attach(session.handle, "local:me")
    assert stat.S_IMODE(store.root.stat().st_mode) == 0o700
    assert stat.S_IMODE(again.directory.stat().st_mode) == 0o700


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_link_is_not_taken_for_the_data_directory(tmp_path, store, session):
    (tmp_path / "link").symlink_to(store.root)
    code, message, _ = refusal(lambda: Store(tmp_path / "link", Limits()).create("me"))
    assert code == "data_directory_refused"
    assert str(tmp_path / "link") in message


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_link_is_not_taken_for_a_session_or_a_content(store, session, stored, tmp_path):
    artifact = stored(b"the content")
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    os.unlink(artifact.path)
    os.symlink(secret, artifact.path)
    assert refusal(lambda: artifact.read(0, 10))[0] == "unknown_artifact"
    moved = tmp_path / "moved"
    session.directory.rename(moved)
    session.directory.symlink_to(moved)
    assert refusal(lambda: store.attach(session.handle, "local:me"))[0] == "unknown_session"


@pytest.mark.skipif(os.name == "nt", reason="the sticky bit is POSIX")
def test_a_directory_that_everybody_shares_is_refused_and_left_alone(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    assert refusal(lambda: Store(shared, Limits()).create("me"))[0] == "data_directory_refused"
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777


def test_a_data_directory_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    assert refusal(lambda: Store(tmp_path / "file", Limits()).create("me"))[0] == "data_directory_refused"
    assert refusal(lambda: Store(tmp_path / "file" / "deeper", Limits()).create("me"))[0] == "data_directory_refused"


def test_importing_the_store_loads_nothing_slow():
    code = "import sys, bursar.artifacts; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"tiktoken", "regex", "re2", "anyio", "asyncio", "pydantic", "subprocess", "sqlite3"} & set(loaded)


def test_limits_are_those_that_were_given(tmp_path):
    assert Store(tmp_path, Limits(idle_s=5)).limits.idle_s == 5


@pytest.mark.parametrize("holds", ["README.md", "applications/file", "abcdefgh2345/notes.txt"])
def test_a_directory_that_holds_something_else_is_refused_and_left_alone(tmp_path, holds):
    foreign = tmp_path / "bursar"
    (foreign / holds).parent.mkdir(parents=True)
    (foreign / holds).write_text("")
    foreign.chmod(0o755)
    mode = foreign.stat().st_mode
    code, message, _ = refusal(lambda: Store(foreign, Limits()).create("me"))
    assert code == "data_directory_refused"
    assert str(foreign) in message
    assert foreign.stat().st_mode == mode
    assert len(os.listdir(foreign)) == 1


def test_an_empty_directory_and_one_with_sessions_are_used(tmp_path, store, session):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / ".DS_Store").write_text("")
    assert Store(tmp_path / "empty", Limits()).create("me").directory.is_dir()
    (store.root / "notes.txt").write_text("")
    assert Store(store.root, Limits()).attach(session.handle, "local:me").handle == session.handle


def test_a_session_whose_making_was_interrupted_does_not_close_the_store(tmp_path):
    (tmp_path / "abcdefgh2345").mkdir()
    assert Store(tmp_path, Limits()).create("me").directory.is_dir()
