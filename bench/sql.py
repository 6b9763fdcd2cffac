"""What asking in SQL costs and finds: group-by beside DuckDB itself, each kind the first time and again, questions.

python bench/sql.py [PLACE of bench/corpus.py]
"""

import csv
import io
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import corpus
from bursar.budget import tokens
from replies import reply_of
from sql_set import CITIES, DATABASE, DPKG, FLIGHTS, QUESTIONS, Question, Things
from wire import Client, server

REPEATED = 16
"""The flights so often make 500 MB."""

GROUPED = "SELECT carrier, origin, count(*) AS n, sum(distance) AS d FROM {} GROUP BY ALL ORDER BY n DESC, d"


def large(work: Path, place: Path) -> Path:
    head, _, body = (work / FLIGHTS).read_bytes().partition(b"\n")
    path = place / "large.csv"
    with path.open("wb") as out:
        out.write(head + b"\n")
        for _ in range(REPEATED):
            out.write(body)
    return path


def own_seconds(path: Path) -> float:
    """Return how long DuckDB takes by itself, in a process that has started."""
    query = GROUPED.format(f"read_csv('{path}')")
    program = (
        "import duckdb, sys, time; duckdb.sql('SELECT 1').fetchall(); began = time.perf_counter(); "
        "duckdb.sql(sys.argv[1]).fetchall(); print(time.perf_counter() - began)"
    )
    done = subprocess.run([sys.executable, "-c", program, query], capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


class Peak(threading.Thread):
    """Looks how much memory the workers hold."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.bytes = 0

    def run(self) -> None:
        while True:
            for status in Path("/proc").glob("[0-9]*/status"):
                try:
                    text = status.read_text()
                    if (
                        "bursar-workers" in text.partition("\n")[0]
                        or "workers" in (status.parent / "cmdline").read_text()
                    ):
                        self.bytes = max(self.bytes, 1024 * int(re.search(r"VmRSS:\s+(\d+)", text)[1]))
                except (OSError, TypeError):
                    continue
            time.sleep(0.02)


def seconds(client: Client, path: str, sql: str) -> float:
    reply, is_error, took = client.call("read_file", path=path, sql=sql)
    assert not is_error, reply
    return took


def measure(work: Path, place: Path) -> None:
    big = large(work, place)
    (place / "nested.json").write_bytes(
        json.dumps({"about": "cities", "cities": list(json.loads((work / CITIES).read_text()).values())}).encode()
    )
    log = (work / DPKG).read_bytes()
    (place / "dpkg.log").write_bytes(log * (30_000_000 // len(log)))
    for name in (FLIGHTS, DATABASE):
        (place / Path(name).name).write_bytes((work / name).read_bytes())
    peak = Peak()
    peak.start()
    with server("--root", str(place), "--data-dir", str(place / "data"), "--patience-s", "60") as client:
        client.call("read_file", path="flights.csv", lines="1")
        client.call("edit_file", path="flights.parquet", artifact="a1")
        pairs = [(own_seconds(big), seconds(client, big.name, GROUPED.format("t"))) for _ in range(6)][1:]
        print(f"group-by over {big.stat().st_size / 1e6:.0f} MB of CSV, s, median of {len(pairs)}")
        own, ours = (median(pair[side] for pair in pairs) for side in (0, 1))
        ratio = median(ours / own for own, ours in pairs)
        print(
            f"  DuckDB itself {own:.2f}, by read_file {ours:.2f}, ratio {ratio:.2f}; most held {peak.bytes >> 20} MiB\n"
        )
        print(f"{'content':34}{'MB':>6}{'first s':>9}{'again s':>9}")
        for name, sql in (
            ("nested.json", "SELECT countrycode, count(*) FROM t.cities GROUP BY 1 ORDER BY 2 DESC LIMIT 3"),
            ("flights.csv", "SELECT dest, count(*) FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 3"),
            ("flights.parquet", "SELECT dest, count(*) FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 3"),
            ("flights.db", "SELECT dest, count(*) FROM t.flights GROUP BY 1 ORDER BY 2 DESC LIMIT 3"),
            ("dpkg.log", r"SELECT regexp_extract(line, '\w+ (\S+):amd64', 1) AS p, count(*) FROM t GROUP BY 1"),
        ):
            first = seconds(client, name, sql)
            again = median(seconds(client, name, sql) for _ in range(3))
            print(f"{name:34}{(place / name).stat().st_size / 1e6:6.1f}{first:9.2f}{again:9.2f}")
        began = time.perf_counter()
        reply, is_error, _ = client.call("edit_file", path="out.csv", artifact="a1", sql="FROM t LIMIT 100000")
        assert not is_error, reply
        lines = (place / "out.csv").read_bytes().count(b"\n") - 1
        took = time.perf_counter() - began
        print(f"\n{lines:,} rows saved in {took:.2f} s and {tokens.count(reply)} tokens of reply")


def rounded(value: object) -> str:
    try:
        return f"{float(value):.6g}"
    except (TypeError, ValueError):
        return "" if value is None else str(value)


def judged(client: Client, question: Question, things: Things) -> tuple[bool, int, int]:
    """Ask; return whether the answer is right, in how many calls, and the tokens of the replies."""
    path, *others = question.paths
    spent = calls = 0
    names = []
    for other in others:  # what is joined was read before
        client.call("read_file", path=other, lines="1")
        listed = "\n".join(client.call("read_artifact", lines=part, max_tokens=8000)[0] for part in ("1-40", "41-80"))
        names.append(re.search(rf"\b(a\d+)\S* .*: read {re.escape(other)}$", listed, re.MULTILINE)[1])
    if question.looks:
        reply = client.call("read_file", path=path)[0]
        calls, spent = 1, tokens.count(reply)
    sql = question.sql
    for place, name in enumerate(names, start=1):
        sql = sql.replace(f"{{{place}}}", name)
    reply, is_error, _ = client.call("read_file", path=path, sql=sql)
    found = [] if is_error else list(csv.reader(io.StringIO(reply_of(reply)["preview"], newline="")))[1:]
    got = sorted(tuple(map(rounded, row)) for row in found if row)
    wanted = sorted(tuple(map(rounded, row)) for row in question.answer(things))
    if got != wanted:
        print("WRONG", question.text, reply[:300], wanted[:3])
    return got == wanted, calls + 1, spent + tokens.count(reply)


def questions(work: Path) -> None:
    things = Things(work)
    with tempfile.TemporaryDirectory() as data, server("--root", str(work), "--data-dir", data) as client:
        judgements = [judged(client, question, things) for question in QUESTIONS]
    right = sum(is_right for is_right, _, _ in judgements)
    at_once = sum(is_right and calls == 1 for is_right, calls, _ in judgements)
    joins = sum(len(question.paths) > 1 for question in QUESTIONS)
    print(
        f"\n{len(QUESTIONS)} questions, {joins} of them joins: {right} answered by one look and one query at most, ",
        end="",
    )
    print(f"{at_once} of them by one query; tokens of replies in all {sum(spent for _, _, spent in judgements):,}")


def main() -> None:
    work = (Path(sys.argv[1]) if sys.argv[1:] else corpus.DEFAULT) / "work"
    with tempfile.TemporaryDirectory() as place:
        measure(work, Path(place))
    questions(work)


if __name__ == "__main__":
    main()
