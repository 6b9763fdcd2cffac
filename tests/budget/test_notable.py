import json
from dataclasses import asdict

import pytest
from bursar.budget.forms import CANDIDATE, CAUSE, DETAIL, ERROR, LEVEL, SUMMARY, TEST, WARNING, judge
from bursar.budget.notable import Notables, Watch
from hypothesis import given
from hypothesis import strategies as st


def watched(text: bytes, sizes: tuple[int, ...] = ()) -> Notables:
    watch = Watch()
    offset, line, place = 0, 1, 0
    while offset < len(text):
        block = text[offset : offset + (sizes[place % len(sizes)] if sizes else 1 << 20)]
        watch.feed(block, line)
        line += block.count(b"\n")
        offset += len(block)
        place += 1
    return watch.result()


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        (TEST, "FAILED tests/test_x.py::test_y[a b] - AssertionError: assert 1"),
        (TEST, "tests/test_x.py::test_y FAILED                     [ 12%]"),
        (TEST, "ERROR: test_y (app.tests.Views.test_y)"),
        (TEST, "    not ok 3 - adds two numbers"),
        (TEST, "  ✕ adds two numbers (8 ms)"),
        (TEST, "    --- FAIL: TestSum/two (0.00s)"),
        (TEST, "test sums::two ... FAILED"),
        (CAUSE, "src/x.c:33:10: fatal error: lber.h: No such file or directory"),
        (CAUSE, "      src/x.c:33:10: error: expected ';' before '}' token"),
        (CAUSE, "error[E0382]: borrow of moved value"),
        (CAUSE, "src/a.ts(12,5): error TS2322: Type 'a' is not assignable"),
        (CAUSE, "src/a.py:12: error: Missing return statement  [return]"),
        (CAUSE, "src/a.py:3:1: E501 line too long (130 > 79 characters)"),
        (CAUSE, "/usr/bin/ld: cannot find -lssl: No such file or directory"),
        (CAUSE, "main.c:(.text+0x13): undefined reference to `sum'"),
        (DETAIL, "E       AssertionError: assert 1 == 2"),
        (DETAIL, "ValueError: bad thing"),
        (DETAIL, "java.lang.NullPointerException: null"),
        (DETAIL, "thread 'main' panicked at src/main.rs:3:5:"),
        (DETAIL, "Segmentation fault (core dumped)"),
        (LEVEL, "2026-11-20 10:00:00,123 [main] ERROR app.Db - no connection"),
        (LEVEL, "[Sun Nov 23 10:00:00.1 2026] [core:error] [pid 7] AH00126: Invalid URI"),
        (LEVEL, "2026/11/23 10:00:00 [crit] 12#12: *7 connect() failed"),
        (LEVEL, "Nov 23 10:00:00 host sshd[77]: error: kex_exchange_identification"),
        (LEVEL, "E1123 10:00:00.000001 7 server.go:12] no leader"),
        (LEVEL, "2026-11-20T10:00:00Z level=error msg=gone"),
        (LEVEL, "ERROR: disk is gone"),
        (ERROR, "npm ERR! code ELIFECYCLE"),
        (ERROR, "fatal: not a git repository"),
        (ERROR, "cp: cannot create regular file '/srv/x': No such file or directory"),
        (SUMMARY, "===== 3 failed, 10 passed in 0.12s ====="),
        (WARNING, "src/x.c:1:2: warning: unused variable 'x' [-Wunused-variable]"),
        (WARNING, "2026-11-20T10:00:00 WARN slow query"),
    ],
)
def test_a_line_is_known_by_the_form_that_its_tool_gives_it(kind: str, line: str) -> None:
    found = judge(line.encode())
    assert found is not None
    assert found[0] == kind
    assert CANDIDATE.search(line.encode()) is not None


