import re

from bursar.budget import tokens
from bursar.budget.cut import Allowance
from bursar.budget.notable import Watch
from bursar.budget.previews.preview import CaptureFacts, Hint
from held import ROOMY, Held, parts, preview, seen, serialised
from hypothesis import given
from hypothesis import strategies as st

BUILD = "".join(f"src/a.c:{i}:1: error: unknown type name {'g' * i}\n" for i in range(1, 30))

STACK = """Traceback (most recent call last):
  File "/app/run.py", line 88, in main
    job()
ValueError: bad thing
"""


def log(lines: int, needle_at: int) -> str:
    made = [f"2026-11-20T10:00:{i % 60:02} INFO handled request {i} in {i % 90} ms" for i in range(1, lines + 1)]
    made[needle_at - 1] = "2026-11-20T10:00:00 ERROR NEEDLE payment gateway exploded"
    return "\n".join(made) + "\n"


def numbers(omitted: str) -> tuple[int, int]:
    found = re.fullmatch(r"lines (\d+)-(\d+)", omitted)
    assert found is not None
    return int(found[1]), int(found[2])


def test_head_gap_and_tail_add_up_to_the_whole() -> None:
    text = log(50_000, 20_000)
    value = parts(text)
    first, last = numbers(value["omitted"])
    lines = text.splitlines(keepends=True)
    assert value["head"] == "".join(lines[: first - 1])
    assert value["tail"] == "".join(lines[last:])


def test_how_much_is_missing_is_said_exactly() -> None:
    found = seen(log(50_000, 20_000))
    assert isinstance(found.value, dict)
    first, last = numbers(found.value["omitted"])
    assert found.left_out == f"{last - first + 1:,} of 50,000 lines not shown"


def test_an_error_in_the_middle_is_seen_and_its_surroundings_are_suggested() -> None:
    found = seen(log(50_000, 20_000))
    assert isinstance(found.value, dict)
    assert found.value["notable"] == ["20000: 2026-11-20T10:00:00 ERROR NEEDLE payment gateway exploded"]
    assert dict(found.suggest) == {"lines": "19995-20015"}


def test_many_errors_are_counted() -> None:
    found = seen("".join(f"step {i} ok\n" * 9 + f"ERROR in step {i}\n" for i in range(20_000)))
    assert isinstance(found.value, dict)
    assert found.value["notable_total"] == "20,000 errors"


def test_a_search_is_suggested_only_if_it_finds_a_few() -> None:
    few = seen(BUILD + "".join(f"compiled {i}\n" for i in range(9000)))
    many = seen(BUILD * 80 + "".join(f"compiled {i}\n" for i in range(9000)))
    assert dict(few.suggest) == {"grep": "error: "}
    assert "grep" not in many.suggest


def test_the_failed_tests_are_all_named_with_the_first_of_what_they_found() -> None:
    failures = "".join(f"____ test_{i} ____\n\nE   assert {i} == x{'y' * i}\n\n" for i in range(40))
    listed = "".join(f"FAILED tests/test_a.py::Views::test_{i} - assert\n" for i in range(40))
    listed += "".join(f"FAILED tests/test_b.py::test_all[{i}]\n" for i in range(25))
    value = parts("".join(f"quiet {i}\n" for i in range(300)) + failures + listed + "=== 65 failed in 1.20s ===\n")
    *views, every = value["failed"]
    assert ", ".join(views) == "tests/test_a.py::Views: " + ", ".join(f"test_{i}" for i in range(40))
    assert every == "tests/test_b.py: test_all[…] ×25"
    assert value["notable"][0] == "303: E   assert 0 == x"
    assert value["tail"].endswith("=== 65 failed in 1.20s ===\n")
    assert "head" not in value


def test_every_code_of_a_checker_is_named() -> None:
    found = "".join(f"src/a.py:{i}:1: E{100 + i % 30} this is wrong\n" for i in range(3000))
    value = parts(found)
    told = "".join(value["notable"]) + value["others"]
    assert all(f"E{100 + i}" in told for i in range(30))
    assert value["notable_total"] == "3,000 errors"


