"""Decides what kind of content this is, from its name and its first and last bytes."""

import codecs
import csv
import json
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from .formats import recognise

HEAD_BYTES = 64 << 10
"""As much of the start as a decision needs."""

TAIL_BYTES = 4 << 10
"""As much of the end."""

_BY_SUFFIX: dict[str, tuple[str, str]] = {
    suffix: (kind, detail)
    for kind, detail, suffixes in (
        ("json", "", "json geojson ipynb webmanifest har topojson"),
        ("jsonl", "", "jsonl ndjson"),
        ("csv", ",", "csv"),
        ("csv", "\t", "tsv tab"),
        ("log", "", "log"),
        ("markdown", "", "md markdown mdx mkd"),
        ("source", "python", "py pyi pyw pyx"),
        ("source", "script", "js jsx mjs cjs ts tsx mts cts vue svelte"),
        ("source", "go", "go"),
        ("source", "rust", "rs"),
        ("source", "c", "c h cc cpp cxx hpp hh hxx m mm cu ino"),
        ("source", "java", "java kt kts scala groovy cs swift dart"),
        ("source", "ruby", "rb rake gemspec cr ex exs"),
        ("source", "php", "php"),
        ("source", "shell", "sh bash zsh ksh"),
        ("source", "lua", "lua"),
        ("source", "perl", "pl pm t"),
        ("source", "sql", "sql"),
        ("source", "proto", "proto graphql gql thrift"),
        ("source", "style", "css scss less sass"),
        ("source", "markup", "html htm xhtml xml svg xsd xsl rss plist"),
        ("source", "keys", "yaml yml toml ini cfg conf properties env editorconfig lock"),
        ("source", "blocks", "tf hcl nix"),
        ("source", "tex", "tex adoc"),
        (
            "source",
            "other",
            "hs clj lisp el erl ml fs jl r zig nim v sv vhd asm s f90 pas vb ps1 bat cmake gradle make mk",
        ),
        ("diff", "", "diff patch"),
        ("text", "prose", "txt text rst"),
    )
    for suffix in suffixes.split()
}
_BY_NAME = {"makefile": "other", "dockerfile": "keys", "cmakelists.txt": "other", "gemfile": "ruby", "rakefile": "ruby"}
_SHEBANGS = (
    ("python", "python"),
    ("node", "script"),
    ("ruby", "ruby"),
    ("perl", "perl"),
    ("lua", "lua"),
    ("sh", "shell"),
)

_STAMP = re.compile(
    r"\W{0,3}(?:\d{4}[-/]\d\d[-/]\d\d[T ,]\s?\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d\d:\d\d:\d\d\b"
    r"|(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|[IWEF]\d{4} \d\d:\d\d)\b|\d{10}(?:\.\d+)?\s"
    r"|\S+ \S+ \S+ \[\d\d/[A-Z][a-z]{2}/\d{4}:|\s{0,8}\d+\.\d{3,6}\]\s)"
)
_CODE = {
    family: re.compile(begins)
    for family, begins in (
        ("python", r"(?:from [\w.]+ import |import [\w.]+(?: as \w+)?$|(?:async )?def \w+\(|class \w+[(:])"),
        ("go", r"(?:package \w+$|import \($|func (?:\(|\w+\()|type \w+ (?:struct|interface) \{)"),
        ("rust", r"(?:use [\w:]+(?:::[{*]|;)|(?:pub(?:\(\w+\))? )?(?:fn|impl|struct|enum|mod|trait)\b.*[{;]$|#\[\w+)"),
        (
            "c",
            r"(?:#\s?(?:include [<\"]\w|define \w|ifn?def \w|endif\b)|(?:static|typedef|struct|namespace|template)\b)",
        ),
        ("java", r"(?:package [\w.]+;|import (?:static )?[\w.*]+;|(?:public|abstract|final) .*\bclass\b)"),
        (
            "script",
            r"(?:import .* from [\"']|(?:export |async )*(?:function|const|let|class)\b.*[{(=;>]|\w.* = require\()",
        ),
    )
}
_LISTING = re.compile(
    r"[-bcdlps](?:[-r][-w][-xsStT]){3}|[*|\\/_ ]{0,40}[0-9a-f]{7,12} \S|[│ |`]{0,200}[├└+`][─-]|Only in "
)
"""How lines of `ls -l`, `git log` and `tree` begin: what they name may be called error."""

