"""Many sessions at once over HTTP: errors, mixed-up artifacts, times, memory."""

import argparse
import asyncio
import base64
import hashlib
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from bursar.budget.reply import Reply
from http_wire import Gone, Refused, Wire
from processes import pss_mib

_LINES = 1500
_MARK = re.compile(r"M[0-9]{4}x")
_SMALL = ("list", "page", "grep")
_KINDS = ("terminal", "read_file", "tree", *_SMALL, *_SMALL)


def content_of(mark, number):
    """Return what the command of a session's call prints."""
    return "".join(f"{mark} call {number} line {line}\n" for line in range(1, _LINES + 1))


class Peer:
    """One session: its calls, what it got, and what was wrong with it."""

    def __init__(self, index, wire, tally):
        self.mark = f"M{index:04d}x"
        self.wire = wire
        self.tally = tally
        self.random = random.Random(index)
        self.session = ""
        self.artifacts = {}

    async def run(self, calls):
        await self._again(self.wire.open)
        for number in range(calls):
            await self._do(self.random.choice(_KINDS) if number else "terminal", number)

    async def look_again(self):
        """Read every artifact once more, by its reference."""
        await self._again(self.wire.open)
        for reference, number in self.artifacts.items():
            text = await self._call("again", "read_artifact", artifact=reference, lines=f"{_LINES}-")
            if f"{self.mark} call {number} line {_LINES}" not in text:
                self.tally.wrong.append((self.mark, reference, text[:200]))

    async def _do(self, kind, number):
        reference, made = self.random.choice(list(self.artifacts.items())) if self.artifacts else ("", 0)
        where = {"session": self.session} if self.session else {}
        if kind == "terminal":
            script = f"awk 'BEGIN{{for(i=1;i<={_LINES};i++)print \"{self.mark} call {number} line \" i}}'"
            text = await self._call(kind, "terminal", command=script, **where)
            named = Reply.parse(text).value["artifact"]
            if "/" in named:  # a connection is told the handle once
                self.session = named.partition("/")[0]
            self.artifacts[f"{self.session}/{named.rpartition('/')[2].partition('-')[0]}"] = number
            expected = f"{self.mark} call {number} line 1\n"
        elif kind == "read_file":
            text = await self._call(kind, "read_file", path=f"{self.mark}.txt", **where)
            expected = self.mark
        elif kind == "tree":
            text = await self._call(kind, "directory_tree", path=f"{self.mark}", **where)
            expected = self.mark
        elif kind == "list":
            text = await self._call(kind, "read_artifact", **where)
            expected = ""
        elif kind == "page":
            line = self.random.randrange(1, _LINES)
            text = await self._call(kind, "read_artifact", artifact=reference, lines=f"{line}-{line + 2}")
            expected = f"{self.mark} call {made} line {line}"
        else:
            line = self.random.randrange(1, _LINES)
            text = await self._call(kind, "read_artifact", artifact=reference, grep=f"line {line}$")
            expected = f"{self.mark} call {made} line {line}"
        marks = set(_MARK.findall(text))
        if marks - {self.mark} or json.dumps(expected)[1:-1] not in text:
            self.tally.wrong.append((self.mark, kind, expected, text[:300]))

    async def _call(self, kind, tool, **arguments):
        async def attempt():
            began = time.perf_counter()
            failed, text = await self.wire.call(tool, arguments)
            self.tally.took[kind].append(time.perf_counter() - began)
            if failed:
                self.tally.errors[f"{kind}: {text[:120]}"] += 1
                raise Refused(200, text)
            return text

        return await self._again(attempt)

    async def _again(self, step):
        """Do something, again if the connection was lost or it was refused: each of those counts as an error."""
        last = None
        for _ in range(40):
            try:
                return await step()
            except Gone as error:
                last = error
                self.tally.errors[f"gone: {error}"[:120]] += 1
                await asyncio.sleep(0.05)
                if not self.wire.modern and step != self.wire.open:
                    await self._again(self.wire.open)
            except Refused as refused:
                last = refused
                if refused.args[0] != 200:
                    self.tally.errors[f"refused: {refused.args}"[:200]] += 1
                await asyncio.sleep(0.2)
        raise RuntimeError(f"{self.mark} gave up: {last!r}")


class Tally:
    """What all sessions saw."""

    def __init__(self):
        self.took = defaultdict(list)
        self.errors = Counter()
        self.wrong = []