def test_nothing_is_suggested_about_a_log_without_failures() -> None:
    assert dict(seen("".join(f"12:00:{i % 60:02} INFO all is well {i}\n" for i in range(9000))).suggest) == {}


def test_an_error_is_listed_before_warnings_take_the_room() -> None:
    lines = [f"WARN {chr(103 + i % 20) * 5} is slow {'z' * (i % 20)}" for i in range(3000)]
    lines[1500] = "ERROR one only"
    value = parts("\n".join(lines))
    assert any("ERROR one only" in line for line in value["notable"])


def test_a_stack_trace_at_the_end_is_seen_whole() -> None:
    value = parts("".join(f"step {i} ok\n" for i in range(200_000)) + STACK)
    assert value["tail"].endswith(STACK)


def test_short_lines_are_not_shown_by_the_hundred() -> None:
    found = seen("".join(f"{i}\n" for i in range(1, 200_001)))
    assert tokens.count(serialised(found.value)) < 400


def test_one_long_line_does_not_take_the_room_of_the_others() -> None:
    text = "first\n" + "x" * 500_000 + "THE END\n" + "".join(f"line {i}\n" for i in range(900))
    value = parts(text)
    before, long_line, *_ = value["head"]
    assert before == "first\n"
    assert (long_line["line"], long_line["bytes"]) == (2, 500_008)
    assert long_line["end"].endswith("THE END")
    assert value["tail"].endswith("line 899\n")


def test_a_long_last_line_shows_its_end() -> None:
    value = parts("".join(f"start {i}\n" for i in range(50)) + "y" * 400_000 + "THE END")
    assert value["tail"][-1]["end"].endswith("THE END")


def test_a_single_line_shows_both_ends_by_bytes_and_what_it_looks_like() -> None:
    text = "".join(f"function f{i}(a){{return a>{i}&&null}};var x{i}=()=>1;const y{i}=2;" for i in range(30_000))
    found = seen(text)
    assert isinstance(found.value, dict)
    omitted = re.fullmatch(r"bytes (\d+)-(\d+)", found.value["omitted"])
    assert omitted is not None
    assert text.encode()[: int(omitted[1])].decode() == found.value["head"]
    assert text.encode()[int(omitted[2]) + 1 :].decode() == found.value["tail"]
    assert "minified JavaScript" in found.value["note"]
    assert found.suggest["bytes"].startswith(omitted[1] + "-")


def test_lines_behind_a_very_long_one_are_shown_too() -> None:
    text = "".join(f"{i}" + "x" * 300_000 + "\n" for i in range(3)) + "short\n" * 3 + "y" * 300_000 + "\nz\n" * 900
    value = parts(text)
    assert [entry["line"] for entry in value["head"][:2]] == [1, 2]


def test_what_is_said_again_and_again_is_shown_once() -> None:
    text = "start\n" + "waiting for the server\n" * 1500 + "up\n" + "".join(f"request {i}\n" for i in range(9000))
    value = parts(text + "bye\n" * 700)
    assert value["head"][0] == "start\n"
    assert value["head"][1] == {"line": 2, "times": 1500, "text": "waiting for the server\n"}
    assert value["head"][2].startswith("up\nrequest 0\n")
    assert value["tail"][-1] == {"line": 10503, "times": 700, "text": "bye\n"}


def test_a_progress_bar_is_shown_as_it_was_left_and_without_its_colours() -> None:
    bar = "".join(f"\r\x1b[32m{i}%\x1b[0m |{'#' * (i // 2)}" for i in range(101))
    value = parts("Downloading\n" + bar + "\ndone\n" + "".join(f"file {i}\n" for i in range(9000)))
    assert value["head"].startswith("Downloading\n100% |" + "#" * 50 + "\ndone\n")


