"""What the first answer to a big input costs, whether it shows the middle, and what a second call finds.

python bench/first_sight.py
"""

import re
import sys
import tempfile
import time
from pathlib import Path

import inputs
from bursar.budget import tokens

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from bursar.budget.reply import Reply
from wire import server

SEEN = re.compile(inputs.NEEDLE.replace("-", "."))


class Table:
    def __init__(self):
        self.worst = (0, 0)
        self.missed = []
        print(f"{'input':44} {'call':24} {'bytes':>6} {'tokens':>6} {'ms':>7}  needle")

    def row(self, name, call, answer, wanted=True):
        text, is_error, took = answer
        size, cost = len(text.encode()), tokens.count(text)
        self.worst = max(self.worst[0], size), max(self.worst[1], cost)
        found = SEEN.search(text) is not None
        if is_error or (wanted and not found):
            self.missed.append((name, call, text[:200]))
        print(f"{name:44} {call:24} {size:6} {cost:6} {took * 1000:7.1f}  {'found' if found else '-'}")


def ask(client, table, name, tool, arguments, needle=SEEN.pattern):
    first = client.call(tool, **arguments)
    table.row(name, tool, first, wanted=False)
    reply = Reply.parse(first[0]).value
    further = client.call("read_artifact", artifact=reply["artifact"], grep=needle)
    table.row("", "read_artifact grep", further)
    return reply


def main():
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "work")
        place.mkdir()
        makers = {
            "5 MB log": ("app.log", inputs.log),
            "300 KB source file": ("orders.py", inputs.source),
            "10 MB JSON on one line": ("records.json", inputs.one_line_json),
            "20 MB minified JavaScript on one line": ("bundle.min.js", inputs.minified),
            "5 MB of Chinese and emoji": ("chinese.txt", inputs.chinese),
            "2 MB, not quite UTF-8": ("broken.txt", inputs.invalid),
            "3 MB binary": ("program", inputs.binary),
        }
        for file, make in makers.values():
            make(place / file)
        inputs.tree(place / "tree")
        with server("--root", str(place), "--data-dir", f"{folder}/data", "--patience-s", "100") as client:
            time.sleep(3)
            table = Table()
            for name, (file, _) in makers.items():
                reply = ask(client, table, name, "read_file", {"path": file})
                if file == "orders.py":
                    page = client.call("read_artifact", artifact=reply["artifact"], lines="4000-4050")
                    table.row("", "read_artifact lines", page, wanted=False)
            ask(client, table, "command printing 200,000 lines", "terminal", {"command": inputs.command()})
            ask(client, table, "tree of 60,000 files", "directory_tree", {"path": "tree", "depth": 3})
        print(f"\nlargest reply: {table.worst[0]} bytes, {table.worst[1]} tokens")
        for miss in table.missed:
            print("MISSED", *miss)
        sys.exit(bool(table.missed))


if __name__ == "__main__":
    main()