class Server:
    """The server under test, as a process of its own."""

    def __init__(self, place, options):
        self.place, self.options = place, options
        self.port = 0
        self.process = None

    def start(self):
        command = [str(Path(sys.executable).with_name("bursar")), "serve", "--http", f"127.0.0.1:{self.port}"]
        command += ["--root", str(self.place / "root"), "--data-dir", str(self.place / "data"), *self.options]
        before = (self.place / "server.log").stat().st_size
        with (self.place / "server.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while True:
            text = (self.place / "server.log").read_bytes()[before:].decode("utf-8", "replace")
            if found := re.search(r"http://127\.0\.0\.1:([0-9]+)/", text):
                break
            if self.process.poll() is not None:
                raise RuntimeError(text[-2000:])
            time.sleep(0.02)
        self.port = int(found[1])
        token = self.place / "data/bursar/.server/token"
        self.token = token.read_text().strip() if token.exists() else ""
        time.sleep(0.5)

    def end(self):
        self.process.terminate()
        self.process.wait(20)

    def memory(self):
        """Return the megabytes that the server and all it started take, what is shared counted once."""
        return pss_mib(self.process.pid)


def stored_whole(data, reference, expected):
    """Tell whether an artifact's file and record are there and whole."""
    handle, _, artifact = reference.partition("/")
    name = base64.b32encode(hashlib.sha256(handle.encode()).digest())[:12].decode().lower()
    try:
        record = json.loads((data / "bursar" / name / f"{artifact}.json").read_text())
        content = (data / "bursar" / name / f"{artifact}-terminal.log").read_bytes()
    except (OSError, ValueError) as error:
        return f"{reference}: {error!r}"
    sha256 = hashlib.sha256(expected.encode()).hexdigest()
    if hashlib.sha256(content).hexdigest() != sha256 or record["sha256"] != sha256:
        return f"{reference}: {len(content)} bytes, {record}"
    return ""


async def load(server, options, tally):
    peers = [
        Peer(index, Wire("127.0.0.1", server.port, server.token, modern=index % 2 == 0), tally)
        for index in range(options.sessions)
    ]
    peak = server.memory()
    began = time.monotonic()
    work = asyncio.ensure_future(asyncio.gather(*(peer.run(options.calls) for peer in peers)))
    while not work.done():
        await asyncio.wait([work], timeout=1.0)
        peak = max(peak, server.memory())
    work.result()
    return peers, time.monotonic() - began, peak


def report(tally, calls, took_s, peak):
    small = sorted(took for kind in _SMALL for took in tally.took[kind])
    p50, p99 = statistics.median(small), small[int(len(small) * 0.99)]
    print(f"{calls} calls in {took_s:.1f} s: {calls / took_s:.0f} a second; peak memory {peak:.0f} MB")
    print(f"small calls: p50 {p50 * 1e3:.0f} ms, p99 {p99 * 1e3:.0f} ms, ratio {p99 / p50:.1f} (at most 20)")
    for kind, times in sorted(tally.took.items()):
        times.sort()
        middle = statistics.median(times)
        print(f"  {kind:10} {len(times):6}  p50 {middle * 1e3:7.0f} ms  max {times[-1] * 1e3:7.0f} ms")
    print(f"errors {sum(tally.errors.values())}, mixed up {len(tally.wrong)}")
    for what, times in [*tally.errors.most_common(8), *((str(wrong), 1) for wrong in tally.wrong[:5])]:
        print(f"  {times} x {what}")
    return p99 / p50


async def measure(server, options):
    tally = Tally()
    peers, took_s, peak = await load(server, options, tally)
    ratio = report(tally, sum(map(len, tally.took.values())), took_s, peak)
    data = server.place / "data"
    kept = [
        stored_whole(data, reference, content_of(peer.mark, number))
        for peer in peers
        for reference, number in peer.artifacts.items()
    ]
    broken = [fault for fault in kept if fault]
    print(f"{len(kept)} acknowledged artifacts, {len(broken)} not whole")
    for fault in broken[:5]:
        print(f"  {fault}")
    server.end()
    server.start()
    again = Tally()
    resumed = peers[:: max(1, round(1 / options.resumed))]
    for peer in resumed:
        peer.tally = again
        peer.wire.close()
    await asyncio.gather(*(peer.look_again() for peer in resumed))
    read = sum(map(len, again.took.values()))
    print(f"after a restart {len(resumed)} sessions went on: {read} artifacts read, ", end="")
    print(f"errors {sum(again.errors.values())}, mixed up {len(again.wrong)}")
    for what in [*again.errors.most_common(5), *again.wrong[:5]]:
        print(f"  {what}")
    faults = sum(tally.errors.values()) + sum(again.errors.values())
    return not (faults or tally.wrong or again.wrong or broken) and ratio <= 20


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--resumed", type=float, default=0.2)
    options, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        (place / "data").mkdir()
        for index in range(options.sessions):
            (folder := place / "root" / f"M{index:04d}x").mkdir(parents=True)
            (folder / f"M{index:04d}x-inside.txt").write_text("x")
            (place / "root" / f"M{index:04d}x.txt").write_text(f"M{index:04d}x is in this file\n" * 20)
        (place / "server.log").touch()
        server = Server(place, ["--requests-per-minute", "0", *rest])
        server.start()
        try:
            is_good = asyncio.run(measure(server, options))
        finally:
            server.end()
    raise SystemExit(0 if is_good else 1)


if __name__ == "__main__":
    main()
