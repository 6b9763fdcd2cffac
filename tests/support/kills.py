"""A process that writes a history and is killed at a random instant, and what it had been told was stored."""

import os
import random
import signal
import time

from bursar.history.file import HistoryFile, read


def _write(path, acknowledged):
    file = HistoryFile(path)
    number = len(file.contents.records)
    while True:
        size = random.choice((10, 300, 5_000, 60_000))
        file.append(("message", {"m": f"{number} " + "x" * size}))
        number += 1
        os.write(acknowledged, b"%d\n" % number)


def killed(path, seed):
    """Start a writer, kill it, and return how many records it had been told were stored."""
    chance = random.Random(seed)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            random.seed(seed)
            _write(path, writing)
        finally:
            os._exit(1)
    os.close(writing)
    time.sleep(chance.random() ** 3 * 0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as told:
        lines = told.read().split()
    return int(lines[-1]) if lines else 0


def trial(path, seed, before):
    """Kill a writer of a history once; return how many records there are, and what is wrong with it."""
    told = max(before, killed(path, seed))
    if not path.exists():
        return 0, "" if not told else "the history is gone"
    contents = read(path)
    numbers = [int(record["m"].partition(" ")[0]) for record in contents.records]
    if numbers != list(range(len(numbers))) or len(numbers) < told:
        return len(numbers), f"seed {seed}: {len(numbers)} records, {told} were acknowledged"
    wrong = [str(one) for one in contents.damage if "missing" in str(one)]
    return len(numbers), f"seed {seed}: {wrong}" if wrong else ""
