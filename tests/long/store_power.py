"""Cuts the power of a disk that is being written to, and looks at what a new start finds.

    python tests/long/store_power.py [--rounds 10] [--seconds 8]

Prints a table; needs root, loop devices and mkfs.ext4. Four processes store artifacts on an ext4 file system in an
image. At a random instant the image is copied while they stand still: the copy has what the kernel had handed to the
disk by then, as after a power cut (of a disk that writes what it was handed). The copy is mounted, which replays its
journal, and every acknowledged artifact is looked for: it is whole, or missing, or a clear error; never wrong. With
--fsync none may be missing.
"""

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bursar.artifacts import Limits, Store
from bursar.errors import BursarError

IMAGE_BYTES = 256 << 20
PROCESSES = 4
SIZES = [100, 5000, 5000, 70_000, 70_000, 400_000]


def content_of(did):
    seed, size = map(int, did.split())
    block = hashlib.sha256(str(seed).encode()).hexdigest().encode()
    return (block * (size // len(block) + 1))[:size]


def write(root, handle, fsync, seed, told):
    """Be one of the processes: store for ever, and tell what is acknowledged."""
    chance = random.Random(seed)
    session = Store(root, Limits(fsync=fsync, session_bytes=40 << 20)).attach(handle, "me")
    while True:
        did = f"{chance.getrandbits(30)} {chance.choice(SIZES)}"
        try:
            with session.writer(tool="t", did=did) as writer:
                if chance.random() < 0.2:
                    os.write(writer.descriptor(), content_of(did))
                else:
                    writer.write(content_of(did))
            os.write(told, f"{writer.commit().id}={did}\n".encode())
        except BursarError:  # full: there is enough to lose
            time.sleep(0.1)


def mounted(image, place):
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-o", "loop", image, place], check=True)


def one(place, seconds, *, fsync):
    """Store, cut, start again; count what became of what was acknowledged."""
    image, disk = place / "image", place / "disk"
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    mounted(image, disk)
    store = Store(disk / "data", Limits(fsync=True))
    session = store.create("me")
    handle = session.handle
    session.close()
    store.close()
    told, telling = os.pipe()
    pids = []
    for _ in range(PROCESSES):
        seed = random.getrandbits(30)
        if not (pid := os.fork()):
            try:
                write(disk / "data", handle, fsync, seed, telling)
            finally:
                os._exit(1)
        pids.append(pid)
    os.close(telling)
    time.sleep(seconds * (0.5 + random.random() / 2))
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    subprocess.run(["cp", "--sparse=always", image, place / "after"], check=True)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    with os.fdopen(told) as lines:
        acknowledged = dict(line.strip().split("=") for line in lines)
    subprocess.run(["umount", disk], check=True)
    mounted(place / "after", disk)
    try:
        return Counter(found(disk / "data", handle, acknowledged))
    finally:
        subprocess.run(["umount", disk], check=True)


def found(root, handle, acknowledged):
    """Tell of each acknowledged artifact what became of it; of others only if they are wrong."""
    store = Store(root, Limits())
    session = store.attach(handle, "me")
    there = {artifact.id: artifact for artifact in session.artifacts()}
    for name in acknowledged.keys() | there.keys():
        try:
            artifact = there.get(name) or session.open(name)
            content = artifact.read(0, artifact.size)
        except BursarError as error:
            if name in acknowledged:
                yield "missing" if error.code == "unknown_artifact" else error.code
            continue
        expected = content_of(artifact.did)
        if artifact.state == "whole":
            right = content == expected
        else:  # a beginning, as far as it has a hash; what was live has none, and may hold zeros
            right = expected.startswith(content) or not artifact.sha256
        if not right or artifact.did != acknowledged.get(name, artifact.did):
            yield "wrong"
        elif name in acknowledged:
            yield artifact.state
    session.close()
    store.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not given.inside:
        place = tempfile.mkdtemp()
        try:
            command = ["unshare", "--mount", sys.executable, __file__, *sys.argv[1:], "--inside", place]
            sys.exit(subprocess.call(command))
        finally:
            shutil.rmtree(place)
    bad = 0
    print(f"{'':<12}{'rounds':>8}{'whole':>9}{'partial':>9}{'missing':>9}{'damaged':>9}{'wrong':>7}")
    for fsync in (True, False):
        total = Counter()
        for _ in range(given.rounds):
            total += one(Path(given.inside), given.seconds, fsync=fsync)
        shown = [total[what] for what in ("whole", "partial", "missing", "damaged", "wrong")]
        name = "with fsync" if fsync else "without"
        print("{:<12}{:>8}{:>9}{:>9}{:>9}{:>9}{:>7}".format(name, given.rounds, *shown), flush=True)
        rest = total.keys() - {"whole", "partial", "missing", "damaged", "wrong"}
        bad += total["wrong"] + len(rest) + (sum(shown[1:]) if fsync else 0)
        if rest:
            print({what: total[what] for what in rest})
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
