import gzip
import io
import json
import sqlite3
import zipfile
from contextlib import closing

import pytest
from bursar.budget.kinds import HEAD_BYTES, TAIL_BYTES, decide, invalid_sequences


def kind_of(content: bytes, name: str = "", kind: str | None = None) -> tuple[str, str]:
    found = decide(len(content), content[:HEAD_BYTES], content[-TAIL_BYTES:], name, kind)
    return found.name, found.detail


def zipped(*names: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, "x" * 50)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(60), "ELF executable"),
        (b"\x89PNG\r\n\x1a\n" + bytes(30), "PNG image"),
        (b"\xff\xd8\xff\xe0" + bytes(30), "JPEG image"),
        (b"GIF89a" + bytes(30), "GIF image"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "WebP image"),
        (b"%PDF-1.7\n%text follows\n", "PDF document"),
        (zipped("a.txt"), "ZIP archive"),
        (zipped("[Content_Types].xml", "word/document.xml"), "Word document (docx)"),
        (zipped("[Content_Types].xml", "xl/workbook.xml"), "Excel workbook (xlsx)"),
        (zipped("META-INF/MANIFEST.MF", "A.class"), "Java archive (jar)"),
        (gzip.compress(b"hello", mtime=0), "gzip"),
        (b"\xfd7zXZ\x00" + bytes(20), "xz"),
        (b"\x28\xb5\x2f\xfd" + bytes(20), "zstd"),
        (b"\x00asm\x01\x00\x00\x00", "WebAssembly module"),
        (b"\x00\x00\x00\x18ftypisom" + bytes(20), "MP4 video or audio"),
        (b"OggS" + bytes(20), "Ogg audio or video"),
        (b"PAR1" + bytes(20), "Parquet table"),
        (bytes(range(256)) * 4, ""),
    ],
)
def test_a_binary_is_known_by_its_first_bytes(content: bytes, form: str) -> None:
    assert kind_of(content) == ("binary", form)


def test_a_database_is_known_by_its_first_bytes() -> None:
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("create table users (id int)")
        content = base.serialize()
    assert kind_of(content) == ("binary", "SQLite database")


def test_bytes_tell_more_than_a_name() -> None:
    assert kind_of(b"\x89PNG\r\n\x1a\n" + bytes(40), "notes.txt")[0] == "binary"
    assert kind_of(b"", "data.json")[0] == "empty"


@pytest.mark.parametrize(
    ("name", "kind", "detail"),
    [
        ("a/b/main.py", "source", "python"),
        ("app.tsx", "source", "script"),
        ("lib.rs", "source", "rust"),
        ("Makefile", "source", "other"),
        ("README.md", "markdown", ""),
        ("server.log", "log", ""),
        ("https://example.com/data.json?x=1", "json", ""),
        ("book.txt", "text", "prose"),
        ("fix.patch", "diff", ""),
    ],
)
def test_a_text_is_known_by_its_name(name: str, kind: str, detail: str) -> None:
    assert kind_of(b"some words\nand more\n", name) == (kind, detail)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("diff --git a/x b/x\n--- a/x\n+++ b/x\n", "diff"),
        ("2026-11-20T10:00:01Z INFO up\n2026-11-20T10:00:02Z INFO down\n", "log"),
        ('{"a":1}\n{"a":2}\n{"a":3}\n', "jsonl"),
    ],
)
def test_a_name_that_only_says_text_is_no_reason_not_to_look(content: str, kind: str) -> None:
    assert kind_of(content.encode(), "out.txt")[0] == kind


