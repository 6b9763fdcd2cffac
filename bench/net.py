"""What fetching costs, and what hostile answers can do: time and peak memory, each in a process of its own.

python bench/net.py [NAME...]
"""

import asyncio
import gzip
import json
import os
import subprocess
import sys
import time
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from bursar.guard.net import Limits
from loopback import Sink, net_for, page, site, without_end


def zstd(data):
    if sys.version_info >= (3, 14):
        from compression import zstd as library
    else:
        from backports import zstd as library
    return library.compress(data)


def brotli(data):
    import brotli as library

    return library.compress(data, quality=5)


def nested(data):
    return gzip.compress(gzip.compress(data))


ZEROS = 1 << 30
BOMBS = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli, "zstd": zstd, "gzip, gzip": nested}


def peak_mb():
    """Memory of this process at its highest, measured from a fresh start by resetting the kernel's mark."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def reset_peak():
    Path("/proc/self/clear_refs").write_text("5")


async def fetch(answer, **limits):
    async with site({"/": answer}) as there:
        net = net_for(there, limits=Limits(**limits))
        await net.fetch(there.url("/warm"), Sink())
        reset_peak()
        before, started = peak_mb(), time.perf_counter()
        response = await net.fetch(there.url(), sink := Sink())
        took_s = time.perf_counter() - started
    failure = response.failure
    ended = f"{failure.stage}: {failure.code}" if failure else "ok"
    return {"sent": response.wire_bytes, "stored": sink.size, "ended": ended, "s": took_s, "mb": peak_mb() - before}


async def bomb(encoding):
    packed = BOMBS[encoding](bytes(ZEROS))
    return {"packed": len(packed)} | await fetch(page(packed, Content_Encoding=encoding))


async def hostile(name):
    ok = b"HTTP/1.1 200 OK\r\n"
    answers = {
        "endless body": without_end(ok + b"\r\n", b"x" * 65536),
        "endless 103": without_end(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 100),
        "endless headers": without_end(ok, b"X-A: b\r\n" * 1000),
        "slow body, 3 s allowed": without_end(ok + b"Content-Length: 9999\r\n\r\n", b".", 0.2),
    }
    return await fetch(answers[name], **({"total_s": 3} if "3 s" in name else {}))


async def small(count):
    """A small page, again and again: what the judging and the limits add to the wire."""
    async with site({"/": page(b"x" * 20_000)}) as there:
        net = net_for(there)
        await net.fetch(there.url(), Sink())
        times = []
        for _ in range(count):
            started = time.perf_counter()
            await net.fetch(there.url(), Sink())
            times.append(time.perf_counter() - started)
    times.sort()
    return {"median_ms": times[count // 2] * 1000, "p95_ms": times[count * 95 // 100] * 1000}


async def images(_):
    from bursar.guard.workers import Workers
    from PIL import Image

    place = Path(os.environ.get("TMPDIR", "/tmp")) / f"bench-{os.getpid()}.jpg"
    Image.effect_noise((4000, 3000), 40).convert("RGB").save(place, quality=85)
    small = place.with_suffix(".small")
    told = {"file_mb": place.stat().st_size / 1e6}
    try:
        async with Workers(1) as workers:
            for name, extra in (("cold", {}), ("warm", {}), ("thumbnail", {"thumbnail_to": str(small)})):
                started = time.perf_counter()
                small.touch()
                wanted = {"path": str(place), **extra}
                await workers.call("bursar.content.pictures:inspect", wanted, reads=[place], writes=[small])
                told[f"{name}_ms"] = (time.perf_counter() - started) * 1000
    finally:
        place.unlink()
        small.unlink(missing_ok=True)
    return told


WORK = {
    **{f"bomb of 1 GiB, {name}": (bomb, name) for name in BOMBS},
    **{name: (hostile, name) for name in ("endless body", "endless 103", "endless headers", "slow body, 3 s allowed")},
    "20 KB page": (small, 200),
    "12 MP JPEG in a worker": (images, None),
}


def main():
    if sys.argv[1:2] == ["--one"]:
        work, given = WORK[sys.argv[2]]
        print(json.dumps(asyncio.run(work(given))))
        return
    for name in sys.argv[1:] or WORK:
        done = subprocess.run([sys.executable, __file__, "--one", name], capture_output=True, text=True, check=False)
        told = json.loads(done.stdout) if done.returncode == 0 else {"crashed": done.stderr[-300:]}
        shown = ", ".join(
            f"{key} {value:,.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in told.items()
        )
        print(f"{name}: {shown}", flush=True)


if __name__ == "__main__":
    main()
