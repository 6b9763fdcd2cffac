"""Nothing overlaps, leaves its margins or makes the work fail, whatever the document asks for."""

from itertools import pairwise

import pytest
from bursar.errors import BursarError
from bursar.pdf import page_size
from bursar.pdf.tables import parts_of
from rendered import rendered

pytestmark = pytest.mark.needs("pdftotext")

PROSE = "The quick brown fox jumps over the lazy dog, and then it does so again for good measure. "
WIDE = "|" + "|".join(f"c{i}" for i in range(40)) + "|\n|" + "---|" * 40 + "\n|" + "|".join(["value"] * 40) + "|\n"
DOCUMENTS = {
    "prose": PROSE * 200,
    "one endless word": "abcdefghij" * 3000,
    "wide characters": "快速的棕色狐狸，跳过了懒狗。" * 300,
    "right to left": "السلام عليكم (ورحمة) الله 123 English وبركاته، " * 60,
    "a wide table": WIDE,
    "a table of long words": "|a|b|c|\n|-|-|-|\n|" + "|".join(["x" * 200] * 3) + "|\n",
    "a row longer than a page": "|a|b|\n|-|-|\n|x|" + PROSE * 120 + "|\n",
    "a header longer than a page": "|a|" + PROSE * 120 + "|\n|-|-|\n|x|y|\n",
    "deep lists": "\n".join("  " * i + f"- item {i} {PROSE}" for i in range(28)),
    "deep quotes": ">" * 40 + " " + PROSE,
    "long code": "```\n" + "\n".join(["x = 1  # " + "y" * 300] * 200) + "\n```",
    "headings only": "\n\n".join(f"{'#' * (i % 6 + 1)} Heading {i}" for i in range(150)),
    "everything unclosed": "**bold *italic `code [link](http://x.y ![img](z <b> ~~s | a\n" * 50,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_word_leaves_the_margins(name):
    made = rendered(DOCUMENTS[name], page_numbers=False, toc=True)
    words = made.words
    assert words
    for page, left, top, right, bottom, word in words:
        assert left >= 62 - 2, (page, word)
        assert right <= 595.28 - 62 + 2, (page, word)
        assert top >= 62 - 6, (page, word)
        assert bottom <= 841.89 - 62 + 6, (page, word)


@pytest.mark.parametrize("name", ["prose", "right to left", "a wide table", "deep lists", "headings only"])
def test_no_line_runs_into_another(name):
    words = rendered(DOCUMENTS[name], page_numbers=False).words
    for (page, left, top, right, bottom, word), (page2, left2, top2, right2, bottom2, word2) in pairwise(words):
        across = min(right, right2) - max(left, left2)
        down = min(bottom, bottom2) - max(top, top2)
        overlap = page == page2 and across > 1 and down > 0.35 * min(bottom - top, bottom2 - top2)
        assert not overlap, (page, word, word2)


def test_a_table_repeats_its_header_on_every_page():
    rows = "\n".join(f"| row {i} | {i} |" for i in range(150))
    made = rendered(f"| Name | Amount |\n|---|--:|\n{rows}\n")
    assert made.report.pages > 2
    assert all("Name" in page and "Amount" in page for page in made.pages)


def test_columns_are_aligned_as_asked():
    made = rendered("| left | middle | right |\n|:--|:-:|--:|\n| a | b | c |\n| aaaaaa | bbbbbbbb | cccccc |\n")
    place = {word: (left, right) for _, left, _, right, _, word in made.words}
    assert place["a"][0] == pytest.approx(place["aaaaaa"][0], abs=0.5)
    assert place["c"][1] == pytest.approx(place["cccccc"][1], abs=0.5)
    assert sum(place["b"]) == pytest.approx(sum(place["bbbbbbbb"]), abs=1)


def test_a_row_with_too_many_bars_loses_no_text():
    made = rendered("| a | b |\n|---|---|\n| 1 | `x | y` |\n| 2 | three | four |\n| 5 | `\\|` | six |\n")
    text = " ".join(made.text().split())
    assert "x | y" in text
    assert "three | four" in text
    assert "six" in text
    assert made.report.notes == ("Joined in the last column: the cells that 2 table rows had too many.",)


def test_lists_in_quotations_begin_with_the_first_bullet():
    assert "• one" in " ".join(rendered("> - one\n>   - two").text().split())
    assert "◦ two" in " ".join(rendered("> - one\n>   - two").text().split())


def test_a_wide_table_comes_in_parts_that_share_the_first_column():
    made = rendered(WIDE)
    text = made.text()
    assert all(f"c{i}" in text for i in range(40))
    assert text.count("c0\n") == text.count("Columns ")
    assert "40 columns" in made.report.notes[0]


def test_code_keeps_its_characters_and_marks_what_was_wrapped():
    line = "call(" + ", ".join(f"argument_{i}" for i in range(30)) + ")"
    made = rendered(f"```\n{line}\n    indented\n```")
    assert line.replace(" ", "") in "".join(made.text().split())
    assert all(f"argument_{i}" in made.text() for i in range(30))


def test_a_heading_stays_with_what_follows():
    for lines in range(30, 50):
        made = rendered("x\n\n" * lines + "## Kept\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", page_numbers=False)
        pages = [page for page, *_, word in made.words if word in ("Kept", "a", "2")]
        assert len(set(pages)) == 1, lines


def test_a_page_break_is_obeyed_outside_code():
    made = rendered("one\n\n\\pagebreak\n\ntwo\n\n<!-- pagebreak -->\n\nthree\n\n```\n\\pagebreak\n```\n")
    assert made.report.pages == 3
    assert "\\pagebreak" in made.pages[2]


def test_plain_text_is_taken_as_it_is():
    made = rendered("# no heading\n* no list\n\n<b>\n\fnext page", plain=True)
    assert "# no heading" in made.pages[0]
    assert "* no list" in made.pages[0]
    assert "next page" in made.pages[1]


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("A4", (595.28, 841.89)),
        ("a4 landscape", (841.89, 595.28)),
        ("Letter", (612, 792)),
        ("100x200mm", (283.46, 566.93)),
        ("8.5 x 11 in", (612, 792)),
    ],
)
def test_page_sizes_are_understood(name, points):
    assert page_size(name) == pytest.approx(points, abs=0.1)


