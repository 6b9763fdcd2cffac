import csv
import io

from held import parts, seen


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
    assert value["columns"][:3] == ["id int 1..5000", "name str 'name 1'", "amount float 1.5..7500.0"]


def test_header_first_and_last_rows_are_shown_as_they_are() -> None:
    value = parts(text(table(5000)))
    assert value["head"].startswith("id,name,amount,when\n1,name 1,1.50,2026-11-02\n")
    assert value["tail"].endswith("5000,name 5000,7500.00,2026-11-17\n")
    assert value["omitted"] == "lines 9-4997"


def test_a_late_text_in_a_column_of_numbers_is_told_with_its_row() -> None:
    rows = table(5000)
    rows[4321][0] = "n/a"
    assert parts(text(rows))["columns"][0] == "id int 1..5000|str 'n/a' 1×, first text in data row 4,321"


def test_empty_cells_are_counted() -> None:
    rows = table(5000)
    rows[10][2] = ""
    assert parts(text(rows))["columns"][2] == "amount float 1.5..7500.0|empty 1×"


def test_cells_that_are_no_number_are_counted_beside_the_range() -> None:
    rows = table(5000)
    for row in rows[1:4001]:
        row[2] = "nan"
    assert parts(text(rows))["columns"][2] == "amount NaN 4,000×|float 6001.5..7500.0"


def test_a_column_of_dates_tells_the_first_and_the_last() -> None:
    assert parts(text(table(5000)))["columns"][3] == "when str '2026-11-01'..'2026-11-28'"


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
    assert parts(text(table(5000)[1:]), "a.csv")["columns"][0] == "(1) int 1..5000"


def test_five_hundred_columns_are_bounded_and_counted() -> None:
    header = [f"some_column_{i}" for i in range(500)]
    rows = [header] + [[str(i * j) for i in range(500)] for j in range(200)]
    value = parts(text(rows))
    assert value["columns"][-1].endswith("more columns")


def test_a_table_of_one_column_is_shown_as_text() -> None:
    value = parts("name\n" + "value\n" * 9000, "a.csv")
    assert value["note"] == "not a table"
    assert "columns" not in value


def test_the_seldom_value_is_suggested() -> None:
    rows = [["id", "state", "x"]] + [[str(i), "done", "1"] for i in range(4000)]
    rows[2000][1] = "broken"
    assert dict(seen(text(rows)).suggest) == {"grep": "broken"}


def test_a_table_too_large_to_be_read_says_so() -> None:
    line = "1234567,some name,12.50,2026-11-20\n"
    value = parts("id,name,amount,when\n" + line * (33 * (1 << 20) // len(line)))
    assert value["rows"].endswith("sampled of 33 MiB")


def test_a_table_of_more_columns_than_anyone_reads_says_how_many_there_are() -> None:
    columns = parts(",".join(f"name{n}" for n in range(50_000)) + "\n1,2\n", "wide.csv")["columns"]
    assert columns[0].startswith("name0 ")
    more = int(columns[-1].removeprefix("… ").removesuffix(" more columns").replace(",", ""))
    assert more == 50_000 - len(columns) + 1


def test_one_wide_row_does_not_make_every_row_wide() -> None:
    value = parts("," * 100_000 + "\n" + "a,\n" * 100_000, "ragged.csv")
    assert value["rows"] == 100_001
    assert value["columns"]
