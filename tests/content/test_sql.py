"""Contents as tables: what DuckDB is asked of each kind is what is in it."""

import csv
import io
import json
import os
import random
import sqlite3
import string

import pytest
from bursar.content.sql.query import sql_query
from bursar.errors import BursarError

pytest.importorskip("duckdb")


@pytest.fixture
def ask(tmp_path):
    contents = {}

    def given(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        contents[f"a{len(contents) + 1}"] = path
        return asked

    def asked(sql, form="", **kept):
        scratch, target = tmp_path / "scratch", tmp_path / "target"
        scratch.mkdir(exist_ok=True)
        for left in scratch.iterdir():
            left.unlink()
        target.write_bytes(b"")
        described = [
            {
                "id": name,
                "path": str(path),
                "size": path.stat().st_size,
                "device": path.stat().st_dev,
                "inode": path.stat().st_ino,
                "name": path.name,
                "is_asked": name == "a1",
                "kept": kept.get(name, ""),
            }
            for name, path in contents.items()
        ]
        asked.told = sql_query(sql, described, str(scratch), str(target), form)
        asked.scratch = scratch
        if "failed" in asked.told:
            raise BursarError(*asked.told["failed"])
        text = target.read_bytes()
        if form:
            return text
        if asked.told["form"] == "ndjson":
            return [tuple(json.loads(line).values()) for line in text.decode().split("\n") if line]
        return [tuple(row) for row in csv.reader(io.StringIO(text.decode(), newline=""))][1:]

    asked.given = given
    return asked


def refused(ask, sql):
    with pytest.raises(BursarError) as caught:
        ask(sql)
    return caught.value


def test_a_table_is_asked_by_its_columns_with_their_types(ask):
    ask.given("a.csv", "city,born,people\nBern,1191-01-01,134591\nBiel,1225-06-01,\n")
    assert ask("SELECT city, people + 1 FROM t WHERE born > DATE '1100-01-01' ORDER BY 1") == [
        ("Bern", "134592"),
        ("Biel", ""),
    ]
    assert ask("SELECT count(*) FROM a1 JOIN t USING (city)") == [("2",)]


@pytest.mark.parametrize(("name", "sign"), [("a.tsv", "\t"), ("a.csv", ";")])
def test_other_delimiters_are_known(ask, name, sign):
    ask.given(name, "".join(f"{n}{sign}x{n}\n" if n else f"n{sign}name\n" for n in range(20)))
    assert ask("SELECT name FROM t WHERE n = 7") == [("x7",)]


def test_a_table_without_names_keeps_its_first_row(ask):
    ask.given("a.csv", "1,2\n3,4\n5,6\n")
    assert ask("SELECT count(*), sum(column0) FROM t") == [("3", "9")]


def test_a_table_that_changes_its_types_late_or_has_ragged_rows_loses_nothing(ask):
    rows = [f"{n},{n}" for n in range(50_000)] + ["last,x"]
    ask.given("a.csv", "id,value\n" + "\n".join(rows) + "\n")
    assert ask("SELECT count(*), max(id) FROM t WHERE value = 'x'") == [("1", "last")]
    ragged = "id,value\n" + "".join(f"{n},{n}{',more' * (n % 3)}\n" for n in range(1000))
    ask.given("b.csv", ragged)
    assert ask("SELECT count(*) FROM a2") == [("1000",)]
    assert ask.told["notes"]


@pytest.mark.parametrize(
    ("first", "last", "sql", "found"),
    [
        ("5", "0.5", "SELECT max(i), sum(v), min(v) FROM t", ("30000", "150000.5", "0.5")),
        ("98765", "02139", "SELECT v FROM t WHERE i = 30000", ("02139",)),
        ("true", "yes", "SELECT v FROM t WHERE i = 30000", ("yes",)),
        ("true", "1", "SELECT v FROM t WHERE i = 30000", ("1",)),
        ("2024-01-02", "2024-01-02 10:00", "SELECT v FROM t WHERE i = 30000", ("2024-01-02 10:00",)),
        ("1", "12345678901234567890123", "SELECT max(v) FROM t", ("12345678901234567890123",)),
        ("a", '"b,c"', "SELECT v FROM t WHERE i = 30000", ("b,c",)),
    ],
)
def test_what_comes_late_in_a_table_is_neither_rounded_nor_respelled(ask, first, last, sql, found):
    ask.given("a.csv", "i,v\n" + "".join(f"{n},{first}\n" for n in range(30_000)) + f"30000,{last}\n")
    assert ask(sql) == [found]


@pytest.mark.parametrize("cell", ["01/02/2024", "02139", "+41791234567", "12:30", "2024-01-02T03:04:05+02:00", "1_000"])
def test_a_cell_that_no_type_spells_stays_text(ask, cell):
    ask.given("a.csv", f"a,b\n{cell},1\n{cell},2\n")
    assert ask("SELECT a, b + 1, typeof(a) FROM t") == [(cell, "2", "VARCHAR"), (cell, "3", "VARCHAR")]


def test_dates_and_times_with_the_year_first_are_those(ask):
    ask.given(
        "a.csv", "day,seen,odd\n2012/01/31,2012/01/31 10:00,2012/01-31\n2013-02-01,2013-02-01T11:30:00,2013/02/01\n"
    )
    assert ask("SELECT typeof(day), typeof(seen), typeof(odd), year(day), hour(seen) FROM t ORDER BY day") == [
        ("DATE", "TIMESTAMP", "VARCHAR", "2012", "10"),
        ("DATE", "TIMESTAMP", "VARCHAR", "2013", "11"),
    ]


def test_rows_that_look_like_comments_are_rows_and_names_may_be_there_twice(ask):
    ask.given("a.csv", "a,b\n1,2\n3,4\n#5,6\n")
    assert ask("SELECT count(*), max(b) FROM t") == [("3", "6")]
    ask.given("b.csv", "name,score,score\nx,1,2\ny,3,4\n")
    assert ask("SELECT name, score, score_1 FROM a2 ORDER BY 1") == [("x", "1", "2"), ("y", "3", "4")]
    assert "score twice" in " ".join(ask.told["notes"])
    ask.given("c.csv", "2023,2024\n1,2\n")
    ask("FROM a3")
    assert "taken for data" in " ".join(ask.told["notes"])


def test_text_is_its_lines_as_they_are_and_numbered(ask):
    weird = b'one\n\n"two\r\nthree, x\ty\n  lead\r\n\nlast'
    ask.given("a.log", weird)
    assert ask("SELECT n, line FROM t ORDER BY n") == [
        ("1", "one"),
        ("2", ""),
        ("3", '"two'),
        ("4", "three, x\ty"),
        ("5", "  lead"),
        ("6", ""),
        ("7", "last"),
    ]


@pytest.mark.parametrize(
    "odd", [b"", b"10%\r20%\rdone\n", b"bad \xff byte\n", bytes(range(1, 32)) + b"\n", b"x" * 3_000_000 + b"\n"]
)
def test_lines_keep_their_numbers_in_large_texts_whatever_else_they_hold(ask, odd):
    chance = random.Random(3)
    letters = string.printable.replace("\n", "").replace("\r", "")
    lines = ["".join(chance.choices(letters, k=chance.randint(0, 200))) for _ in range(20_000)]
    ask.given("a.log", odd + ("\n".join(lines) + "\n").encode())
    first = odd.count(b"\n")
    wanted = [0, 1, 777, 9_001, 19_999]
    numbers = ", ".join(str(first + 1 + n) for n in wanted)
    found = ask(f"SELECT n, line FROM t WHERE n IN ({numbers}) ORDER BY n")
    assert [line for _, line in found] == [lines[n] for n in wanted]
    assert ask("SELECT count(*), max(n) FROM t") == [(str(20_000 + first),) * 2]


def test_columns_are_made_of_lines_by_a_regular_expression(ask):
    ask.given("a.log", "".join(f"2026-01-{n % 28 + 1:02} GET /p{n % 3} {200 if n % 5 else 500}\n" for n in range(100)))
    sql = (
        "SELECT path, count(*) FROM (SELECT unnest(regexp_extract(line, '(/\\S+) (\\d+)', ['path', 'status'])) FROM t)"
    )
    assert ask(sql + " WHERE status = '500' GROUP BY 1 ORDER BY 1") == [("/p0", "7"), ("/p1", "6"), ("/p2", "7")]


def test_a_list_of_objects_is_rows_with_nested_columns(ask):
    rows = [
        {"id": n, "user": {"name": f"u{n}"}, "tags": ["a", "b"][: n % 3], "x" if n % 2 else "y": n} for n in range(9)
    ]
    ask.given("a.json", json.dumps(rows))
    assert ask('SELECT "user".name, len(tags), x FROM t WHERE id = 5') == [("u5", "2", "5")]
    assert ask("SELECT tag, count(*) FROM t, unnest(tags) AS u(tag) GROUP BY 1 ORDER BY 1") == [("a", "6"), ("b", "3")]
    assert ask("SELECT tags FROM t WHERE id = 2") == [(["a", "b"],)]


def test_the_lists_and_maps_of_a_document_are_its_parts(ask):
    packages = {f"node_modules/p{n}": {"version": f"1.{n}.0", "dev": n % 2 == 0} for n in range(100)}
    document = {"name": "project", "meta": {"runs": [{"ok": True}, {"ok": False}]}, "packages": packages}
    ask.given("a.json", json.dumps(document))
    assert ask("SELECT count(*) FROM t.packages WHERE dev") == [("50",)]
    assert ask("SELECT version FROM a1.packages WHERE key = 'node_modules/p7'") == [("1.7.0",)]
    assert ask("SELECT count(*) FROM t.runs WHERE ok") == [("1",)]
    assert ask("SELECT name, len(packages) FROM t") == [("project", "100")]
    assert ask("SELECT p.version FROM (SELECT unnest(packages) AS p FROM t) WHERE p.key LIKE '%/p42'") == [("1.42.0",)]


def test_a_map_is_its_entries(ask):
    ask.given("a.json", json.dumps({f"k{n}": n for n in range(50)}))
    assert ask("SELECT value FROM t WHERE key = 'k7'") == [("7",)]


@pytest.mark.parametrize(
    "document", [[], {}, [1, "x", None], [[1, 2], [3]], "text", 7, None, [{}], [{"": 1}], [{"a": 1, "A": 2}]]
)
def test_any_document_is_a_table(ask, document):
    ask.given("a.json", json.dumps(document) + " " * 10)
    assert len(ask("FROM t")) == (len(document) if isinstance(document, list) else 1)


def test_numbers_too_large_for_others_and_rows_of_many_keys_are_there(ask):
    ask.given("a.json", json.dumps([{"big": 2**70, "small": 1}, {"big": 1, "small": 2}]))
    assert ask("SELECT max(big) FROM t") == [(str(2**70),)]
    ask.given(
        "b.json",
        json.dumps(
            [{f"k{n}": n if n % 2 else str(n) for n in range(start, start + 400)} for start in range(0, 1000, 200)]
        ),
    )
    assert ask("SELECT count(*) FROM a2 WHERE json_extract(_all, '$.k399') = 399") == [("2",)]


def test_names_that_differ_only_in_case_are_told(ask):
    ask.given("a.json", json.dumps([{"id": 1, "ID": "two"}]))
    assert ask("SELECT id, ID_1 FROM t") == [("1", "two")]
    assert "ID is ID_1" in ask.told["notes"][0]


@pytest.mark.parametrize("form", ["json", "ndjson"])
def test_json_has_null_for_what_is_no_number_in_it(ask, form):
    ask.given("a.csv", 'id,v,name\n1,nan,NaN\n2,-inf,"a \\"\n3,0.5,inf\n')
    written = ask("SELECT v, name, [v] AS l FROM t ORDER BY id", form).decode()
    rows = json.loads(written) if form == "json" else list(map(json.loads, written.splitlines()))
    assert [tuple(row.values()) for row in rows] == [(None, "NaN", [None]), (None, "a \\", [None]), (0.5, "inf", [0.5])]
    assert "null" in ask.told["notes"][0]


def test_json_lines_are_rows_and_those_that_are_none_are_told(ask):
    ask.given("a.jsonl", "".join(json.dumps({"n": n, "once": 1} if n == 7 else {"n": n}) + "\n" for n in range(100)))
    assert ask("SELECT n FROM t WHERE once = 1") == [("7",)]
    ask.given("b.jsonl", "".join(json.dumps({"n": n}) + "\n" for n in range(100)) + '{"n": 1\n')
    assert ask("SELECT count(*) FROM a2") == [("100",)]
    assert "1 line" in ask.told["notes"][0]


def test_a_database_has_its_tables_with_every_value(ask, tmp_path):
    values = [
        (1, "x,'\"\n", 0.1 + 0.2, None, b"\x00\xff"),
        (2, "", -1e300, "NULL", None),
        (2**62, "ü", 1 / 3, "7", b""),
    ]
    with sqlite3.connect(tmp_path / "made.db") as database:
        database.execute("CREATE TABLE things (id INTEGER, name TEXT, ratio REAL, free, data BLOB)")
        database.executemany("INSERT INTO things VALUES (?, ?, ?, ?, ?)", values)
        database.execute("CREATE TABLE loose (year, late)")
        database.executemany("INSERT INTO loose VALUES (?, ?)", [("2013", "5"), ("2014", "")])
        database.execute("CREATE VIEW two AS SELECT * FROM things WHERE id = 2")
    database.close()
    ask.given("a.db", (tmp_path / "made.db").read_bytes())
    found = ask("SELECT id, name, ratio, free, data FROM t.things")
    told = [(int(i), name, float(ratio), free, data) for i, name, ratio, free, data in found]
    assert told == [(i, name, ratio, free or "", (data or b"").hex().upper()) for i, name, ratio, free, data in values]
    assert ask("SELECT count(*) FROM t.things WHERE free IS NULL") == [("1",)]
    assert ask("SELECT count(*) FROM t.two") == [("1",)]
    assert ask("SELECT max(year || '!'), sum(TRY_CAST(late AS INT)) FROM a1.loose") == [("2014!", "5")]


def database(ask, tmp_path, *statements):
    with sqlite3.connect(tmp_path / "made.db") as made:
        for statement in statements:
            made.execute(statement)
    made.close()
    ask.given("a.db", (tmp_path / "made.db").read_bytes())


def test_a_column_of_a_database_has_the_type_that_all_its_values_have(ask, tmp_path):
    database(
        ask,
        tmp_path,
        "CREATE TABLE f (h, zip, ver, data, whole, mixed, large, price DECIMAL(9, 2))",
        "INSERT INTO f VALUES ('12345678901234567890123', '01234', '1.10', x'0102', 1, 1, 9007199254740993, 9.95)",
        "INSERT INTO f VALUES ('5', '5', '1.2', x'31', 2, 0.1, 0.5, 10)",
        "CREATE TABLE s (x INTEGER, y INTEGER, z REAL)",
        "INSERT INTO s VALUES (9, 1, 0.1), (10, 'abc', 1.5), (100, 3, 'none')",
        "CREATE TABLE i (n INTEGER)",
        "INSERT INTO i VALUES (1), (0.5), (NULL)",
    )
    assert ask("SELECT h, zip, ver, data, sum(whole) OVER (), mixed, large FROM t.f ORDER BY length(h) DESC") == [
        ("12345678901234567890123", "01234", "1.10", "0102", "3", "1.0", "9007199254740993"),
        ("5", "5", "1.2", "31", "3", "0.1", "0.5"),
    ]
    assert ask("SELECT sum(price) FROM t.f") == [("19.95",)]
    assert ask("SELECT max(x), max(y) FROM t.s") == [("100", "abc")]
    assert ask("SELECT z FROM t.s ORDER BY x") == [("0.1",), ("1.5",), ("none",)]
    assert ask("SELECT sum(n) FROM t.i") == [("1.5",)]


def test_a_view_that_sqlite_cannot_read_alone_hides_no_table(ask, tmp_path):
    database(ask, tmp_path, "CREATE TABLE f (n)", "INSERT INTO f VALUES (7)", "CREATE VIEW v AS SELECT own(n) FROM f")
    assert ask("SELECT n FROM t.f") == [("7",)]
    assert ask.told["notes"] == ["a1: v is left out (no such function: own)"]


def test_a_column_of_a_database_may_change_in_its_last_row_and_have_an_order_of_its_own(ask, tmp_path):
    with sqlite3.connect(tmp_path / "made.db") as made:
        made.create_collation("own", lambda one, other: (one > other) - (one < other))
        made.execute("CREATE TABLE f (n, name TEXT COLLATE own, nul TEXT)")
        made.executemany("INSERT INTO f VALUES (?, ?, 'x')", ((n, f"name {n}") for n in range(30_000)))
        made.executemany("INSERT INTO f VALUES (?, ?, ?)", [("late", b"bytes", "x"), (1, "last", "a\0b")])
    made.close()
    ask.given("a.db", (tmp_path / "made.db").read_bytes())
    assert ask("SELECT count(*), max(n), max(name) FROM t") == [("30002", "late", "name 9999")]
    assert ask("SELECT name FROM t WHERE n = 'late'") == [("6279746573",)]
    assert ask("SELECT n FROM t WHERE nul = 'a' || chr(0) || 'b'") == [("1",)]


def test_what_was_made_of_a_content_answers_the_next_query(ask, tmp_path):
    ask.given("a.json", json.dumps([{"id": n} for n in range(100)]))
    assert ask("SELECT count(*) FROM t") == [("100",)]
    assert ask.told["kept"] == ["a1"]
    kept = tmp_path / "kept"
    kept.write_bytes((ask.scratch / "a1.tables").read_bytes())
    assert ask("SELECT max(id) FROM t", a1=str(kept)) == [("99",)]
    assert ask.told["kept"] == []
    assert refused(ask, "WITH gone AS (DELETE FROM kept_a1._ RETURNING id) SELECT count(*) FROM gone").code == "bad_sql"


@pytest.mark.parametrize("form", ["csv", "tsv", "json", "ndjson", "md", "parquet"])
def test_a_result_is_written_in_every_form(ask, form):
    ask.given("a.csv", "id,name\n1,one\n2,a|b\n")
    written = ask("SELECT id, name FROM t ORDER BY id", form)
    shown = {
        "csv": b"id,name\n1,one\n2,a|b\n",
        "tsv": b"id\tname\n1\tone\n2\ta|b\n",
        "md": b"| id | name |\n| --- | --- |\n| 1 | one |\n| 2 | a\\|b |\n",
    }
    if form in shown:
        assert written == shown[form]
    elif form == "parquet":
        assert written.startswith(b"PAR1")
        assert written.endswith(b"PAR1")
    else:
        rows = json.loads(written) if form == "json" else [json.loads(line) for line in written.splitlines()]
        assert rows == [{"id": 1, "name": "one"}, {"id": 2, "name": "a|b"}]


@pytest.mark.parametrize(("cell", "kind"), [(1, "BIGINT"), (2**62, "DECIMAL(38,0)")])
def test_whole_numbers_stay_whole_in_parquet(ask, cell, kind):
    ask.given("a.csv", f"id,name\n{cell},one\n{cell},one\n{cell},one\n")
    ask.given("b.parquet", ask("SELECT sum(id), sum(id), list(sum(id)) OVER () AS l FROM t GROUP BY name", "parquet"))
    assert ask('SELECT "sum(id)", typeof("sum(id)"), typeof(l) FROM a2') == [(str(3 * cell), kind, f"{kind}[]")]


def test_a_parquet_is_read_as_it_is(ask):
    ask.given("a.csv", "id,name\n1,one\n2,two\n")
    ask.given("b.parquet", ask("FROM t", "parquet"))
    assert ask("SELECT b.name FROM t JOIN a2 b USING (id) WHERE id = 2") == [("two",)]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT nmae FROM t", 'Did you mean "name"'),
        ("SELECT * FROM cities", "There is t(id BIGINT, name VARCHAR)"),
        ("SELECT lenght(name) FROM t", 'Did you mean "length"'),
        ("SELCT 1", "DuckDB's SQL"),
        ("SELECT sum(name) FROM t", "TRY_CAST"),
        ("SELECT name::INT FROM t", "TRY_CAST"),
        ("", "Give one query"),
        ("SELECT 1; SELECT 2", "Give one query"),
        ("DELETE FROM t", "only read"),
        ("FROM '/etc/passwd'", "There is t("),
        ("FROM read_csv('/etc/passwd')", "no files"),
    ],
)
def test_what_is_wrong_with_a_query_is_told_with_what_to_ask_instead(ask, sql, said):
    ask.given("a.csv", "id,name\n1,one\n2,two\n")
    assert said in str(refused(ask, sql))


