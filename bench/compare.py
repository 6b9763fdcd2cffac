"""bursar beside servers that nobody here wrote, on real things: what a look costs, a search, a call, a start.

python bench/compare.py [--quick] [--place DIR] [--only NAME...] [--json FILE] [--markdown FILE] [--svg FILE]

The others are installed into DIR (default: beside what `bench/corpus.py` has fetched, which is made if it is missing).
Tokens are those of o200k, of all text that a client gives to its model. In the table of processes all take turns;
figures are medians, the ratio that to the bare server of the same round. `--quick` takes fewer rounds: three minutes
once all is installed.
"""

import argparse
import json
import math
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import corpus
import logs
from bursar.budget import tokens
from processes import cpu_s, pss_mib
from servers import SERVERS, Call, Server, environment, install
from wire import Client

SMALL_CALLS, IN_FLIGHT, AT_REST_S = 30, 16, 6.0


@contextmanager
def running(server: Server, place: Path, work: Path) -> Iterator[Client]:
    """Start a server in a process group and a home of its own, and end all of it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as own:
        home = Path(own, "home")
        home.mkdir()
        command = server.command(place, work, Path(own, "data"))
        client = Client(command, env=environment(place, home), cwd=work, start_new_session=True)
        try:
            client.handshake()
            yield client
        finally:
            os.killpg(client.process.pid, signal.SIGKILL)
            client.close()


def ask(client: Client, call: Call) -> tuple[str, float]:
    """Return all text of an answer, as a model would be given it, and the seconds it took."""
    started = time.perf_counter()
    answer = client.request("tools/call", {"name": call[0], "arguments": call[1]})
    took = time.perf_counter() - started
    if "error" in answer:
        return json.dumps(answer["error"]), took
    return "\n".join(part.get("text", "") for part in answer["result"]["content"]), took


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a directory on loopback."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Thing:
    """Something to look at, and a line in its middle that a reader may be after.

    Attributes:
        kind: how it is looked at: file, command, tree or page.
        asked: the path, command or address.
        source: the file that a search goes through.
        needle: what has to be seen; empty if nothing is looked for.
    """

    def __init__(self, name: str, kind: str, asked: str, source: Path | None = None, needle: str = "") -> None:
        self.name, self.kind, self.asked, self.source = name, kind, asked, source
        self.needle = needle or (middle(source) if source else "")

    def everything(self) -> int:
        """Return the tokens of all of it."""
        return tokens.count(self.source.read_text(errors="replace")) if self.source else 0


def middle(file: Path) -> str:
    """Return a part, found nowhere else, of a line in the middle of a file."""
    text = file.read_text(errors="replace")
    lines = text.splitlines()
    wanted = (line.strip()[:60] for line in lines[len(lines) // 2 :])
    return next(line for line in wanted if len(line) > 20 and text.count(line) == 1)


def things(work: Path, site: str) -> list[Thing]:
    """Return what is looked at: logs, source, data, a tree and a page, as their makers made them."""
    for name, kind in (("service.log", "logs of 90 services"), ("tests.log", "test output")):
        if not (work / name).exists():
            logs.make(kind, 5 << 20, work / name, work.parent)
    django = next(work.glob("django-*"))
    source = django / "tests/admin_views/tests.py"
    chinese = django / "django/conf/locale/zh_Hans/LC_MESSAGES/django.po"
    page = work / "html/library/stdtypes.html"
    return [
        Thing("5 MB log of services", "file", str(work / "service.log"), work / "service.log"),
        Thing(f"{source.stat().st_size >> 10} kB of Python", "file", str(source), source),
        Thing("Chinese translations", "file", str(chinese), chinese),
        Thing(
            "16 MB of JSON on a line",
            "file",
            str(work / "geo/cities15000.json"),
            work / "geo/cities15000.json",
            "Atlantic/Reykjavik",
        ),
        Thing("31 MB of CSV", "file", str(work / "flights/flights.csv"), work / "flights/flights.csv"),
        Thing("command, 5 MB of tests", "command", f"cat {work / 'tests.log'}", work / "tests.log"),
        Thing("tree of 6,890 files", "tree", str(django)),
        Thing("page of documentation", "page", f"{site}/html/library/stdtypes.html", page, "string starts with the"),
    ]


def looking(server: Server, client: Client, thing: Thing) -> dict[str, Any]:
    """Return what a first look costs, whether it shows what is wanted, and what a search for that costs."""
    text, took = ask(client, server.looks[thing.kind](thing.asked))
    told: dict[str, Any] = {"tokens": tokens.count(text), "ms": took * 1000, "in_sight": is_in(thing.needle, text)}
    if server.search and thing.needle and not told["in_sight"]:
        where = thing.asked if thing.kind == "page" and server.name == "bursar" else str(thing.source)
        text, took = ask(client, server.search(where, thing.needle))
        told["search"] = {"tokens": tokens.count(text), "ms": took * 1000, "found": is_in(thing.needle, text)}
    return told


def is_in(needle: str, text: str) -> bool:
    """Tell whether a text shows it, quoted or not, marked up or not."""
    plain = text.replace("\\", "").replace("*", "").replace("`", "")
    return bool(needle) and needle.replace("\\", "").replace("*", "").replace("`", "") in plain


def one_round(server: Server, place: Path, work: Path, small: str, *, rests: bool) -> dict[str, float]:
    """Start a server, list its tools, call it again and again, and let it rest."""
    begun = time.perf_counter()
    with running(server, place, work) as client:
        listed = client.tools()
        figures = {"start, ms": (time.perf_counter() - begun) * 1000, "start, CPU s": cpu_s(client.process.pid)}
        figures["tools, tokens"] = tokens.count(json.dumps(listed, ensure_ascii=False, separators=(",", ":")))
        name, arguments = server.small(small)
        ask(client, (name, arguments))
        if rests:
            time.sleep(AT_REST_S)
            figures["at rest, MiB"] = pss_mib(client.process.pid)
        before = cpu_s(client.process.pid)
        figures["small call, ms"] = statistics.median(
            ask(client, (name, arguments))[1] * 1000 for _ in range(SMALL_CALLS)
        )
        calls = SMALL_CALLS * 4
        begun = time.perf_counter()
        for number in range(calls + IN_FLIGHT):
            if number < calls:
                client.send("tools/call", {"name": name, "arguments": arguments})
            if number >= IN_FLIGHT:
                while "id" not in client.next():
                    pass
        figures["16 in flight, calls/s"] = calls / (time.perf_counter() - begun)
        figures["CPU a call, ms"] = (cpu_s(client.process.pid) - before) * 1000 / (calls + SMALL_CALLS)
    return figures


def measured(chosen: Sequence[Server], place: Path, work: Path, rounds: int, site: str) -> dict[str, Any]:
    """Return the figures of all servers by name: `looks` by thing, `process` by figure."""
    found: dict[str, Any] = {"looks": {}, "process": {}, "everything": {}}
    for thing in (all_things := things(work, site)):
        found["everything"][thing.name] = thing.everything()
    for server in chosen:
        for thing in all_things if server.looks else ():
            if thing.kind in server.looks:
                with running(server, place, work) as client:
                    found["looks"].setdefault(thing.name, {})[server.name] = looking(server, client, thing)
    small = work / "small.txt"
    small.write_text("x" * 99 + "\n")
    all_rounds: dict[str, list[dict[str, float]]] = {server.name: [] for server in chosen}
    for number in range(rounds):
        for server in chosen:
            asked = f"{site}/small.txt" if set(server.looks) == {"page"} else str(small)
            all_rounds[server.name].append(one_round(server, place, work, asked, rests=number == 0))
    small.unlink()
    floor = all_rounds[SERVERS[0].name]
    for name, own in all_rounds.items():
        figures = found["process"][name] = {key: statistics.median(r[key] for r in own if key in r) for key in own[0]}
        for key in ("start, ms", "small call, ms", "16 in flight, calls/s", "at rest, MiB"):
            pairs = [(one[key], bare[key]) for one, bare in zip(own, floor, strict=True) if key in one]
            figures[f"{key}, ratio"] = statistics.median(one / bare for one, bare in pairs)
    return found


def look_told(look: dict[str, Any]) -> str:
    """Return a look in a word: `+` where what is wanted is in sight, and what the search for it costs otherwise."""
    told = f"{look['tokens']:,}"
    if look["in_sight"]:
        return f"{told} +"
    if "search" in look:
        return f"{told} → {look['search']['tokens']:,}{' +' if look['search']['found'] else ''}"
    return told


def tables(found: dict[str, Any], names: Sequence[str]) -> list[list[list[str]]]:
    """Return the rows of both tables, their heads first."""
    lookers = [name for name in names if any(name in looks for looks in found["looks"].values())]
    looks = [["tokens of a first look → of a search", "all of it", *lookers]]
    for thing, by_name in found["looks"].items():
        told = [look_told(by_name[name]) if name in by_name else "–" for name in lookers]
        looks.append([thing, f"{found['everything'][thing]:,}" if found["everything"][thing] else "", *told])
    keys = list(found["process"][names[0]])
    process = [["figure", *names]]
    for key in keys:
        if not key.endswith(", ratio"):
            told = []
            for name in names:
                ratio = found["process"][name].get(f"{key}, ratio")
                figure = found["process"][name][key]
                shown = f"{figure:,.2f}" if figure < 10 else f"{figure:,.0f}"
                told.append(shown + (f" ({ratio:.2f} ×)" if ratio else ""))
            process.append([key, *told])
    return [looks, process]


def as_text(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    first, *rest = widths
    lines = [
        f"{row[0]:{first}}  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row[1:], rest, strict=True))
        for row in rows
    ]
    return "\n".join(lines)


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|{'---|' * len(rows[0])}", *lines[1:]])


def as_svg(found: dict[str, Any], names: Sequence[str]) -> str:
    """Return bars of the tokens of first looks, on a scale of powers of ten."""
    colours = dict(zip(names, ("#8a8a8a", "#1b7f5c", "#c8741b", "#8e44ad", "#2c6fbb", "#b03a48"), strict=False))
    bar, step, left, width = 14, 90, 190, 1130
    y, parts = 34, []
    for number in range(8):
        x = left + number * step
        parts.append(f'<line x1="{x}" y1="20" x2="{x}" y2="HEIGHT" stroke="#8884"/>')
        parts.append(f'<text x="{x}" y="14" text-anchor="middle">{10**number:,}</text>')
    for thing, by_name in found["looks"].items():
        parts.append(
            f'<text x="{left - 8}" y="{y + bar * len(by_name) / 2 + 4}" text-anchor="end">{escape(thing)}</text>'
        )
        for name, look in by_name.items():
            length = step * math.log10(max(1, look["tokens"]))
            parts.append(f'<rect x="{left}" y="{y}" width="{length:.0f}" height="{bar - 3}" fill="{colours[name]}"/>')
            seen = ", the middle in sight" if look["in_sight"] else ""
            label = f"{name}: {look['tokens']:,}{seen}"
            parts.append(f'<text x="{left + length + 5:.0f}" y="{y + bar - 4}">{escape(label)}</text>')
            y += bar
        y += 12
    style = "text{font:11px system-ui,sans-serif;fill:#444}@media(prefers-color-scheme:dark){text{fill:#ccc}}"
    body = "\n".join(parts).replace("HEIGHT", str(y))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" role="img">'
    return f"{head}<title>Tokens of a first look</title><style>{style}</style>\n{body}\n</svg>\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--place", type=Path, default=corpus.DEFAULT / "servers")
    parser.add_argument("--only", nargs="+", default=[server.name for server in SERVERS])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--svg", type=Path)
    asked = parser.parse_args()
    if not (corpus.DEFAULT / "work").is_dir():
        corpus.main()
    install(asked.place)
    work = corpus.DEFAULT / "work"
    chosen = [
        server
        for server in SERVERS
        if server.name in (SERVERS[0].name, *asked.only) and Path(server.command(asked.place, work, work)[0]).exists()
    ]
    if missing := [server.name for server in SERVERS if server.name in asked.only and server not in chosen]:
        print(f"not there: {', '.join(missing)}")
    with served(work) as site:
        found = measured(chosen, asked.place, work, 3 if asked.quick else 9, site)
    names = [server.name for server in chosen]
    rows = tables(found, names)
    print("\n\n".join(map(as_text, rows)))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1, ensure_ascii=False))
    if asked.markdown:
        asked.markdown.write_text("\n\n".join(map(as_markdown, rows)) + "\n")
    if asked.svg:
        asked.svg.write_text(as_svg(found, names))


if __name__ == "__main__":
    main()
