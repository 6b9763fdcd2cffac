import json
from math import inf, nan
from typing import Any

from bursar.budget import tokens
from bursar.budget.cut import Allowance
from bursar.budget.previews.shape import describe
from held import ROOMY, Held, parts, seen, serialised, within
from hypothesis import given
from hypothesis import strategies as st


def people(count: int) -> list[dict[str, Any]]:
    return [
        {"id": i, "name": f"name {i}", "score": i / 7, "status": "ok", "tags": ["a", "b"][: i % 3], "home": {"zip": i}}
        for i in range(1, count + 1)
    ]


def test_the_shape_tells_keys_types_lengths_and_ranges() -> None:
    assert parts(json.dumps(people(3000)))["shape"] == (
        "[3,000 × {id: int 1..3000, name: str 'name 1', score: float 0.14285714285714285..428.57142857142856,"
        " status: always 'ok', tags: [0..2 × 'a' 2,000×|'b' 1,000×], home: {zip: int 1..3000}}]"
    )


def test_a_key_first_seen_in_row_five_thousand_is_listed() -> None:
    rows = people(6000)
    rows[5000]["late"] = "here"
    assert ", late?(1): 'here'}]" in parts(json.dumps(rows))["shape"]


def test_a_late_string_in_a_column_of_numbers_is_told() -> None:
    rows = people(6000)
    rows[5000]["id"] = "n/a"
    assert "{id: int 1..6000|'n/a' 1×, " in parts(json.dumps(rows))["shape"]


def test_the_one_that_failed_is_shown() -> None:
    rows = people(6000)
    rows[4321]["status"] = "FAILED"
    shape = parts(json.dumps({"page": 1, "items": rows}))["shape"]
    assert shape.startswith("{page: 1, items: [6,000 × {id: ")
    assert "status: 'ok' 5,999×|'FAILED' 1×" in shape


def test_no_call_is_suggested_that_would_only_show_the_beginning() -> None:
    found = seen(json.dumps({"data": {"rows": people(3000)}}))
    assert (found.left_out, dict(found.suggest)) == ("values not shown", {})


def test_an_object_used_as_a_map_is_told_as_one() -> None:
    shape = parts(json.dumps({f"user{i}": {"n": i, "t": "x"} for i in range(3000)}))["shape"]
    assert shape == "{3,000 keys such as user0, user1: {n: int 0..2999, t: always 'x'}}"


def test_small_objects_that_share_no_keys_are_maps_too() -> None:
    rows = [{"name": f"p{i}", "bin": {f"run{i}": f"bin/{i}"}} for i in range(3000)]
    assert "bin: {3,000 keys such as run0, run1: str 'bin/0'}" in parts(json.dumps(rows))["shape"]


def test_a_map_whose_names_fit_shows_them_all() -> None:
    document = {"text": "x" * 9000, "scripts": {f"task{i}": "run " * 400 for i in range(30)}}
    shape = parts(json.dumps(document))["shape"]
    assert "scripts: {30 keys task0, task1, " in shape
    assert ", task29: str[..1,600] 'run run " in shape


def test_a_single_document_is_shown_with_its_values() -> None:
    document = {"name": "npm", "bin": {"npm": "bin/npm.js"}, "text": "long " * 2000, "list": list(range(900))}
    found = seen(json.dumps(document, indent=2))
    assert isinstance(found.value, dict)
    assert found.value["shape"].startswith("{name: 'npm', bin: {npm: 'bin/npm.js'}, text: 'long long ")
    assert found.value["shape"].endswith("…', list: [900 × int 0..899]}")


def test_every_key_is_named_before_any_value_is_shown() -> None:
    rows = [{f"some_column_{i}": "some longer words " * 5 + str(j) for i in range(60)} for j in range(200)]
    shape = parts(json.dumps(rows), allowance=Allowance(400, 2000))["shape"]
    assert all(f"some_column_{i}" in shape for i in range(60))


def test_keys_that_could_be_taken_for_something_else_are_quoted() -> None:
    assert parts(json.dumps([{"a, b: c": 1, "": 2, "x": "y" * 9000}] * 3))["shape"].startswith(
        "[3 × {'a, b: c': always 1, '': always 2, x: "
    )


def test_wide_and_deep_documents_are_bounded_and_say_what_is_missing() -> None:
    wide = [{f"column_{j}": j * i for j in range(900)} for i in range(40)]
    assert parts(json.dumps(wide))["shape"].endswith(" more keys}]")
    deep: Any = 1
    for _ in range(300):
        deep = {"level": deep, "beside": "x" * 300}
    assert within(parts(json.dumps(deep)), ROOMY)


def test_json_nested_beyond_all_measure_is_shown_as_text() -> None:
    value = parts("[" * 60_000 + "]" * 60_000)
    assert value["note"] == "JSON nested too deeply to be read"
    assert value["head"].startswith("[[[[")


def test_json_that_was_cut_off_shows_the_shape_of_what_is_there() -> None:
    value = parts(json.dumps({"a": people(3000)})[:-20])
    assert value["note"].startswith("not valid JSON: ")
    assert value["shape"].startswith("{a: [≥3,000 × {id: int 1, name: ")


def test_what_only_begins_like_json_is_shown_as_text_with_the_reason() -> None:
    value = parts('{\n  // a comment\n  "a": 1,\n' + "".join(f'  "b{i}": 2,\n' for i in range(3000)), "tsconfig.json")
    assert value["note"] == ("not valid JSON: Expecting property name enclosed in double quotes at line 2 column 3")
    assert value["head"].startswith("{\n  // a comment\n")


