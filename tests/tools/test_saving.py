"""Stored contents become files of the workspace: whole, in part, as answers, in any form, by the gates of edits."""

import json
import os
import stat
import subprocess
import sys

import pytest
from bursar.errors import BursarError
from bursar.tools.edit_file import EditFile
from bursar.tools.read_artifact import ReadArtifact
from tool_place import Place
from wire import server

TOOL = EditFile()


@pytest.fixture
def log(place):
    with place.session.writer(tool="terminal", did="$ make", label="terminal.log") as writer:
        for n in range(1, 120_001):
            writer.write(b"line %d%s\n" % (n, b" failed" if n % 1000 == 7 else b""))
    return writer.commit()


def saved(place, path, **arguments):
    place.call(TOOL, path=path, **arguments)
    return (place.root / path).read_bytes()


def refused(place, tool=TOOL, **arguments):
    with pytest.raises(BursarError) as caught:
        place.call(tool, **arguments)
    return caught.value


def test_an_artifact_becomes_a_file_byte_for_byte(place: Place, log):
    done = place.call(TOOL, path="all.log", artifact=log.id)
    assert (place.root / "all.log").read_bytes() == log.read(0, log.size)
    assert done.facts == {"saved": str(place.root / "all.log"), "bytes": log.size}


def test_a_part_becomes_a_file(place: Place, log):
    assert saved(place, "a", artifact=log.id, lines="3-4") == b"line 3\nline 4\n"
    assert saved(place, "b", artifact=log.id, tail=2) == b"line 119999\nline 120000\n"
    assert saved(place, "c", artifact=log.id, bytes="5-6") == b"1\n"


@pytest.mark.parametrize("crlf", [False, True])
def test_all_lines_that_match_become_a_file_however_many(place: Place, log, crlf):
    end = "\r\n" if crlf else "\n"
    text = "".join(f"{n} {'x' * (n % 90)}{' hit hit' if n % 3 == 0 else ''}{end}" for n in range(60_000)) + "end hit"
    with place.session.writer(tool="terminal", did="$ x", label="terminal.log") as writer:
        writer.write(text.encode())
    artifact = writer.commit()
    wanted = [line for line in text.split("\n") if " hit" in line]
    assert saved(place, "hits", artifact=artifact.id, grep="hit") == "\n".join(wanted).encode()
    some = saved(place, "some", artifact=artifact.id, grep="hit", lines="1-10").decode()
    assert some == "".join(line + "\n" for line in wanted[:4])
    assert refused(place, path="none", artifact=artifact.id, grep="nowhere").code == "no_match"
    assert not (place.root / "none").exists()


def test_a_file_that_is_there_is_replaced_only_if_that_is_said_and_keeps_its_mode(place: Place, log):
    place.write("out.log", "mine\n").chmod(0o640)
    error = refused(place, path="out.log", artifact=log.id)
    assert error.code == "exists"
    assert "all=true" in error.fix
    assert saved(place, "out.log", artifact=log.id, lines="1", all=True) == b"line 1\n"
    assert stat.S_IMODE((place.root / "out.log").stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("path", "code"),
    [("/etc/bursar-evil", "path_outside_roots"), ("../evil", "path_outside_roots"), ("no/such", "not_found")],
)
def test_no_file_is_written_elsewhere(place: Place, log, path, code):
    assert refused(place, path=path, artifact=log.id).code == code
    (place.root / "link").symlink_to(place.base)
    assert refused(place, path="link/evil", artifact=log.id).code == "path_outside_roots"
    assert refused(place, path=str(place.session.directory / "a9-x"), artifact=log.id).code == "not_found"


def test_nothing_is_left_of_what_fails(place: Place, log):
    assert refused(place, path="out", artifact=log.id, lines="999999-").code == "beyond_the_end"
    assert refused(place, path="out", artifact=log.id, grep="(").code == "bad_pattern"
    assert refused(place, path="out", artifact="a999").code == "unknown_artifact"
    assert os.listdir(place.root) == []


def test_what_reads_writes_no_files_and_names_what_does(place: Place, log):
    error = refused(place, ReadArtifact(), artifact=log.id, save="out.csv")
    assert 'edit_file(path="out.csv"' in error.fix


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere DuckDB alone keeps a query in")
def test_tables_and_answers_become_files_of_the_form_that_the_name_says(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "t.json").write_text(json.dumps([{"id": n, "tag": f"t{n % 3}"} for n in range(100_000)]))
    with server("--root", str(tmp_path), "--data-dir", str(tmp_path / "data")) as client:
        client.call("read_file", path="t.json", lines="1")
        for name in ("o.csv", "o.parquet", "o.ndjson", "o.md", "o.tsv"):
            reply, is_error, _ = client.call("edit_file", path=name, artifact="a1")
            assert not is_error, reply
            assert json.loads(reply)["rows"] == 100_000
        reply, _, _ = client.call("edit_file", path="same.json", artifact="a1")
        assert (tmp_path / "same.json").read_bytes() == (tmp_path / "t.json").read_bytes()
        reply, _, _ = client.call(
            "edit_file", path="few.csv", artifact="a1", sql="SELECT tag, count(*) AS n FROM t GROUP BY 1 ORDER BY 1"
        )
        reply, is_error, _ = client.call("edit_file", path="bad.csv", artifact="a1", sql="SELECT nothing FROM t")
        assert is_error
        reply, is_error, _ = client.call("edit_file", path="o.xlsx", artifact="a1", sql="FROM t")
        assert is_error
        assert ".parquet" in reply
    assert not (tmp_path / "o.xlsx").exists()
    assert (tmp_path / "few.csv").read_text() == "tag,n\nt0,33334\nt1,33333\nt2,33333\n"
    assert not (tmp_path / "bad.csv").exists()
    for name in ("o.csv", "o.parquet", "o.ndjson", "o.tsv"):
        assert duckdb.sql(f"SELECT count(*), sum(id) FROM '{tmp_path / name}'").fetchall() == [(100_000, 4999950000)]
    assert subprocess.run(
        ["wc", "-l", tmp_path / "o.md"], capture_output=True, text=True, check=True
    ).stdout.startswith("100002")
