"""Small calls over HTTP beside a bare server on the same SDK: calls a second, in both eras, over 1 and 32 connections.

python bench/http_calls.py [ROUNDS]

Both servers run, and take turns; figures are medians, the ratio is the median of the rounds' ratios. A small
file is read by bursar, a word is echoed by the other server. Without a handshake a call names a session, or gets a new
one.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from http_wire import Wire
from serving import serving
from wire import module

CALLS = 400
BARE = ("echo", {"text": "hello"})
BURSAR = ("read_file", {"path": "note.txt"})


@contextmanager
def bare():
    """Run the bare server; gives its port."""
    process = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("bare_http_server.py")], stdout=subprocess.PIPE
    )
    try:
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


async def calls_a_second(port, connections, call, *, modern, named=False):
    """Share the calls among connections that are open already; in sessions that are named, if so asked."""
    wires = [Wire("127.0.0.1", port, modern=modern) for _ in range(connections)]
    given = {}
    for wire in wires:
        await wire.open()
        _, text = await wire.call(*call)
        given[wire] = call[1] | ({"session": json.loads(text.partition("\n")[0])["artifact"]} if named else {})

    async def work(wire):
        for _ in range(CALLS // connections):
            failed, text = await wire.call(call[0], given[wire])
            assert not failed, text

    began = time.perf_counter()
    await asyncio.gather(*map(work, wires))
    took = time.perf_counter() - began
    for wire in wires:
        wire.close()
    return CALLS // connections * connections / took


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as place, bare() as other:
        Path(place, "note.txt").write_text("hello\n")
        given = ["--no-auth", "--root", place, "--data-dir", f"{place}/data"]
        with serving(module("serve", "--http", "127.0.0.1:0", *given)) as address:
            compare(rounds, other, urlsplit(address).port)


def compare(rounds, other, port):
    print(f"{'':31} {'bare':>8} {'bursar':>8}  ratio   calls a second")
    for era, modern, named in (
        ("2025-11-25", False, False),
        ("2026-07-28", True, True),
        ("2026-07-28, new", True, False),
    ):
        for connections in (1, 32):
            pairs = []
            for _ in range(rounds):
                plain = asyncio.run(calls_a_second(other, connections, BARE, modern=modern))
                pairs.append(
                    (plain, asyncio.run(calls_a_second(port, connections, BURSAR, modern=modern, named=named)))
                )
            plain, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(pair[1] / pair[0] for pair in pairs)
            label = f"{era}, {connections} connection{'s' * (connections > 1)}"
            print(f"{label:31} {plain:8,.0f} {ours:8,.0f} {ratio:6.2f}", flush=True)


if __name__ == "__main__":
    main()
