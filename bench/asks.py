"""What the smallest answers cost, and source files that are read whole.

python bench/asks.py [PLACE]

PLACE is what `bench/corpus.py` made. Tokens are those of o200k, of the whole reply; beside them those of `cat`.
"""

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import corpus
from bursar.budget import tokens
from bursar.budget.ceilings import ceiling_for
from bursar.budget.reply import Reply
from wire import INITIALIZE, Client, module

FILES = 40
LINES = range(60, 1501)
CLIENTS = ("claude-code", "gemini-cli-mcp-client", "codex-mcp-client", "somebody")


@contextmanager
def serving(work: Path, name: str) -> Iterator[Client]:
    """Serve as a client of this name has it; the handle has been told."""
    with tempfile.TemporaryDirectory() as data:
        client = Client(module("--root", str(work), "--data-dir", data))
        client.request("initialize", {**INITIALIZE, "clientInfo": {"name": name, "version": "1"}})
        client.send("notifications/initialized", notify=True)
        client.call("terminal", command="true")
        yield client
        client.close()


def sources(work: Path) -> list[Path]:
    """Choose files of every length, evenly among all that are fit."""
    found = [path for path in sorted(work.glob("django-*/**/*.py")) if path.read_bytes().count(b"\n") in LINES]
    found.sort(key=lambda path: path.stat().st_size)
    return [found[at * (len(found) - 1) // (FILES - 1)] for at in range(FILES)]


def read_whole(client: Client, path: Path, most: int) -> tuple[int, int]:
    """Read a file as the replies advise; return calls and tokens."""
    text, _, _ = client.call("read_file", path=str(path), max_tokens=most, lines="1-")
    calls, spent = 1, tokens.count(text)
    seen = str(Reply.parse(text).value["preview"])
    while more := re.search(r"read_artifact\((.*)\)$", str(Reply.parse(text).value.get("incomplete", ""))):
        given = {name: json.loads(value) for name, value in re.findall(r'(\w+)=("[^"]*"|\d+)', more[1])}
        text, _, _ = client.call("read_artifact", max_tokens=most, **given)
        calls, spent = calls + 1, spent + tokens.count(text)
        seen += str(Reply.parse(text).value["preview"])
    assert seen == path.read_text("utf-8"), path
    return calls, spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", nargs="?", type=Path, default=corpus.DEFAULT)
    work = parser.parse_args().place / "work"
    files = sources(work)
    plain = sum(tokens.count(path.read_text("utf-8")) for path in files)
    print(f"{FILES} source files of {LINES.start} to {LINES.stop - 1} lines: cat {FILES} calls, {plain:,} tokens\n")
    print(f"{'client':24} {'two numbers':>11} {'empty':>6} {'calls':>6} {'tokens':>8} {'of cat':>7}")
    for name in CLIENTS:
        most = ceiling_for(name).most_tokens
        with serving(work, name) as client:
            two, empty = (tokens.count(client.call("terminal", command=each)[0]) for each in ("echo 104 2931", "true"))
            each = [read_whole(client, path, most) for path in files]
        calls, spent = (sum(column) for column in zip(*each, strict=True))
        print(f"{name:24} {two:11} {empty:6} {calls:6} {spent:8,} {spent / plain:6.3f}×")


if __name__ == "__main__":
    main()
