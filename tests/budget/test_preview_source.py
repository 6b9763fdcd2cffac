import argparse
from pathlib import Path

import pytest
from bursar.budget import tokens
from bursar.budget.cut import Allowance
from bursar.budget.kinds import decide
from bursar.budget.previews.definitions import definitions, plain
from held import parts, seen, serialised, within
from hypothesis import given
from hypothesis import strategies as st


def lines_of(source: str, name: str) -> list[tuple[int, str]]:
    kind = decide(len(source), source.encode(), source.encode(), name)
    family = {"source": kind.detail, "text": "prose"}.get(kind.name, kind.name)
    return [(entry.line, entry.text) for entry in definitions(source.encode(), family)]


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("a.py", "import x\n\nclass A(B):\n    async def f(self):\n        pass\n",
         ["class A(B)", "async def f(self)"]),
        ("a.ts", "export class A {\n  run(x) {\n  }\n}\nexport const f = async (x) => {\n}\ninterface I {\n}\n",
         ["export class A", "run(x)", "export const f = async (x) =>", "interface I"]),
        ("a.go", "package x\n\nfunc (s *T) Run() error {\n}\ntype T struct {\n}\n",
         ["func (s *T) Run() error", "type T struct"]),
        ("a.rs", "pub struct S;\nimpl S {\n    pub fn f() {}\n}\nlet x = 1;\n",
         ["pub struct S;", "impl S", "pub fn f() {}"]),
        ("a.c", "#include <x.h>\nstruct s {\n};\nstatic int run(int x)\n{\n    if (x)\n        return f(x);\n}\n",
         ["struct s", "static int run(int x)"]),
        ("A.java", "public class A {\n    private int run(int x) {\n        return f(x);\n    }\n}\n",
         ["public class A", "private int run(int x)"]),
        ("a.sh", "#!/bin/sh\nrun() {\n  x\n}\n", ["run()"]),
        ("a.sql", "CREATE TABLE users (\n id int);\ncreate index i on users(id);\n",
         ["CREATE TABLE users (", "create index i on users(id);"]),
        ("a.yml", "on:\n  push: 1\njobs:\n  a:\n    b: 2\n", ["on", "push: 1", "jobs", "a", "b: 2"]),
        ("a.html", ("<head><title>A &amp; B</title><script>\n</script><body><table><td>1</table>\n<nav><h1\nid='x'>\n"
         " One <b>two</b>\n</h1></nav><h2></h2>\n<p>x<h3 class='y'>Three</h3><H2>Four</H2>\n"),
         ["# One two", "### Three", "## Four"]),
        ("a.html", "<title>A &amp; B</title><dl><dt class='x' id='os.open'>os.open(path)</dt>\n",
         ["title: A & B", "os.open"]),
        ("a.md", "# One\ntext\n```\n# no\n```\n## [Two](a_(b)) ##\n\nThree\n---\n\ntwo\nlines\n---\n",
         ["# One", "## Two", "## Three"]),
        ("a.md", "~~~\n# no\n~~~\n**f(*a*)[¶](x)**\n`g(b)`\n## A [link](http://a.b/(c)), [![two](p.png)](http://a) #\n",
         ["f(a)", "g(b)", "## A link, two"]),
        ("a.js", "app.use = function use(fn) {\n};\nC.prototype.run = async function () {\n};\nexports.f = (a) => 1;\n",
         ["app.use(fn)", "C.prototype.run = async function ()", "exports.f = (a) => 1;"]),
        ("a.css", "/* LINKS */\na {\n}\n", ["/* LINKS */", "a"]),
        ("a.toml", "[project]\nname = 'x'\n", ["[project]", "name = 'x'"]),
        ("Cargo.lock", "[[package]]\nname = \"serde\"\nversion = \"1\"\n", ["name = \"serde\"", "version = \"1\""]),
        ("a.rst", "=====\nGuide\n=====\n\n``Two``\n-------\n\nThree\n=====\n", ["# Guide", "## Two", "# Three"]),
        ("debian.txt", "bash (5.2-1) unstable; urgency=medium\n\n  * x\n", ["bash (5.2-1) unstable"]),
    ],
)  # fmt: skip
def test_definitions_are_found_in_each_family(name: str, source: str, expected: list[str]) -> None:
    assert [text for _, text in lines_of(source, name)] == expected


