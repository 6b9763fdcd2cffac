"""Artifacts asked in SQL, by a client of a real server: joined, kept, killed, and never another's."""

import json
import os
import re
import sqlite3
import sys
from contextlib import closing

import pytest
from hostile_queries import BOMBS, ESCAPES
from replies import reply_of
from wire import Client, server

pytest.importorskip("duckdb")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere DuckDB alone keeps a query in")


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    work = tmp_path_factory.mktemp("work")
    (work / "cities.csv").write_text("city,canton,people\nBern,BE,134591\nBiel,BE,55206\nBasel,BS,173863\n")
    (work / "cantons.json").write_text(json.dumps([{"code": "BE", "name": "Bern"}, {"code": "BS", "name": "Basel"}]))
    (work / "visits.log").write_text("".join(f"2026-01-01 GET /{'BE' if n % 3 else 'BS'} {n}\n" for n in range(300)))
    (work / "big.json").write_text(json.dumps([{"id": n, "tag": f"t{n % 7}"} for n in range(60_000)]))
    (work / "secret.csv").write_text("token\nhunter2\n")
    return work


@pytest.fixture(scope="module")
def client(work):
    with server("--root", str(work), "--data-dir", str(work.parent / "data"), "--patience-s", "20") as client:
        yield client


def rows(reply):
    return reply_of(reply)["preview"].splitlines()


def stored(client, path):
    client.call("read_file", path=path, lines="1")
    return re.search(rf"\b(a\d+) .*: read {re.escape(path)}\n", client.call("read_artifact", max_tokens=2000)[0])[1]


def test_a_file_is_asked_in_the_call_that_reads_it(client):
    reply, is_error, _ = client.call("read_file", path="cities.csv", sql="SELECT canton, sum(people) FROM t GROUP BY 1")
    assert not is_error
    assert sorted(rows(reply)) == ["BE,189797", "BS,173863", "canton,sum(people)"]


def test_rows_that_a_database_keeps_beside_it_are_told_to_be_missing(client, work):
    with closing(sqlite3.connect(work / "live.db")) as database:
        database.execute("CREATE TABLE t (n INTEGER)")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("INSERT INTO t VALUES (1)")
        database.commit()
        reply, is_error, _ = client.call("read_file", path="live.db", sql="SELECT count(*) FROM t.t")
    assert not is_error, reply
    assert "-wal" in reply_of(reply)["note"]


def test_artifacts_of_several_kinds_are_joined_by_their_ids(client):
    cities, cantons, visits = (stored(client, name) for name in ("cities.csv", "cantons.json", "visits.log"))
    sql = (
        f"SELECT c.name, sum(t.people), (SELECT count(*) FROM {visits} WHERE line LIKE '%/' || c.code || ' %') "
        f"FROM t JOIN {cantons} c ON c.code = t.canton GROUP BY ALL ORDER BY 1"
    )
    reply, is_error, _ = client.call("read_artifact", artifact=cities, sql=sql)
    assert not is_error, reply
    assert rows(reply)[1:] == ["Basel,173863,100", "Bern,189797,200"]
    reply, _, _ = client.call("read_artifact", sql=f"SELECT count(*) FROM {visits} JOIN {cities} ON n = people")
    assert rows(reply)[1:] == ["0"]


def test_a_result_is_an_artifact_that_can_be_asked_again(client):
    reply = client.call("read_file", path="big.json", sql="SELECT id, tag FROM t WHERE id % 2 = 0 ORDER BY id")[0]
    told = reply_of(reply)
    assert told["rows"] == 30_000
    assert "lines" in told["incomplete"]
    name = told["artifact"].rpartition("/")[2]
    again = client.call("read_artifact", artifact=name, sql="SELECT tag, count(*) FROM t GROUP BY 1 ORDER BY 1")[0]
    assert rows(again)[1] == "t0,4286"
    assert rows(client.call("read_artifact", artifact=name, lines="30001")[0]) == ["59998,t1"]


