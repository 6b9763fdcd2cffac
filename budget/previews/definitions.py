"""Finds the definitions of source code, the headings of prose and the files of a patch, with their line numbers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from itertools import zip_longest

from ..pattern import BytesPattern, compile_bytes

ENTRY_MAX_CHARACTERS = 90

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
        r"|[A-Za-z_$][\w.$]*\.[\w$]+[ \t]*=[ \t]*(?:async[ \t]+)?(?:function\b|class\b|\([^\n]*=>)"
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
    "style": r"[^\s@}/*][^\n{]*\{[ \t]*$|@media[^\n{]*|/\*[^\n*]+\*/[ \t]*$",
    "keys": (
        r"\[\[[^\]\n]+\]\]\nname[ \t]*=|\[[^\]\n]+\]|[A-Za-z_][\w.-]*[ \t]*=|FROM[ \t]"
        r"| {0,4}[A-Za-z_\"'][\w.\"' -]*:(?:[ \t]|$)|[^\s#-][^\n#]*:[ \t]*$"
    ),
    "blocks": r"(?:resource|module|variable|data|output|provider|locals|terraform)\b[^\n]*\{",
    "tex": r"[ \t]*\\(?:part|chapter|section|subsection)\b|=+[ \t]+\S",
    "other": (
        r"[ \t]*(?:(?:pub|local|private|public|export|static|async|inline)[ \t]+)*"
        r"(?:def|defn|class|module|function|func|fn|sub|proc|procedure|struct|type|data|instance|let rec|interface)\b"
        r"|[\w.%/-]+[ \t]*:(?:[^=]|$)|\((?:defun|defn|define)\b"
    ),
}
_SECTIONED = {"keys": "[", "style": "/*"}
"""How a line begins that stands above all others of the family until the next one."""

_STATEMENTS = frozenset(b"if for while switch catch return else do with case throw new await".split())
_PATTERNS: dict[str, BytesPattern] = {}
_MARKED = compile_bytes(
    r"^(?:#{1,6}[ \t]+\S[^\n]*| {0,3}(?:\x60\x60\x60|~~~)[^\n]*"
    r"|(?:\*\*[^\n]+\*\*|\x60[^\x60\n]+\x60)[ \t]*$|\S[^\n]*\r?\n(?:={3,}|-{3,})[ \t\r]*$)",
    every_line=True,
)
"""A heading of Markdown, with signs before it or a rule below it, or a fence, or a line that is all bold or code: such
are signatures."""

_UNDERLINED = compile_bytes(
    r"^(?:[a-z0-9][a-z0-9+.-]+ \([^()\s]+\) [^\n]*; *urgency=[^\n]*"
    r"|\S[^\n]*\r?\n(?:={3,}|-{3,}|~{3,}|\x60{3,}|\^{3,}|\*{3,}|\+{3,}|\"{3,})[ \t\r]*$)",
    every_line=True,
)
"""A heading of reStructuredText and its like, or an entry of a Debian changelog."""

_HEADING = compile_bytes(
    r"(?s)<(h[1-6]|title)\b[^>]{0,300}>(.{0,400}?)</(?:h[1-6]|title)\b|<dt\b[^>]{0,200}\bid=[\"']?([^\"'\s>]{1,200})",
    any_case=True,
)
_TERM_LEVEL = 3
"""Of what a page defines: below its chapters."""

_H1 = compile_bytes(r"<h1\b", any_case=True)
_TAG = re.compile(rb"<[^<>]*>")
_CHANGED = compile_bytes(r"^(?:diff --(?:git|cc|combined) |Index: |commit [0-9a-f]{7})[^\n]*", every_line=True)
_CHANGED_PLAIN = compile_bytes(r"^--- [^\n]*\n\+\+\+ [^\n]*", every_line=True)

_WORD = re.compile(rb"\w")
_TITLE_READ_BYTES = 1000
"""Of a longer heading the rest is not even looked at."""

_BRACKET = re.compile(r"\\.|!?\[|\](?:\(<?[^()\s<>]*+(?:\([^()\s]*+\)[^()\s<>]*+)*+>?\))?")
"""What is escaped, what begins a link or a picture, what ends it with its address. No sign is looked at again and
again, however many brackets a stranger opens."""

_MARK = re.compile(r"[\[\]\\*`]")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~&])")
_EMPHASIS = re.compile(r"(?<!\\)(?:\*\*|(?<!\w)\*|\*(?!\w)|`)")

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


def definitions(text: bytes, family: str) -> list[Entry]:
    """Find the definitions in source code of a family, all over `text`.

    Of `markdown`, `prose` and `markup` the headings are found, of a `diff` its files, with the number of lines that
    each gains and loses.
    """
    find = {"diff": _files, "markup": _headings, "markdown": _marked, "prose": _underlined}.get(family)
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
    for match in pattern.finditer(text):
        raw = match.group()
        if raw.split(None, 1)[0].split(b"(")[0] not in _STATEMENTS:
            line = raw.decode("utf-8", "replace").expandtabs(4)
            bare = line.strip()
            depth = len(line) - len(line.lstrip())
            if family in _SECTIONED:
                depth += not bare.startswith(_SECTIONED[family])
            yield match.start(), depth, bare.partition("\n")[2] or _assigned(bare.rstrip(" {:="))


def _assigned(text: str) -> str:
    """Write `app.use = function use(fn)` as `app.use(fn)`."""
    name, _, function = text.partition(" = function")
    return name + function[max(0, function.find("(")) :] if function else text


def _marked(text: bytes) -> Iterator[_Found]:
    """Find the headings of Markdown; what stands in a fence is none."""
    fence = b""
    for match in _MARKED.finditer(text):
        raw = match.group().strip()
        if raw[:3] in (b"```", b"~~~"):
            mark = raw[: len(raw) - len(raw.lstrip(raw[:1]))]
            fence = b"" if fence and mark.startswith(fence) else fence or mark
        elif not fence and raw.startswith(b"#"):
            words = raw.lstrip(b"#")
            if shown := _title(words.rstrip().rstrip(b"#")):
                level = len(raw) - len(words)
                yield match.start(), level, f"{'#' * level} {shown}"
        elif not fence and raw[-1:] in (b"*", b"`"):
            if shown := _title(raw):
                yield match.start(), _TERM_LEVEL, shown
        elif not fence and (shown := _ruled(text, match.start(), raw)):
            level = 1 if raw.endswith(b"=") else 2
            yield match.start(), level, f"{'#' * level} {shown}"


def _underlined(text: bytes) -> Iterator[_Found]:
    """Find the headings of prose; each sign of a rule stands for a level, in the order in which they first occur."""
    rules: list[bytes] = []
    for match in _UNDERLINED.finditer(text):
        raw = match.group().strip()
        if b"\n" not in raw:
            yield match.start(), 1, raw.partition(b";")[0].decode("utf-8", "replace")
        elif shown := _ruled(text, match.start(), raw):
            rules += [] if raw[-1:] in rules else [raw[-1:]]
            level = rules.index(raw[-1:]) + 1
            yield match.start(), level, f"{'#' * level} {shown}"


def _ruled(text: bytes, start: int, raw: bytes) -> str:
    """Return the words above a rule; none if they go on from a line before."""
    before = text[text.rfind(b"\n", 0, max(0, start - 1)) + 1 : start]
    return "" if _WORD.search(before) else _title(raw.partition(b"\n")[0])


def _title(words: bytes) -> str:
    shown = plain(words[:_TITLE_READ_BYTES].decode("utf-8", "replace")).rstrip(" ¶")
    return shown if any(map(str.isalnum, shown)) else ""


def _headings(text: bytes) -> Iterator[_Found]:
    """Find the headings of markup, the names it defines, and its title if it has no h1; written as in Markdown."""
    has_h1 = _H1.search(text) is not None
    for match in _HEADING.finditer(text):
        tag = (match.group(1) or b"").decode().lower()
        raw = match.group(2) if tag else match.group(3)
        words = " ".join(unescape(_TAG.sub(b" ", raw).decode("utf-8", "replace")).rstrip(" ¶#").split())
        if not words or (tag == "title" and has_h1):
            continue
        level = 1 if tag == "title" else int(tag[1]) if tag else _TERM_LEVEL
        yield match.start(), level, f"{'title:' if tag == 'title' else '#' * level} {words}" if tag else words


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


def plain(markdown: str) -> str:
    """Take the addresses and marks out of a line of Markdown."""
    if _MARK.search(markdown) is None:
        return markdown.strip()
    parts: list[str] = []
    opened: list[int] = []
    at = 0
    for bracket in _BRACKET.finditer(markdown):
        sign = bracket.group()
        parts.append(markdown[at : bracket.start()])
        at = bracket.end()
        if sign.endswith("[") and not sign.startswith("\\"):
            opened.append(len(parts))
        elif sign.startswith("]") and opened:
            place = opened.pop()
            if len(sign) > 1:
                parts[place] = sign = ""
        parts.append(sign)
    text = "".join(parts) + markdown[at:]
    return _ESCAPE.sub(r"\1", _EMPHASIS.sub("", text)).strip()
