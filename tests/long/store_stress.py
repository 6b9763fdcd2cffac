"""Random work on one store from many processes, killed at random, on a disk that fills up and fails; checked always.

    python tests/long/store_stress.py [--operations 100000] [--processes 8] [--writers 100] [--seed N]

Prints a table. Needs root for a file system of its own (else there is no full disk) and strace for read and write
errors (else there are none).

The history is compared with a model: each process tells what was acknowledged to it, and what it is about to remove.
What was acknowledged must be readable, whole and equal to what was written, at once, by every process of its session,
and in the end; a session may be swept as a whole, but never while a process has it open; nobody but its owner finds it.
Every content can be recomputed from its artifact's description, so that whatever anybody reads can be judged.
"""

import argparse
import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import suppress
from pathlib import Path

from bursar.artifacts import Limits, Store
from bursar.errors import BursarError
from store_work import LIMITS, OWNERS, Worker, Wrong, content_of, judge, load, opener

KEPT = 2
DISK_BYTES = 192 << 20
PATIENCE = 25
FAULTS = (
    "write:error=EIO:when=5+11", "write:error=ENOSPC:when=6+7", "openat:error=EIO:when=7+23",
    "openat:error=EMFILE:when=9+17", "openat:error=EROFS:when=8+13", "linkat:error=EIO:when=2+3",
    "renameat:error=EIO:when=2+3", "unlinkat:error=EIO:when=2+4", "mkdirat:error=EIO:when=1+2",
    "pread64:error=EIO:when=4+9", "fchmod:error=EIO:when=3+5", "flock:error=EIO:when=2+3",
    "newfstatat:error=EIO:when=30+41", "getdents64:error=EIO:when=2+3",
)  # fmt: skip


class Model:
    """What must be true, as far as it was told."""

    def __init__(self):
        self.artifacts = {}
        self.doubtful = set()
        self.owners = {}
        self.counts = Counter()
        self.wrong = []
        self.acknowledged = 0
        self.sweeps = 0

    def take(self, told):
        """Take one message of a worker."""
        if "acknowledged" in told:
            self.acknowledged += 1
            if told["acknowledged"] in self.artifacts:
                self.wrong.append(f"acknowledged twice: {told['acknowledged']}")
            self.artifacts[told["acknowledged"]] = told["did"], told["state"]
        elif "removing" in told:
            self.artifacts.pop(told["removing"], None)
            self.doubtful.add(told["removing"])
        elif "created" in told:
            self.owners[told["created"]] = told["owner"]
        elif "sweeping" in told:
            self.sweeps += 1
        elif "wrong" in told:
            self.wrong.append(told["wrong"])
        elif "end" in told:
            self.counts[told["did"], told["end"]] += 1

    def owned_by(self, refs):
        """Return what a dead process owned, for another one to take over."""
        owned = {}
        for ref in refs & self.artifacts.keys():
            handle, _, name = ref.partition("/")
            owned.setdefault(handle, {})[name] = self.artifacts[ref][0]
        return owned

    def check(self, root):
        """Look at everything from a new store; return how many artifacts were found as acknowledged."""
        store = Store(root, LIMITS)
        found = 0
        for handle, owner in self.owners.items():
            try:
                session = store.attach(handle, owner)
            except BursarError:
                if not self.sweeps:
                    self.wrong.append(f"gone, and nobody swept: {handle}")
                continue
            there = {artifact.ref: artifact for artifact in session.artifacts(opener)}
            for artifact in there.values():
                try:
                    judge(artifact)
                except (Wrong, BursarError) as error:
                    self.wrong.append(f"{error}: {artifact.ref}")
            for ref, (did, state) in self.artifacts.items():
                if ref.startswith(handle):
                    if ref not in there or (there[ref].did, there[ref].state) != (did, state):
                        self.wrong.append(f"lost: {ref}")
                    else:
                        found += 1
            session.close()
        return found


