"""A history on disk: what was acknowledged is read again, and what is damaged is told."""

import stat
import sys
import zlib
from contextlib import contextmanager

import damages
import kills
import pytest
from bursar.errors import BursarError
from bursar.history import delete
from bursar.history import file as history_file
from bursar.history.file import HistoryFile, read


@pytest.mark.parametrize("seed", range(3 * len(damages.KINDS)))
def test_damage_costs_the_lines_that_it_touched_and_is_told(tmp_path, seed):
    assert damages.trial(tmp_path, seed) == ""


@pytest.mark.skipif(sys.platform == "win32", reason="fork")
def test_a_killed_writer_has_stored_all_that_was_acknowledged(tmp_path):
    count = 0
    for seed in range(20):
        count, fault = kills.trial(tmp_path / "history.jsonl", seed, count)
        assert fault == ""
    assert count


def test_a_history_cut_behind_a_line_is_told(tmp_path):
    path = tmp_path / "history.jsonl"
    lines = damages.written(path, 5, damages.random.Random(1))
    path.write_bytes(b"".join(lines[:3]))
    assert [str(one) for one in read(path).damage] == ["records 3 to 4 are missing"]


def test_a_history_that_is_gone_is_told(tmp_path):
    path = tmp_path / "history.jsonl"
    damages.written(path, 2, damages.random.Random(1))
    path.unlink()
    assert [str(one) for one in read(path).damage] == ["records 0 to 1 are missing"]


def test_one_process_at_a_time_writes_a_history_and_others_read_it(tmp_path):
    path = tmp_path / "history.jsonl"
    file = HistoryFile(path)
    file.append(("message", {"m": 1}))
    with pytest.raises(BursarError) as refused:
        HistoryFile(path)
    assert refused.value.code == "history_busy"
    assert len(read(path).records) == 1
    file.close()
    HistoryFile(path).close()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
def test_a_history_is_private_to_its_user(tmp_path):
    HistoryFile(tmp_path / "history.jsonl").append(("message", {"m": 1}))
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


@contextmanager
def full_at(size):
    """Let no file grow beyond a size, as on a disk that is full then."""
    import resource
    import signal

    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_FSIZE")
@pytest.mark.parametrize("short", [1, 2, 900, 1050])
def test_a_full_disk_is_told_and_leaves_nothing_of_what_was_refused(tmp_path, short):
    path = tmp_path / "history.jsonl"
    file = HistoryFile(path)
    file.append(("message", {"m": "first"}))
    size = path.stat().st_size
    with full_at(size + len(written_as(1, "x" * 1000)) - short), pytest.raises(BursarError) as refused:
        file.append(("message", {"m": "x" * 1000}))
    assert refused.value.code == "history_not_written"
    assert path.stat().st_size == size
    file.append(("message", {"m": "second"}))
    contents = read(path)
    assert [record["m"] for record in contents.records] == ["first", "second"]
    assert contents.damage == []


def written_as(number, message):
    """Return a record as it stands in a file."""
    at = "2026-11-23T11:55:55.741Z"
    return f'{{"n":{number},"t":"message","at":"{at}","m":"{message}","c":"00000000"}}\n'


@pytest.mark.parametrize("text", ["notes of mine\n", "{}\n", '{"type":"session_meta","payload":{}}\n', "\n\n"])
def test_a_file_of_somebody_else_is_left_alone(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(BursarError, match="history_unreadable"):
        HistoryFile(path)
    with pytest.raises(BursarError, match="history_unreadable"):
        delete(path, tmp_path / "data")
    assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


def test_to_delete_what_is_not_there_is_refused_and_makes_nothing(tmp_path):
    with pytest.raises(BursarError, match="history_unreadable"):
        delete(tmp_path / "none.jsonl", tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


def test_records_between_any_number_of_imitations_on_one_line_are_found(tmp_path):
    path = tmp_path / "history.jsonl"
    file = HistoryFile(path)
    file.append(("message", {"m": {"a": [{"n": 1, "t": "message"}] * 40}}), ("message", {"m": 2}))
    file.close()
    fake = b'{"n":1,"c":"00000000"}{"n":1,"t":"message","c":"00000000"}'
    path.write_bytes(fake * 9 + b"".join(fake * 9 + line for line in path.read_bytes().splitlines()) + b"\n")
    assert [record["n"] for record in read(path).records] == [0, 1]


def test_a_line_of_imitations_is_read_no_more_than_so_many_times(tmp_path, monkeypatch):
    read_bytes = []
    crc32 = zlib.crc32
    monkeypatch.setattr(history_file.zlib, "crc32", lambda data: read_bytes.append(len(data)) or crc32(data))
    path = tmp_path / "history.jsonl"
    path.write_bytes(b'{"n":1,"t":"message","c":"00000000"}' * 3000)
    assert read(path).records == []
    assert sum(read_bytes) <= 520 * path.stat().st_size