def test_a_tool_that_knows_the_kind_is_believed() -> None:
    assert kind_of(b"some words\n", kind="markdown") == ("markdown", "")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ('{"a":1,"b":[1,2]}', ("json", "")),
        (json.dumps([{"a": 1}] * 9, indent=2), ("json", "")),
        ('{"a":1}\n{"a":2}\n{"a":3}\n', ("jsonl", "")),
        ("id,name,total\n1,ann,3\n2,bob,4\n3,cid,5\n", ("csv", ",")),
        ("id\tname\n1\tann\n2\tbob\n", ("csv", "\t")),
        ('a;b;c\n1;"x;y";3\n4;5;6\n', ("csv", ";")),
        ("2026-11-20T10:00:01Z INFO up\n2026-11-20T10:00:02Z INFO down\n", ("log", "")),
        ("Nov 20 10:00:01 host sshd[1]: ok\n" * 5, ("log", "")),
        ('10.0.0.1 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200\n' * 5, ("log", "")),
        ("[INFO] building\n[INFO] done\n", ("log", "")),
        ("#!/usr/bin/env python3\nprint(1)\n", ("source", "python")),
        ("#!/bin/bash\necho 1\n", ("source", "shell")),
        ("diff --git a/x b/x\n--- a/x\n+++ b/x\n", ("diff", "")),
        ("<!DOCTYPE html>\n<html><body>hi</body></html>", ("source", "markup")),
        ("# Title\n\nWords here.\nMore words.\nAnd more.\n\n## Part\n\nWords.\nWords.\nWords.\n", ("markdown", "")),
        ("".join(f"./src/file_{i}.py\n" for i in range(40)), ("lines", "")),
        (
            "total 8\n" + "-rw-r--r-- 1 me me 12 Nov  5 2025 error.py\ndrwxr-xr-x 2 me me 40 Nov  5 2025 failed\n",
            ("lines", ""),
        ),
        ("0123abc Mend an error\n1234bcd Failed calls\n", ("lines", "")),
        (f"commit {'0a' * 20}\nAuthor: me\n\n    Mend the fatal error\n", ("lines", "")),
        ("npm warn x\napp@1\n├─┬ a@1\n│ └── error@2\n├── b@1\n└── c@1\n", ("lines", "")),
        ("Binary files a/x and b/x differ\ndiff -r -u a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-error\n", ("diff", "")),
        ("Dear reader, this is prose.\nIt has, as prose does, commas.\n", ("text", "")),
        ("[x] not json\n[y] at all\n", ("text", "")),
        ("caf\xe9 au lait ".encode("latin-1").decode("latin-1"), ("text", "")),
    ],
)
def test_a_text_without_a_name_is_known_by_its_content(content: str, kind: tuple[str, str]) -> None:
    assert kind_of(content.encode()) == kind


def test_a_few_invalid_bytes_do_not_make_a_text_binary() -> None:
    content = b"caf\xe9 and a lot of other words that are fine\n" * 50
    assert kind_of(content)[0] == "text"
    assert invalid_sequences(content) == 50


def test_a_genuine_replacement_character_is_not_invalid() -> None:
    assert invalid_sequences("a \ufffd b".encode()) == 0


def test_a_character_cut_by_the_end_of_the_sample_is_not_invalid() -> None:
    assert invalid_sequences("中文".encode()[:-1]) == 0


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_recognised_with_and_without_its_mark(encoding: str) -> None:
    content = "plain words, line by line\r\n".encode(encoding) * 1
    found = decide(len(content), content, content)
    assert found.name == "text"
    assert found.encoding == ("utf-16-be" if encoding == "utf-16-be" else "utf-16-le")


@pytest.mark.parametrize(
    ("code", "family"),
    [
        ("import os\nfrom sys import path\n\n\ndef main():\n    raise ValueError('fatal error')\n", "python"),
        ('package main\n\nimport (\n\t"fmt"\n)\n\nfunc main() {\n\tpanic("error")\n}\n', "go"),
        ("use std::fs;\n\npub fn run() {\n}\n\nimpl Display for Error {\n}\n", "rust"),
        ("#include <stdio.h>\n#define FAILED 1\n\nstatic int fail(void) {\n}\n", "c"),
        ("package a.b;\n\nimport java.util.List;\n\npublic class Failed {\n}\n", "java"),
        ('import x from "y";\nconst z = 1;\n\nexport function fail() {\n}\n', "script"),
    ],
)
def test_source_code_is_known_without_its_name(code: str, family: str) -> None:
    assert kind_of(code.encode()) == ("source", family)


def test_a_log_that_shows_code_stays_a_log() -> None:
    failure = (
        b'E   ValueError: no\n    def test_it():\n>       import os\nFile "x.py", line 3, in run\n    from x import y\n'
    )
    assert kind_of(b"2026-01-01 12:00:00 INFO fine\n" * 50 + failure * 10)[0] == "log"
    assert kind_of(failure * 10)[0] == "text"