class Stress:
    """The parent: starts workers, kills them, fills the disk, has their calls fail, and keeps the model."""

    def __init__(self, place, given):
        self.place, self.given = place, given
        self.root = place / "data"
        self.chance = random.Random(given.seed)
        self.model = Model()
        self.running = {}
        self.orphans = set()
        self.kills = self.injected = self.fills = 0
        self.tracer = None
        (place / "referred").write_bytes(content_of("7 5000"))
        store = Store(self.root, LIMITS)
        self.kept = [store.create(owner) for owner in OWNERS for _ in range(KEPT)]
        for session in self.kept:
            self.model.owners[session.handle] = session.owner

    def start(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        seed = self.chance.getrandbits(32)
        pid = os.fork()
        if not pid:
            ours.close()
            for other in self.running:
                other.close()
            try:
                Worker(self.root, theirs, seed, {}).run()
            except BaseException as error:
                text = str(error) if isinstance(error, Wrong) else traceback.format_exc()
                with suppress(OSError):
                    theirs.send(json.dumps({"wrong": text[:3000]}).encode())
            finally:
                os._exit(0)
        theirs.close()
        self.running[ours] = pid, set()
        recent = dict(list(self.model.owners.items())[-12:]) | {s.handle: s.owner for s in self.kept}
        mine = {h: o for h, o in self.model.owned_by(self.orphans).items() if h in recent}
        taken = {f"{handle}/{name}" for handle, owned in mine.items() for name in owned}
        ours.send(json.dumps({"handles": recent}).encode())
        for handle, owned in mine.items():
            names = list(owned)
            for begin in range(0, len(names), 500):
                part = {name: owned[name] for name in names[begin : begin + 500]}
                ours.send(json.dumps({"mine": {handle: part}}).encode())
        self.orphans -= taken
        self.running[ours][1].update(taken)

    def listen(self, wires, seconds):
        """Take what workers say; those that are gone are seen off."""
        for wire in select.select(list(wires), [], [], seconds)[0]:
            while select.select([wire], [], [], 0)[0]:
                try:
                    data = wire.recv(1 << 16)
                except ConnectionError:
                    data = b""
                if not data:
                    self.see_off(wire)
                    break
                told = json.loads(data)
                self.model.take(told)
                if "acknowledged" in told:
                    self.running[wire][1].add(told["acknowledged"])

    def see_off(self, wire):
        pid, owned = self.running.pop(wire)
        os.waitpid(pid, 0)
        wire.close()
        self.orphans |= owned

    def kill_one(self):
        wire = self.chance.choice(list(self.running))
        os.kill(self.running[wire][0], signal.SIGKILL)
        self.kills += 1
        while wire in self.running:
            self.listen([wire], 1)
        self.start()

    def fail_one(self):
        """Have calls of a worker fail for a while."""
        if self.tracer is not None:
            self.tracer.send_signal(signal.SIGINT)
            try:
                self.tracer.wait(1)
            except subprocess.TimeoutExpired:  # it waits for the worker, who waits for somebody to listen
                self.tracer.kill()
                self.tracer.wait()
            self.injected += Path(self.place / "trace").read_text().count("INJECTED")
            self.tracer = None
        elif self.given.strace:
            pid = self.running[self.chance.choice(list(self.running))][0]
            fault = self.chance.choice(FAULTS)
            command = ["strace", "-f", "-qq", "-o", str(self.place / "trace"), "-e", f"trace={fault.partition(':')[0]}"]
            self.tracer = subprocess.Popen(
                [*command, "-e", f"inject={fault}", "-p", str(pid)], stderr=subprocess.DEVNULL
            )

    def fill(self):
        """Fill the disk, or make room again."""
        ballast = self.place / "ballast"
        if ballast.exists():
            ballast.unlink()
        elif self.given.disk:
            free = os.statvfs(self.place).f_bavail * os.statvfs(self.place).f_frsize
            with suppress(OSError), ballast.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, max(1, free - (1 << 20)))
            self.fills += 1

    def run(self):
        load(self.place)
        for _ in range(self.given.processes):
            self.start()
        turn = 0
        while sum(self.model.counts.values()) < self.given.operations and len(self.model.wrong) < 5:
            self.listen(self.running, 0.05)
            while len(self.running) < self.given.processes:
                self.start()
            turn += 1
            if self.chance.random() < 0.15:
                self.kill_one()
            if turn % PATIENCE == 0:
                self.fail_one()
            if turn % (3 * PATIENCE) in {7, 17}:
                self.fill()
        if self.tracer is not None:
            self.fail_one()
        for pid, _ in self.running.values():
            os.kill(pid, signal.SIGKILL)
        while self.running:
            self.listen(self.running, 1)
        (self.place / "ballast").unlink(missing_ok=True)
        for session in self.kept:
            session.close()
        return self.model.check(self.root)


