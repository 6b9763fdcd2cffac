"""Fuzzes the pure rooms with hypothesis, and the whole choke point with random calls; prints counts and what failed.

    python tests/long/fuzz.py                      10 minutes
    python tests/long/fuzz.py --seconds 60 --seed 7

No terminal command that it runs does harm, and no address leads beyond loopback. Exit status 1 if anything failed.
"""

import argparse
import collections
import math
import random
import re
import sys
import tempfile
import time
import traceback
from dataclasses import replace
from pathlib import Path

import anyio
from bursar.budget import tokens
from bursar.budget.ceilings import Ceiling
from bursar.budget.clean import is_plain, utf8
from bursar.budget.json_size import dumps
from bursar.server import log
from bursar.server.bootstrap import open_dispatcher
from bursar.server.config import Settings
from bursar.server.schema import input_schema
from fuzz_rooms import SNIPPETS, TARGETS, visible
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import hostile_files
import hostile_site
from replies import path_of, reply_of

BATCH = 200
CALLS_AT_A_TIME = 8


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
        one = f"http://{self.site}/{self.chance.choice(list(hostile_site.PATHS))}"
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
            "edit_file": 5,
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
    assert tokens.count(text) <= ceiling.most_tokens, "too many tokens"
    assert not text.startswith("internal_error"), text
    assert is_plain(text.partition("\n")[2])
    if answer.is_error:
        assert "\n" not in text
        visible(text)
        assert re.match(r"[a-z_]+: ", text), text
        return
    told = reply_of(text)
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
    most = chance.randrange(400, 2000)
    ceiling = Ceiling(chance.randrange(1500, 8192), most, most, 20)
    client = replace(dispatcher.client("fuzz"), ceiling=ceiling)
    first = reply_of((await dispatcher.answer("read_file", {"path": "pages.txt"}, client)).text)
    stored = await anyio.Path(path_of(first)).read_bytes()
    asked, read, seen = {"artifact": first["artifact"], "bytes": "0-"}, b"", 0
    while asked is not None and content:
        answer = await dispatcher.answer("read_artifact", asked, client)
        judge(answer, ceiling)
        told = reply_of(answer.text)
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
        async with open_dispatcher(given) as dispatcher:
            caller = Caller(chance, dispatcher, folder, site)

            async def one():
                name, arguments = caller.call()
                client = dispatcher.client("fuzz")
                try:
                    answer = await dispatcher.answer(name, arguments, client)
                    judge(answer, client.ceiling)
                    tally.ended[answer.text.partition(":")[0] if answer.is_error else "ok"] += 1
                except Exception as error:
                    tally.failed(name, error, str(arguments)[:1000])
                tally.runs[name] += 1

            while time.monotonic() < until:
                async with anyio.create_task_group() as group:
                    for _ in range(CALLS_AT_A_TIME):
                        group.start_soon(one)
                if redacts == "off" and chance.random() < share:
                    try:
                        await lossless(tally, dispatcher, folder, chance)
                    except Exception as error:
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
