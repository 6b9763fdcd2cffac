"""Start-up and small calls beside a bare low-level server, in alternation within one run.

python bench/start.py [ROUNDS]
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from wire import Client, module

BLOCKS, CALLS = 40, 25


def bare():
    """Run the bare low-level server."""
    return Client([sys.executable, str(Path(__file__).with_name("bare_server.py"))])


def starting(make):
    begun = time.perf_counter()
    client = make()
    client.handshake()
    client.tools()
    took = time.perf_counter() - begun
    client.close()
    return took * 1000


def calling(client, tool, arguments):
    return statistics.median(client.call(tool, **arguments)[2] for _ in range(CALLS)) * 1000


def main(rounds):
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder, "small.txt")
        small.write_text("x" * 99 + "\n")
        options = ["--root", folder, "--data-dir", f"{folder}/data"]

        def ours():
            return Client(module(*options))

        starts = [(starting(bare), starting(ours)) for _ in range(rounds)]
        floor, own = bare(), ours()
        for client in (floor, own):
            client.handshake()
            client.tools()
        time.sleep(5)
        calls = [
            (calling(floor, "echo", {"text": "x" * 100}), calling(own, "read_file", {"path": "small.txt"}))
            for _ in range(BLOCKS)
        ]
        floor.close()
        own.close()
    print(f"{'medians, in alternation':40} {'bare':>9} {'bursar':>9} {'ratio':>6}")
    for name, pairs in (("start to answered tools/list, ms", starts), ("small call, sequential, ms", calls)):
        floor, own = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(ours / bare for bare, ours in pairs)
        print(f"{name:40} {floor:9.2f} {own:9.2f} {ratio:6.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
