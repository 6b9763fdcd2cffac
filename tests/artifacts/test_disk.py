"""Disks that are full, or can only be read, or fail at any call; and how much one session may take of them."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bursar.artifacts import Limits, Store
from bursar.errors import BursarError
from lines import count_lines

LONG = Path(__file__).parents[1] / "long"


@pytest.fixture
def disk(tmp_path):
    """Give a place on a disk of 2 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", place], check=True)
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def keep(session, data):
    with session.writer(tool="t", did="d") as writer:
        writer.write(data)
    return writer.commit()


def names(session):
    return {name for name in os.listdir(session.directory) if name not in {"lock", "owner.json"}}


@pytest.mark.needs("mounts")
def test_on_a_full_disk_each_call_is_stored_or_refused_and_work_goes_on_when_there_is_room(disk):
    session = Store(disk / "data", Limits()).create("me")
    kept, refused = {}, []
    for number in range(60):
        data = bytes([number]) * 60_000
        try:
            artifact = keep(session, data)
        except BursarError as error:
            refused.append(error.code)
        else:
            kept[artifact.id] = data
    assert len(kept) > 20
    assert refused == ["disk_full"] * (60 - len(kept))
    assert len(refused) > 20
    there = {
        a.id: a for a in Store(disk / "data", Limits()).attach(session.handle, "me").artifacts() if a.state == "whole"
    }
    assert {name: artifact.read(0, artifact.size) for name, artifact in there.items()} == kept
    assert not {name for name in names(session) if name.startswith(".")}
    assert len(names(session)) == 2 * len(session.artifacts())
    session.remove(there["a1"])
    session.remove(there["a2"])
    assert keep(session, b"x" * 60_000).read(0, 1) == b"x"
    session.close()


@pytest.mark.needs("mounts")
def test_on_a_disk_that_can_only_be_read_everything_is_read_and_nothing_written(disk):
    session = Store(disk / "data", Limits()).create("me")
    keep(session, b"content\n" * 200_000)
    session.close()
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    readers = [Store(disk / "data", Limits()).attach(session.handle, "me") for _ in range(2)]
    for reading in readers:
        artifact = reading.open("a1")
        assert artifact.read(0, 7) == b"content"
        assert count_lines(artifact) == 200_000
        assert len(reading.artifacts()) == 1
        with pytest.raises(BursarError) as refused:
            keep(reading, b"x")
        assert refused.value.code == "store_failed"
        assert "Read-only file system" in refused.value.message
        with pytest.raises(BursarError, match="store_failed"), reading.spool("it"):
            pass
    with pytest.raises(BursarError, match="store_failed"):
        Store(disk / "data", Limits()).create("me")
    assert Store(disk / "data", Limits(idle_s=0, total_bytes=0, settle_s=0)).sweep().sessions == 0
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    assert [keep(reading, b"next").id for reading in readers] == ["a2", "a3"]
    for reading in readers:
        reading.close()


@pytest.mark.needs("strace")
def test_whichever_system_call_fails_or_is_the_last_no_artifact_is_lost_or_half():
    command = [sys.executable, LONG / "store_faults.py", "--quick"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_open_writers_share_the_room_of_their_session(tmp_path):
    session = Store(tmp_path, Limits(session_bytes=100_000)).create("me")
    writers = [session.writer(tool="t", did="d") for _ in range(4)]
    turns = itertools.count()

    def write_in_turn():
        while True:
            writers[next(turns) % 4].write(b"x" * 1000)

    with pytest.raises(BursarError) as refused:
        write_in_turn()
    assert refused.value.code == "quota"
    assert 90 < next(turns) <= 101
    assert "with those still being written" in refused.value.message
    writers.pop().discard()
    writers[0].write(b"x" * 20_000)
    for writer in writers:
        writer.commit()
    assert sum(artifact.size for artifact in session.artifacts()) < 100_000


def test_what_a_process_writes_counts_for_the_others_while_it_grows(tmp_path):
    session = Store(tmp_path, Limits(session_bytes=1_000_000)).create("me")
    live = session.writer(tool="t", did="d")
    other = session.writer(tool="t", did="d")
    before = other.room
    os.write(live.descriptor(), b"x" * 600_000)
    assert before - other.room >= 600_000
    with pytest.raises(BursarError, match="quota"):
        other.write(b"y" * 500_000)
    other.discard()
    live.commit()
    assert abs(session.room.left() - session.room.left(anew=True)) < 1000


def test_a_session_that_a_process_has_filled_tells_whoever_started_it(tmp_path):
    session = Store(tmp_path, Limits(session_bytes=3 << 20)).create("me")
    live, told = session.writer(tool="t", did="d"), []
    live.when_full = lambda: told.append(live.size)
    descriptor = live.descriptor()
    for _ in range(400):
        os.write(descriptor, b"x" * 10_000)
    artifact = live.commit()
    assert len(told) == 1
    assert told[0] > 3 << 20
    assert artifact.size == 4_000_000


def test_what_other_processes_stored_counts_before_a_session_is_called_full_or_not(tmp_path):
    limits = Limits(session_bytes=100_000)
    session = Store(tmp_path, limits).create("me")
    other = Store(tmp_path, limits).attach(session.handle, "me")
    assert session.room.left() > 90_000
    keep(other, b"x" * 80_000)
    live = session.writer(tool="t", did="d")
    live.when_full = lambda: told.append(True)
    told = []
    os.write(live.descriptor(), b"x" * 30_000)
    live.commit()
    assert told
    with pytest.raises(BursarError, match="quota"):
        keep(session, b"x")
    session.remove(other.open("a1"))
    assert keep(session, b"x").size == 1
