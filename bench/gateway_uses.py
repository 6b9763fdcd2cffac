"""Real servers used directly and behind bursar: a browser, databases, git, files. What each step costs a model.

python bench/gateway_uses.py --npm DIR [--python DIR] [--chromium FILE]

DIR of npm has @playwright/mcp, @modelcontextprotocol/server-filesystem and server-postgres; DIR of Python is an
environment with mcp-server-git. PostgreSQL is Debian's, on a port of its own. Tokens are those of o200k, of all text
that a client gives to its model; a picture counts as none.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from bursar.budget import tokens
from wire import Client

CONTROLS = (100, 5000)


class Direct:
    """A server as a client has it without bursar."""

    name = "direct"

    def __init__(self, server, words, place):
        self.client = Client(words, cwd=place)
        self.client.handshake()

    def list_tokens(self):
        told = [{key: one.get(key) for key in ("name", "description", "inputSchema")} for one in self.client.tools()]
        return tokens.count(json.dumps(told, ensure_ascii=False, separators=(",", ":")))

    def call(self, tool, given, **_):
        started = time.perf_counter()
        answer = self.client.request("tools/call", {"name": tool, "arguments": given})
        took = time.perf_counter() - started
        content = answer["result"]["content"] if "result" in answer else [{"text": json.dumps(answer["error"])}]
        return "\n".join(block.get("text", "") for block in content), took

    def close(self):
        self.client.kill()


class Behind(Direct):
    """The same server behind bursar."""

    name = "behind bursar"

    def __init__(self, server, words, place):
        self.server = server
        file = place / "mcp.json"
        own = {"unixSockets": True} if server in ("browser", "postgres") else {}
        file.write_text(json.dumps({"mcpServers": {server: {"command": words[0], "args": words[1:], "bursar": own}}}))
        options = ["--root", str(place), "--data-dir", str(place / "data"), "--mcp", str(file), "--mcp-tokens", "0"]
        subprocess.run(
            [sys.executable, "-m", "bursar", "mcp", "approve", server, *options], stdout=subprocess.DEVNULL, check=True
        )
        super().__init__(server, [sys.executable, "-m", "bursar", *options, "--tools", "read_artifact"], place)

    def call(self, tool, given, **shown):
        if tool == "read_artifact":
            text, _, took = self.client.call(tool, **given)
            return text, took
        text, _, took = self.client.call("call_tool", tool=f"{self.server}.{tool}", arguments=given, **shown)
        return text, took


def step(what, made, rows):
    """Remember what a step cost."""
    text, took = made
    rows.append((what, tokens.count(text), took))
    return text


def browser(way, base, count):
    """Find one of many controls on a page, and click it."""
    rows, wanted = [], f"Buy item {count // 2 - 7}"
    step("navigate", way.call("browser_navigate", {"url": f"{base}/page{count}.html"}), rows)
    found = step("find the control", way.call("browser_snapshot", {}, grep=rf"{wanted}\b"), rows)
    target = re.search(rf'button "{wanted}" \[ref=(\w+)\]', found)[1]
    clicked = step("click it", way.call("browser_click", {"element": wanted, "target": target}), rows)
    assert f"clicked {count // 2 - 7}" in clicked, clicked
    step("look at the page", way.call("browser_snapshot", {}), rows)
    step("screenshot", way.call("browser_take_screenshot", {}), rows)
    return rows


def postgres(way, *_):
    """Ask a database for what floods, and then for what is wanted of it."""
    rows = []
    step("a schema", way.call("query", {"sql": "select table_name from information_schema.tables limit 40"}), rows)
    text = step("10,000 rows", way.call("query", {"sql": "select * from orders"}), rows)
    if way.name != "direct":
        reference = way.client.artifact_of(text)
        asked = "select status, count(*), sum(amount) from t group by all order by all"
        step(
            "the answer to a question about them",
            way.call("read_artifact", {"artifact": reference, "sql": asked}),
            rows,
        )
    return rows


def git(way, *_):
    """Read a history."""
    rows = []
    step("a log of 3,000 commits", way.call("git_log", {"repo_path": str(way.place), "max_count": 3000}), rows)
    return rows


def files(way, *_):
    """Read a large file and a tree."""
    rows = []
    step("a log of 2 MB", way.call("read_text_file", {"path": str(way.place / "app.log")}), rows)
    line = way.call("read_text_file", {"path": str(way.place / "app.log")}, grep="request 12345 ")
    step("one line of it", line, rows)
    return rows


@contextmanager
def served(place) -> Iterator[str]:
    for count in CONTROLS:
        rows = "\n".join(
            f'<li><label>Item {at} <input name="f{at}"></label> '
            f"<button onclick=\"document.title='clicked {at}'\">Buy item {at}</button></li>"
            for at in range(count // 2)
        )
        (place / f"page{count}.html").write_text(f"<!doctype html><title>Shop</title><h1>Shop</h1><ul>{rows}</ul>")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(place)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@contextmanager
def database(place) -> Iterator[str]:
    """Run PostgreSQL on a port of its own, with 10,000 orders in it."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
    held = place / "postgres"
    held.mkdir()
    before = []
    if os.getuid() == 0:
        before = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        shutil.chown(held, "postgres")
        place.chmod(0o755)
    subprocess.run([*before, programs / "initdb", "-D", held / "data", "-A", "trust", "-U", "shop"], check=True,
                   stdout=subprocess.DEVNULL, cwd=held)  # fmt: skip
    words = [programs / "postgres", "-D", held / "data", "-k", held, "-p", "54329", "-c", "listen_addresses=127.0.0.1"]
    process = subprocess.Popen([*before, *words], stderr=subprocess.DEVNULL, cwd=held)
    try:
        asked = [programs / "psql", "-h", "127.0.0.1", "-p", "54329", "-U", "shop", "-q", "-c"]
        made = (
            "create table orders as select n as id, (array['new','paid','sent'])[1 + n % 3] as status, "
            "n * 7 % 1000 as amount, 'customer ' || n % 100 as customer from generate_series(1, 10000) n"
        )
        for _ in range(100):
            if subprocess.run([*asked, made, "postgres"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
                break
            time.sleep(0.1)
        yield "postgresql://shop@127.0.0.1:54329/postgres"
    finally:
        process.terminate()
        process.wait(10)


def history(place):
    """Make a repository of 3,000 commits."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    lines = [
        f"commit refs/heads/main\ncommitter A <a@example.com> {1_700_000_000 + number} +0000\n"
        f"data <<END\nChange number {number}\nEND\n"
        for number in range(3000)
    ]
    subprocess.run(["git", "-C", str(place), "fast-import", "--quiet"], input="".join(lines).encode(), check=True)


def run(name, words, place, steps, *more):
    """Take the steps both ways, and print them side by side."""
    columns, lists = {}, {}
    for kind in (Direct, Behind):
        way = kind(name, words, place)
        way.place = place
        lists[kind.name] = way.list_tokens()
        columns[kind.name] = steps(way, *more)
        way.close()
    label = f"{name}{f' {more[-1]:,} controls' if more else ''}"
    own = "with read_artifact"
    print(f"| {label}: list of tools | {lists['direct']:,} | {lists['behind bursar']:,} {own} | |")
    direct = {what: (cost, took) for what, cost, took in columns["direct"]}
    for what, cost, took in columns["behind bursar"]:
        beside = f"{direct[what][0]:,}" if what in direct else ""
        times = f"{took:.2f} s, direct {direct[what][1]:.2f}" if what in direct else f"{took:.2f} s"
        print(f"| {label}: {what} | {beside} | {cost:,} | {times} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--npm", required=True)
    parser.add_argument("--python", default="")
    parser.add_argument("--chromium", default=shutil.which("chromium") or "")
    given = parser.parse_args()
    programs = Path(given.npm, "node_modules", ".bin").resolve()
    print("| step | tokens, direct | tokens, behind bursar | time |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as made:
        place = Path(made)
        if given.chromium:
            words = [str(programs / "playwright-mcp"), "--headless", "--no-sandbox"]
            with served(place) as base:
                for count in CONTROLS:
                    run("browser", [*words, "--executable-path", given.chromium], place, browser, base, count)
        if Path("/usr/lib/postgresql").is_dir():
            with database(place) as address:
                run("postgres", [str(programs / "mcp-server-postgres"), address], place, postgres)
        log = "".join(f"2026-07-01T00:00:{n % 60:02d}Z INFO request {n} served\n" for n in range(40_000))
        (place / "app.log").write_text(log)
        run("filesystem", [str(programs / "mcp-server-filesystem"), str(place)], place, files)
        if given.python:
            history(place)
            run("git", [str(Path(given.python, "bin", "mcp-server-git").resolve())], place, git)


if __name__ == "__main__":
    main()