def test_what_has_no_tables_says_what_has(ask):
    ask.given("a.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    error = refused(ask, "FROM t")
    assert error.code == "not_a_table"
    assert "CSV" in error.fix


def test_another_file_under_the_name_is_not_read(ask, tmp_path):
    ask.given("a.csv", "id,name\n1,one\n")
    real = os.stat
    path = tmp_path / "a.csv"
    inode = real(path).st_ino
    with pytest.raises(BursarError, match="source_changed"):
        sql_query(
            "FROM t",
            [
                {
                    "id": "a1",
                    "path": str(path),
                    "size": 5,
                    "device": 1,
                    "inode": inode + 1,
                    "name": "a",
                    "is_asked": True,
                }
            ],
            str(tmp_path),
            str(tmp_path / "target"),
        )


SPELLED = "id,price,flag,day,seen,stamp\n001,1.10,TRUE,2024/02/01,2024-01-01T10:00:00,2024-01-01T00:00:00Z\n"
SPELLED += "002,1.0,false,2024/02/02,2024-01-01T10:00:01,2024-01-01T00:00:01Z\n"
FIRST, SECOND = (tuple(line.split(",")) for line in SPELLED.splitlines()[1:])


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("FROM t", [FIRST, SECOND]),
        ("SELECT * FROM t ORDER BY price", [SECOND, FIRST]),
        ("SELECT a.* FROM t a WHERE a.price > 1 AND stamp = '2024-01-01T00:00:00Z'", [FIRST]),
        ("SELECT price AS p, day d FROM t ORDER BY p, 2 DESC LIMIT 1", [("1.0", "2024/02/02")]),
        ("SELECT * EXCLUDE (day, seen, stamp, id) FROM t ORDER BY 1", [("1.0", "false"), ("1.10", "TRUE")]),
        ("SELECT price AS p, p + 1 AS q FROM t WHERE p > 1.05", [("1.10", "2.1")]),
        ("SELECT price AS id, id AS price FROM t ORDER BY t.price", [("1.0", "002"), ("1.10", "001")]),
        ("SELECT price AS n FROM t WHERE 2 IN (SELECT n FROM (SELECT 2 AS n))", [("1.10",), ("1.0",)]),
        ("SELECT DISTINCT price FROM t ORDER BY ALL", [("1.0",), ("1.1",)]),
        ("SELECT flag, count(*) FROM t GROUP BY 1 ORDER BY 1", [("false", "1"), ("true", "1")]),
        ("SELECT price FROM t ORDER BY price + 1 DESC", [("1.10",), ("1.0",)]),
    ],
)
def test_a_cell_that_a_query_only_passes_on_is_spelled_as_in_the_file(ask, sql, rows):
    ask.given("a.csv", SPELLED)
    assert ask(sql) == rows


