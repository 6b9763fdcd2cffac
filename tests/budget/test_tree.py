"""The picture of a tree fits any allowance and leaves nothing out without saying so."""

import re

from bursar.budget import cut
from bursar.budget.cut import Allowance
from bursar.budget.previews.tree import Branch, Leaf, Total, TreeView, picture, size, suffix
from bursar.guard.names import written
from hypothesis import given
from hypothesis import strategies as st


def branch(name: str, files: list[str], branches: list[Branch] | None = None) -> Branch:
    inside = branches or []
    kinds: dict[str, int] = {}
    for file in files:
        kinds[suffix(file)] = kinds.get(suffix(file), 0) + 1
    total = Total(
        len(files) + sum(each.total.files for each in inside),
        sum(1 + each.total.directories for each in inside),
        10 * len(files) + sum(each.total.bytes for each in inside),
    )
    leaves = [Leaf(file, f"{file} 10") for file in files]
    return Branch(name, total, inside, leaves, len(files), files[-1] if files else "", kinds)


WIDE = Allowance(1600, 7000)
FLAT = branch("/data", [f"f{number:05d}.{'py' if number % 3 else 'txt'}" for number in range(60_000)])
names = st.text(st.characters(blacklist_characters="/"), min_size=1, max_size=20).map(lambda name: "n" + written(name))


def trees(depth: int) -> st.SearchStrategy[Branch]:
    below = st.lists(trees(depth - 1), max_size=4) if depth else st.just([])
    return st.builds(branch, names, st.lists(names, max_size=30), below)


@given(trees(2), st.integers(0, 400), st.integers(0, 2000))
def test_a_picture_is_within_any_allowance(tree: Branch, tokens: int, size_bytes: int):
    allowance = Allowance(tokens, size_bytes)
    drawn = picture(tree, allowance)
    assert cut.fits(drawn, allowance) or drawn == ""


@given(trees(2), st.integers(60, 600))
def test_the_entries_shown_and_the_ones_counted_as_left_out_are_all_there_are(tree: Branch, tokens: int):
    drawn = picture(tree, Allowance(tokens, 8000))
    lines = drawn.split("\n")[1:]
    if len(lines) == 0:
        return
    top = [line for line in lines if not line.startswith("  ")]
    hidden = sum(int(found) for line in top for found in re.findall(r"^ … (\d+) more (?:dir|file)", line))
    shown = sum(1 for line in top if not line.startswith(" … "))
    assert shown + hidden == len(tree.branches) + tree.leaves_in_all


def test_a_small_tree_is_drawn_whole():
    tree = branch("/w", ["README.md"], [branch("src", ["a.py", "b.py"])])
    assert TreeView(tree, 5).whole(WIDE) == (
        "/w/  3 files, 1 dir, 30\n src/  2 files, 20\n  a.py 10\n  b.py 10\n README.md 10"
    )


def test_sixty_thousand_files_in_one_directory_are_summed_up_by_kind():
    shown = TreeView(FLAT, 60_001).part(WIDE)
    text = str(shown.value)
    assert TreeView(FLAT, 60_001).whole(WIDE) is None
    assert "60,000 files" in text
    assert re.search(r"… 59,9\d\d more files, last f59999\.py: 39,9\d\d \.py, 19,9\d\d \.txt", text)
    assert shown.left_out == f"{60_001 - text.count(chr(10)):,} of 60,001 entries not shown"
    assert shown.suggest == {"lines": f"{text.count(chr(10)) + 1}-"}


def test_a_picture_of_a_big_tree_takes_at_most_a_thousand_tokens():
    packages = [branch(f"package{number:03d}", [f"module{m}.py" for m in range(100)]) for number in range(200)]
    shown = TreeView(branch("/w", [], packages), 20_201).part(Allowance(100_000, 1_000_000))
    assert cut.fits(str(shown.value), Allowance(1000, 8192))


def test_near_entries_come_before_far_ones():
    deep = branch("/w", ["z.txt"], [branch(chr(65 + n) * 2, [f"file{m}" for m in range(50)]) for n in range(40)])
    drawn = picture(deep, Allowance(500, 8000))
    assert all(f" {chr(65 + n) * 2}/" in drawn for n in range(40))
    assert " z.txt 10" in drawn


