import pytest
from bursar.budget.notable import Notables, Watch
from bursar.budget.severity import ERROR, FATAL, WARNING, severity, word
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
    "line",
    [
        "ERROR: disk is gone",
        "ValueError: bad thing",
        "java.lang.NullPointerException: null",
        "error[E0382]: borrow of moved value",
        '{"level":"error","msg":"x"}',
        "npm ERR! code ELIFECYCLE",
        "3 failed, 10 passed",
        "FAILED tests/test_x.py::test_y - AssertionError",
        "SSL_ERROR_SYSCALL in connection",
        "process exited with code 2",
        "[error] worker died",
        "build failed: 2 errors",
        "10 errors",
        "数据库连接失败",
        "出现错误: 无法打开文件",
        "エラーが発生しました",
        "произошла ошибка",
        "حدث خطأ",
        "✗ adds two numbers",
    ],
)
def test_a_line_that_tells_of_an_error_stands_out(line: str) -> None:
    assert severity(line.encode()) == ERROR
    assert watched(line.encode()).errors == 1


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):",
        "FATAL: password authentication",
        "thread 'main' panicked at src/main.rs",
        "panic: runtime error",
        "Segmentation fault (core dumped)",
        "段错误",
    ],
)
def test_a_line_that_tells_of_the_end_is_worse_than_an_error(line: str) -> None:
    assert severity(line.encode()) == FATAL
    assert watched(line.encode()).errors == 1


@pytest.mark.parametrize(
    "line", ["WARN slow query", "warning: unused variable", "DeprecationWarning: x", "404 not found"]
)
def test_a_warning_is_less_than_an_error(line: str) -> None:
    assert severity(line.encode()) == WARNING
    assert watched(line.encode()).warnings == 1


@pytest.mark.parametrize(
    "line",
    [
        "0 errors, 0 warnings",
        "no errors found",
        "0 tests failed",
        "errors: 0",
        "failed=0",
        '"error": null',
        '"errors":[]',
        "from error_handler.py import x",
        "on_error callback set",
        "--fail-fast is on",
        "see errors/index.md",
        "error.log rotated",
        "tests/test_error_handling.py::test_a PASSED",
        "exit code 0",
        "mirror and terror",
        "failover ready",
        "没有错误",
    ],
)
def test_the_mere_mention_of_an_error_does_not_stand_out(line: str) -> None:
    assert severity(line.encode()) == 0


def test_the_word_to_search_for_is_the_one_that_made_the_line_stand_out() -> None:
    assert word("warning: then FATAL happened") == "FATAL"
    assert word("all is well") == ""


def test_ten_thousand_equal_errors_do_not_hide_the_one_different() -> None:
    lines = [f"12:00:{i % 60:02} ERROR worker {i} timed out after {i * 7} ms" for i in range(10_000)]
    lines[7_123] = "12:00:01 ERROR disk sda1 is full"
    found = watched("\n".join(lines).encode())
    assert found.errors == 10_000
    assert (7_124, "12:00:01 ERROR disk sda1 is full") in found.lines
    assert found.lines[0] == (1, lines[0])
    assert found.lines[-1] == (10_000, lines[-1])
    assert found.alike[found.lines.index((1, lines[0]))] == 9_999


def test_a_count_that_is_not_nothing_is_found_among_ten_thousand_that_are() -> None:
    lines = [f"module {i} done: errors={int(i == 7_000)}" for i in range(10_000)] + ["really ERROR"] * 300
    found = watched(("\n".join(["ERROR x"] * 300 + lines) + "\n").encode())
    assert found.errors == 601
    assert (7_301, "module 7000 done: errors=1") in found.lines


def test_errors_and_warnings_are_counted_apart() -> None:
    found = watched(b"warning: a\nerror: b\nfine\nwarning: c\n")
    assert (found.total, found.errors, found.warnings) == (3, 1, 2)
    assert [number for number, _ in found.lines] == [1, 2, 4]


def test_a_huge_single_line_counts_once_and_is_cut() -> None:
    found = watched(b"x" * 3_000_000 + b" ERROR here " + b"y " * 1_000_000 + b"ERROR again")
    assert found.errors == 1
    assert "ERROR here" in found.lines[0][1]
    assert len(found.lines[0][1]) <= 200


def test_a_word_across_two_pieces_of_a_long_line_is_found() -> None:
    text = b"z" * 65_533 + b" ERROR " + b"z" * 70_000
    assert watched(text, (65_537,)).errors == 1


def test_a_line_of_many_colours_is_shown_without_them() -> None:
    found = watched(b"\x1b[1m\x1b[31mE   ValueError: no\x1b[0m\n")
    assert found.lines == ((1, "E   ValueError: no"),)


def test_asking_twice_does_not_count_twice() -> None:
    watch = Watch()
    watch.feed(b"ERROR unfin", 1)
    assert watch.result() == watch.result()
    watch.feed(b"ished\nERROR two\n", 1)
    assert watch.result().errors == 2
    assert watch.result().lines[0] == (1, "ERROR unfinished")


def test_memory_stays_small_however_many_different_errors_there_are() -> None:
    words = [f"{chr(103 + i % 20)}{chr(103 + i // 20 % 20)}{chr(103 + i // 400 % 20)}" for i in range(8_000)]
    found = watched("".join(f"ERROR in {one}\n" for one in words).encode())
    assert found.errors == 8_000
    assert len(found.lines) <= 40


_LINES = st.lists(
    st.sampled_from(
        [
            b"all fine",
            b"ERROR one 12",
            b"ERROR one 99",
            b"warning: x",
            b"errors=0",
            b"errors=4",
            b"",
            b"\xff\xfe broken error",
            b"Traceback (most recent call last):",
            "失败 😀".encode(),
        ]
    ),
    max_size=600,
)


@given(_LINES, st.lists(st.integers(1, 3000), min_size=1, max_size=4), st.booleans())
def test_where_the_blocks_end_changes_nothing(lines: list[bytes], sizes: list[int], ended: bool) -> None:
    text = b"\n".join(lines) + (b"\n" if ended else b"")
    assert watched(text, tuple(sizes)) == watched(text, (1,))


@given(_LINES)
def test_every_line_that_stands_out_is_counted_exactly(lines: list[bytes]) -> None:
    grades = [severity(line) for line in lines]
    found = watched(b"\n".join(lines))
    assert found.errors == sum(grade >= ERROR for grade in grades)
    assert found.warnings == sum(grade == WARNING for grade in grades)
    numbers = [number for number, _ in found.lines]
    assert numbers == sorted(set(numbers))
    assert all(grades[number - 1] for number in numbers)


def test_letters_within_base64_tell_of_nothing() -> None:
    encoded = b"QmFzZTY0IGlzIG5vdCBhIG1lc3NhZ2UgYXQgYWxsLCBuZXZlci4g/ERR"
    assert [severity(encoded), severity(encoded[:-3] + b"+FATAL=="), watched(encoded + b"\n").total] == [0, 0, 0]
    assert severity(b"org/example/very/long/package/name/of/a/thing: ERR 17") == ERROR
    assert severity(b"==================ERROR==================") == ERROR
