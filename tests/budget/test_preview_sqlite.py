"""Of a database every table is named, with its columns and its number of rows."""

import sqlite3
from pathlib import Path

import pytest
from bursar.budget.cut import Allowance
from bursar.budget.previews import sqlite
from held import Held, parts
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture
def made(tmp_path: Path):
    """Makes a database by some statements, and returns its bytes."""

    def make(*statements: str, mode: str = "delete") -> bytes:
        path = tmp_path / "a.db"
        with sqlite3.connect(path) as database:
            database.execute(f"pragma journal_mode={mode}")
            for statement in statements:
                database.execute(statement)
        database.close()
        return path.read_bytes()

    return make


def test_tables_are_named_with_columns_types_and_rows(made) -> None:
    content = made(
        "create table city (id integer primary key, -- a key\n name text not null, area decimal(9,2) default (1))",
        'create table "odd (name)" ("a, b" int, [c d], /* no */ check ([c d] > 0))',
        "create index by_name on city (name)",
        "create view large as select count(*) from city",
        "with recursive n(i) as (select 1 union all select i+1 from n where i<5000)"
        " insert into city select i, 'name ' || i, 1 from n",
        'create table "gone" (x)',
        "drop table gone",
    )
    value = parts(content)
    assert value == {
        "format": "SQLite database",
        "tables": [
            "city(id integer, name text, area decimal) 5,000 rows",
            "odd (name)(a, b int, c d) 0 rows",
            "large",
        ],
    }


def test_a_schema_of_many_pages_is_read_to_its_end(made) -> None:
    content = made(*(f"create table t{place} (first, second, third)" for place in range(150)))
    assert [table.name for table in sqlite.tables(Held(content))] == [f"t{place}" for place in range(150)]
    assert parts(content)["tables"][0] == "t0"
    assert parts(content, allowance=Allowance(200, 900))["tables"][-1].endswith(" more")


def test_rows_are_not_counted_where_the_newest_may_be_in_another_file(made) -> None:
    assert parts(made("create table t (a)", "insert into t values (1)", mode="wal"))["tables"] == ["t(a)"]


@given(place=st.integers(0, 8191), value=st.integers(0, 255), length=st.integers(16, 8192))
def test_a_damaged_database_does_no_harm(place: int, value: int, length: int) -> None:
    with sqlite3.connect(":memory:") as database:
        database.execute("create table t (a text, b)")
        database.execute("insert into t values ('x', 1)")
        content = bytearray(database.serialize())
    database.close()
    content[min(place, len(content) - 1)] = value
    if content.startswith(b"SQLite format 3\0"):
        assert parts(bytes(content[:length]), "a.db")["format"] == "SQLite database"
