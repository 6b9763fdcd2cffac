"""The look at a Parquet file names its columns, their types and the number of its rows."""

import random

import pytest
from bursar.budget.cut import Allowance
from bursar.budget.previews.preview import CaptureFacts, ContentView, Hint
from held import Held

duckdb = pytest.importorskip("duckdb")


def seen(content: bytes):
    view = ContentView(Held(content), CaptureFacts(), Hint("a.parquet"))
    return view.part(Allowance(2000, 8192)).value


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "a.parquet"
    duckdb.sql(
        "COPY (SELECT i::INT AS id, i / 3 AS ratio, 'x' || i AS name, DATE '2026-01-01' + i::INT AS day, "
        "now()::TIMESTAMP AS at, i % 2 = 0 AS even, [i] AS list, {'a': 1, 'b': {'c': 'x'}} AS nested, "
        "MAP {'k': 1} AS map, 1.5::DECIMAL(9, 2) AS price "
        f"FROM range(12345) r(i)) TO '{path}'"
    )
    return path.read_bytes()


def test_columns_types_and_rows_are_told(written):
    value = seen(written)
    assert value["rows"] == 12345
    assert value["columns"] == [
        "id: int",
        "ratio: float",
        "name: str",
        "day: date",
        "at: timestamp",
        "even: bool",
        "list: list",
        "nested: struct",
        "map: map",
        "price: decimal",
    ]


def test_a_damaged_footer_tells_less_and_breaks_nothing(written):
    chance = random.Random(5)
    length = int.from_bytes(written[-8:-4], "little")
    start = len(written) - 8 - length
    for _ in range(25):
        broken = bytearray(written)
        for _ in range(chance.randint(1, 6)):
            broken[chance.randrange(start, len(broken) - 4)] = chance.randrange(256)
        assert seen(bytes(broken))["format"] == "Parquet table"
    for cut in (4, 12, len(written) // 2):
        assert seen(written[:cut] + written[-8:])["format"] == "Parquet table"
