"""Fuzzes the pure rooms with hypothesis, and the whole choke point with random calls; prints counts and what failed.

    python bench/fuzz.py                      10 minutes
    python bench/fuzz.py --seconds 60 --seed 7

No terminal command that it runs does harm, and no address leads beyond loopback. Exit status 1 if anything failed.
"""

import argparse
import collections
import json
import math
import os
import random
import re
import sys
import tempfile
import time
import traceback
from dataclasses import replace
from pathlib import Path

import anyio
from bursar.artifacts import records, spans
from bursar.budget import cut, redact, reply, tokens
from bursar.budget.ceilings import Ceiling
from bursar.budget.clean import clean, utf8
from bursar.budget.cut import Allowance
from bursar.budget.form import dumps, within
from bursar.budget.notable import Watch
from bursar.budget.page import Page, Piece
from bursar.budget.preview import Hint, Known, preview
from bursar.budget.reply import Draft, PageView
from bursar.budget.tree import Branch, Leaf, Total, picture
from bursar.errors import BursarError
from bursar.guard import names
from bursar.server import log
from bursar.server.arguments import checked
from bursar.server.config import Settings
from bursar.server.house import house
from bursar.server.schema import input_schema
from bursar.tools import tools
from bursar.tools.encoding import ToUtf8, detect
from bursar.tools.pdf import Options, render
from bursar.tools.web.charset import decode
from bursar.tools.web.extract import extract
from bursar.tools.web.kinds import kind_of
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "server"))

BATCH = 200
CALLS_AT_A_TIME = 8
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
        "; see more: read_artifact(",
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
    found = preview(Held(data), Known(), Hint(name), allowance)
    assert found.value == {} or within(found.value, allowance)
    if found.complete and isinstance(found.value, str):
        assert found.value.encode() == data
    assert found.complete == (not found.left_out) or found.left_out == ""
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
    blank, count = redact.blanked(data)
    assert len(blank) == len(data)
    assert blank.count(b"\n") == data.count(b"\n")
    assert redact.Redacted(Held(data)).read(offset, length) == blank[offset : offset + length]
    assert (count == 0) == (blank == data)
    visible(clean(redact.discreet(clean(data.decode("utf-8", "replace"))), 10_000))


def fuzz_document(value):
    text = dumps(json.loads(json.dumps(value).encode("utf-8", "replace")) if value is not None else value)
    text = utf8(text)
    json.loads(redact.document(text))
    assert len(redact.document(text)) <= len(text)


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
    draft = Draft(reply.facts(entries), "ses_x/a1", view=PageView(Page(pieces)))
    for one in (draft, replace(draft, parts=[draft] * 5)):
        text = reply.fit(one, ceiling)
        assert len(text.encode()) <= ceiling.bytes
        assert tokens.count(text) <= ceiling.tokens
        told = json.loads(text)
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
            visible(text)
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
        st.sampled_from(tools()),
        st.dictionaries(TEXT | st.sampled_from(["path", "url", "artifact", "lines"]), JSON),
    ),
    fuzz_encoding: (BYTES, st.integers(1, 5000)),
    fuzz_web: (BYTES, TEXT | st.sampled_from(["", "utf-8", "text/html", "utf-16", "idna", "iso-2022-jp"])),
    fuzz_pdf: (TEXT, st.booleans()),
}


class Tally:
    """What was run, and what failed."""

    def __init__(self):
        self.runs = collections.Counter()
        self.ended = collections.Counter()
        self.failures = {}

    def crashed(self, what):
        """Take the place of the log's `crash`: a reply does not tell what an exception says."""
        self.failed(what, sys.exception())

    def failed(self, what, error, given=""):
        frames = traceback.extract_tb(error.__traceback__)
        ours = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames][-3:]
        key = f"{what} {type(error).__name__} {' '.join(ours)}"
        if key not in self.failures:
            self.failures[key] = "".join(traceback.format_exception(error))[-3000:]
            print(f"FAILED {key}\n{given}\n{self.failures[key]}", flush=True)