def test_every_directory_gets_a_share_before_one_gets_all():
    tree = branch("/w", [], [branch("a", [f"f{m}" for m in range(150)]), branch("b", ["only.md"])])
    assert "only.md" in picture(tree, Allowance(200, 8000))


def test_with_no_room_at_all_nothing_is_shown():
    shown = TreeView(FLAT, 60_001).part(Allowance(0, 0))
    assert shown.value == ""
    assert shown.left_out


def test_figures_that_are_not_whole_are_marked():
    tree = Branch("/w", Total(5, 1, 10, at_least=True), note="permission denied")
    assert picture(tree, WIDE) == "/w/  ≥5 files, 1 dir, 10; permission denied"


def test_sizes_are_written_in_at_most_five_characters():
    assert [size(n) for n in (0, 812, 1023, 1024, 1234, 10_188, 10_240, 999_999, 1 << 20, 3 << 30)] == [
        "0", "812", "1023", "1.0K", "1.2K", "9.9K", "10K", "977K", "1.0M", "3.0G",
    ]  # fmt: skip


@given(st.integers(0, 1 << 70))
def test_a_size_is_short_whatever_it_is(count: int):
    assert len(size(count)) <= 5 or count >= 1 << 63


def alike(number: int, files: int = 300) -> Branch:
    below = branch("src", [f"file{n}.py" for n in range(files - 2)])
    return branch(f"pkg{number:03d}", ["README.md", "setup.py"], [below])


PACKAGES = branch("/w", [], [alike(number, 301 if number == 111 else 300) for number in range(200)])


def test_directories_alike_are_drawn_as_one_and_the_odd_one_is_seen():
    shown = TreeView(PACKAGES, 60_402).part(WIDE)
    lines = str(shown.value).split("\n")
    assert " pkg000/  300 files, 1 dir, 2.9K" in lines
    assert " … 198 more dirs alike, pkg001/ to pkg199/: 300 files, 1 dir, 2.9K each" in lines
    assert " pkg111/  301 files, 1 dir, 2.9K" in lines
    assert "  src/  298 files, 2.9K" in lines
    assert "   file0.py 10" in lines


def test_directories_of_one_shape_with_names_of_their_own_are_all_named():
    tree = branch(
        "/w", [], [branch(name, [f"f{n}" for n in range(500)]) for name in ("api", "auth", "core", "db", "ui")]
    )
    drawn = picture(tree, Allowance(300, 8000))
    assert all(f" {name}/  500 files" in drawn for name in ("api", "auth", "core", "db", "ui"))


def test_a_directory_of_unusual_size_is_not_taken_for_one_of_its_neighbours():
    heavy = Branch("d7", Total(3, 0, 10_000_000))
    many = [Branch(f"d{number}", Total(3, 0, 900 + number)) for number in range(10, 900)]
    drawn = picture(branch("/w", [], [heavy, *many]), Allowance(300, 8000))
    assert " d7/  3 files, 9.5M" in drawn
    assert " … 889 more dirs alike, d11/ to d899/: 3 files, 1.3K each on average" in drawn


def test_what_fits_whole_is_not_folded():
    drawn = TreeView(branch("/w", [], [branch(f"d{n}", []) for n in range(9)]), 10).whole(WIDE)
    assert drawn is not None
    assert drawn.count("\n") == 9


def listed(tree: Branch) -> list[str]:
    """The entries as the listing has them."""
    found = [tree.name, *(leaf.name for leaf in tree.leaves)]
    return found + [name for below in tree.branches for name in listed(below)]


@given(st.sampled_from([PACKAGES, FLAT]) | trees(2), st.integers(30, 600))
def test_the_next_call_begins_at_the_first_entry_that_is_not_shown(tree: Branch, tokens: int):
    entries = listed(tree)
    shown = TreeView(tree, len(entries)).part(Allowance(tokens, 8000))
    first = int(str(shown.suggest["lines"]).rstrip("-"))
    lines = [line for line in str(shown.value).split("\n") if not line.lstrip().startswith("… ")]
    hidden = int(shown.left_out.split(" ")[0].replace(",", ""))
    assert hidden == len(entries) - len(lines) or len(lines) == 1
    drawn = [re.split(r"/  | 10$", line.strip())[0] for line in lines]
    if hidden and len(set(entries)) == len(entries) and len(lines) > 1:
        assert entries[first - 1] not in drawn
        assert set(entries[1 : first - 1]) <= set(drawn)
