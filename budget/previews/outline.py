"""Outlines: the definitions of source code and the headings of prose, with their line numbers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import zip_longest

from ..cut import Allowance, longest
from ..pattern import BytesPattern, compile_bytes
from .base import fitting

ENTRY_MAX_CHARACTERS = 90

_LINE_MIN_TOKENS = 4
"""An entry is never shorter: its number, a space and a name."""

ENTRIES_MAX = 12_000
"""The search ends after so many."""

_C_TYPE = r"(?:(?:static|inline|extern|const|unsigned|struct|virtual|explicit|constexpr|template ?<[^>\n]*>)[ \t]+)*"
_JVM = (
    r"(?:public|private|protected|internal|static|final|abstract|open|override|sealed|async|virtual|partial|readonly"
    r"|data|inline|suspend|export|external|@\w+)"
)

_DEFINITIONS: dict[str, str] = {
    "python": r"[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+",
    "script": (
        r"[ \t]*(?:export[ \t]+)?(?:default[ \t]+)?(?:declare[ \t]+)?(?:abstract[ \t]+)?(?:async[ \t]+)?"
        r"(?:function\b|class[ \t]+\w|interface[ \t]+\w|enum[ \t]+\w|namespace[ \t]+\w|type[ \t]+\w+[^\n]*=)"
        r"|(?:export[ \t]+)?(?:const|let|var)[ \t]+\w+[^\n=]*=[ \t]*(?:async[ \t]*)?(?:function|\([^\n]*=>|\w+[ \t]*=>)"
        r"|[ \t]{1,4}(?:(?:public|private|protected|static|async|get|set|override)[ \t]+)*[#\w]+"
        r"\([^\n;]*\)[^\n;]*\{[ \t]*$"
    ),
    "go": r"func\b|type[ \t]+\w+",
    "rust": (
        r"[ \t]*(?:pub(?:\([^)\n]*\))?[ \t]+)?(?:(?:async|const|unsafe|default|extern[ \t]+\"[^\"\n]*\")[ \t]+)*"
        r"(?:fn|struct|enum|trait|impl|mod|union|macro_rules!)\b"
    ),
    "c": (
        r"(?:typedef[ \t]+)?(?:class|struct|enum|union|namespace)[ \t]+\w+[^\n;]*$"
        rf"|{_C_TYPE}[A-Za-z_][\w:<>,*& \t]*[ \t*&]~?[A-Za-z_][\w:~]*[ \t]*\([^\n;=]*$"
        r"|@(?:interface|implementation)\b|#define[ \t]+\w+\("
    ),
    "java": (
        rf"[ \t]*(?:{_JVM}[ \t]+)*(?:class|interface|enum|record|object|trait|struct|protocol|extension|fun|func|def)\b"
        rf"|[ \t]+(?:{_JVM}[ \t]+)+[\w<>\[\],.? \t]+\([^\n;]*$"
    ),
    "ruby": r"[ \t]*(?:def|class|module|defmodule|defp|defmacro)[ \t]+[\w.:]+",
    "php": (
        r"[ \t]*(?:(?:abstract|final|public|private|protected|static)[ \t]+)*(?:function|class|interface|trait|enum)\b"
    ),
    "shell": r"(?:function[ \t]+[\w:-]+|[\w:-]+[ \t]*\(\))",
    "lua": r"[ \t]*(?:local[ \t]+)?function\b|[\w.]+[ \t]*=[ \t]*function\b",
    "perl": r"[ \t]*sub[ \t]+\w+|package[ \t]+[\w:]+",
    "sql": (
        r"[ \t]*(?i:create|alter)[ \t]+(?i:or[ \t]+replace[ \t]+)?(?i:unique[ \t]+)?"
        r"(?i:table|view|index|function|procedure|trigger|type)\b"
    ),
    "proto": r"[ \t]*(?:message|service|rpc|enum|struct|type|interface|input|union|extend)[ \t]+\w+",
    "style": r"[^\s@}/*][^\n{]*\{[ \t]*$|@media[^\n{]*",
    "keys": r"\[[^\]\n]+\]| {0,2}[A-Za-z_\"'][\w.\"' -]*:(?:[ \t]|$)|FROM[ \t]",
    "blocks": r"(?:resource|module|variable|data|output|provider|locals|terraform)\b[^\n]*\{",
    "tex": r"[ \t]*\\(?:part|chapter|section|subsection)\b|=+[ \t]+\S",
    "other": (
        r"[ \t]*(?:(?:pub|local|private|public|export|static|async|inline)[ \t]+)*"
        r"(?:def|defn|class|module|function|func|fn|sub|proc|procedure|struct|type|data|instance|let rec|interface)\b"
        r"|[\w.%/-]+[ \t]*:(?:[^=]|$)|\((?:defun|defn|define)\b"
    ),
    "markdown": r"#{1,6}[ \t]+\S|```|~~~",
}
_STATEMENTS = frozenset(b"if for while switch catch return else do with case throw new await".split())
_PATTERNS: dict[str, BytesPattern] = {}
_HEADING = compile_bytes(r"(?s)<(h[1-6]|title)\b[^>]{0,300}>(.{0,400}?)</(?:h[1-6]|title)\b", any_case=True)
_TAG = re.compile(rb"<[^<>]*>")
_CHANGED = compile_bytes(r"^(?:diff --(?:git|cc|combined) |Index: |commit [0-9a-f]{7})[^\n]*", every_line=True)
_CHANGED_PLAIN = compile_bytes(r"^--- [^\n]*\n\+\+\+ [^\n]*", every_line=True)

_FILE_MARK = re.compile(r"^(?:diff --\S+ (?:.* b/)?|Index: |\+\+\+ (?:b/)?)")

_Found = tuple[int, int, str]
"""Where something begins, its depth, and its text."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One definition or heading.

    Attributes:
        line: its number, from 1.
        depth: how far it is indented, or the level of a heading.
        text: the line it begins with, cut.
    """

    line: int
    depth: int
    text: str


def outline(text: bytes, family: str) -> list[Entry]:
    """Find the definitions in source code of a family, all over `text`.

    Of `markdown` and `markup` the headings are found, of a `diff` its files, with the number of lines that each gains
    and loses.
    """
    find = {"diff": _files, "markup": _headings}.get(family)
    entries: list[Entry] = []
    number, counted = 1, 0
    for start, depth, said in find(text) if find is not None else _definitions(text, family):
        number += text.count(b"\n", counted, start)
        counted = start
        short = said if len(said) <= ENTRY_MAX_CHARACTERS else said[: ENTRY_MAX_CHARACTERS - 1] + "…"
        entries.append(Entry(number, depth, short))
        if len(entries) > ENTRIES_MAX:
            break
    return entries


def _definitions(text: bytes, family: str) -> Iterator[_Found]:
    pattern = _PATTERNS.get(family)
    if pattern is None:
        pattern = _PATTERNS[family] = compile_bytes(f"^(?:{_DEFINITIONS[family]})[^\\n]*", every_line=True)
    fenced = False
    for match in pattern.finditer(text):
        raw = match.group()
        if family == "markdown" and raw.startswith((b"```", b"~~~")):
            fenced = not fenced
        elif not fenced and raw.split(None, 1)[0].split(b"(")[0] not in _STATEMENTS:
            line = raw.decode("utf-8", "replace").expandtabs(4)
            bare = line.strip()
            if family == "markdown":
                yield match.start(), len(bare) - len(bare.lstrip("#")), bare
            else:
                yield match.start(), len(line) - len(line.lstrip()), bare.rstrip(" {:=")


def _headings(text: bytes) -> Iterator[_Found]:
    """Find the title and the headings of markup, and write them as Markdown does."""
    for match in _HEADING.finditer(text):
        tag = match.group(1).decode().lower()
        words = " ".join(unescape(_TAG.sub(b" ", match.group(2)).decode("utf-8", "replace")).split())
        level = 1 if tag == "title" else int(tag[1])
        if words:
            yield match.start(), level, f"{'title:' if tag == 'title' else '#' * level} {words}"


def _files(text: bytes) -> Iterator[_Found]:
    """Find the commits and files of a diff, and count the lines that each file gains and loses."""
    starts = list(_CHANGED.finditer(text)) or list(_CHANGED_PLAIN.finditer(text))
    for match, behind in zip_longest(starts, starts[1:]):
        start, end = match.start(), behind.start() if behind is not None else len(text)
        line = match.group().decode("utf-8", "replace").rpartition("\n")[2].strip()
        added = text.count(b"\n+", start, end) - (text.find(b"\n+++ ", start, end) >= 0)
        removed = text.count(b"\n-", start, end) - (text.find(b"\n--- ", start, end) >= 0)
        # A merge's lines are marked in several columns; binary files, renames and modes have no lines.
        counted = (added or removed) and not line.startswith(("commit ", "diff --c"))
        name = _FILE_MARK.sub("", line).partition("\t")[0]
        yield start, 0, f"{name} +{added} -{removed}" if counted else name


def shown(entries: Sequence[Entry], room: Allowance) -> list[str]:
    """Write an outline within `room`, spread over the whole content: the outermost entries, each with its members.

    Entries look like `120 class Store: __init__ 131, open 140, … 12 more`. If even the outermost do not fit, evenly
    spaced ones are shown, and how many are not.
    """
    groups = _groups(entries)
    for members in (40, 24, 12, 8, 6, 5, 4, 3, 2, 1, 0):
        if _LINE_MIN_TOKENS * len(groups) > room.tokens:
            break
        lines = [_group(head, inner, members) for head, inner in groups]
        if len(fitting(lines, room)) == len(lines):
            return lines
    lines = [_group(head, inner, 0) for head, inner in groups]
    count = longest(len(lines) - 1, lambda count: len(fitting(_spaced(lines, count), room)) == count + 1)
    return _spaced(lines, count) if count else []


def _spaced(lines: list[str], count: int) -> list[str]:
    picked = [lines[place * len(lines) // count] for place in range(count)]
    return [*picked, f"… {len(lines) - count:,} more"]


def _groups(entries: Sequence[Entry]) -> list[tuple[Entry, list[Entry]]]:
    """Put deeper entries below the outermost one that precedes them."""
    top = min((entry.depth for entry in entries), default=0)
    if top == 1 and sum(1 for entry in entries if entry.depth == 1) == 1 and entries[0].depth == 1:
        top = 2
    groups: list[tuple[Entry, list[Entry]]] = []
    for entry in entries:
        if entry.depth <= top or not groups:
            groups.append((entry, []))
        else:
            groups[-1][1].append(entry)
    return groups


def _group(head: Entry, inner: list[Entry], members: int) -> str:
    text = f"{head.line} {head.text}"
    if not inner:
        return text
    depth = min(entry.depth for entry in inner)
    inner = [entry for entry in inner if entry.depth == depth]
    if not members:
        return f"{text} (+{len(inner)})"
    named = ", ".join(f"{_name(entry.text)} {entry.line}" for entry in inner[:members])
    return f"{text}: {named}" + (f", … {len(inner) - members} more" if len(inner) > members else "")


def _name(text: str) -> str:
    """Return the name that a definition gives, a key with its value, or the words of a heading."""
    if text.startswith("#"):
        return text.lstrip("# ")[:40]
    before = text.partition("(")[0]
    words = before.split()
    return words[-1][:40] if words and ": " not in before else text[:40]
