"""Print what counting, estimating and cutting cost, and how far the estimates are off, kind of text by kind."""

import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "budget"))

from bursar.budget import cut, tokens
from bursar.budget.clean import utf8

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from sample_texts import KINDS, REPEATED, ordinary, repeated

SEEDS = range(1, 6)


def seconds(work: Callable[[], object], times: int = 1) -> float:
    """Return the least time of one run."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def loading() -> None:
    def resident() -> float:
        status = Path("/proc/self/status")
        lines = status.read_text().splitlines() if status.exists() else []
        return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

    for encoding in ("o200k_base", "cl100k_base"):
        before = resident()
        took = seconds(partial(tokens.warm, encoding))
        print(f"load {encoding}: {took * 1000:.0f} ms, {resident() - before:.0f} MB resident")


def estimates() -> None:
    print(f"\n{'2 M characters of':20} {'MB/s':>6} {'tokens':>8} {'mean off':>9} {'most off':>9} {'estimate ms':>11}")
    for kind in KINDS:
        errors: list[float] = []
        rates: list[float] = []
        costs: list[float] = []
        exact = 0
        for seed in SEEDS:
            text = ordinary(kind, 2_000_000, seed)
            content = text.encode()
            start = time.perf_counter()
            exact = tokens.count(text)
            rates.append(len(content) / 1e6 / (time.perf_counter() - start))
            start = time.perf_counter()
            samples = [content[offset : offset + length] for offset, length in tokens.windows(len(content))]
            guess = tokens.estimate(len(content), samples)
            costs.append((time.perf_counter() - start) * 1000)
            errors.append(abs(guess - exact) / exact * 100)
        print(
            f"{kind:20} {statistics.median(rates):6.1f} {tokens.human(exact):>8} {statistics.mean(errors):8.2f}%"
            f" {max(errors):8.2f}% {statistics.median(costs):11.0f}"
        )


def pathological() -> None:
    print(f"\n{'one thing repeated':22} {'1 M chars s':>11} {'4 M chars s':>11} {'ratio':>6}")
    for kind in REPEATED:
        one, four = (seconds(partial(tokens.count, repeated(kind, chars))) for chars in (1_000_000, 4_000_000))
        print(f"{kind:22} {one:11.2f} {four:11.2f} {four / one:6.1f}")


def cutting() -> None:
    print(f"\n{'64 K characters of':22} {'head ms':>8} {'tail ms':>8}   filled, head and tail: % of the nearer ceiling")
    for allowance in (cut.Allowance(1000, 4000), cut.Allowance(500, 8000)):
        print(f"{allowance}")
        texts = {kind: ordinary(kind, 65_536) for kind in KINDS} | {kind: repeated(kind, 65_536) for kind in REPEATED}
        for kind, text in texts.items():
            times = [seconds(partial(c, text, allowance), 5) * 1000 for c in (cut.head, cut.tail)]
            fills = [filled(c(text, allowance), allowance) for c in (cut.head, cut.tail)]
            print(f"{kind:22} {times[0]:8.2f} {times[1]:8.2f}   {fills[0]:5.1f} {fills[1]:5.1f}")


def filled(text: str, allowance: cut.Allowance) -> float:
    form = json.dumps(utf8(text), ensure_ascii=False)
    return 100 * max(tokens.count(form) / allowance.tokens, len(form.encode()) / allowance.bytes)


if __name__ == "__main__":
    loading()
    estimates()
    pathological()
    cutting()
