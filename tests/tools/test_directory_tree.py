"""A tree is listed to its depth, counted below, stable, and never followed out of its place."""

import ctypes
import itertools
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from bursar.artifacts import Artifact
from bursar.budget.cut import Allowance
from bursar.content import walk as walking
from bursar.content.ignore import Rules
from bursar.errors import BursarError
from bursar.guard.paths import Workspace
from bursar.tools.base import Done
from bursar.tools.directory_tree import DirectoryTree
from tool_place import Place

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX file system")
linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux")

WIDE = Allowance(1600, 7000)


def listing(place: Place, **arguments: object) -> str:
    _, artifact = place.done(DirectoryTree(), **arguments)
    return artifact.read(0, 1 << 24).decode()


def names(text: str) -> list[str]:
    """The paths of a listing, without what follows those of directories."""
    return [line[8:].split("  (")[0] for line in text.splitlines()]


def picture(done: Done) -> str:
    assert done.view is not None
    whole = done.view.whole(WIDE)
    return str(done.view.part(WIDE).value) if whole is None else whole


def fill(place: Place) -> None:
    place.write("README.md", b"x" * 2000)
    place.write("src/main.py", b"x" * 100)
    place.write("src/app/one.py", b"x" * 10)
    place.write("src/app/deep/two.py", b"x" * 20)
    place.write("src/app/deep/deeper/three.py", b"x" * 30)
    place.write(".hidden", b"")


@pytest.mark.parametrize(
    ("depth", "below"),
    [
        (0, []),
        (1, ["src/", ".hidden", "README.md"]),
        (2, ["src/", "app/", "main.py", ".hidden", "README.md"]),
        (3, ["src/", "app/", "deep/", "one.py", "main.py", ".hidden", "README.md"]),
    ],
)
def test_a_directory_is_drawn_with_what_it_holds_only_down_to_the_depth(place: Place, depth: int, below: list[str]):
    fill(place)
    done, _ = place.done(DirectoryTree(), depth=depth)
    assert [line.split()[0] for line in picture(done).splitlines()[1:]] == below


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_all_below_is_in_the_listing_whatever_the_depth(place: Place, depth: int):
    fill(place)
    done, artifact = place.done(DirectoryTree(), depth=depth)
    found = [name.removeprefix("./") for name in names(artifact.read(0, 1 << 16).decode())]
    assert sorted(found[1:]) == sorted(
        str(path.relative_to(place.root)) + "/" * path.is_dir() for path in place.root.rglob("*")
    )
    assert found[1:] == [
        ".hidden", "README.md", "src/", "src/main.py", "src/app/", "src/app/one.py", "src/app/deep/",
        "src/app/deep/two.py", "src/app/deep/deeper/", "src/app/deep/deeper/three.py",
    ]  # fmt: skip
    assert "unlisted" not in done.facts


def test_the_depth_is_one_unless_asked_otherwise(place: Place):
    fill(place)
    assert listing(place) == listing(place, depth=1)


@pytest.mark.parametrize("depth", [-1, 4, 99])
def test_a_depth_out_of_range_is_refused_with_the_range(place: Place, depth: int):
    with pytest.raises(BursarError, match="from 0 to 3"):
        place.call(DirectoryTree(), depth=depth)
    assert place.session.artifacts() == []


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_every_directory_is_counted_to_the_bottom_whatever_the_depth(place: Place, depth: int):
    fill(place)
    text = listing(place, depth=depth)
    assert text.splitlines()[0] == "  2.1K  ./  (6 files, 4 dirs, 2.1K)"
    if depth:
        assert "   160  src/  (4 files, 3 dirs, 160)" in text.splitlines()


def test_a_small_tree_is_shown_whole(place: Place):
    fill(place)
    done, _ = place.done(DirectoryTree(), depth=2)
    assert picture(done) == (
        f"{place.root}/  6 files, 4 dirs, 2.1K\n src/  4 files, 3 dirs, 160\n  app/  3 files, 2 dirs, 60\n"
        "  main.py 100\n .hidden 0\n README.md 2.0K"
    )


def test_one_ignored_entry_is_counted_as_one(place: Place):
    place.write(".gitignore", "*.log\n")
    place.write("a.log")
    done, _ = place.done(DirectoryTree())
    assert done.facts == {"ignored": "1 entry (.gitignore); all=true shows them"}


