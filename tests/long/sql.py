"""Queries that try to get out, or to take all there is: none may work, and others are answered meanwhile.

python tests/long/sql.py [SECONDS that a client waits, default 10]
"""

import json
import os
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from hostile_queries import BOMBS, ESCAPES
from replies import reply_of
from wire import server

LONG_RUN = re.compile(r"[(1+) ]{40,}")
SECRET = "hunter2-7f3a91"


def contents():
    """Yield hostile contents by their names, with a query of each."""
    yield "million.csv", ",".join(f"c{n}" for n in range(1_000_000)) + "\n" + ",".join("1" * 1_000_000) + "\n", "FROM t"
    yield "deep.json", "[" * 100_000 + "]" * 100_000, "FROM t"
    yield "deep.jsonl", ('{"a":' * 50_000 + "1" + "}" * 50_000 + "\n") * 3, "FROM t"
    yield "keys.json", json.dumps({f"k{n}": [n, str(n), None][n % 3] for n in range(300_000)}), "SELECT count(*) FROM t"
    yield (
        "rows.json",
        json.dumps([{f"k{n}_{m}": 1 for m in range(40)} for n in range(20_000)]),
        "SELECT count(*) FROM t",
    )
    yield "wide.json", json.dumps([{f"k{n}": [n, "x", {}][n % 3]} for n in range(5_000)]), "SELECT count(*) FROM t"
    yield "parts.json", json.dumps({f"p{n}": [{"a": n}] for n in range(5_000)}), "FROM t LIMIT 1"
    yield "names.json", json.dumps([{"'); DROP TABLE t; --": 1, '"': 2, "": 3, "a.b": 4, "A": 5, "a": 6}]), "FROM t"
    yield "line.log", "x" * 60_000_000, "SELECT max(length(line)) FROM t"
    yield "quotes.csv", 'a,b\n1,"' + "x,\n" * 500_000, "SELECT count(*) FROM t"
    yield "broken.parquet", b"PAR1" + os.urandom(100_000) + (90_000).to_bytes(4, "little") + b"PAR1", "FROM t"
    yield "broken.db", b"SQLite format 3\x00" + os.urandom(100_000), "FROM t"
    yield "nul.csv", b"a,b\n1,\x00\n" * 1000, "SELECT count(*) FROM t"


class Others(threading.Thread):
    """Another client of the same data, who asks all the time; `slowest` is the longest he waited."""

    def __init__(self, options):
        super().__init__(daemon=True)
        self.options, self.slowest, self.failed, self.asked, self.goes_on = options, 0.0, 0, 0, True

    def run(self):
        with server(*self.options) as client:
            while self.goes_on:
                _, is_error, took = client.call("read_file", path="own.csv", sql="SELECT count(*) FROM t")
                self.slowest, self.asked = max(self.slowest, took), self.asked + 1
                self.failed += is_error
                time.sleep(0.1)


def main():
    patience_s = sys.argv[1] if sys.argv[1:] else "10"
    worked = 0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as base:
        work = Path(base, "work")
        work.mkdir()
        (work / "secret.csv").write_text(f"token\n{SECRET}\n")
        (work / "own.csv").write_text("id,name\n1,one\n2,two\n")
        options = ["--root", str(work), "--data-dir", f"{base}/data", "--patience-s", patience_s]
        with server(*options) as victim, server(*options) as client:
            stored = reply_of(victim.call("read_file", path="secret.csv")[0])["artifact"].rpartition("/")[2]
            path = os.path.join(victim.directory, stored)
            others = Others(options)
            others.start()
            for sql in ESCAPES:
                aimed = sql.replace("VICTIM", path).replace("ROOT", str(work)).replace("DATA", f"{base}/data")
                for tool, arguments in (
                    ("read_file", {"path": "own.csv"}),
                    ("edit_file", {"path": "saved.csv", "artifact": "a1"}),
                ):
                    reply, is_error, _ = client.call(tool, **arguments, sql=aimed)
                    if not is_error or SECRET in reply:
                        worked += 1
                        print("WORKED", tool, aimed, reply[:200])
            left = sorted(file.name for file in work.iterdir())
            print(f"{len(ESCAPES)} escapes, each read and saved: {worked} worked; files in the workspace: {left}")
            said = victim.call("read_artifact", artifact=stored)[0]
            print("the victim's artifact is whole" if SECRET in said else "THE VICTIM LOST IT")
            for sql in BOMBS:
                reply, is_error, took = client.call("read_file", path="own.csv", sql=sql)
                code = reply.partition(":")[0] if is_error else f"answered, {len(reply)} bytes"
                print(f"{took:6.1f} s  {code:28} {LONG_RUN.sub('…', sql)[:80]}")
            for name, content, sql in contents():
                (work / name).write_bytes(content if isinstance(content, bytes) else content.encode())
                reply, is_error, took = client.call("read_file", path=name, sql=sql)
                code = reply[:90] if is_error else f"answered, {len(reply)} bytes"
                print(f"{took:6.1f} s  {code:90} {name}")
            others.goes_on = False
            others.join()
            print(
                f"another client asked {others.asked} times, {others.failed} failed, the slowest {others.slowest:.1f} s"
            )
    sys.exit(bool(worked or others.failed))


if __name__ == "__main__":
    main()
