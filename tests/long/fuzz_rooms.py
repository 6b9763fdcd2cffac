"""What is fuzzed of the pure rooms: for each a function that takes anything and checks what must hold."""

import json
import os
import re
from dataclasses import replace

from bursar.artifacts import records, spans
from bursar.budget import cut, redact, reply, tokens
from bursar.budget.ceilings import Ceiling
from bursar.budget.clean import clean, utf8
from bursar.budget.cut import Allowance
from bursar.budget.json_size import dumps, within
from bursar.budget.notable import Watch
from bursar.budget.page import Page, Piece
from bursar.budget.previews.preview import CaptureFacts, ContentView, Hint
from bursar.budget.previews.tree import Branch, Leaf, Total, picture
from bursar.budget.reply import Draft, Reply
from bursar.content.charset import decode
from bursar.content.encoding import ToUtf8, detect
from bursar.content.kinds import kind_of
from bursar.content.page.extract import extract
from bursar.errors import BursarError
from bursar.guard import names
from bursar.pdf import Options, render
from bursar.server.arguments import checked
from bursar.server.config import Settings
from bursar.server.schema import input_schema
from bursar.tools import tools
from hypothesis import strategies as st

HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u206f\U000e0000-\U000e007f\ud800-\udfff]"
)

SNIPPETS = [
    *(
        "\x1b]52;c;AAAA\x07",
        "\u202e",
        "\ud800",
        "\udfff",
        "\0",
        "\r\n",
        "\u2028",
        "\ufeff",
        "e\u0301",
        "\U0001f468\u200d\U0001f469",
    ),
    *('{"a":', "[", "]}", '"', "\\", ",", "1e999", "NaN", "ERROR: failed", "Traceback (most recent call last):"),
    *(
        '","incomplete":"',
        "</preview>",
        "not shown; read_artifact(",
        "2026-11-21T10:00:00 INFO ",
        "a,b,c\n",
        "x" * 700,
    ),
    *(
        "<div>",
        "<p a=",
        "&#x110000;",
        "<table>",
        "<!--",
        "<script>",
        "]]>",
        "<?xml ",
        "> ",
        "- ",
        "| a |\n|-|\n",
        "```\n",
        "#",
        "![](",
        "](",
        "$$",
    ),
    *(
        "AKIA" + "IOSFODNN7EXAMPLE",
        "ghp_" + "a1B2" * 9,
        "-----BEGIN RSA PRIVATE " + "KEY-----\n",
        "://u:p@",
        "eyJ",
        "def f(",
        "class A:",
        "\t",
    ),
]
TEXT = st.lists(st.sampled_from(SNIPPETS) | st.text(st.characters(), max_size=40), max_size=40).map("".join)
HEADS = [
    b"",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\x89PNG\r\n\x1a\n",
    b"%PDF-1.7\n",
    b"PK\3\4",
    b"\x1f\x8b",
    b"\x7fELF",
    b"GIF89a",
]
BYTES = st.one_of(
    TEXT.map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.tuples(st.sampled_from(HEADS), st.binary(max_size=600)).map(b"".join),
    st.tuples(TEXT, st.integers(1, 400)).map(lambda pair: (pair[0].encode("utf-8", "replace") * pair[1])[:200_000]),
    TEXT.map(lambda text: text.encode("utf-16", "surrogatepass")),
)
ALLOWANCE = st.builds(Allowance, st.integers(0, 3000), st.integers(0, 9000))
NAME = st.sampled_from(
    ["", "a.json", "a.jsonl", "a.csv", "a.tsv", "a.py", "a.md", "a.log", "a.html", "a.bin", "a.xml", "a.diff"]
)
JSON = st.recursive(
    TEXT | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=12,
)


class Held:
    """Bytes in memory as a content."""

    def __init__(self, data):
        self.data, self.size = data, len(data)

    def read(self, offset, length):
        return self.data[offset : offset + length]


def visible(text):
    assert not HIDDEN.search(text)
    text.encode()


def fuzz_preview(data, name, allowance):
    found = ContentView(Held(data), CaptureFacts(), Hint(name)).part(allowance)
    assert found.value == {} or within(found.value, allowance)
    if found.suggest:
        reply.next_call("ses_x/a1", found.suggest)


def fuzz_cut(text, allowance):
    head, tail = cut.head(text, allowance), cut.tail(text, allowance)
    assert text.startswith(head)
    assert text.endswith(tail)
    for part in (head, tail):
        assert not part or cut.fits(part, allowance)


def fuzz_clean(text, limit):
    line = clean(text, limit)
    visible(line)
    assert len(line) <= limit
    assert clean(line, limit) == line
    utf8(text).encode()
    visible(names.rewritten(text))


def fuzz_names(data):
    name = os.fsdecode(data)
    shown = names.written(name)
    visible(shown)
    assert name in names.readings(shown)


def fuzz_redact(data, offset, length):
    blank = redact.blanked(data)
    assert len(blank) == len(data)
    assert blank.count(b"\n") == data.count(b"\n")
    assert redact.Redacted(Held(data)).read(offset, length) == blank[offset : offset + length]
    assert (next(redact.secrets(data), None) is None) == (blank == data)
    visible(clean(redact.discreet(clean(data.decode("utf-8", "replace"))), 10_000))


def fuzz_document(value):
    text = dumps(json.loads(json.dumps(value).encode("utf-8", "replace")) if value is not None else value)
    text = utf8(text)
    assert len(dumps(redact.document(json.loads(text)))) <= len(text)


