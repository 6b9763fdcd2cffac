import argparse
from pathlib import Path

import pytest
from bursar.budget.kinds import decide
from bursar.budget.previews.outline import outline
from held import parts


def lines_of(source: str, name: str) -> list[tuple[int, str]]:
    kind = decide(len(source), source.encode(), source.encode(), name)
    family = kind.detail if kind.name == "source" else kind.name
    return [(entry.line, entry.text) for entry in outline(source.encode(), family)]


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
        ("a.yml", "on:\n  push: 1\njobs:\n  a:\n    b: 2\n", ["on", "push: 1", "jobs", "a"]),
        ("a.html", ("<head><title>A &amp; B</title><script>\n</script><body><table><td>1</table>\n<nav><h1\nid='x'>\n"
         " One <b>two</b>\n</h1></nav><h2></h2>\n<p>x<h3 class='y'>Three</h3><H2>Four</H2>\n"),
         ["title: A & B", "# One two", "### Three", "## Four"]),
        ("a.md", "# One\ntext\n```\n# no\n```\n## Two\n", ["# One", "## Two"]),
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


def test_head_and_tail_of_source_are_shown_too() -> None:
    source = "import os\n" + "def f():\n    pass\n" * 3000 + "main()\n"
    value = parts(source, "a.py")
    assert value["head"].startswith("import os\n")
    assert value["tail"].endswith("main()\n")


def test_headings_of_a_long_document_are_listed_with_their_lines() -> None:
    text = "# Guide\n\n" + "".join(f"## Part {i}\n\nSome words.\n\n" for i in range(1, 500))
    value = parts(text, "guide.md")
    assert value["outline"][0].startswith("1 # Guide")
    assert any(line.startswith("7 ## Part 2") for line in value["outline"]) or value["outline"][-1].endswith("more")


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