def test_what_was_made_of_a_document_is_kept_and_goes_with_it(client, work):
    artifact = stored(client, "big.json")
    first = client.call("read_artifact", artifact=artifact, sql="SELECT max(id) FROM t")
    (kept,) = (work.parent / "data" / "bursar").glob(f"*/{artifact}.tables")
    assert kept.stat().st_size > 0
    inode = kept.stat().st_ino
    again = client.call("read_artifact", artifact=artifact, sql="SELECT max(id) FROM t")
    assert rows(again[0]) == rows(first[0])
    assert kept.stat().st_ino == inode


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"sql": "SELECT nme FROM t"}, 'Did you mean "name"'),
        ({"sql": "SELECT 1", "lines": "1-2"}, "Say it in SQL"),
        ({"sql": "FROM a999"}, "does not exist"),
    ],
)
def test_a_query_that_cannot_be_is_told_what_can(client, arguments, said):
    reply, is_error, _ = client.call("read_file", path="cantons.json", **arguments)
    assert is_error
    assert said in reply


def test_no_query_reaches_a_file_another_session_or_the_settings(client, work):
    other = stored(client, "secret.csv")
    with server("--root", str(work), "--data-dir", str(work.parent / "data")) as stranger:
        stranger.call("read_file", path="cities.csv")
        own = stored(stranger, "cities.csv")
        path = os.path.join(client.directory, f"{other}-secret.csv")
        for sql in ESCAPES[::7]:  # tests/long/sql.py tries all
            aimed = sql.replace("VICTIM", path).replace("ROOT", str(work)).replace("DATA", str(work.parent / "data"))
            reply, is_error, _ = stranger.call("read_artifact", artifact=own, sql=aimed)
            assert is_error, (aimed, reply)
            assert "hunter2" not in reply, (aimed, reply)
    assert not (work / "evil.csv").exists()


def test_a_query_that_names_ever_so_many_artifacts_is_answered_or_refused(client):
    names = ", ".join(f"a{n}" for n in range(1000, 10_000))
    text, is_error, _ = client.call("read_file", path="cities.csv", sql=f"SELECT 1 -- {names}")
    assert not is_error, text
    text, is_error, _ = client.call("read_file", path="cities.csv", sql=f"SELECT 1 -- {names * 10}")
    assert is_error
    assert "more than 100,000 characters" in text


def test_a_query_without_end_is_ended_and_others_are_answered_meanwhile(client):
    artifact = stored(client, "cities.csv")
    endless = client.send("tools/call", {"name": "read_artifact", "arguments": {"artifact": artifact, "sql": BOMBS[0]}})
    small = client.send("tools/call", {"name": "read_file", "arguments": {"path": "cities.csv"}})
    assert client.next()["id"] == small
    client.send("notifications/cancelled", {"requestId": endless}, notify=True)
    assert not client.call("read_artifact", artifact=artifact, sql="SELECT 1 FROM t LIMIT 1")[1]


def test_a_query_that_wants_all_memory_is_refused(client):
    artifact = stored(client, "cities.csv")
    reply, is_error, _ = client.call("read_artifact", artifact=artifact, sql="SELECT repeat('x', 4000000000)")
    assert is_error
    assert reply.startswith(("too_large: ", "sql_failed: "))


def test_without_duckdb_no_schema_speaks_of_it_and_a_query_is_told_what_to_install(work, tmp_path):
    hidden = "import sys; sys.modules['duckdb'] = None; import importlib.util as u; f = u.find_spec; "
    hidden += "u.find_spec = lambda name, *more: None if name == 'duckdb' else f(name, *more); "
    hidden += "from bursar.server.cli import main; main()"
    options = ["--root", str(work), "--data-dir", str(tmp_path)]
    client = Client([sys.executable, "-c", hidden, *options])
    client.handshake()
    assert not any("sql" in tool["inputSchema"]["properties"] for tool in client.tools())
    reply, is_error, _ = client.call("read_file", path="cities.csv", sql="FROM t")
    client.close()
    assert is_error
    assert "bursar[sql]" in reply


@pytest.mark.parametrize("sql", ["FROM t", "SELECT substr(token, 1, 20) AS part, length(token) FROM t"])
def test_a_credential_that_is_blanked_is_blanked_in_what_is_asked(tmp_path, sql):
    secret = "ghp_" + "a1B2c3D4e5" * 4
    (tmp_path / "tokens.csv").write_text(f"name,token\none,{secret}\n")
    (tmp_path / "tokens.json").write_text(json.dumps([{"name": "one", "token": secret}]))
    with server("--root", str(tmp_path), "--data-dir", str(tmp_path / "data"), "--redact", "shown") as client:
        for name in ("tokens.csv", "tokens.json"):
            reply, is_error, _ = client.call("read_file", path=name, sql=sql)
            assert not is_error, reply
            assert secret[:12] not in reply
        assert not [name for name in os.listdir(client.directory) if name.endswith(".tables")]
