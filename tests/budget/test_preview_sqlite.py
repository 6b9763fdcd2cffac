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


def database_of(page: bytes, size: int = 65_536) -> bytes:
    """Returns a database whose first page ends in this one's bytes, its rows wherever they say."""
    head = b"SQLite format 3\0" + (1).to_bytes(2) + b"\1\1\0" + bytes(79)
    return (head + page).ljust(size, b"\0")


def test_rows_that_lie_upon_one_another_are_read_within_bounds() -> None:
    values = [b"table", b"t" * 9000, b"t", b"\1", b"create table t(" + b"a," * 9000 + b"b)"]
    header = b"".join(varint(13 + 2 * len(value)) for value in values[:3]) + varint(1) + varint(13 + 2 * len(values[4]))
    header = varint(len(header) + 1) + header
    record = varint(40_000) + varint(1) + header + b"".join(values)
    start = 65_536 - len(record)
    page = bytearray(65_436)
    cells = (start - 108) // 2
    page[:8] = b"\r\0\0" + cells.to_bytes(2) + b"\0\0\0"
    page[8 : 8 + 2 * cells] = start.to_bytes(2) * cells
    page[start - 100 :] = record
    found = sqlite.tables(Held(database_of(bytes(page))))
    assert len(found) == 200
    assert sum(len(table.columns) for table in found) < 80_000
    assert len(found[0].columns) > 1000
    assert not found[-1].columns
    assert all(len(table.name) <= 1024 for table in found)


def varint(number: int) -> bytes:
    groups = [number & 0x7F]
    while number := number >> 7:
        groups.append(number & 0x7F | 0x80)
    return bytes(reversed(groups))


class Counted(Held):
    reads = 0

    def read(self, offset: int, length: int) -> bytes:
        self.reads += 1
        return super().read(offset, length)


def test_pages_that_name_one_another_are_read_once() -> None:
    def inner(*below: int, at: int = 0) -> bytes:
        starts = b"".join((500 + 4 * place).to_bytes(2) for place in range(len(below) - 1))
        page = b"\5\0\0" + (len(below) - 1).to_bytes(2) + b"\0\0\0" + below[0].to_bytes(4) + starts
        return page.ljust(500 - at, b"\0") + b"".join(number.to_bytes(4) for number in below[1:])

    held = Counted(database_of(inner(1, 2, 2, 3, at=100)) + inner(3, 2, 1).ljust(65_536, b"\0") * 2)
    assert sqlite.tables(held) == []
    assert held.reads < 10