def test_ignored_entries_are_counted_once_however_often_the_count_is_taken_up_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
):
    place.write(".gitignore", "*.log\n")
    for number in range(6):
        place.write(f"d{number}/a.log")
    met = walking.Walk._count_below
    slow = {"d0/", "d1/"}

    def at_second_go(self: walking.Walk, at: walking.OpenedDirectory, node: walking.Node, until: float) -> None:
        met(self, at, node, until)
        if node.path in slow:
            slow.remove(node.path)
            raise walking._TimeUpError

    monkeypatch.setattr(walking.Walk, "_count_below", at_second_go)
    done, artifact = place.done(DirectoryTree())
    assert str(done.facts["ignored"]).startswith("6 entries")
    assert artifact.read(0, 1 << 16).decode().count("1 ignored below") == 6


def test_listed_paths_can_be_read_as_they_stand(place: Place):
    fill(place)
    for path in ("src", str(place.root / "src"), "src/app/.."):
        shown = names(listing(place, path=path))
        assert shown[:4] == ["src/", "src/main.py", "src/app/", "src/app/one.py"]
        assert all((place.root / name).exists() for name in shown)


def test_the_order_is_the_same_every_time_and_by_code_points(place: Place):
    for name in ("b", "a", "B", "_", "é", "10", "9", "a.b"):
        place.write(name)
    expected = ["./", "10", "9", "B", "_", "a", "a.b", "b", "é"]
    assert names(listing(place)) == expected
    assert listing(place) == listing(place)


def test_a_needle_among_thousands_of_files_is_one_search_away(place: Place):
    for number in range(200):
        (place.root / f"d{number:03d}").mkdir()
        for file in range(10):
            (place.root / f"d{number:03d}" / f"f{file:03d}.txt").touch()
    place.write("d150/needle.txt")
    done, artifact = place.done(DirectoryTree(), depth=2)
    text = picture(done)
    assert "2,001 files, 200 dirs" in text
    assert "d000/" in text
    assert "more dirs" in text
    assert "     0  d150/needle.txt" in artifact.read(0, artifact.size).decode().splitlines()
    assert artifact.lines == 2_202


@posix
def test_links_are_shown_with_their_target_and_not_followed(place: Place):
    fill(place)
    (place.root / "loop").symlink_to(".")
    (place.root / "out").symlink_to("/etc")
    (place.root / "dangling").symlink_to("nowhere")
    text = listing(place, depth=3)
    for line in ("     -  loop -> .", "     -  out -> /etc", "     -  dangling -> nowhere"):
        assert line in text.splitlines()
    assert "passwd" not in text


@linux
def test_names_that_are_not_utf8_and_names_with_line_breaks_take_one_line_and_can_be_read(place: Place):
    (place.root / os.fsdecode(b"caf\xe9.txt")).write_bytes(b"latin")
    (place.root / "two\nlines\u202e.txt").write_bytes(b"strange")
    shown = names(listing(place))
    assert r"caf\xe9.txt" in shown
    assert r"two\x0alines\xe2\x80\xae.txt" in shown
    for name in shown[1:]:
        with _workspace(place).open(name) as file:
            assert file.read(0, 10) in {b"latin", b"strange"}


def _workspace(place: Place):
    return Workspace([place.root])


@posix
def test_special_files_are_named_and_never_opened(place: Place):
    os.mkfifo(place.root / "pipe")
    assert "  fifo  pipe" in listing(place).splitlines()


def test_what_gitignore_hides_is_counted_and_shown_on_request(place: Place):
    fill(place)
    place.write(".gitignore", "*.log\nbuild/\n!keep.log\n/src/app/deep\n")
    place.write("src/app/.gitignore", "one.py\n!here.log\n")
    for name in ("a.log", "keep.log", "src/b.log", "src/app/here.log", "build/x/y"):
        place.write(name, b"123")
    done, artifact = place.done(DirectoryTree(), depth=3)
    shown = names(artifact.read(0, 1 << 20).decode())
    assert shown == [
        "./", ".gitignore", ".hidden", "README.md", "keep.log", "src/", "src/main.py", "src/app/", "src/app/.gitignore",
        "src/app/here.log",
    ]  # fmt: skip
    assert done.facts["ignored"] == "5 entries (.gitignore); all=true shows them"
    assert "2 ignored: a.log, build/" in picture(done)
    everything = names(listing(place, depth=3, all=True))
    assert {"a.log", "build/", "build/x/", "build/x/y", "src/b.log", "src/app/one.py", "src/app/deep/"} <= set(
        everything
    )