@pytest.mark.parametrize("name", ["", "A99", "1x1mm", "99999x99999mm", "A4 sideways"])
def test_a_bad_page_size_is_refused_with_the_good_ones(name):
    with pytest.raises(BursarError, match=r"bad_page_size.*A4"):
        page_size(name)


def test_text_nested_beyond_reason_is_shown_plain_rather_than_lost():
    made = rendered(">" * 400 + " deep text")
    assert "deep text" in made.text()
    assert "nested" in made.report.notes[0]


@pytest.mark.parametrize("mark", ["> ", "- "])
def test_what_lies_deep_is_shown_less_deep_and_keeps_its_text(mark):
    made = rendered("\n".join(f"{(mark if mark == '> ' else '  ') * i}{mark}level{i}\n" for i in range(40)))
    assert all(f"level{i}" in made.text() for i in range(40))
    assert made.report.notes == ()


def test_hardly_any_room_is_room_enough():
    made = rendered(PROSE * 3, page_pt=(200, 200), margin_pt=80, page_numbers=False)
    assert "".join(made.text().split()) == "".join((PROSE * 3).split())


def test_all_parts_of_a_table_have_letters_of_one_size():
    heads = [f"column{i}" for i in range(14)] + ["incomprehensibilities"] * 14
    rows = [heads, ["x"] * 28]
    parts, note = parts_of([[[cell] for cell in row] for row in rows], [""] * 28, 460, 10.5)
    assert len(parts) > 1
    assert note
    assert len({part[2] for part in parts}) == 1