def test_lone_surrogates_and_odd_numbers_do_no_harm() -> None:
    text = '[{"a":"\\ud800","\\udfff":1,"n":NaN,"big":' + "9" * 4000 + "}" + ',{"a":"x"}' * 2000 + "]"
    assert within(parts(text), ROOMY)


def test_numbers_that_json_does_not_have_are_counted_beside_the_range_of_the_others() -> None:
    rows = [{"loss": step / 10 if step % 3 == 0 else nan, "high": inf} for step in range(3000)]
    rows[7]["high"] = 2.5
    shape = parts(json.dumps(rows))["shape"]
    assert shape == "[3,000 × {loss: NaN|float 0.0..299.7, high: Infinity|float 2.5 1×}]"
    assert "best: NaN" in parts(json.dumps({"best": nan, "text": ["x"] * 20_000}))["shape"]


def test_both_truth_values_are_told() -> None:
    assert "on: true|false" in parts(json.dumps([{"on": True, "text": "x" * 9000}, {"on": False}]))["shape"]


def test_dates_tell_the_first_and_the_last() -> None:
    rows = [{"at": f"2026-{month:02}-{day:02}T10:00:00Z"} for day in range(28, 0, -1) for month in range(12, 0, -1)]
    assert parts(json.dumps(rows))["shape"] == "[336 × {at: str '2026-01-01T10:00:00Z'..'2026-12-28T10:00:00Z'}]"


def test_of_more_than_a_few_numbers_the_range_is_told() -> None:
    rows = [{"month": 1 + place % 12, "half": 1 + place % 2} for place in range(2400)]
    assert parts(json.dumps(rows))["shape"] == "[2,400 × {month: int 1..12, half: 1 1,200×|2 1,200×}]"


def test_one_error_among_a_few_values_is_counted() -> None:
    cells = [{"output_type": "error" if place == 23 else "stream", "text": "x" * 2000} for place in range(40)]
    assert "{output_type: 'stream' 39×|'error' 1×, " in parts(json.dumps({"cells": cells}))["shape"]


def test_a_document_too_large_to_be_read_says_so() -> None:
    row = json.dumps({"id": 7, "text": "x" * 200}) + ","
    text = '{"items":[' + row * (33 * (1 << 20) // len(row)) + '{"id":8}]}'
    content = Held(text)
    value = parts(text)
    assert value["note"].startswith("shape of the first ")
    assert f"of {content.size:,}" in value["note"]
    assert value["shape"].startswith("{items: [≥")


def test_of_a_part_no_range_or_number_is_told_as_if_it_were_of_the_whole() -> None:
    rows = [json.dumps({"id": place, "state": "open", "text": "x" * 200}) for place in range(80_000)]
    for text in ("[" + ",".join(rows) + "]", "\n".join(rows)):
        shape = parts(text)["shape"]
        assert (
            shape.removeprefix("[≥")
            .lstrip("0123456789,")
            .removeprefix(" × ")
            .startswith("{id: int 0, state: str 'open', ")
        )


def test_json_lines_are_merged_over_all_rows() -> None:
    rows = people(4000)
    rows[3000]["level"] = "error"
    value = parts("\n".join(map(json.dumps, rows)) + "\n")
    assert value["rows"] == 4000
    assert value["shape"].endswith(", level?(1): 'error'}")


def test_json_lines_of_which_a_part_is_read_are_all_counted() -> None:
    value = parts("\n".join(json.dumps({"id": place, "text": "x" * 200}) for place in range(80_000)))
    assert value["rows"] == 80_000
    assert value["sampled"] < 80_000


def test_a_row_that_is_not_json_is_counted_and_found() -> None:
    rows = [json.dumps(row) for row in people(4000)]
    rows[99] = "oops"
    assert parts("\n".join(rows), "a.jsonl")["invalid"] == "1 line is not JSON, the first is line 100"


def test_a_large_document_costs_little() -> None:
    assert tokens.count(serialised(parts(json.dumps(people(20_000))))) <= 150


_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(st.text(max_size=5), inner, max_size=6)),
    max_leaves=40,
)


@given(st.lists(st.dictionaries(st.sampled_from("abcdef"), _VALUES), min_size=1, max_size=12))
def test_every_key_and_type_of_every_row_is_counted(rows: list[dict[str, Any]]) -> None:
    shape = describe(rows)
    assert set(shape.fields) | set(shape.keys) == {key for row in rows for key in row}
    for key, inner in shape.fields.items():
        column = [row[key] for row in rows if key in row]
        assert inner.count == len(column)
        assert inner.objects == sum(isinstance(value, dict) for value in column)
        assert inner.lists == sum(isinstance(value, list) for value in column)
        assert sum(scalar.count for scalar in inner.scalars) == len(column) - inner.objects - inner.lists


@given(_VALUES, st.integers(0, 400))
def test_any_document_fits_any_room(document: Any, size: int) -> None:
    allowance = Allowance(size, 5 * size)
    found = seen(json.dumps({"x": document, "y": [document] * 50}) + " " * 9000, "a.json", allowance)
    assert found.value == {} or within(found.value, allowance)


def test_where_broken_json_breaks_is_said_in_a_whole_sentence() -> None:
    value = parts('{"rows": [' + '{"name": "value"},\n' * 2000 + '{"name": "open}', "a.json")
    assert value["note"].startswith("not valid JSON: Unterminated string starting at line 2,001 column 10; ")