def fuzz_pure(tally, target, number):
    """Run a batch of examples of one target."""

    @seed(number)
    @settings(
        max_examples=BATCH,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(st.tuples(*TARGETS[target]))
    def run(given):
        tally.runs[target.__name__] += 1
        target(*given)

    try:
        run()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        tally.failed(target.__name__, error)


class Caller:
    """Makes random calls from the schemas, hostile values among them."""

    def __init__(self, chance, dispatcher, folder, site):
        self.chance, self.dispatcher, self.site = chance, dispatcher, site
        self.paths = [entry.name for entry in folder.iterdir()] + [
            f"names/{entry.name}" for entry in (folder / "names").iterdir()
        ]
        self.commands = [
            "true",
            "echo hello",
            "seq 3000",
            "printf '\\x1b[31m\\xff\\0'",
            "cat spoof.json",
            "head -c 50000 /dev/urandom",
            "exit 3",
            "sleep 0.05 &",
        ]
        self.references = ["a1", "a2", "a3", "a9", "a20"]

    def text(self):
        chance = self.chance
        return "".join(
            chance.choice(SNIPPETS) if chance.random() < 0.6 else chr(chance.randrange(0x3000))
            for _ in range(chance.randrange(8))
        )

    def value(self, name, schema):
        chance = self.chance
        if chance.random() < 0.06:
            return chance.choice(
                [None, True, -1, 1e308, math.inf, [], {}, [[]], "", self.text(), 10**400, "x" * 100_000]
            )
        kind = schema.get("type", "string")
        if kind == "boolean":
            return chance.random() < 0.3
        if kind in ("integer", "number"):
            return (
                chance.choice([0, 1, 2, 3, -1, 10, 0.5, 1000, 2**70]) if name != "wait_s" else chance.choice([0, 0.05])
            )
        return self.choice(name)

    def choice(self, name):
        chance = self.chance
        paths = {"url": self.url, "path": lambda: chance.choice([*self.paths, "", ".", self.text()])}
        if name in paths:
            return paths[name]()
        several = {
            "command": [*self.commands],
            "artifact": [*self.references, self.text(), f"ses_{'A' * 22}/a1"],
            "lines": ["1-", "-5", "2-900", "40-41", "9-1", self.text()],
            "bytes": ["0-", "-70", "3-4000", "100-", self.text()],
            "grep": ["a", ".", "ERROR|x", "(", "", "\\x1b", "^", self.text()],
            "cwd": ["", "names", self.text()],
            "content": ["# x\n\n- y", self.text() * 5],
            "mode": ["readable", "raw", "x"],
            "page_size": ["A4", "letter", "1x1mm", self.text()],
            "emoji": ["name", "drop", "box"],
        }
        return chance.choice(several.get(name, [self.text()]))

    def url(self):
        from hostile_site import PATHS

        one = f"http://{self.site}/{self.chance.choice(list(PATHS))}"
        return self.chance.choice(
            [one, [one, "http://[", "file:///etc/passwd"], "javascript:1", "http://127.0.0.1:1/", "\x1b://\u202e"]
        )

    def call(self):
        chance = self.chance
        weights = {
            "read_file": 30,
            "read_artifact": 40,
            "directory_tree": 12,
            "terminal": 10,
            "web_fetch": 2,
            "download_image": 2,
            "write_pdf": 1,
        }
        name = chance.choices(list(weights), list(weights.values()))[0]
        schema = input_schema(self.dispatcher.tools[name].Args)
        wanted = [key for key in schema["properties"] if key in schema.get("required", ()) or chance.random() < 0.3]
        if name == "terminal":
            wanted = ["command", *(key for key in wanted if key in ("cwd", "input", "timeout_s"))]
        if name == "directory_tree" and chance.random() < 0.9:
            return name, {"path": "names", "depth": chance.randrange(4)}
        if name == "read_artifact" and "artifact" not in wanted and chance.random() < 0.9:
            wanted.append("artifact")
        arguments = {key: self.value(key, schema["properties"][key]) for key in wanted}
        if chance.random() < 0.02:
            arguments[self.text()] = self.text()
        if name == "terminal" and not (isinstance(arguments["command"], str) and arguments["command"] in self.commands):
            arguments["command"] = "true"
        return name, arguments


def judge(answer, ceiling):
    """Check what every reply keeps to."""
    text = answer.text
    assert len(text.encode()) <= ceiling.bytes, "too many bytes"
    assert tokens.count(text) <= ceiling.tokens, "too many tokens"
    assert not text.startswith("internal_error"), text
    assert "\n" not in text
    if answer.is_error:
        visible(text)
        assert re.match(r"[a-z_]+: ", text), text
        return
    told = json.loads(text)
    tail = [name for name in ("incomplete", "size", "preview", "parts", "omitted") if name in told]
    assert list(told)[len(told) - len(tail) :] == tail, list(told)
    for part in (told, *told.get("parts", ())):
        visible(dumps({name: value for name, value in part.items() if name not in ("preview", "parts")}))


async def lossless(tally, dispatcher, folder, chance):
    """Read a file page by page through replies, as they say, and compare."""
    text = "".join(
        chance.choice(SNIPPETS) if chance.random() < 0.3 else chr(chance.randrange(32, 0x2000))
        for _ in range(chance.randrange(6000))
    )
    content = utf8(text).encode()
    (folder / "pages.txt").write_bytes(content)
    ceiling = Ceiling(chance.randrange(1500, 8192), chance.randrange(400, 2000), 20)
    client = replace(dispatcher.client("fuzz"), ceiling=ceiling)
    first = json.loads((await dispatcher.answer("read_file", {"path": "pages.txt"}, client)).text)
    stored = await anyio.Path(first["path"]).read_bytes()
    asked, read, seen = {"artifact": first["artifact"], "bytes": "0-"}, b"", 0
    while asked is not None and content:
        answer = await dispatcher.answer("read_artifact", asked, client)
        judge(answer, ceiling)
        told = json.loads(answer.text)
        if told.get("shown_as") or (stored != content):
            return
        read += told["preview"].encode()
        more = re.search(r'bytes=\\?"([^"\\]*)', dumps(told.get("incomplete", "")))
        asked = {"artifact": first["artifact"], "bytes": more[1]} if more else None
        seen += 1
        assert seen < 2000, "no end of pages"
    assert read == content, f"{len(read)} bytes of {len(content)}"
    tally.runs["lossless"] += 1


async def fuzz_calls(tally, until, chance, redacts, share):
    """Make random calls until the time is up."""
    import hostile_files
    import hostile_site

    server, site = hostile_site.serve()
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "workspace"
        folder.mkdir()
        hostile_files.build(folder, deep=60)
        given = Settings(
            root=(folder,),
            data_dir=Path(base) / "data",
            allow_net=(site,),
            ignore_robots=True,
            patience_s=6,
            redact=redacts,
        )
        async with house(given) as dispatcher:
            caller = Caller(chance, dispatcher, folder, site)

            async def one():
                name, arguments = caller.call()
                client = dispatcher.client("fuzz")
                try:
                    answer = await dispatcher.answer(name, arguments, client)
                    judge(answer, client.ceiling)
                    tally.ended[answer.text.partition(":")[0] if answer.is_error else "ok"] += 1
                except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
                    tally.failed(name, error, str(arguments)[:1000])
                tally.runs[name] += 1

            while time.monotonic() < until:
                async with anyio.create_task_group() as group:
                    for _ in range(CALLS_AT_A_TIME):
                        group.start_soon(one)
                if redacts == "off" and chance.random() < share:
                    try:
                        await lossless(tally, dispatcher, folder, chance)
                    except Exception as error:  # noqa: BLE001
                        tally.failed("lossless", error)
    server.shutdown()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="of the pure rooms only what has this in its name, and no calls")
    options = parser.parse_args()
    tally, chance = Tally(), random.Random(options.seed)
    log.mute()
    log.crash = tally.crashed
    began = time.monotonic()
    number = options.seed * 1_000_003
    for round_share in (0.25, 0.5, 0.75, 1.0):  # in turns, so that a short run does some of all
        until = began + options.seconds * (round_share - 0.125)
        while time.monotonic() < until:
            for target in TARGETS:
                if options.only not in target.__name__:
                    continue
                number += 1
                fuzz_pure(tally, target, number)
                if time.monotonic() > until:
                    break
        if options.only:
            continue
        redacts = {0.5: "shown", 1.0: "stored"}.get(round_share, "off")
        anyio.run(fuzz_calls, tally, began + options.seconds * round_share, chance, redacts, 0.05)
    for name, count in sorted(tally.runs.items()):
        print(f"{name:16} {count:>9,}")
    calls = sum(tally.ended.values())
    print(f"{calls:,} calls ended: {', '.join(f'{code} {count:,}' for code, count in tally.ended.most_common())}")
    print(f"{sum(tally.runs.values()):,} runs in {time.monotonic() - began:.0f} s, {len(tally.failures)} crashes")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