def at_once(place, writers):
    """Have many processes write into one session at once; return what was acknowledged, and what is wrong."""
    session = Store(place / "crowd", Limits()).create("crowd")
    gate_out, gate_in = os.pipe()
    out, told = os.pipe()
    pids = []
    for number in range(writers):
        pid = os.fork()
        if not pid:
            try:
                mine = Store(place / "crowd", Limits()).attach(session.handle, "crowd")
                os.close(gate_in)
                os.read(gate_out, 1)
                for turn in range(20):
                    with mine.writer(tool="crowd", did=f"{number * 100 + turn} {turn * 100}") as writer:
                        writer.write(content_of(f"{number * 100 + turn} {turn * 100}"))
                    os.write(told, f"{writer.commit().id} {number * 100 + turn}\n".encode())
            finally:
                os._exit(0)
        pids.append(pid)
    os.close(told)
    os.close(gate_in)
    with os.fdopen(out) as lines:
        acknowledged = dict(line.split() for line in lines)
    for pid in pids:
        os.waitpid(pid, 0)
    there = {
        artifact.id: artifact
        for artifact in Store(place / "crowd", Limits()).attach(session.handle, "crowd").artifacts()
    }
    wrong = [f"lost: {name}" for name, seed in acknowledged.items() if there[name].did.split()[0] != seed]
    for artifact in there.values():
        judge(artifact)
    return len(acknowledged), wrong + ["some were not acknowledged"] * (len(acknowledged) != writers * 20)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--writers", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.getrandbits(32))
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.strace = shutil.which("strace") is not None
    if not given.inside:
        place = tempfile.mkdtemp()
        try:
            mine = ["unshare", "--mount"] if os.geteuid() == 0 and shutil.which("unshare") else []
            arguments = [*sys.argv[1:], "--seed", str(given.seed), "--inside", place]
            sys.exit(subprocess.call([*mine, sys.executable, __file__, *arguments]))
        finally:
            shutil.rmtree(place)
    place = Path(given.inside)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", place]
    given.disk = not subprocess.run(mount, capture_output=True, check=False).returncode
    sys.exit(report(place, given))


def report(place, given):
    started = time.monotonic()
    stress = Stress(place, given)
    found = stress.run()
    took_s = time.monotonic() - started
    model = stress.model
    print(f"seed {given.seed}; own disk: {given.disk}; errors by strace: {given.strace}")
    ends = sorted({end for _, end in model.counts})
    print(f"{'':<12}" + "".join(f"{end:>17}" for end in ends))
    for did in sorted({did for did, _ in model.counts}):
        print(f"{did:<12}" + "".join(f"{model.counts[did, end] or '':>17}" for end in ends))
    shutil.rmtree(stress.root)
    crowd, lost = at_once(place, given.writers)
    model.wrong += lost
    print(
        f"\n{sum(model.counts.values()):,} operations of {given.processes} processes in {took_s:.0f} s; "
        f"{stress.kills} kill -9, {stress.injected} injected errors, disk filled {stress.fills} times, "
        f"{model.sweeps} sweeps\n"
        f"{model.acknowledged:,} artifacts acknowledged, {len(model.doubtful):,} removed, {found:,} checked at the "
        f"end; {given.writers} writers at once: {crowd:,} acknowledged\n{len(model.wrong)} violations"
    )
    for text in model.wrong[:10]:
        print(text)
    return bool(model.wrong)


if __name__ == "__main__":
    main()