def test_ignored_entries_are_not_counted_below_either(place: Place):
    place.write(".gitignore", "junk/\n")
    place.write("a/b/junk/big", b"x" * 5000)
    place.write("a/b/small", b"x" * 5)
    place.write("a/b/.gitignore", "*.tmp")
    place.write("a/b/c/d.tmp", b"x" * 5000)
    assert "    10  a/  (2 files, 2 dirs, 10; 2 ignored below)" in listing(place).splitlines()


def test_the_insides_of_git_are_shown_on_request_only(place: Place):
    place.write(".git/config", b"12345")
    assert names(listing(place, depth=3)) == ["./", ".git/"]
    assert ".git/config" in names(listing(place, depth=3, all=True))


def test_rules_above_the_listed_directory_hold_in_it(place: Place):
    place.write(".gitignore", "*.log\n/src/app/secret\n")
    place.write(".git/info/exclude", "excluded\n")
    for name in ("src/app/a.log", "src/app/secret", "src/app/excluded", "src/app/shown"):
        place.write(name)
    assert names(listing(place, path="src/app")) == ["src/app/", "src/app/shown"]


def test_an_ignored_directory_that_is_asked_for_is_shown(place: Place):
    place.write(".gitignore", "node_modules/\n")
    place.write("node_modules/pkg/index.js")
    assert names(listing(place, path="node_modules/pkg")) == ["node_modules/pkg/", "node_modules/pkg/index.js"]
    assert "node_modules/pkg/" in names(listing(place, path="node_modules"))


def test_what_git_ignores_is_hidden_and_nothing_else(place: Place):
    rules = [
        "*.o",
        "!keep.o",
        "/top",
        "dir/",
        "a/**/z",
        "**/foo/bar",
        "doc/*.txt",
        "\\#x",
        "# c",
        "sp ace",
        "[ab].c",
        "x?y",
        "*~",
        "!/b/dir/",
    ]
    place.write(".gitignore", "\n".join(rules))
    place.write("a/.gitignore", "!*.o\n/n\n")
    hidden = [  # by git 2.39
        "k.o", "top", "dir/f", "a/dir/f", "a/z", "a/b/z", "a/b/c/z", "foo/bar/f", "q/foo/bar",
        "doc/a.txt", "#x", "sp ace", "a.c", "xzy", "e~", "a/n", "é.o",
    ]  # fmt: skip
    shown = ["keep.o", "b/top", "b/dir/f", "doc/s/a.txt", "d.c", "xy", "a/k.o", "a/b/n"]
    for name in (*hidden, *shown):
        place.write(name, b"1")
    seen = {name for name in names(listing(place, depth=3)) if not name.endswith("/")}
    assert seen == {*shown, ".gitignore", "a/.gitignore"}


@pytest.mark.parametrize(
    "rules", [b"\xff\xfe\x00", b"[\n!\n\\\n***/\n", b"(" * 5000, b"*a" * 200 + b"\n" + b"{[(\n" * 100]
)
def test_a_gitignore_that_is_nonsense_does_no_harm(place: Place, rules: bytes):
    place.write(".gitignore", rules)
    place.write("a" * 200 + "b")
    assert "a" * 200 + "b" in names(listing(place))


@posix
def test_a_gitignore_that_is_a_link_out_of_the_workspace_is_not_read(place: Place, tmp_path: Path):
    (tmp_path / "rules").write_text("*.txt\n")
    (place.root / ".gitignore").symlink_to(tmp_path / "rules")
    place.write("a.txt")
    assert "a.txt" in names(listing(place))


@posix
def test_a_directory_that_may_not_be_read_is_listed_and_said():
    with tempfile.TemporaryDirectory() as base:
        root = Path(base) / "w"
        (root / "shut").mkdir(parents=True)
        (root / "shut" / "f").touch()
        (root / "open").mkdir()
        for directory in (Path(base), root, root / "open"):
            directory.chmod(0o755)
        (root / "shut").chmod(0)
        for depth in (1, 2):
            text = _listing_as_nobody(root, depth)
            assert [line for line in text.splitlines() if "shut/" in line and "permission denied" in line], text
            assert "≥" in text.splitlines()[0]
        (root / "shut").chmod(0o755)