@pytest.mark.parametrize("form", ["csv", "tsv", "md", "json", "ndjson"])
def test_a_table_that_is_saved_in_another_form_has_the_cells_of_the_file(ask, form):
    ask.given("a.csv", SPELLED)
    saved = ask("FROM t", form).decode()
    cells = FIRST if "json" not in form else FIRST[::5] + FIRST[3:5] + ("1.1", "true")
    assert all(cell in saved for cell in cells)


def test_times_in_utc_are_such_and_found_by_what_the_file_says(ask):
    ask.given("a.csv", SPELLED)
    assert ask("SELECT count(*) FROM t WHERE stamp = '2024-01-01T00:00:01Z' AND hour(stamp) = 0") == [("1",)]
    assert ("stamp", "TIMESTAMP WITH TIME ZONE") in [row[:2] for row in ask("DESCRIBE t")]
    assert ask("SELECT max(stamp) FROM t") == [("2024-01-01 00:00:01+00",)]
    ask.given("b.csv", "n,stamp\n1,2024-01-01T00:00:00Z\n2,2024-01-01T00:00:00\n")
    assert ask("SELECT stamp, typeof(stamp) FROM a2 WHERE n = 1") == [("2024-01-01T00:00:00Z", "VARCHAR")]


@pytest.mark.parametrize("kind", ["TEXT", ""])
def test_a_text_of_a_database_is_whole_whatever_signs_it_has(ask, tmp_path, kind):
    with sqlite3.connect(tmp_path / "made.db") as made:
        more = "".join(f", c{number}" for number in range(1500))
        made.execute(f"CREATE TABLE f (a {kind}, b INTEGER, c BLOB{more})")
        values = [("x\0y'z,", 1, b"\0\1"), ("\0", 2, None), ("new\nline\0", None, b""), (None, 4, b"")]
        made.executemany("INSERT INTO f (a, b, c) VALUES (?, ?, ?)", values)
    made.close()
    ask.given("a.db", (tmp_path / "made.db").read_bytes())
    assert ask("SELECT a, b, c FROM t") == [(a or "", str(b or ""), (c or b"").hex().upper()) for a, b, c in values]
    assert ask("SELECT b + 1 FROM t WHERE a = chr(0)") == [("3",)]