def test_chinese_and_emoji_are_cut_between_characters() -> None:
    text = "春眠不觉晓，处处闻啼鸟。😀夜来风雨声，花落知多少。\n花开了。\n" * 60_000
    value = parts(text)
    assert "\ufffd" not in serialised(value)
    assert text.startswith(value["head"])
    assert text.endswith(value["tail"])


def test_lines_that_nobody_counted_are_told_by_bytes() -> None:
    text = log(60_000, 30_000).encode()
    found = preview(Held(text), CaptureFacts(), Hint(), ROOMY)
    assert isinstance(found.value, dict)
    omitted = re.fullmatch(r"bytes (\d+)-(\d+) \(from line (\d+)\)", found.value["omitted"])
    assert omitted is not None
    assert text[: int(omitted[1])].decode() == found.value["head"]
    assert text[int(omitted[2]) + 1 :].decode() == found.value["tail"]
    assert found.value["head"].count("\n") + 1 == int(omitted[3])
    assert found.left_out.endswith(f"of {len(text):,} bytes not shown")


def test_errors_that_were_sought_in_a_part_only_are_told_as_such() -> None:
    text = log(60_000, 30).encode()
    watch = Watch()
    watch.feed(text[: 1 << 20], 1)
    found = preview(Held(text), CaptureFacts(60_000, watch.result(), 1 << 20), Hint(), ROOMY)
    assert isinstance(found.value, dict)
    assert found.value["notable_total"] == "1 error in the 1 MiB of start and end"


def test_a_repeated_look_at_prose_finds_no_outline_but_more_of_the_start() -> None:
    prose = "".join(f"Sentence number {i} of a long story that goes on.\n" for i in range(4000))
    value = parts(prose, "story.txt")
    assert len(value["head"]) > 2 * len(value["tail"])


_TEXT = st.characters(blacklist_categories=["Cc", "Cs"])  # too many controls, and it is no text
_LINES = st.lists(
    st.one_of(st.text(_TEXT, max_size=12), st.sampled_from(["ERROR x", "y" * 900, "中文" * 300])), max_size=400
)


@given(_LINES, st.builds(Allowance, st.integers(60, 1500), st.integers(300, 7000)), st.booleans())
def test_what_is_shown_as_text_is_a_true_start_and_end(lines: list[str], allowance: Allowance, counted: bool) -> None:
    text = "\n".join(lines).encode("utf-8", "replace")
    known = CaptureFacts(text.count(b"\n") + (not text.endswith(b"\n")) if text else 0) if counted else CaptureFacts()
    found = preview(Held(text), known, Hint(kind="text"), allowance)
    if isinstance(found.value, dict) and "not_utf8" not in found.value:
        head, tail = found.value.get("head", ""), found.value.get("tail", "")
        assert not isinstance(head, str) or text.decode().startswith(head)
        assert not isinstance(tail, str) or text.decode().endswith(tail)
        if isinstance(head, str) and isinstance(tail, str) and "omitted" not in found.value and found.value:
            assert head + tail == text.decode()


def test_the_cases_of_a_test_are_counted_and_what_has_no_room_too() -> None:
    cases = "".join(f"ERROR: test_a (app.Views.test_a) (n={i})\n" for i in range(20))
    many = "".join(f"FAIL: test_{i:09} (app.Other.test_{i:09})\n" for i in range(200))
    failed = parts(cases + many + "quiet\n" * 9)["failed"]
    assert failed[0] == "app.Views: test_a ×20"
    assert failed[-1] == f"and {200 - sum(text.count('test_') for text in failed[1:-1])} more"


def test_a_suggested_search_is_a_valid_pattern() -> None:
    text = "".join(f"error[E0308]: mismatched types\n   --> src/a.rs:{i}:1\n" for i in range(90))
    assert dict(seen(text + "quiet 1\n" * 999).suggest) == {"grep": "E0308"}