@pytest.mark.parametrize(
    "line",
    [
        "0 errors, 0 warnings",
        "no errors found",
        "a test failed, and nobody knew the error",
        "on_error callback set",
        "see errors/index.md",
        "tests/test_error_handling.py::test_a PASSED",
        "    error: was the answer to it, says the message of a commit",
        "exit code 0",
        "* Fixed: a crash when an ERROR is logged",
        "src/errors.py:12:    raise ValueError('fatal error: no')",
        "-rw-r--r-- 1 root root 12 Nov 23 10:00 error.log",
        "2026-11-20 10:00:00 INFO error count is 0",
        "  1) take the error, 2) mend it",
    ],
)
def test_the_mere_mention_of_an_error_tells_of_nothing(line: str) -> None:
    assert watched(line.encode()) == Notables()


def test_ten_thousand_equal_errors_do_not_hide_the_one_different() -> None:
    lines = [f"12:00:{i % 60:02} ERROR worker {i} timed out after {i * 7} ms" for i in range(10_000)]
    lines[7_123] = "12:00:01 ERROR disk sda1 is full"
    found = watched("\n".join(lines).encode())
    assert found.errors == 10_000
    assert found.lines == ((1, lines[0]), (7_124, lines[7_123]))
    assert found.alike == (9_999, 1)


def test_every_failed_test_is_named_once_however_many_there_are() -> None:
    lines = [f"FAILED tests/test_a.py::test_x[{i}] - assert {i}" for i in range(250)]
    found = watched("\n".join(["tests/test_a.py::test_x[3] FAILED   [  1%]", *lines]).encode())
    assert sorted(found.tests) == sorted(f"tests/test_a.py::test_x[{i}]" for i in range(250))


def test_a_line_that_only_begins_like_one_does_not_hide_the_next() -> None:
    found = watched(b"12:00:00 the last word is\nERROR one\n12:00:01 and then\nWARN two\n")
    assert (found.errors, found.warnings) == (1, 1)


def test_errors_and_warnings_are_counted_apart() -> None:
    found = watched(b"a.c:1:1: warning: left\na.c:2:1: error: b\nfine\na.c:9:1: warning: right\n")
    assert (found.errors, found.warnings) == (1, 2)
    assert [number for number, _ in found.lines] == [1, 2, 4]


def test_errors_of_a_compiler_are_not_counted_with_those_of_whoever_ran_it() -> None:
    assert watched(b"a.c:2:1: error: b\nERROR: Failed building wheel\nERROR: Failed to build\n").errors == 1


def test_what_was_thrown_is_told_with_the_innermost_place_of_its_user() -> None:
    trace = """Traceback (most recent call last):
  File "/app/run.py", line 88, in main
    job()
  File "/usr/lib/python3.11/json/decoder.py", line 3, in decode
    raise ValueError("bad thing")
ValueError: bad thing
"""
    assert watched(trace.encode()).lines[-1] == (6, 'ValueError: bad thing\nFile "/app/run.py", line 88, in main')


def test_the_line_behind_an_error_is_told_if_it_has_its_place() -> None:
    found = watched(b"error[E0308]: mismatched types\n   --> src/lib.rs:148:73\n    |\n")
    assert found.lines == ((1, "error[E0308]: mismatched types\n--> src/lib.rs:148:73"),)
    assert found.names == ("E0308",)


def test_the_file_that_includes_the_one_with_the_error_is_told() -> None:
    found = watched(
        b"gcc -c a.c\n  In file included from src/a.c:3:\n  src/b.h:15:10: fatal error: c.h: No such file\n"
    )
    assert found.lines == ((3, "src/b.h:15:10: fatal error: c.h: No such file\nIn file included from src/a.c:3:"),)


def test_a_huge_line_is_looked_at_where_it_begins() -> None:
    found = watched(b"ERROR: here " + b"x" * 3_000_000 + b"\nERROR: again\n", (65_537,))
    assert found.errors == 2
    assert found.lines[0][1].startswith("ERROR: here xx")
    assert all(len(text) <= 240 for _, text in found.lines)


