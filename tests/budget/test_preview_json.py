import json
from math import inf, nan
from typing import Any

from bursar.budget import tokens
from bursar.budget.cut import Allowance
from bursar.budget.previews.shape import describe
from bursar.budget.previews.shape_text import Detail, trimmed
from held import ROOMY, Held, parts, seen, serialised, within
from hypothesis import given
from hypothesis import strategies as st


def people(count: int) -> list[dict[str, Any]]:
    return [
        {"id": i, "name": f"name {i}", "score": i / 7, "status": "ok", "tags": ["a", "b"][: i % 3], "home": {"zip": i}}
        for i in range(1, count + 1)
    ]


def test_the_shape_tells_keys_types_lengths_and_ranges() -> None:
    shape = parts(json.dumps(people(3000)))["shape"]
    item = shape["[3,000]"]
    assert item["id"] == "int 1..3000"
    assert item["name"] == "str 'name 1'"
    assert item["score"].startswith("float 0.14")
    assert item["status"] == "str 'ok' 3,000×"
    assert item["tags[0..2]"] == "str 'a' 2,000×, 'b' 1,000×"
    assert item["home"] == {"zip": "int 1..3000"}


def test_a_key_first_seen_in_row_five_thousand_is_listed() -> None:
    rows = people(6000)
    rows[5000]["late"] = "here"
    assert parts(json.dumps(rows))["shape"]["[6,000]"]["late? (1 of 6,000)"] == "str 'here'"


def test_a_late_string_in_a_column_of_numbers_is_told() -> None:
    rows = people(6000)
    rows[5000]["id"] = "n/a"
    shape = parts(json.dumps(rows))["shape"]
    assert shape["[6,000]"]["id"] == "int 1..6000|str 'n/a' 1×"


def test_the_one_that_failed_is_shown_and_suggested() -> None:
    rows = people(6000)
    rows[4321]["status"] = "FAILED"
    found = seen(json.dumps({"page": 1, "items": rows}))
    assert isinstance(found.value, dict)
    assert found.value["shape"]["items[6,000]"]["status"] == "str 'ok' 5,999×, 'FAILED' 1×"
    assert found.value["sample"]["items[4321]"]["id"] == 4322
    assert dict(found.suggest) == {"grep": "FAILED"}


def test_first_and_last_element_are_shown() -> None:
    sample = parts(json.dumps({"data": {"rows": people(3000)}}))["sample"]
    assert sample["data.rows[0]"]["id"] == 1
    assert sample["data.rows[2999]"]["id"] == 3000


def test_an_object_used_as_a_map_is_told_as_one() -> None:
    shape = parts(json.dumps({f"user{i}": {"n": i, "t": "x"} for i in range(3000)}))["shape"]
    assert shape == {"<3,000 keys such as 'user0', 'user1'>": {"n": "int 0..2999", "t": "str 'x' 3,000×"}}


def test_a_small_document_is_shown_with_its_values() -> None:
    document = {"name": "npm", "bin": {"npm": "bin/npm.js"}, "text": "long " * 2000, "list": list(range(900))}
    found = seen(json.dumps(document, indent=2))
    assert isinstance(found.value, dict)
    assert found.value["trimmed"]["bin"] == {"npm": "bin/npm.js"}
    assert found.value["trimmed"]["list"][-1].endswith("more")
    assert found.left_out == "the rest of trimmed values not shown"


def test_white_space_alone_is_told_as_such() -> None:
    document = {"a": {"b": [1, 2]}}
    found = seen(json.dumps(document, indent=2000))
    assert found.value == {"trimmed": document}
    assert found.left_out == "only white space not shown"


def test_wide_and_deep_documents_are_bounded_and_say_what_is_missing() -> None:
    wide = [{f"column_{j}": j * i for j in range(900)} for i in range(40)]
    value = parts(json.dumps(wide))
    assert value["shape"]["[40]"]["…"].endswith("more keys")
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
    ((name, item),) = value["shape"].items()
    assert name == "a[3,000]"
    assert item["id"] == "int 1..3000"


def test_what_only_begins_like_json_is_shown_as_text_with_the_reason() -> None:
    value = parts('{\n  // a comment\n  "a": 1,\n' + "".join(f'  "b{i}": 2,\n' for i in range(3000)), "tsconfig.json")
    assert value["note"] == ("not valid JSON: Expecting property name enclosed in double quotes at line 2 column 3")
    assert value["head"].startswith("{\n  // a comment\n")


def test_lone_surrogates_and_odd_numbers_do_no_harm() -> None:
    text = '[{"a":"\\ud800","\\udfff":1,"n":NaN,"big":' + "9" * 4000 + "}" + ',{"a":"x"}' * 2000 + "]"
    assert within(parts(text), ROOMY)