_COMMIT = re.compile(r"commit [0-9a-f]{40}\b")
_DIFFERENT = re.compile(r"^(?:diff -|--- \S.*\n\+\+\+ \S)", re.MULTILINE)
_CODE_LEAST_LINES = 3
_CODE_ONE_IN = 100
"""Source code begins a definition in one of so many lines, or more often."""

_FIRST_LINES = 60
_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
_NOT_IN_TEXT = bytes(set(range(32)) - {7, 8, 9, 10, 12, 13, 27}) + b"\x7f"


@dataclass(frozen=True, slots=True)
class Kind:
    """What a content is.

    Attributes:
        name: empty, binary, json, jsonl, csv, log, diff, source, markdown, lines or text.
        detail: of a binary its format, of source code its family, of a table its delimiter; else empty or a shade.
        encoding: `utf-8`, or `utf-16-le` and `utf-16-be` for bytes that nobody converted.
    """

    name: str
    detail: str = ""
    encoding: str = "utf-8"


def decide(size: int, head: bytes, tail: bytes, name: str = "", kind: str | None = None) -> Kind:
    """Decide the kind of a content.

    Args:
        size: of the content in bytes.
        head: its first bytes, `HEAD_BYTES` of them or all.
        tail: its last bytes, `TAIL_BYTES` of them or all.
        name: a file name or URL path, or nothing.
        kind: what the caller takes it for; believed unless the bytes are no text.
    """
    if size == 0:
        return Kind("empty")
    if encoding := _utf16(head):
        return Kind("text", encoding=encoding)
    if (form := recognise(head, tail)) or not _is_text(head):
        return Kind("binary", form)
    named = _by_name(name, head)
    if kind is not None and kind != named.name:
        return Kind(kind, _delimiter(kind, head))
    if named.name == "csv":
        return Kind("csv", _delimiter("csv", head) or named.detail)
    if named.name not in {"", "text"}:
        return named
    # A name like `out.txt` says little: such files hold logs, tables and patches too.
    found = _by_content(size, head, tail)
    return named if found.name == named.name else found


def invalid_sequences(text: bytes) -> int:
    """Count the bytes or broken sequences that a decoder would show as U+FFFD; a cut at the end is none."""
    shown = codecs.getincrementaldecoder("utf-8")("replace").decode(text)
    return shown.count("\ufffd") - text.count(b"\xef\xbf\xbd")


def _is_text(head: bytes) -> bool:
    zeros = head.count(0)
    if zeros and 2 * zeros < len(head) and _is_clean(head.replace(b"\0", b"")):
        return True  # items that NUL separates, as of `find -print0`
    if zeros * 100 > len(head) or (zeros and len(head) < 100):
        return False
    odd = len(head) - len(head.translate(None, _NOT_IN_TEXT))
    return 10 * (odd + invalid_sequences(head)) <= len(head)


def _is_clean(text: bytes) -> bool:
    return len(text) == len(text.translate(None, _NOT_IN_TEXT)) and not invalid_sequences(text)


def _utf16(head: bytes) -> str:
    """Recognise UTF-16 by its mark, or by the NUL that Latin text has in every other place."""
    if head[:2] == b"\xff\xfe" and head[2:4] != b"\x00\x00":
        return "utf-16-le"
    if head[:2] == b"\xfe\xff":
        return "utf-16-be"
    sample = head[: len(head) & ~1][:4096]
    if len(sample) < 16:
        return ""
    for encoding, low, high in (("utf-16-le", sample[::2], sample[1::2]), ("utf-16-be", sample[1::2], sample[::2])):
        if (
            10 * high.count(0) > 9 * len(high)
            and not low.count(0)
            and len(low.translate(None, _NOT_IN_TEXT)) == len(low)
        ):
            return encoding
    return ""


def _by_name(name: str, head: bytes) -> Kind:
    path = PurePosixPath(name.replace("\\", "/").lower().partition("?")[0])
    if path.name in _BY_NAME:
        return Kind("source", _BY_NAME[path.name])
    found = _BY_SUFFIX.get(path.suffix[1:])
    if found is None and head.startswith(b"#!"):
        program = head[:200].partition(b"\n")[0].decode("utf-8", "replace")
        found = next((("source", family) for mark, family in _SHEBANGS if mark in program), None)
    return Kind(*found) if found else Kind("")