@pytest.mark.parametrize("end", ["\n", "\r\n\n"])
def test_a_line_keeps_a_nul(ask, end):
    ask.given("a.log", f"one{end}x\0y{end}")
    assert ask("SELECT line FROM t WHERE line LIKE 'x%'") == [("x\0y",)]


def test_rows_of_a_csv_may_end_in_every_way(ask):
    ask.given("cr.csv", "id,name\r" + "".join(f"{n},n{n}\r" for n in range(50)))
    assert ask("SELECT sum(id), max(name) FROM t") == [("1225", "n9")]
    ask.given("mixed.csv", 'id,name\r\n1,a\n2,"b\r\nc"\r3,d\r\n')
    assert ask("FROM a2") == [("1", "a"), ("2", "b\r\nc"), ("3", "d")]


def test_a_cell_of_a_csv_may_be_long(ask):
    ask.given("a.csv", f"id,{'n' * 200_000}\n1,{'x' * 200_000}\n2,y,z\n")
    assert [len(cell) for cell in ask("FROM t")[0]] == [1, 200_000, 0]


def test_an_answer_of_two_columns_of_one_name_is_ordered_by_the_one_that_was_named(ask):
    ask.given("a.csv", "id,price\n1,9.10\n2,8.10\n3,7.10\n")
    assert ask("SELECT t.id, price AS id FROM t ORDER BY id") == [("3", "7.1"), ("2", "8.1"), ("1", "9.1")]
    assert ask("SELECT id AS price FROM t ORDER BY -price") == [("1",), ("2",), ("3",)]
    assert ask("SELECT PRICE FROM t", "csv").splitlines()[0] == b"price"