def fuzz_tokens(text):
    count = tokens.count(text)
    assert 0 <= count <= len(utf8(text).encode())
    assert tokens.fits(text, count)
    assert not count or not tokens.fits(text, count - 1)


def fuzz_fit(entries, data, allowance):
    ceiling = Ceiling(max(allowance.bytes, 1024), max(allowance.tokens, 256))
    pieces = [
        Piece(line.decode("utf-8", "surrogateescape"), {"lines": f"{n}-"}, n)
        for n, line in enumerate(data.splitlines(True))
    ]
    draft = Draft(reply.facts(entries), "ses_x/a1", view=Page(pieces))
    for one in (draft, replace(draft, parts=[draft] * 5)):
        text = reply.fit(one, ceiling).text
        assert len(text.encode()) <= ceiling.bytes
        assert tokens.count(text) <= ceiling.tokens
        told = Reply.parse(text).value
        assert [name for name in told if name in ("incomplete", "size", "preview")] == [
            name for name in ("incomplete", "size", "preview") if name in told
        ] or set(entries) & {"incomplete", "size", "preview"}
    visible(reply.error_line(*[*map(str, entries), "a", "b", "c"][:3], ceiling))


def fuzz_tree(shape, allowance):
    def grown(value, name="top"):
        if not isinstance(value, dict):
            return Branch(clean(name, 200), Total())
        branches = [grown(inner, key) for key, inner in value.items() if isinstance(inner, dict)]
        leaves = [Leaf(clean(key, 200), clean(key, 200)) for key, inner in value.items() if not isinstance(inner, dict)]
        return Branch(clean(name, 200), Total(), branches, leaves, len(leaves), leaves[-1].name if leaves else "")

    assert cut.fits(picture(grown(shape), allowance), allowance) or allowance.tokens < 30 or allowance.bytes < 120


def fuzz_notable(data, step):
    whole, pieces = Watch(), Watch()
    whole.feed(data, 1)
    line = 1
    for at in range(0, len(data), step):
        pieces.feed(data[at : at + step], line)
        line += data.count(b"\n", at, at + step)
    for found in (whole.result(), pieces.result()):
        for number, text in found.lines:
            visible(text.replace("\n", " "))
            assert 1 <= number <= data.count(b"\n") + 1


def fuzz_records(data, value):
    records.loads("a1", data)
    records.loads("a1", json.dumps(value).encode())
    if isinstance(value, dict):
        records.loads("a1", json.dumps({"id": "a1", "content": "a1-x", "state": "whole", "size": 1, **value}).encode())


def fuzz_spans(text):
    for unit in ("lines", "bytes"):
        try:
            span = spans.parse(text, unit)
        except BursarError:
            continue
        assert span.first is not None or span.last is not None


def fuzz_arguments(tool, given):
    refused = None
    try:
        checked(tool, given)
    except BursarError as error:
        refused = error
    if refused is not None:
        visible(clean(refused.message, 2000))
        assert len(refused.message) < 1000
        assert refused.fix[0].isupper()
        assert not refused.fix.endswith(".")
    input_schema(tool.Args)


def fuzz_encoding(data, step):
    held = Held(data)
    found = detect(held)
    converter = ToUtf8(found)
    out = b"".join(converter.feed(data[at : at + step]) for at in range(0, len(data), step)) + converter.feed(
        b"", last=True
    )
    if found.codec is not None:
        out.decode()
    else:
        assert out == data


def fuzz_web(data, charset):
    decode(data, charset).text.encode()
    kind_of(charset, f"http://x/{charset}", data)
    if len(data) < 20_000:
        page = extract(data, "http://example.com/", charset)
        page.markdown.encode("utf-8", "replace")


def fuzz_pdf(text, plain):
    import io

    made = io.BytesIO()
    render(text[:3000], Options(plain=plain), made)
    assert made.getvalue().startswith(b"%PDF")


TARGETS = {
    fuzz_preview: (BYTES, NAME, ALLOWANCE),
    fuzz_cut: (TEXT, ALLOWANCE),
    fuzz_clean: (TEXT, st.integers(0, 500)),
    fuzz_names: (st.binary(max_size=200).filter(lambda data: b"\0" not in data),),
    fuzz_redact: (BYTES, st.integers(0, 3000), st.integers(0, 70_000)),
    fuzz_document: (JSON,),
    fuzz_tokens: (TEXT,),
    fuzz_fit: (st.dictionaries(TEXT, JSON, max_size=6), BYTES, ALLOWANCE),
    fuzz_tree: (st.recursive(st.just(0), lambda inner: st.dictionaries(TEXT, inner, max_size=6)), ALLOWANCE),
    fuzz_notable: (BYTES, st.integers(1, 5000)),
    fuzz_records: (BYTES, JSON),
    fuzz_spans: (TEXT | st.from_regex(r"-?\d*-?\d*"),),
    fuzz_arguments: (
        st.sampled_from(tools(Settings.copy_bytes)),
        st.dictionaries(TEXT | st.sampled_from(["path", "url", "artifact", "lines"]), JSON),
    ),
    fuzz_encoding: (BYTES, st.integers(1, 5000)),
    fuzz_web: (BYTES, TEXT | st.sampled_from(["", "utf-8", "text/html", "utf-16", "idna", "iso-2022-jp"])),
    fuzz_pdf: (TEXT, st.booleans()),
}