def test_line_numbers_of_an_outline_are_those_of_the_file() -> None:
    source = Path(argparse.__file__).read_text()
    lines = source.splitlines()
    found = lines_of(source, "argparse.py")
    assert len(found) > 100
    assert all(lines[number - 1].strip().startswith(text.rstrip("…")) for number, text in found)


def test_the_outline_of_a_large_file_reaches_its_end() -> None:
    source = "".join(f"class C{i}:\n    def run(self):\n        pass\n\n" + "x = 1\n" * 20 for i in range(500))
    value = parts(source, "big.py")
    shown = [line for line in value["outline"] if "class" in line]
    assert shown[0].startswith("1 class C0")
    assert int(shown[-1].split()[0]) > 0.9 * source.count("\n")
    assert value["outline"][-1].endswith("more")


def test_members_are_named_with_their_lines_where_there_is_room() -> None:
    source = (
        "class Store:\n    def open(self):\n        pass\n\n    def close(self):\n        pass\n" + "x = 1\n" * 4000
    )
    assert parts(source, "store.py")["outline"] == ["1 class Store: open 2, close 5"]


def test_the_keys_below_a_key_are_named() -> None:
    services = "".join(f"  svc{i}:\n    image: acme/{i}\n" + "    # words\n" * 90 for i in range(9))
    value = parts(f'version: "3"\nservices:\n{services}volumes:\n  data: 1\n', "compose.yml")
    assert value["outline"][1].startswith("2 services: svc0 3, svc1 95, svc2 187")
    assert value["outline"][2].endswith(" volumes: data: 1 832")


def test_the_start_of_source_is_shown_too_and_which_lines_are_not() -> None:
    source = "import os\n" + "def f():\n    pass\n" * 3000
    found = seen(source, "a.py")
    assert isinstance(found.value, dict)
    shown = found.value["head"].count("\n")
    assert source.splitlines(keepends=True)[:shown] == found.value["head"].splitlines(keepends=True)
    assert found.left_out == f"lines {shown + 1}-6001 of 6001 not shown"


def test_every_definition_is_named_before_any_is_written_out() -> None:
    names = [f"name_{i}" for i in range(40)]
    source = "".join(f"def {name}(one_argument, another_argument, a_third_one):\n    pass\n\n" for name in names)
    outline = parts(source * 3, "big.py", Allowance(600, 3000))["outline"]
    assert len(outline) < 40
    source = source.replace("pass", "pass\n    # words" * 30)
    outline = parts(source, "big.py", Allowance(700, 3000))["outline"]
    assert [entry.split()[-1] for entry in outline] == names


def test_an_outline_that_cannot_name_all_leaves_the_room_unused() -> None:
    source = "".join(f"def function_number_{i}():\n    pass\n\n" for i in range(900))
    assert tokens.count(serialised(parts(source, "big.py"))) < 450


def test_of_markup_the_headings_are_shown_and_not_how_it_begins() -> None:
    page = "<!DOCTYPE html><html><head><meta charset='utf-8'></head><h1>One</h1><h2>Two</h2>" + "<p>words</p>" * 900
    assert parts(page, "page.html") == {"outline": ["1 # One", "1 ## Two"]}


def test_how_a_document_begins_is_shown_without_colours() -> None:
    page = "# One\n\n\x1b[31mred\x1b[0m words\n\n## Two\n\n" + "words and more words\n" * 900
    assert parts(page, "page.md")["head"].startswith("# One\n\nred words\n")


def test_minified_code_is_called_so_and_hardly_shown() -> None:
    value = parts("/* licence */\n" + "function(a){return a};var b=1;" * 3000, "a.min.js")
    assert value["note"] == "minified: 2 lines"
    assert len(value["head"]) < 300