def test_a_quoted_cell_of_a_csv_ends_with_its_quotes_whatever_length_rows_have(ask):
    ask.given("a.csv", 'c0,c1,c2\n"x",007,it\'s\nit\'s,é,007\n12,"q""q",NULL,extra\n')
    assert [row[:3] for row in ask("FROM t")] == [("x", "007", "it's"), ("it's", "é", "007"), ("12", 'q"q', "NULL")]


def test_a_key_that_stands_twice_is_told_and_its_last_value_taken(ask):
    for name, text in {
        "a.json": '[{"a": 1, "a": 2}, {"a": 3}]',
        "b.json": '{"a": 1, "b": {"a": 1, "a": 2}, "a": 5}',
        "c.jsonl": '{"a": 1, "a": 2}\n{"a": 3}\n',
    }.items():
        ask.given(name, text)
    for table, largest in {"t": "3", "a2": "5", "a3": "3"}.items():
        assert ask(f"SELECT max(a) FROM {table}") == [(largest,)]
        assert "of keys that stand twice in an object the last one counts: a" in ask.told["notes"]


def test_json_values_that_follow_one_another_are_rows(ask):
    ask.given("a.json", '{"a": 1}{"a": 2}\n{\n  "a": 3\n}\n')
    assert ask("SELECT sum(a) FROM t") == [("6",)]


def test_whole_numbers_of_json_keep_their_digits(ask):
    numbers = ["1" + "0" * length for length in (17, 24, 29, 36, 60)]
    ask.given("a.json", "[{" + ", ".join(f'"n{place}": {n}' for place, n in enumerate(numbers)) + "}]")
    assert ask("FROM t") == [tuple(numbers)]


def test_half_characters_of_json_are_told_from_none(ask):
    ask.given("a.json", r'[{"\ud800": 1, "s": "\ud800x", "in": {"\udc00": 2}, "o": "\ud83d\ude00"}]')
    assert ask("SELECT s, o FROM t") == [("\ufffdx", "\U0001f600")]
