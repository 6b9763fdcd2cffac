"""What a call of a worker costs: the first one, later ones, many at once; and the memory that waits for it.

    python bench/workers.py                      a page of 100 KB made here
    python bench/workers.py --pages DATA         pages of WCXB too (see bench/extraction.py), also without a worker

A page is read through a worker as web_fetch does it. `overhead` is a call whose work takes some 0.2 ms: what is left is
the fork, the walls, and the way there and back.
"""

import argparse
import asyncio
import gzip
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bursar.guard.workers import Workers

READ, TEXT = "bursar.content.page.extract:run", "bursar.content.text:run"
LATER, SMALL, AT_ONCE = 20, 60, 40


def page() -> bytes:
    words = "the quick brown fox jumps over the lazy dog, and so on and so forth; nothing of this is new. "
    parts = (f"<p>{number} {words * 5}<a href='/{number}'>more</a></p>" for number in range(180))
    return f"<html><head><title>A page</title></head><body><article>{''.join(parts)}</article></body></html>".encode()


class Bench:
    def __init__(self, folder: str) -> None:
        self.source, self.target = Path(folder, "page.html"), Path(folder, "page.md")
        self.source.write_bytes(page())

    async def ask(self, workers: Workers, function: str) -> float:
        self.target.write_bytes(b"")
        wanted = {"source": str(self.source), "target": str(self.target), "url": "https://e.example/a"}
        begun = time.perf_counter()
        await workers.call(function, wanted, reads=[self.source], writes=[self.target])
        return (time.perf_counter() - begun) * 1000

    async def run(self) -> None:
        async with Workers() as workers:
            row("first page, cold", [await self.ask(workers, READ)])
        async with Workers() as workers:
            begun = time.perf_counter()
            await workers.warm(READ)
            row("warming up", [(time.perf_counter() - begun) * 1000])
            row("first page after warming up", [await self.ask(workers, READ)])
            row("later pages", [await self.ask(workers, READ) for _ in range(LATER)])
            row("overhead", [await self.ask(workers, TEXT) for _ in range(SMALL)])
            begun = time.perf_counter()
            await asyncio.gather(*(self.ask(workers, TEXT) for _ in range(AT_ONCE)))
            row(f"{AT_ONCE} small calls at the same time, each", [(time.perf_counter() - begun) * 1000 / AT_ONCE])
            memory()

    async def pages(self, data: Path, every: int) -> None:
        """Each page through a worker and in this process, in turn."""
        from bursar.content.page import extract

        through: list[float] = []
        inside: list[float] = []
        extract.run(str(self.source), str(self.target))
        async with Workers() as workers:
            await workers.warm(READ)
            for path in sorted((data / "dev" / "html").glob("*.gz"))[::every]:
                self.source.write_bytes(gzip.decompress(path.read_bytes()))
                through.append(await self.ask(workers, READ))
                begun = time.perf_counter()
                extract.run(str(self.source), str(self.target))
                inside.append((time.perf_counter() - begun) * 1000)
        row("WCXB pages through a worker", through)
        row("WCXB pages in this process", inside)


def row(what: str, times_ms: list[float]) -> None:
    times = sorted(times_ms)
    spread = f"  p95 {times[int(0.95 * len(times))]:7.1f}  n={len(times)}" if len(times) > 1 else ""
    print(f"{what:42} {statistics.median(times):8.1f} ms{spread}", flush=True)


def memory() -> None:
    """Print what our processes hold, where the kernel tells."""
    if sys.platform != "linux":
        return
    for child in Path("/proc/self/task").glob("*/children"):
        for pid in child.read_text().split():
            told = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            print(f"{told['Name'].strip():42} {told['VmRSS'].strip()} resident, {told['RssAnon'].strip()} its own")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=Path)
    parser.add_argument("--every", type=int, default=15, help="only every n-th page")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        asyncio.run(bench.run())
        if given.pages:
            asyncio.run(bench.pages(given.pages, given.every))


if __name__ == "__main__":
    main()