def test_colours_and_what_was_overwritten_hide_nothing_and_are_not_told() -> None:
    found = watched(b"\x1b[1m\x1b[31mE   ValueError: no\x1b[0m\r\n 10%\r 90%\rERROR: late\n")
    assert found.lines == ((1, "E   ValueError: no"), (2, "ERROR: late"))


def test_asking_twice_does_not_count_twice() -> None:
    watch = Watch()
    watch.feed(b"ERROR unfin", 1)
    assert watch.result() == watch.result()
    watch.feed(b"ished\nERROR two\n", 1)
    assert watch.result().errors == 2
    assert watch.result().lines[0] == (1, "ERROR unfinished")


def test_memory_stays_small_however_many_different_errors_there_are() -> None:
    words = [f"{chr(103 + i % 20)}{chr(103 + i // 20 % 20)}{chr(103 + i // 400 % 20)}" for i in range(8_000)]
    found = watched("".join(f"ERROR in {one} {two}\n" for one in words for two in words[:5]).encode())
    assert len(found.lines) <= 64
    assert not found.is_exact
    assert abs(found.errors - 40_000) <= found.errors_margin < 20_000


def test_what_was_found_can_be_kept_as_json() -> None:
    found = watched(b"FAILED tests/test_a.py::test_b\nE   ValueError: x\nERROR: y\n")
    assert Notables.read(json.loads(json.dumps(asdict(found)))) == found


_LINES = st.lists(
    st.sampled_from(
        [
            b"all fine",
            b"ERROR one 12",
            b"ERROR one 99",
            b"a.c:1:2: warning: x",
            b"a.c:7:2: error: x",
            b"",
            b"\xff\xfe broken error",
            b"FAILED tests/test_a.py::test_b",
            "失败 😀".encode(),
        ]
    ),
    max_size=600,
)


@given(_LINES, st.lists(st.integers(1, 3000), min_size=1, max_size=4), st.booleans())
def test_where_the_blocks_end_changes_no_number(lines: list[bytes], sizes: list[int], ended: bool) -> None:
    text = b"\n".join(lines) + (b"\n" if ended else b"")
    assert watched(text, tuple(sizes)) == watched(text, (1,))


@given(_LINES)
def test_every_line_of_a_form_is_counted_exactly(lines: list[bytes]) -> None:
    kinds = [(judge(line) or ("",))[0] for line in lines]
    found = watched(b"\n".join(lines))
    assert found.errors == (kinds.count(CAUSE) or kinds.count(LEVEL))
    assert found.warnings == kinds.count(WARNING)
    assert all(kinds[number - 1] == kind for (number, _), kind in zip(found.lines, found.kinds, strict=True))


def _flood(warnings: int) -> bytes:
    lines = [b"12:00:00 INFO %d is well, and goes on so for as long as it can" % n for n in range(400_000)]
    for place in range(0, len(lines), len(lines) // warnings):
        lines[place] = b"12:00:00 WARN %d is late" % place
    return b"\n".join(lines) + b"\n"


def test_of_a_flood_the_number_is_told_with_how_far_it_may_be_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bursar.budget.notable.EFFORT", 1 << 20)
    found = watched(_flood(100_000))
    assert not found.is_exact
    assert abs(found.warnings - 100_000) <= found.warnings_margin < 20_000


def test_who_has_time_looks_at_all_of_a_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bursar.budget.notable.EFFORT", 4 << 20)
    text = _flood(100)
    watch, line = Watch(), 1
    for start in range(0, len(text), 1 << 20):
        block = text[start : start + (1 << 20)]
        watch.feed(block, line)
        line += block.count(b"\n")
        watch.rested()
    found = watch.result()
    assert (found.warnings, found.warnings_margin, watch.seen_bytes) == (100, 0, len(text))
