"""Measures the artifact store: `python bench/store.py [directory] [--quick]` prints one table."""

import asyncio
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bursar.artifacts import Limits, Store, reader
from bursar.artifacts.search import Query, grep

LINE = b"2026-11-21 12:00:00.123 INFO  api.server  request handled in 12 ms path=/api/v1/items status=200 user=u1\n"


def row(what, figure):
    print(f"{what:<66} {figure}", flush=True)


def small(store, synced):
    """Times small artifacts and those of a page, forced to the disk and not, in turns."""
    sessions = {"": store.create("bench"), ", with --fsync": synced.create("bench")}
    for size, rounds in ((100, 400), (50_000, 200)):
        times = {name: [] for name in sessions}
        for _ in range(rounds):
            for name, session in sessions.items():
                started = time.perf_counter()
                with session.writer(tool="bench", did="bytes", label="x.log") as writer:
                    writer.write(b"x" * (size - 1) + b"\n")
                times[name].append(time.perf_counter() - started)
        for name, taken in times.items():
            row(f"{size:,}-byte artifact{name}, median", f"{statistics.median(taken) * 1e3:.2f} ms")


def streamed(session, megabytes):
    block = LINE * (65536 // len(LINE))
    started = time.perf_counter()
    with session.writer(tool="bench", did="stream", label="x.log") as writer:
        for _ in range((megabytes << 20) // len(block)):
            writer.write(block)
    seconds = time.perf_counter() - started
    row(f"streamed with write(), {megabytes} MiB", f"{megabytes / seconds:,.0f} MiB/s")


def captured(session, place, command, rounds):
    """Times a command whose output is redirected to a file, and the same captured, in turns."""
    plain, caught = [], []
    for _ in range(rounds):
        target = place / "plain.out"
        started = time.perf_counter()
        with target.open("wb") as file:
            subprocess.run(command, shell=True, stdout=file, check=True)
        plain.append(time.perf_counter() - started)
        target.unlink()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.perf_counter()
        with session.writer(tool="bench", did=command, label="x.log") as writer:
            subprocess.run(command, shell=True, stdout=writer.descriptor(), check=True)
            ended = time.perf_counter()
            artifact = writer.commit()
        caught.append(time.perf_counter() - started)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        last = time.perf_counter() - ended
        os.unlink(artifact.path)
    a, b = statistics.median(plain), statistics.median(caught)
    row(
        f"1 GB from {command[:40]!r}: plain, captured",
        f"{a:.2f} s, {b:.2f} s = {a / b:.0%} (commit {last:.2f} s, +{grown:.0f} MiB)",
    )


def five_gigabytes(session, place):
    path = place / "five.log"
    block = LINE * ((4 << 20) // len(LINE))
    with path.open("wb") as file:
        while file.tell() < 5_000_000_000:
            file.write(block)
        file.write(b"the last line\n")
    artifact = session.refer(
        str(path), path.stat(), tool="bench", did="5 GB", opener=lambda name: os.open(name, os.O_RDONLY)
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for what, work in (
        ("tail=50 of a 5 GB file, never indexed", lambda: reader.tail(artifact, 50)),
        ("bytes at its end", lambda: reader.some_bytes(artifact, artifact.size - 4096, None)),
        ("lines at its end, first time (counts all lines)", lambda: reader.lines(artifact, 47_000_000, None)),
        ("lines at its end, then", lambda: reader.lines(artifact, 47_000_000, None)),
    ):
        started = time.perf_counter()
        assert work().page.pieces
        row(what, f"{(time.perf_counter() - started) * 1e3:.1f} ms")
    row("memory grown by that", f"{(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024:.1f} MiB")
    for pattern in ("the last line", "(?i)nothing like it", "status=200"):
        started = time.perf_counter()
        found = asyncio.run(grep(artifact, Query(pattern), deadline_s=60))
        row(f"grep {pattern!r} in it: {found.matches:,} matches", f"{time.perf_counter() - started:.2f} s")


def main():
    quick = "--quick" in sys.argv
    given = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    place = Path(tempfile.mkdtemp(dir=given[0] if given else None))
    try:
        store = Store(place / "data", Limits())
        small(store, Store(place / "data", Limits(fsync=True)))
        session = store.create("bench")
        streamed(session, 256)
        commands = ["yes 'a line of output as long as most lines of output are, more or less' | head -c 1000000000"]
        commands += [] if quick else ["seq 1 112000000", "head -c 1000000000 /dev/zero"]
        for command in commands:
            captured(session, place, command, 3)
        if not quick:
            five_gigabytes(session, place)
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