def _by_content(size: int, head: bytes, tail: bytes) -> Kind:
    text = head.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    lines = text.split("\n")
    if size > len(head):
        lines = lines[:-1]
    full = [line for line in lines if line.strip()]
    if structured := _json(text, full, tail):
        return Kind(structured)
    if text.startswith(("diff --git ", "--- a/", "Index: ")) or _is_commit(text) or _is_difference(full[:_FIRST_LINES]):
        return Kind("diff")
    if family := _code_family(full):
        return Kind("source", family)
    if re.match(r"\s*<(?:!doctype html|html|\?xml|svg)\b", text[:300], re.IGNORECASE):
        return Kind("source", "markup")
    if full and 10 * sum(1 for line in full[:_FIRST_LINES] if _STAMP.match(line)) >= 3 * len(full[:_FIRST_LINES]):
        return Kind("log")
    first = full[:_FIRST_LINES]
    if _COMMIT.match(text) or 2 * sum(1 for line in first if _LISTING.match(line)) > len(first):
        return Kind("lines")
    if delimiter := _sniff(full):
        return Kind("csv", delimiter)
    headings = _HEADING.findall(text)
    if len(headings) >= 2 and any(heading.startswith("##") for heading in headings) and 3 * len(headings) < len(full):
        return Kind("markdown")
    listed = full[:200]
    if len(listed) >= 20 and 10 * sum(1 for line in listed if " " not in line.strip() and len(line) < 300) > 9 * len(
        listed
    ):
        return Kind("lines")
    return Kind("text")


def _code_family(lines: list[str]) -> str:
    """Tell source code that came without its name by the lines that only its language begins so."""
    counts = {family: sum(1 for line in lines if begins.match(line)) for family, begins in _CODE.items()}
    family = max(counts, key=lambda family: counts[family])
    return family if counts[family] >= max(_CODE_LEAST_LINES, len(lines) // _CODE_ONE_IN) else ""


def _is_commit(text: str) -> bool:
    return _COMMIT.match(text) is not None and "\ndiff --git " in text


def _is_difference(lines: list[str]) -> bool:
    """Tell what `diff` prints, whose first lines may be about files that are there but once, or binary."""
    others = [line for line in lines if not line.startswith(("Only in ", "Binary files ", "Files "))]
    return _DIFFERENT.match("\n".join(others[:2])) is not None


def _json(text: str, lines: list[str], tail: bytes) -> str:
    """Tell JSON and JSON lines by how they begin; whether they go on like that shows when they are read."""
    start = text.lstrip()[:1]
    if start not in ("{", "[") or not start:
        return ""
    if len(lines) >= 2 and all(line.lstrip()[:1] == start and _parses(line) for line in lines[:5]):
        return "jsonl"
    behind = text.lstrip()[1:].lstrip()[:1]
    closes = tail.rstrip()[-1:] == (b"}" if start == "{" else b"]")
    if start == "{":
        return "json" if behind == '"' or (behind == "}" and closes) else ""
    return "json" if behind in ("{", "[", '"') or (closes and behind and behind in "-0123456789tfn]") else ""


def _parses(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _delimiter(kind: str, head: bytes) -> str:
    if kind not in ("csv", "tsv"):
        return ""
    lines = head.decode("utf-8", "replace").split("\n")
    counts = {delimiter: lines[0].count(delimiter) for delimiter in ",\t;|"}
    best = max(counts, key=lambda delimiter: counts[delimiter])
    return best if counts[best] else ("\t" if kind == "tsv" else ",")


def _sniff(lines: list[str]) -> str:
    """Return the delimiter if the first lines are rows of a table, else nothing."""
    rows = lines[:40]
    if len(rows) < 3 or rows[0].startswith(("|", " ", "#")) or max(map(len, rows)) > 20_000:
        return ""
    for delimiter, least in (("\t", 2), (",", 3), (";", 3), ("|", 3)):
        if rows[0].count(delimiter) + 1 < least:
            continue
        try:
            widths = [len(row) for row in csv.reader(rows, delimiter=delimiter)]
        except csv.Error:
            continue
        if 10 * widths.count(widths[0]) >= 9 * len(widths) and widths[0] >= least and _is_header(rows[0], delimiter):
            return delimiter
    return ""


def _is_header(row: str, delimiter: str) -> bool:
    cells = [cell.strip().strip('"') for cell in row.split(delimiter)]
    return all(0 < len(cell) <= 60 and cell.count(" ") <= 4 for cell in cells) and not row.rstrip().endswith(
        (".", "{", ";")
    )
