"""A history on disk: what was acknowledged is read again, and what is damaged is told."""

import stat
import sys

import damages
import kills
import pytest
from bursar.errors import BursarError
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


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
def test_a_full_disk_is_told_and_what_was_stored_stays(tmp_path):
    import resource
    import signal

    path = tmp_path / "history.jsonl"
    file = HistoryFile(path)
    file.append(("message", {"m": "first"}))
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, before[1]))
    try:
        with pytest.raises(BursarError) as refused:
            file.append(("message", {"m": "x" * 1000}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert refused.value.code == "history_not_written"
    file.append(("message", {"m": "second"}))
    contents = read(path)
    assert [record["m"] for record in contents.records] == ["first", "second"]
    assert len(contents.damage) == 1
