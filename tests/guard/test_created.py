"""A written file appears whole or not at all, where it may, and replaces nothing unasked."""

import errno
import os
import threading

import pytest
from bursar.errors import BursarError
from bursar.guard.paths import Workspace


@pytest.fixture
def place(tmp_path):
    (tmp_path / "work" / "sub").mkdir(parents=True)
    (tmp_path / "store" / "own").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def workspace(place):
    return Workspace([place / "work"], closed=[place / "store"], opened=[place / "store" / "own"])


def refused(workspace, path, **options):
    with pytest.raises(BursarError) as raised:
        workspace.create(path, **options)
    return raised.value.code


def test_a_file_appears_only_when_it_is_committed(workspace, place):
    with workspace.create("sub/report.pdf") as file:
        file.write(b"half")
        assert not (place / "work/sub/report.pdf").exists()
        file.write(b" whole")
        file.commit()
        assert (place / "work/sub/report.pdf").read_bytes() == b"half whole"
    assert os.listdir(place / "work/sub") == ["report.pdf"]


def test_a_file_that_is_not_committed_leaves_nothing(workspace, place):
    with workspace.create("report.pdf") as file:
        file.write(b"half")
    assert os.listdir(place / "work") == ["sub"]


def test_an_existing_file_is_replaced_only_when_asked(workspace, place):
    (place / "work/a.txt").write_bytes(b"before")
    assert refused(workspace, "a.txt") == "exists"
    with workspace.create("a.txt", overwrite=True) as file:
        file.write(b"after")
        file.commit()
    assert (place / "work/a.txt").read_bytes() == b"after"


def test_a_file_that_appears_meanwhile_is_not_replaced(workspace, place):
    with workspace.create("a.txt") as file:
        (place / "work/a.txt").write_bytes(b"somebody else's")
        with pytest.raises(BursarError) as raised:
            file.commit()
    assert raised.value.code == "exists"
    assert (place / "work/a.txt").read_bytes() == b"somebody else's"
    assert sorted(os.listdir(place / "work")) == ["a.txt", "sub"]


def test_a_planted_link_is_replaced_and_not_followed(workspace, place):
    (place / "victim").write_bytes(b"untouched")
    (place / "work/a.txt").symlink_to(place / "victim")
    assert refused(workspace, "a.txt") == "exists"
    with workspace.create("a.txt", overwrite=True) as file:
        file.write(b"new")
        file.commit()
    assert (place / "victim").read_bytes() == b"untouched"
    assert not (place / "work/a.txt").is_symlink()


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../out.txt", "path_outside_roots"),
        ("/etc/out.txt", "path_outside_roots"),
        ("missing/out.txt", "not_found"),
        ("sub", "is_directory"),
        ("sub/", "bad_path"),
        ("..", "bad_path"),
        ("", "bad_path"),
        ("a\0b", "bad_path"),
        ("../store/out.txt", "not_found"),
        ("../store/own/a1-x.txt", "not_found"),
    ],
)
def test_a_file_is_written_only_where_it_may(workspace, path, code):
    assert refused(workspace, path) == code
    assert refused(workspace, path, overwrite=True) == code


def test_a_directory_that_is_swapped_for_a_link_leads_nowhere(workspace, place):
    (place / "outside").mkdir()
    (place / "link").symlink_to(place / "outside")
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            os.rename(place / "work/sub", place / "work/kept")
            os.rename(place / "link", place / "work/sub")
            os.rename(place / "work/sub", place / "link")
            os.rename(place / "work/kept", place / "work/sub")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for number in range(300):
            try:
                with workspace.create(f"sub/{number}.txt") as file:
                    file.write(b"x")
                    file.commit()
            except BursarError:
                continue
    finally:
        stop.set()
        swapper.join()
    assert os.listdir(place / "outside") == []


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors")
def test_a_name_that_no_file_can_have_is_refused_and_leaves_nothing_open(workspace):
    before = len(os.listdir("/proc/self/fd"))
    assert refused(workspace, "sub/\ud800.txt") == "bad_path"
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(os.name == "nt", reason="closes descriptors behind the back of the file")
def test_a_close_that_fails_is_an_error_and_closes_nothing_else(workspace, place, monkeypatch):
    close, closed = os.close, []

    def failing(descriptor):
        close(descriptor)
        closed.append(descriptor)
        if len(closed) == 1:
            raise OSError(errno.EIO, "the disk has gone")

    with workspace.create("report.pdf") as file:
        file.write(b"half")
        monkeypatch.setattr(os, "close", failing)
        with pytest.raises(BursarError) as raised:
            file.commit()
    monkeypatch.undo()
    assert raised.value.code == "cannot_create"
    assert len(set(closed)) == len(closed) == 2  # the file and its directory
    assert os.listdir(place / "work") == ["sub"]