def test_headings_of_a_long_document_are_listed_with_their_lines() -> None:
    text = "# Guide\n\n" + "".join(f"## Part {i}\n\nSome words.\n\n" for i in range(1, 500))
    value = parts(text, "guide.md")
    assert value["outline"][0].startswith("1 # Guide")
    assert any(line.startswith("7 ## Part 2") for line in value["outline"]) or value["outline"][-1].endswith("more")


def test_the_only_title_of_a_document_is_not_the_whole_outline() -> None:
    text = "# Guide\n\n" + "".join(f"## Part {i}\n\n### Detail\n\n{'Some words. ' * 90}\n\n" for i in range(1, 20))
    outline = parts(text, "guide.md")["outline"]
    assert outline[:2] == ["1 # Guide", "3 ## Part 1: Detail 5"]
    assert len(outline) == 20


@pytest.mark.parametrize(
    ("pages", "told"), [(3, "1, 2, … begin at lines 1, 4, 7"), (100, "1, 4, 7, … begin at lines 1, 10,")]
)
def test_of_a_document_of_pages_it_is_told_where_they_begin(pages: int, told: str) -> None:
    text = "".join(f"## Page {number}\n\n{'Some words. ' * 300}\n" for number in range(1, pages + 1))
    assert parts(text, "a.md")["outline"].startswith(f"pages {told}")


def test_marks_and_addresses_are_taken_out_of_headings() -> None:
    assert plain("[The **`x`** API](https://e.org/a_(b)) ![logo](l.png) \\*") == "The x API logo *"


def test_within_a_long_line_the_rest_of_it_is_what_is_left_out() -> None:
    page = "# Title\n\nFirst.\n\n" + "é and more words " * 900 + "\n\n## Last\n"
    found = seen(page, "page.md", Allowance(600, 3000))
    assert isinstance(found.value, dict)
    assert page.startswith(found.value["head"])
    assert found.left_out == "the rest of lines 5-7 of 7 not shown"


_LINES = ["# a", "## b c", "", "word " * 30, "漢字" * 40, "```", "- x", "#", "\\", "**b**", "c\n==="]


@given(st.lists(st.sampled_from(_LINES), max_size=60), st.integers(0, 700), st.integers(0, 3000))
def test_an_outline_is_never_larger_than_allowed(lines: list[str], most_tokens: int, most_bytes: int) -> None:
    allowance = Allowance(most_tokens, most_bytes)
    found = seen("\n".join(lines) * 9, "page.md", allowance)
    assert found.value in ({}, "") or within(found.value, allowance)


def test_the_files_of_a_patch_are_listed() -> None:
    patch = "".join(f"diff --git a/f{i} b/f{i}\n--- a/f{i}\n+++ b/f{i}\n@@ -1 +1 @@\n" + "+x\n" * 90 for i in range(9))
    value = parts(patch)
    assert value["outline"] == [f"{94 * i + 1} f{i} +90 -0" for i in range(9)]


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ("commit 0123456789\n\n    words\n\ndiff --git a/x b/y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n+c\n",
         ["commit 0123456789", "y +2 -1"]),
        ("diff --git a/x b/x\nBinary files differ\ndiff --cc z\n--- a/z\n+++ b/z\n+c\n", ["x", "z"]),
        ("--- a/x\t2026\n+++ b/x\t2026\n@@ -1 +1 @@\n-a\n+b\n--- y\n+++ y\n@@ -1 +1 @@\n+b\n", ["x +1 -1", "y +1 -0"]),
        ("Index: x y\n=====\n--- x y\n+++ x y\n@@ -1 +1 @@\n-a\n", ["x y +0 -1"]),
    ],
)  # fmt: skip
def test_the_files_of_a_patch_tell_how_many_lines_they_gain_and_lose(patch: str, expected: list[str]) -> None:
    assert [text for _, text in lines_of(patch, "a.patch")] == expected
