import os
import time

import pytest
from bursar.artifacts import Limits, Store
from bursar.artifacts.folder import Folder
from bursar.artifacts.retention import sweep
from bursar.errors import BursarError

DAY = 86400


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def make(root):
    """Makes a session of a size that was last used days ago, and lets go of it."""

    def made(days=0, size=1000):
        session = Store(root).create("me")
        if size:
            with session.writer(tool="t", did="d") as writer:
                writer.write(b"x" * size)
        session.close()
        then = time.time() - days * DAY
        (session.directory / "lock").write_text(f"{then}\n")
        for path in (session.directory / "lock", session.directory):
            os.utime(path, (then, then))
        return session

    return made


def left(root):
    return {entry.name for entry in root.iterdir()}


def test_sessions_idle_for_too_long_go(root, make):
    old, new = make(8), make(6)
    swept = Store(root).sweep()
    assert swept.sessions == 1
    assert swept.bytes >= 1000
    assert left(root) == {new.directory.name}
    with pytest.raises(BursarError, match="unknown_session"):
        Store(root).attach(old.handle, "me")
    assert Store(root).attach(new.handle, "me").open("a1").size == 1000


def test_sessions_without_artifacts_go_after_an_hour(root, make):
    gone, young, full = make(0.05, size=0), make(0.03, size=0), make(0.05)
    assert Store(root).sweep().sessions == 1
    assert gone.directory.name not in left(root)
    assert left(root) == {young.directory.name, full.directory.name}


def test_above_the_total_the_longest_unused_go_first(root, make):
    kept = [make(days, 100_000) for days in (1, 2)]
    for days in (3, 4, 5):
        make(days, 100_000)
    assert Store(root, Limits(total_bytes=250_000)).sweep().sessions == 3
    assert left(root) == {session.directory.name for session in kept}


def test_a_session_in_use_is_never_swept(root, make):
    session = make(100, 100_000)
    user = Store(root).attach(session.handle, "me")
    for path in (session.directory / "lock", session.directory):
        os.utime(path, (1, 1))
    greedy = Limits(idle_s=0, total_bytes=0, settle_s=0)
    assert Store(root, greedy).sweep().sessions == 0
    assert user.open("a1").read(0, 3) == b"xxx"
    user.close()
    assert Store(root, greedy).sweep().sessions == 1


def test_a_session_that_was_made_to_look_old_is_kept(root):
    session = Store(root).create("me")
    with session.writer(tool="t", did="d") as writer:
        writer.write(b"x")
    session.close()
    for path in (session.directory / "lock", session.directory, session.directory / "a1.json"):
        os.utime(path, (1, 1))
    assert Store(root).sweep().sessions == 0


def test_using_a_session_keeps_it(root, make):
    session = make(8)
    Store(root).attach(session.handle, "me").close()
    assert Store(root).sweep().sessions == 0


def test_a_clock_set_back_removes_nothing(root, make):
    make(0, 100_000)
    folder = Folder.root(root, lambda folder: True)
    for past in (time.time() - 400 * DAY, 0.0):
        assert sweep(folder, Limits(), past).sessions == 0
        assert sweep(folder, Limits(idle_s=0), past).sessions == 0
    folder.close()


def test_a_clock_set_forward_removes_only_what_nobody_uses(root, make):
    make(0)
    used = Store(root).create("me")
    folder = Folder.root(root, lambda folder: True)
    assert sweep(folder, Limits(), time.time() + 400 * DAY).sessions == 1
    folder.close()
    assert left(root) == {used.directory.name}


def test_a_session_that_was_just_made_is_not_swept_for_size(root, make):
    make(0, 100_000)
    assert Store(root, Limits(total_bytes=0)).sweep().sessions == 0


def test_an_interrupted_sweep_is_finished_by_the_next(root, make):
    session = make(1)
    session.directory.rename(root / ".gone-0011")
    Store(root).sweep()
    assert left(root) == set()


def test_what_a_crash_left_of_no_artifact_is_tidied_away(root, make):
    session = make(1)
    directory = session.directory
    for name in ("a2-stray.log", ".new-00", "a3-torn"):
        (directory / name).write_text("x")
    (directory / "a3.json").write_text('{"id":"a3"')
    old = time.time() - DAY
    os.utime(directory, (old, old))
    Store(root).sweep()
    assert {"a1-output", "a1.json", "a3.json", "lock", "owner.json"} == {entry.name for entry in directory.iterdir()}


def test_nothing_else_in_the_directory_is_touched(root, make):
    make(8)
    (root / "notes.txt").write_text("mine")
    (root / "folder").mkdir()
    Store(root, Limits(idle_s=0, total_bytes=0, settle_s=0)).sweep()
    assert left(root) == {"notes.txt", "folder"}


def test_sweeping_nothing_is_fine(root):
    assert Store(root).sweep().sessions == 0
