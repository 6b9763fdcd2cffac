"""File systems that do not keep what they say, or whose locks others do not see."""

import errno
import os
import shutil
import subprocess
import sys
import time

import pytest
from bursar.artifacts import Limits, Store
from bursar.artifacts import folder as folders
from bursar.errors import BursarError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="nameless files and FUSE are Linux's")

GREEDY = Limits(idle_s=0, total_bytes=0, settle_s=0)


@pytest.fixture(autouse=True)
def untried(monkeypatch):
    monkeypatch.setattr(folders, "_can_name", {})


def store_something(root):
    session = Store(root, Limits()).create("me")
    with session.writer(tool="t", did="d") as writer:
        writer.write(b"content")
    return Store(root, Limits()).attach(session.handle, "me").open("a1").read(0, 99)


@pytest.mark.parametrize("lie", ["the name is gone", "the content is gone", errno.EXDEV, errno.EACCES, errno.EPERM])
def test_where_naming_a_nameless_file_keeps_nothing_artifacts_are_stored_the_other_way(tmp_path, monkeypatch, lie):
    link = os.link

    def linked(source, name, **how):
        if isinstance(lie, int):
            raise OSError(lie, "no")
        link(source, name, **how)
        if lie == "the name is gone":
            os.unlink(name, dir_fd=how["dst_dir_fd"])
        else:
            os.truncate(os.open(name, os.O_RDWR, dir_fd=how["dst_dir_fd"]), 0)

    monkeypatch.setattr(os, "link", linked)
    assert store_something(tmp_path / "data") == b"content"
    (session,) = (tmp_path / "data").iterdir()
    assert not [name for name in os.listdir(session) if name.startswith(".")]


def test_a_file_system_is_tried_once_and_a_full_disk_says_nothing_about_it(tmp_path, monkeypatch):
    tries = []
    has_named = folders.Folder._has_named

    def counted(folder):
        tries.append(folder)
        if len(tries) == 1:
            raise OSError(errno.ENOSPC, "full")
        return has_named(folder)

    monkeypatch.setattr(folders.Folder, "_has_named", counted)
    with pytest.raises(Exception, match="disk_full"):
        store_something(tmp_path / "data")
    for _ in range(3):
        assert store_something(tmp_path / "data") == b"content"
    assert len(tries) == 2


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ESTALE])
def test_a_session_that_is_deleted_during_the_trial_says_nothing_about_the_file_system(tmp_path, monkeypatch, number):
    session = Store(tmp_path / "data", Limits()).create("me")

    def deleted(*_, **__):
        shutil.rmtree(session.directory)
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", deleted)
        with pytest.raises(BursarError, match="unknown_session" if number == errno.ENOENT else "store_failed"):
            session.writer(tool="t", did="d")
    assert folders._can_name == {}


def test_the_trial_of_a_store_fails_where_a_writer_would(tmp_path, monkeypatch):
    store = Store(tmp_path / "data", Limits())
    assert store_something(tmp_path / "data") == b"content"
    store.check()

    def refused(*_, **__):
        raise OSError(errno.EIO, "no")

    monkeypatch.setattr(os, "link", refused)
    with pytest.raises(BursarError, match="store_failed"):
        store.check()
    assert not [name for name in os.listdir(tmp_path / "data") if name.startswith(".")]


def test_a_data_directory_that_vanishes_is_no_unknown_session(tmp_path, monkeypatch):
    store = Store(tmp_path / "data", Limits())
    store.check()

    def gone(*_, **__):
        raise FileNotFoundError(errno.ENOENT, "gone")

    monkeypatch.setattr(os, "mkdir", gone)
    monkeypatch.setattr(os, "scandir", gone)
    for doing in (lambda: store.create("me"), lambda: store.private(".x"), store.sweep):
        with pytest.raises(BursarError, match="store_failed"):
            doing()


@pytest.fixture
def mounts(tmp_path):
    """Two mounts of one directory: as on two machines, neither sees the locks of the other."""
    (tmp_path / "disk").mkdir()
    made = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        subprocess.run(["bindfs", tmp_path / "disk", tmp_path / name], check=True)
        made.append(tmp_path / name)
    yield made
    for mount in made:
        subprocess.run(["fusermount", "-u", "-z", mount], check=True)


@pytest.mark.needs("fusermount", "bindfs")
def test_where_locks_may_not_be_seen_nothing_is_swept_and_artifacts_are_stored_and_read(mounts, age):
    here, there = (mount / "data" for mount in mounts)
    assert store_something(here) == b"content"
    session = Store(here, GREEDY).create("me")
    with session.writer(tool="t", did="d") as writer:
        writer.write(b"used here")
    age(session, 100 * 86_400, GREEDY)
    other = Store(there, GREEDY)
    assert not other.is_local
    other.check()
    assert other.sweep().sessions == 0
    assert other.attach(session.handle, "me").open("a1").read(0, 99) == b"used here"
    age(session, 100 * 86_400, GREEDY)
    session.close()
    time.sleep(0.01)
    assert Store(mounts[0].parent / "disk" / "data", GREEDY).sweep().sessions == 1


def test_a_local_disk_is_known_as_one(tmp_path):
    assert Store(tmp_path / "data", Limits()).is_local
