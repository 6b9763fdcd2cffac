"""Whether a first look at a failed build or test names its cause, and what that costs.

python bench/failures.py [PLACE] [--only NAME ...] [--show]

PLACE is as in `bench/corpus.py`, which makes what is broken here; the outputs are made when they are first wanted.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import corpus
from bursar.budget import tokens
from failure_set import EXPECTED, FAILURES, NODE_TOOLS, PYTHON_TOOLS, Failure
from wire import INITIALIZE, Client, module

PRELUDE = r"""
wheel() { $PY -m pip wheel --no-deps --no-cache-dir --no-binary "$1" -w . "$1==$2" $3; }
sdist() {
    mkdir -p "$DOWNLOADS/$1-$2"
    ls "$DOWNLOADS/$1-$2"/*.tar.gz || $PY -m pip download -q --no-deps --no-binary "$1" -d "$DOWNLOADS/$1-$2" "$1==$2"
    tar xf "$DOWNLOADS/$1-$2"/*.tar.gz
}
deb() {
    mkdir -p "$DOWNLOADS/$1"
    ls "$DOWNLOADS/$1"/*.deb || (cd "$DOWNLOADS/$1" && apt-get download "$1")
    dpkg-deb -x "$DOWNLOADS/$1"/*.deb .
}
cargo_alone() {
    rm -f Cargo.lock .cargo-checksum.json
    sed -i '/^\[.*dependencies/,/^$/d; /^\[\[bench/,/^$/d' Cargo.toml
}
"""


class Logs:
    """The outputs, each in a file of its own, made when it is first wanted."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.folder = place / "failures"
        self.logs = self.folder / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        (self.folder / "downloads").mkdir(exist_ok=True)

    def tools(self) -> None:
        tools = self.folder / "tools"
        if not (tools / "venv").exists():
            tools.mkdir()
            subprocess.run([sys.executable, "-m", "venv", tools / "venv"], check=True)
            subprocess.run([tools / "venv/bin/pip", "install", "-q", *PYTHON_TOOLS], check=True)
        if not (tools / "node_modules").exists():
            subprocess.run(["npm", "install", "--no-audit", "--no-fund", *NODE_TOOLS], cwd=tools, check=True)

    def log(self, failure: Failure) -> Path:
        target = self.logs / f"{failure.name}.log"
        if not target.exists():
            target.write_bytes(self._printed(failure))
        return target

    def _printed(self, failure: Failure) -> bytes:
        where = self.folder / "made" / failure.name
        subprocess.run(["rm", "-rf", where], check=True)
        where.mkdir(parents=True)
        tools = self.folder / "tools"
        variables = (
            f"export BENCH={self.place} TOOLS={tools} NODE={tools}/node_modules PY={tools}/venv/bin/python"
            f" DOWNLOADS={self.folder}/downloads\n"
        )
        done = None
        for script in (failure.prepare, failure.command):
            done = subprocess.run(
                ["bash", "-c", variables + PRELUDE + script],
                cwd=where,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            if script is failure.prepare and done.returncode:
                print(f"{failure.name}: cannot be prepared: {done.stdout.decode(errors='replace')[-300:]}")
        return done.stdout


def sight(reply: str) -> str:
    """Return what a model takes from a reply: the texts of the object in its first line, and what follows it."""
    head, _, behind = reply.partition("\n")
    try:
        return "\n".join([*texts(json.loads(head)), behind])
    except ValueError:
        return reply


def texts(value: object, name: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from texts(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, name)
    else:
        yield f"{name}: {value}"


def missing(name: str, log: str, seen: str) -> list[str]:
    causes, every = EXPECTED[name]
    named = dict.fromkeys(re.findall(every, log, re.MULTILINE)) if every else {}
    return [cause for cause in causes if not re.search(cause, seen)] + [one for one in named if one not in seen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", nargs="?", type=Path, default=corpus.DEFAULT)
    parser.add_argument("--show", action="store_true", help="the replies")
    parser.add_argument("--only", nargs="*", help="these outputs")
    options = parser.parse_args()
    logs = Logs(options.place)
    logs.tools()
    wanted = [failure for failure in FAILURES if options.only is None or failure.name in options.only]
    files = {failure.name: logs.log(failure) for failure in wanted}
    costs: list[int] = []
    incomplete: list[str] = []
    with tempfile.TemporaryDirectory() as data:
        client = Client(module("--root", str(logs.logs), "--data-dir", data, "--patience-s", "100"))
        client.request("initialize", INITIALIZE)
        client.send("notifications/initialized", notify=True)
        print(f"{'output':22} {'tokens':>8} {'reply':>6}  missing")
        for name, file in files.items():
            log = re.sub(r"\x1b\[[0-9;]*m", "", file.read_text(errors="replace"))
            reply, _, _ = client.call("terminal", command=f"cat {file.name}")
            costs.append(tokens.count(reply))
            absent = missing(name, log, sight(reply))
            if absent:
                incomplete.append(name)
            print(f"{name:22} {tokens.count(log):8,} {costs[-1]:6,}  {', '.join(absent[:5])[:100]}")
            if options.show:
                print(reply)
        client.close()
    print(
        f"{len(costs)} outputs: the cause stands in {len(costs) - len(incomplete)};"
        f" median {statistics.median(costs):,.0f} tokens, most {max(costs):,}"
    )


if __name__ == "__main__":
    main()
