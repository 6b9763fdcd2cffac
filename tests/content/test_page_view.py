"""The view of a long page says where everything is, within any allowance."""

# ruff: noqa: E501 - pages are easier to read in one piece

import json

from bursar.budget import tokens
from bursar.budget.cut import Allowance
from bursar.content.page_view import PageView, outline, page_view, plain
from hypothesis import given
from hypothesis import strategies as st

PAGE = "# Title\n\n" + "The lead says what this is about.\n\n" + "".join(
    f"## Section {n}\n\n{'Words of this section. ' * 40}\n\n### Detail {n}\n\n```\n# no heading\n```\n\n" for n in range(40)
)  # fmt: skip


class Held:
    """A content of which only the beginning is there."""

    def __init__(self, content: bytes, size: int | None = None) -> None:
        self._content = content
        self.size = len(content) if size is None else size

    def read(self, offset: int, length: int) -> bytes:
        return self._content[offset : offset + length]


def test_headings_carry_the_line_they_stand_on() -> None:
    lines = PAGE.split("\n")
    for heading in outline(lines):
        assert lines[heading.line - 1].lstrip("# ") == heading.text


def test_what_stands_in_code_is_no_heading() -> None:
    assert [heading.text for heading in outline(["# a", "```sh", "# b", "```", "~~~", "# c", "~~~", "## d"])] == [
        "a",
        "d",
    ]


def test_the_view_has_the_outline_and_the_lead_and_says_where_to_read_on() -> None:
    shown = page_view(PAGE, Allowance(900, 4000))
    assert isinstance(shown.value, dict)
    assert shown.value["outline"][1].split(" ", 1) == ["5", "·Section 0"]
    assert shown.value["lead"].startswith("The lead says")
    first = int(str(shown.suggest["lines"]).rstrip("-"))
    lead_lines = shown.value["lead"].count("\n") + (not shown.value["lead"].endswith("\n"))
    assert PAGE.split("\n")[2 : first - 1] == shown.value["lead"].split("\n")[:lead_lines]


def test_when_not_all_headings_fit_the_higher_ones_stay() -> None:
    shown = page_view(PAGE, Allowance(900, 4000))
    assert isinstance(shown.value, dict)
    assert shown.value["deeper"] == 40
    assert all("Detail" not in entry for entry in shown.value["outline"])


def test_a_page_that_fits_is_shown_whole() -> None:
    view = PageView(Held(b"# a\n\nb\n"))
    assert view.whole(Allowance(50, 50)) == "# a\n\nb\n"
    assert view.whole(Allowance(3, 50)) is None
    assert view.whole(Allowance(50, 6)) is None


def test_marks_and_addresses_are_taken_out_of_headings() -> None:
    assert plain("[The **`x`** API](https://e.org/a_(b)) ![logo](l.png) \\*") == "The x API logo *"


@given(
    st.lists(st.sampled_from(["# a", "## b c", "", "word " * 30, "漢字" * 40, "```", "- x", "#", "\\"]), max_size=60),
    st.integers(0, 700),
    st.integers(0, 3000),
)
def test_a_view_is_never_larger_than_allowed(lines: list[str], most_tokens: int, most_bytes: int) -> None:
    allowance = Allowance(most_tokens, most_bytes)
    value = page_view("\n".join(lines), allowance).value
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    empty = '{"lead":""}'
    assert len(text.encode()) <= max(most_bytes, len(empty))
    assert tokens.count(text) <= max(most_tokens, tokens.count(empty))


def test_behind_a_long_line_that_is_cut_the_next_call_goes_on_by_bytes() -> None:
    page = "# Title\n\nFirst.\n\n" + "é and more words " * 900 + "\n\nLast.\n"
    shown = page_view(page, Allowance(600, 3000))
    assert isinstance(shown.value, dict)
    assert shown.left_out == "the rest of line 5 and lines 6-7 of 7 not shown"
    first = int(str(shown.suggest["bytes"]).rstrip("-"))
    read = page.encode()[:first].decode()
    assert read.endswith(shown.value["lead"])
    assert page.startswith(read)


def test_behind_a_short_line_that_is_cut_the_next_call_repeats_it() -> None:
    shown = page_view("one two three four five six seven eight nine ten. " * 5, Allowance(20, 80))
    assert shown.suggest == {"lines": "1-"}
    assert shown.left_out == "the rest of line 1 of 1 not shown"


def test_of_a_page_that_is_only_looked_at_in_part_all_lines_are_counted() -> None:
    view = PageView(Held(b"first\n\n" + b"word " * 500 + b"\n", 9_000_000), 120_000)
    assert "-120000 of 120000" in view.part(Allowance(60, 240)).left_out


def test_headings_that_do_not_fit_are_counted_with_the_way_to_list_them() -> None:
    shown = page_view("".join(f"## Section {n}\n\ntext\n\n" for n in range(900)), Allowance(900, 4000))
    assert isinstance(shown.value, dict)
    assert shown.value["more_headings"] == f'{900 - len(shown.value["outline"])}: grep="^#"'
