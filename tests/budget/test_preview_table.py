import csv
import io

from held import parts


def table(rows: int) -> list[list[str]]:
    header = ["id", "name", "amount", "when"]
    return [header] + [[str(i), f"name {i}", f"{i * 1.5:.2f}", f"2026-11-{i % 28 + 1:02}"] for i in range(1, rows + 1)]


def text(rows: list[list[str]], delimiter: str = ",") -> str:
    held = io.StringIO()
    csv.writer(held, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return held.getvalue()


def test_a_table_tells_its_columns_with_types_and_ranges_over_all_rows() -> None:
    value = parts(text(table(5000)))
    assert value["rows"] == 5000
    assert value["columns"].startswith("id: int 1..5000, name: str 'name 1', amount: float 1.5..7500.0, when: ")


def test_the_first_row_is_shown_as_it_is() -> None:
    assert parts(text(table(5000)))["first"] == "1,name 1,1.50,2026-11-02"


def test_a_late_text_in_a_column_of_numbers_is_told() -> None:
    rows = table(5000)
    rows[4321][0] = "n/a"
    assert parts(text(rows))["columns"].startswith("id: int 1..5000|'n/a' 1×, ")


def test_empty_cells_are_counted() -> None:
    rows = table(5000)
    rows[10][2] = ""
    assert "amount: float 1.5..7500.0|empty 1×, " in parts(text(rows))["columns"]


def test_cells_that_are_no_number_are_counted_beside_the_range() -> None:
    rows = table(5000)
    for row in rows[1:4701]:
        row[2] = "nan"
    assert "amount: NaN|float 7051.5..7500.0 300×, " in parts(text(rows))["columns"]


def test_a_column_of_dates_tells_the_first_and_the_last() -> None:
    assert parts(text(table(5000)))["columns"].endswith("when: str '2026-11-01'..'2026-11-28'")


def test_a_delimiter_other_than_the_comma_is_told() -> None:
    for delimiter in ("\t", ";", "|"):
        assert parts(text(table(3000), delimiter))["delimiter"] == delimiter


def test_quoted_fields_with_line_breaks_are_one_row() -> None:
    rows = table(2000)
    for row in rows[1:]:
        row[1] = 'two\nlines, and a "quote"'
    assert parts(text(rows), "a.csv")["rows"] == 2000


def test_rows_of_another_length_are_counted_and_found() -> None:
    rows = table(3000)
    rows[1500].append("more")
    assert parts(text(rows))["ragged"] == "1 row without exactly 4 fields, the first is row 1,501"


def test_a_table_without_a_header_numbers_its_columns() -> None:
    assert parts(text(table(5000)[1:]), "a.csv")["columns"].startswith("'(1)': int 1..5000, ")


def test_five_hundred_columns_are_bounded_and_counted() -> None:
    header = [f"some_column_{i}" for i in range(500)]
    rows = [header] + [[str(i * j) for i in range(500)] for j in range(200)]
    value = parts(text(rows))
    assert value["columns"].endswith(" more keys")


def test_a_table_of_one_column_is_shown_as_text() -> None:
    value = parts("name\n" + "value\n" * 9000, "a.csv")
    assert value["note"] == "not a table"
    assert "columns" not in value


def test_the_seldom_value_is_named_and_counted() -> None:
    rows = [["id", "state", "x"]] + [[str(i), "done", "1"] for i in range(4000)]
    rows[2000][1] = "broken"
    assert "state: 'done' 3,999×|'broken' 1×" in parts(text(rows))["columns"]


def test_of_a_table_too_large_to_be_read_all_rows_are_counted_and_no_range_is_told() -> None:
    rows = "".join(f"{place},some name,12.50,2026-11-20\n" for place in range(900_000))
    value = parts("id,name,amount,when\n" + rows)
    assert value["rows"] == 900_000
    assert value["sampled"].endswith(" rows")
    assert value["columns"] == "id: int 0, name: str 'some name', amount: float 12.5, when: str '2026-11-20'"


def test_a_table_of_more_columns_than_anyone_reads_says_how_many_there_are() -> None:
    columns = parts(",".join(f"name{n}" for n in range(50_000)) + "\n1,2\n", "wide.csv")["columns"].split(", ")
    assert columns[0].startswith("name0")
    assert int(columns[-1].removeprefix("… ").removesuffix(" more keys").replace(",", "")) == 50_000 - len(columns) + 1


def test_one_wide_row_does_not_make_every_row_wide() -> None:
    value = parts("," * 100_000 + "\n" + "a,\n" * 100_000, "ragged.csv")
    assert value["rows"] == 100_001
    assert value["columns"]
