"""A spool takes bytes, lends its place to others, and is gone at its end."""

import os
import stat
import subprocess
import sys

import pytest
from bursar.artifacts import Limits, Store
from bursar.errors import BursarError


def left(session):
    return [name for name in os.listdir(session.directory) if name not in {"lock", "owner.json"}]


def test_what_is_written_is_read_again_and_removed_at_the_end(session):
    with session.spool("the page") as spool:
        assert (spool.size, spool.read(0, 10)) == (0, b"")
        spool.write(b"some ")
        spool.write(b"bytes")
        assert (spool.size, spool.read(5, 100), spool.path.read_bytes()) == (10, b"bytes", b"some bytes")
        assert session.artifacts() == []
    assert left(session) == []


def test_an_exception_removes_it_too(session):
    with pytest.raises(BursarError), session.spool("the page") as spool:
        session.open("a77", spool.write(b"x"))
    assert left(session) == []


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_nobody_else_can_read_it(session):
    with session.spool("the page") as spool:
        assert stat.S_IMODE(spool.path.stat().st_mode) == 0o600


def test_another_process_may_write_it(session):
    with session.spool("the page") as spool:
        code = "import sys; open(sys.argv[1], 'wb').write(b'theirs' * 1000)"
        subprocess.run([sys.executable, "-c", code, str(spool.path)], check=True)
        assert (spool.size, spool.read(0, 6)) == (6000, b"theirs")


def test_its_content_can_become_an_artifact(session):
    data = os.urandom(3_000_000)
    with session.spool("the page") as spool, session.writer(tool="t", did="d") as writer:
        spool.write(data)
        spool.pour(writer)
    artifact = writer.commit()
    assert (artifact.state, artifact.read(0, len(data) + 1)) == ("whole", data)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors")
def test_one_that_is_only_lent_holds_no_descriptor(session):
    before = len(os.listdir("/proc/self/fd"))
    with session.spool("one") as one, session.spool("two") as two:
        assert one.path != two.path
        assert len(os.listdir("/proc/self/fd")) == before
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(os.name == "nt", reason="an open directory cannot be removed there")
def test_a_session_that_was_removed_takes_no_spool(tmp_path):
    session = Store(tmp_path, Limits()).create("me")
    with session.spool("the page") as spool:
        for name in os.listdir(session.directory):
            os.unlink(session.directory / name)
        os.rmdir(session.directory)
        with pytest.raises(BursarError) as refused:
            spool.write(b"x")
        assert refused.value.code == "unknown_session"
    with pytest.raises(BursarError, match="unknown_session"):
        session.spool("the page")
    assert not session.directory.exists()
    session.close()
