"""No acknowledged message of a history is lost: writers killed at random instants, files damaged in random ways.

    uv run tests/long/history_faults.py [--kills 10000] [--damages 10000]

After each kill all that was acknowledged is there, and a next writer goes on. Of a damaged file all records are read of
which no byte was touched, and every damage is told.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import damages
import kills

_GENERATIONS = 8
"""So many writers in a row, each killed, write one history."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=10_000)
    parser.add_argument("--damages", type=int, default=10_000)
    given = parser.parse_args()
    wrong, stored, begun = [], 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        place, count = Path(folder), 0
        for seed in range(given.kills):
            path = place / f"k{seed // _GENERATIONS}.jsonl"
            is_first = seed % _GENERATIONS == 0
            before = 0 if is_first else count
            count, fault = kills.trial(path, seed, before)
            stored += count - before
            wrong += [fault] if fault else []
            if seed % _GENERATIONS == _GENERATIONS - 1:
                path.unlink(missing_ok=True)
        print(f"{given.kills} kills, {stored} records stored, {len(wrong)} faults, {time.monotonic() - begun:.0f} s")
        wrong += filter(None, (damages.trial(place, seed) for seed in range(given.damages)))
    print(f"{given.damages} damages, {len(wrong)} faults in all, {time.monotonic() - begun:.0f} s")
    print(*wrong[:20], sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
