"""Every result of a task becomes one line of at most 4,096 tokens, whatever fails.

    uv run tests/long/task_reports.py [--trials 10000]

Prints also how long reports take without a model: of 100,000 tokens, and of 100 MB.
"""

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path
from statistics import quantiles

import anyio

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import task_faults
from bursar.agent.task import report
from bursar.history import Shelf

WORDS = "The build of part 12 took 3 s, and src/app_b.py was compiled without warnings. "


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=10_000)
    given = parser.parse_args()
    logging.getLogger("bursar.task").addHandler(logging.NullHandler())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        wrong = []
        for seed in range(given.trials):
            if seed % 1000 == 0:
                shelf = Shelf.open("", place)
            if fault := await task_faults.trial(seed, shelf):
                wrong.append(fault)
        print(f"{given.trials} reports with faults, {len(wrong)} not one line within its tokens")
        print(*wrong[:20], sep="\n")
        text, times = WORDS * 5300, []
        for _ in range(50):
            began = time.perf_counter()
            await report("task:general", text, shelf=shelf)
            times.append(1000 * (time.perf_counter() - began))
        print(f"100,000 tokens without a model: {quantiles(times, n=20)[18]:.0f} ms at the 95th percentile")
        big = place / "big"
        big.write_bytes((WORDS + "\n").encode() * (100_000_000 // len(WORDS)))
        began = time.perf_counter()
        await report("task:general", big, shelf=shelf)
        print(f"100 MB: {time.perf_counter() - began:.2f} s")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    anyio.run(main)