def test_numbers_that_json_does_not_have_are_shown_as_strings() -> None:
    rows = [{"loss": nan, "high": inf, "low": -inf, "step": step} for step in range(3000)]
    for found in (seen(json.dumps(rows)), seen("\n".join(map(json.dumps, rows)))):
        assert isinstance(found.value, dict)
        sample = next(iter(found.value["sample"].values()))
        assert sample == {"loss": "NaN", "high": "Infinity", "low": "-Infinity", "step": 0}
    small = parts(json.dumps({"loss": nan, "text": "x" * 9000}))
    assert small["trimmed"]["loss"] == "NaN"


def test_numbers_that_json_does_not_have_are_counted_beside_the_range_of_the_others() -> None:
    rows = [{"loss": step / 10 if step % 3 == 0 else nan, "high": inf} for step in range(3000)]
    rows[7]["high"] = 2.5
    shape = parts(json.dumps(rows))["shape"]["[3,000]"]
    assert shape["loss"] == "NaN 2,000×|float 0.0..299.7"
    assert shape["high"] == "Infinity 2,999×|float 2.5 1×"
    assert parts(json.dumps({"best": nan, "text": ["x"] * 20_000}))["shape"]["best"] == "NaN"


def test_both_truth_values_are_told() -> None:
    assert parts(json.dumps([{"on": True, "text": "x" * 9000}, {"on": False}]))["shape"]["[2]"]["on"] == "bool"


def test_dates_tell_the_first_and_the_last() -> None:
    rows = [{"at": f"2026-{month:02}-{day:02}T10:00:00Z"} for day in range(28, 0, -1) for month in range(12, 0, -1)]
    shape = parts(json.dumps(rows))["shape"]["[336]"]
    assert shape["at"] == "str '2026-01-01T10:00:00Z'..'2026-12-28T10:00:00Z'"


def test_one_error_among_a_few_values_is_shown_and_suggested() -> None:
    cells = [{"output_type": "error" if place == 23 else "stream", "text": "x" * 2000} for place in range(40)]
    found = seen(json.dumps({"cells": cells}))
    assert isinstance(found.value, dict)
    assert "cells[23]" in found.value["sample"]
    assert dict(found.suggest) == {"grep": "error"}


def test_a_last_item_is_shown_rather_than_counted() -> None:
    detail = Detail(keys=16, depth=2, examples=0, characters=9)
    assert trimmed(["a", "b", "c"], detail) == ["a", "b", "c"]
    assert trimmed(["a", "b", "c", "d"], detail) == ["a", "b", "… 2 more"]


def test_a_document_too_large_to_be_read_says_so() -> None:
    row = json.dumps({"id": 7, "text": "x" * 200}) + ","
    text = '{"items":[' + row * (33 * (1 << 20) // len(row)) + '{"id":8}]}'
    content = Held(text)
    found = seen(text)
    assert isinstance(found.value, dict)
    assert found.value["note"].startswith("shape of the first ")
    assert f"of {content.size:,}" in found.value["note"]


def test_json_lines_are_merged_over_all_rows() -> None:
    rows = people(4000)
    rows[3000]["level"] = "error"
    found = seen("\n".join(map(json.dumps, rows)) + "\n")
    assert isinstance(found.value, dict)
    assert found.value["rows"] == 4000
    assert found.value["shape"]["level? (1 of 4,000)"] == "str 'error'"
    assert found.value["sample"]["row 3001"]["id"] == 3001


def test_a_row_that_is_not_json_is_counted_and_found() -> None:
    rows = [json.dumps(row) for row in people(4000)]
    rows[99] = "oops"
    assert parts("\n".join(rows), "a.jsonl")["invalid"] == "1 line is not JSON, the first is line 100"


def test_a_large_document_costs_less_than_nine_hundred_tokens() -> None:
    assert tokens.count(serialised(parts(json.dumps(people(20_000))))) <= 900


_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(st.text(max_size=5), inner, max_size=6)),
    max_leaves=40,
)


@given(st.lists(st.dictionaries(st.sampled_from("abcdef"), _VALUES), min_size=1, max_size=12))
def test_every_key_and_type_of_every_row_is_counted(rows: list[dict[str, Any]]) -> None:
    shape = describe(rows)
    assert set(shape.fields) == {key for row in rows for key in row}
    for key, inner in shape.fields.items():
        column = [row[key] for row in rows if key in row]
        assert inner.count == len(column)
        assert inner.objects == sum(isinstance(value, dict) for value in column)
        assert inner.lists == sum(isinstance(value, list) for value in column)
        assert sum(count for count, _, _ in inner.scalars.values()) == len(column) - inner.objects - inner.lists


@given(_VALUES, st.integers(0, 400))
def test_any_document_fits_any_room(document: Any, size: int) -> None:
    allowance = Allowance(size, 5 * size)
    found = seen(json.dumps({"x": document, "y": [document] * 50}) + " " * 9000, "a.json", allowance)
    assert found.value == {} or within(found.value, allowance)


def test_where_broken_json_breaks_is_said_in_a_whole_sentence() -> None:
    value = parts('{"rows": [' + '{"name": "value"},\n' * 2000 + '{"name": "open}', "a.json")
    assert value["note"].startswith("not valid JSON: Unterminated string starting at line 2,001 column 10; ")
