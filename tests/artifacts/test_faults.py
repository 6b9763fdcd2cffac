"""Every system call of a write fails, or is the last one before the process dies."""

import errno
import hashlib
import os

import pytest
from bursar.artifacts import Limits, Store
from bursar.errors import BursarError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="forks")

CALLS = ("open", "write", "link", "replace", "fchmod", "fstat", "unlink", "fsync", "pread", "scandir")
DATA = b"some content\n" * 9000


class Fault:
    """Does something else instead of the nth of the calls."""

    def __init__(self, monkeypatch, nth, deed):
        self.left = nth
        self.deed = deed
        for name in CALLS:
            monkeypatch.setattr(os, name, self.around(getattr(os, name)))

    def around(self, call):
        def wrapped(*args, **options):
            self.left -= 1
            if self.left == 0:
                self.deed()
            return call(*args, **options)

        return wrapped


def plain(session):
    with session.writer(tool="t", did="d") as writer:
        writer.write(DATA)
    return writer.commit()


def live(session):
    with session.writer(tool="t", did="d") as writer:
        writer.descriptor()
        writer.write(DATA)
    return writer.commit()


def fail_with(number):
    def deed():
        raise OSError(number, os.strerror(number))

    return deed


def checked(root, handle):
    """What a new process finds; each artifact must be what it says it is."""
    store = Store(root, Limits())
    found = {}
    for artifact in store.attach(handle, "me").artifacts():
        content = artifact.read(0, artifact.size)
        assert len(content) == artifact.size
        assert DATA.startswith(content)
        if artifact.state == "whole":
            assert content == DATA
            assert artifact.sha256 == hashlib.sha256(DATA).hexdigest()
        else:
            assert artifact.state == "partial"
        found[artifact.id] = artifact.state
    return found


@pytest.mark.parametrize("work", [plain, live])
@pytest.mark.parametrize("nameless", [True, False])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_call_that_fails_is_a_clean_error_and_loses_nothing(monkeypatch, tmp_path, work, nameless, number):
    monkeypatch.setattr("bursar.artifacts.folder.Folder._can_name", lambda folder: nameless)
    session = Store(tmp_path, Limits()).create("me")
    kept = {plain(session).id}
    nth, was_reached, codes = 0, True, set()
    while was_reached:
        nth += 1
        with monkeypatch.context() as patch:
            fault = Fault(patch, nth, fail_with(number))
            try:
                kept.add(work(session).id)
            except BursarError as error:
                codes.add(error.code)
            was_reached = fault.left <= 0
        found = checked(tmp_path, session.handle)
        assert {name for name, state in found.items() if state == "whole"} >= kept
    assert nth > 8
    assert codes == {"disk_full" if number == errno.ENOSPC else "store_failed"}
    assert plain(session).id in checked(tmp_path, session.handle)
    session.close()


@pytest.mark.parametrize("work", [plain, live])
@pytest.mark.parametrize("nameless", [True, False])
def test_a_death_at_any_call_leaves_whole_or_nothing_or_a_marked_prefix(monkeypatch, tmp_path, work, nameless):
    monkeypatch.setattr("bursar.artifacts.folder.Folder._can_name", lambda folder: nameless)
    session = Store(tmp_path, Limits()).create("me")
    nth, code = 0, 9
    while code == 9:
        nth += 1
        session.artifacts()  # so that those of the dead are known, and looking at them is no part of the next write
        child = os.fork()
        if not child:
            Fault(monkeypatch, nth, lambda: os._exit(9))
            work(session)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in {0, 9}
        checked(tmp_path, session.handle)
    assert nth > 8
    assert list(checked(tmp_path, session.handle).values()).count("whole") >= 1
    session.close()
