"""Start-up, small calls and memory beside a bare low-level server, in alternation within one run.

python bench/start.py [ROUNDS]

Memory is the proportional set size of all processes of a server (Linux), some seconds after the tools were listed.
"""

import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from wire import Client, module

BLOCKS, CALLS, AT_ONCE = 40, 25, 16
REST_S = 6.0


def bare(**options):
    """Run the bare low-level server."""
    return Client([sys.executable, str(Path(__file__).with_name("bare_server.py"))], **options)


def starting(make, **options):
    begun = time.perf_counter()
    client = make(**options)
    client.handshake()
    client.tools()
    took = time.perf_counter() - begun
    client.close()
    return took * 1000


def calling(client, tool, arguments):
    return statistics.median(client.call(tool, **arguments)[2] for _ in range(CALLS)) * 1000


def at_once(client, tool, arguments):
    """Return calls per second with so many in flight."""
    begun = time.perf_counter()
    for _ in range(CALLS):
        waiting = {client.send("tools/call", {"name": tool, "arguments": arguments}) for _ in range(AT_ONCE)}
        while waiting:
            waiting.discard(client.next().get("id"))
    return CALLS * AT_ONCE / (time.perf_counter() - begun)


def processes(pid):
    """Return the ids of a process and of all below it."""
    found = [pid]
    for task in os.listdir(f"/proc/{pid}/task"):
        for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
            found += processes(int(child))
    return found


def memory(client):
    """Return the proportional set size of all processes of a server, in MiB."""
    texts = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in processes(client.process.pid)]
    return sum(int(re.search(r"^Pss: +(\d+)", text, re.MULTILINE)[1]) for text in texts) / 1024


def row(name, pairs):
    floor, own = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(ours / bare for bare, ours in pairs)
    print(f"{name:50} {floor:9.2f} {own:9.2f} {ratio:6.2f}", flush=True)


def main(rounds):
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder, "small.txt")
        small.write_text("x" * 99 + "\n")
        options = ["--root", folder, "--data-dir", f"{folder}/data"]
        # Where no bytecode can be written there is none but what the libraries were installed with.
        without = {"env": os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}}

        def ours(**how):
            return Client(module(*options), **how)

        print(f"{'medians, in alternation':50} {'bare':>9} {'bursar':>9} {'ratio':>6}")
        row("start to answered tools/list, ms", [(starting(bare), starting(ours)) for _ in range(rounds)])
        remove_bytecode()
        pairs = [(starting(bare, **without), starting(ours, **without)) for _ in range(rounds)]
        row("the same where no bytecode can be written, ms", pairs)
        floor, own = bare(), ours()
        for client in (floor, own):
            client.handshake()
            client.tools()
        time.sleep(REST_S)
        row("memory at rest, MiB", [(memory(floor), memory(own))])
        echo, reading = ("echo", {"text": "x" * 100}), ("read_file", {"path": "small.txt"})
        row("small call, sequential, ms", [(calling(floor, *echo), calling(own, *reading)) for _ in range(BLOCKS)])
        pairs = [(at_once(floor, *echo), at_once(own, *reading)) for _ in range(BLOCKS // 4)]
        row(f"{AT_ONCE} small calls in flight, calls/s", pairs)
        floor.close()
        own.close()


def remove_bytecode():
    """Remove that of bursar: whoever may not write it has that of the libraries at most."""
    for folder in Path(__file__).parents[1].rglob("__pycache__"):
        if ".venv" not in folder.parts:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