def _listing_as_nobody(root: Path, depth: int) -> str:

    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            with Workspace([root]).directory(".") as top:
                node = walking.Node("w", "", (), Rules())
                walk = walking.Walk(top, node, depth=depth, beat=lambda seen: None, list_s=5)
                walk.run()
                os.write(writing, "".join(walk.listing()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        text = answer.read().decode()
    os.waitpid(child, 0)
    return text


def test_the_store_is_not_shown_even_if_it_lies_in_the_root(place: Place):
    place.root = place.base
    place.write("work/f")
    for all_entries in (False, True):
        assert not any("store" in name for name in names(listing(place, depth=3, all=all_entries)))
    with pytest.raises(BursarError, match="not_found"):
        place.call(DirectoryTree(), path="store")


def test_the_own_session_can_be_listed_and_no_other(place: Place):
    place.done(DirectoryTree())
    assert any("tree.txt" in name for name in names(listing(place, path=str(place.session.directory))))
    other = place.store.create("local:2")
    with pytest.raises(BursarError) as refused:
        place.call(DirectoryTree(), path=str(other.directory))
    with pytest.raises(BursarError) as invented:
        place.call(DirectoryTree(), path=str(other.directory.with_name("never")))
    assert str(refused.value).replace(other.directory.name, "never") == str(invented.value)


def test_a_file_is_no_directory_and_a_missing_one_is_told(place: Place):
    place.write("f")
    for path, code in (
        ("f", "not_a_directory"),
        ("nope", "not_found"),
        ("..", "path_outside_roots"),
        ("a\0", "bad_path"),
    ):
        with pytest.raises(BursarError) as refused:
            place.call(DirectoryTree(), path=path)
        assert refused.value.code == code


def test_counting_stops_in_time_and_says_so(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(walking, "COUNT_S", 0.0)
    for number in range(20):
        place.write(f"a/d{number}/e/f", b"x")
    done, artifact = place.done(DirectoryTree())
    text = artifact.read(0, 1 << 20).decode()
    assert names(text) == ["./", "a/"]
    assert "≥" in text.splitlines()[1]
    assert "unfinished" in done.facts


def test_a_big_directory_does_not_keep_small_ones_from_being_counted(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(walking, "COUNT_S", 0.4)
    for number in range(3):
        place.write(f"z{number}/x/f", b"12345")
    place.write("a/d/f")
    enter = walking.OpenedDirectory.enter

    def slow_in_a(self: walking.OpenedDirectory, name: str) -> walking.OpenedDirectory:
        if name == "d":
            time.sleep(0.15)
            for number in range(3):
                (self.path / f"d{number}").mkdir(exist_ok=True)
        return enter(self, name)

    monkeypatch.setattr(walking.OpenedDirectory, "enter", slow_in_a)
    text = listing(place)
    for number in range(3):
        assert f"     5  z{number}/  (1 file, 1 dir, 5)" in text


@linux
def test_a_directory_swapped_for_a_link_during_the_walk_never_shows_what_the_link_leads_to(place: Place):
    place.write("inner/swap/harmless/f")
    outside = place.base / "outside"
    (outside / "secret").mkdir(parents=True)
    (place.base / "trap").symlink_to(outside)
    libc = ctypes.CDLL(None)
    one, two = os.fsencode(place.root / "inner" / "swap"), os.fsencode(place.base / "trap")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            libc.renameat2(-100, one, -100, two, 2)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: set[str] = set()
    try:
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            seen |= set(names(listing(place, depth=3)))
    finally:
        over.set()
        swapper.join()
    assert "inner/swap/harmless/" in seen
    assert not any("secret" in name for name in seen)


@linux
def test_a_very_deep_tree_is_counted_to_a_fixed_level_and_says_so(place: Place):
    here = os.open(place.root, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    text = listing(place)
    assert f"counted {walking.DEEPEST} levels down" in text
    assert "≥" in text
    subprocess.run(["rm", "-rf", str(place.root / "d")], check=True)


@linux
def test_a_walk_leaves_no_descriptor_open(place: Place):
    fill(place)
    place.done(DirectoryTree(), depth=2)
    before = len(os.listdir("/proc/self/fd"))
    for depth in range(4):
        place.done(DirectoryTree(), depth=depth)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_cancelled_walk_ends_its_thread(place: Place, monkeypatch: pytest.MonkeyPatch):
    for number in range(200):
        place.write(f"d{number}/e/f")
    entered: list[str] = []
    enter = walking.OpenedDirectory.enter

    def counted(self: walking.OpenedDirectory, name: str) -> walking.OpenedDirectory:
        entered.append(name)
        time.sleep(0.002)
        return enter(self, name)

    monkeypatch.setattr(walking.OpenedDirectory, "enter", counted)

    async def cancelled() -> int:
        async with anyio.create_task_group() as group:
            group.start_soon(place.calling, DirectoryTree(), place.session, {"depth": 3})
            while len(entered) < 5:  # noqa: ASYNC110 - a thread counts
                await anyio.sleep(0.001)
            group.cancel_scope.cancel()
        return len(entered)

    seen = anyio.run(cancelled)
    assert seen < 100
    time.sleep(0.05)
    assert len(entered) == seen


def test_the_description_and_schema_are_short():
    from bursar.budget import tokens
    from bursar.budget.json_size import dumps
    from bursar.server.schema import described

    assert tokens.count(dumps(described(DirectoryTree()))) <= 200


def test_the_artifact_is_what_the_reply_points_to(place: Place):
    fill(place)
    _, artifact = place.done(DirectoryTree())
    assert isinstance(artifact, Artifact)
    assert artifact.path.endswith("tree.txt")


def walked(place: Place, beat: Callable[[float], None], depth: int = 1) -> walking.Walk:
    """A walk that has run."""
    with Workspace([place.root]).directory(".") as top:
        walk = walking.Walk(top, walking.Node("w", "", (), Rules()), depth=depth, beat=beat, list_s=5)
        walk.run()
    return walk


def test_what_is_counted_twice_is_not_hidden_twice(place: Place, monkeypatch: pytest.MonkeyPatch):
    place.write(".gitignore", "*.o\n")
    for number in range(40):
        place.write(f"d{number % 4}/e/f{number}.o")
        place.write(f"d{number % 4}/e/f{number}.c")
    place.write("top.o")
    count, counted = walking.Walk._count, set[str]()

    def unfinished_at_first(self: walking.Walk, node: walking.Node, until: float) -> bool:
        is_done = count(self, node, until)
        if node.path in counted:
            return is_done
        counted.add(node.path)
        return False

    monkeypatch.setattr(walking.Walk, "_count", unfinished_at_first)
    walk = walked(place, lambda seen: None)
    assert len(counted) == 4
    assert walk.ignored == 41


def test_a_directory_of_many_entries_is_met_a_few_at_a_time(place: Place):
    place.write(".gitignore", "*.o\n")
    for number in range(2000):
        place.write(f"flat/{number}.c")
    beats: list[float] = []
    walked(place, beats.append, depth=0)
    assert all(later - before <= 256 for before, later in itertools.pairwise(beats))
    assert beats[-1] > 2000 - 256

    def cancelled(seen: float) -> None:
        if seen > 500:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        walked(place, cancelled)


def test_counting_stops_in_the_middle_of_a_directory(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(walking, "COUNT_S", 0.0)
    for number in range(1000):
        place.write(f"flat/{number}.c")
    done, artifact = place.done(DirectoryTree())
    assert "unfinished" in done.facts
    assert artifact.read(0, 1 << 20).decode().splitlines()[1].startswith("     0  flat/  (≥25")


def test_a_listing_that_would_be_too_long_stops_and_says_so(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(walking, "LISTED_MAX", 100)
    for number in range(200):
        place.write(f"{number}.c")
    done, artifact = place.done(DirectoryTree())
    text = artifact.read(0, 1 << 20).decode()
    assert "not all listed: too much" in text.splitlines()[0]
    assert len(text.splitlines()) == 101
    assert "unfinished" in done.facts


def test_below_the_depth_too_it_stops_and_says_what_to_do(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(walking, "LISTED_MAX", 100)
    for number in range(200):
        place.write(f"d/{number}.c")
    done, artifact = place.done(DirectoryTree())
    assert done.facts == {"unlisted": "102 entries; give a path below to have them listed"}
    text = artifact.read(0, 1 << 20).decode().splitlines()
    assert text[1] == "     0  d/  (200 files, 0)"
    assert len(text) == 100


@pytest.mark.parametrize("rule", ["[z-a]", "a" * 200_000, "*a" * 50_000, "[a-z]" * 50_000, "(" * 5000, "\\", "!"])
def test_a_rule_that_cannot_be_understood_does_not_touch_the_others(place: Place, rule: str):
    place.write(".gitignore", f"{rule}\n*.log\n")
    place.write("a.log", "x")
    place.write("b.txt", "x")
    assert names(listing(place, depth=1)) == ["./", ".gitignore", "b.txt"]


def test_of_too_many_rules_the_first_count(place: Place):
    place.write(".gitignore", "*.log\n" + "".join(f"a{n}\n" for n in range(40_000)))
    place.write("a.log", "x")
    assert names(listing(place, depth=1)) == ["./", ".gitignore"]
