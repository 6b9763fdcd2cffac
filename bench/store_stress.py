"""Writes from many processes that are killed at random, and compares what is left with what was acknowledged.

`python bench/store_stress.py [--seconds 60] [--processes 8] [--sessions 3] [--directory DIR]`
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bursar.artifacts import Limits, Store
from bursar.errors import BursarError

OWNER = "stress"


def work(root, handles, seed):
    """Do random things for ever, and say each that is done."""
    chance = random.Random(seed)
    store = Store(Path(root))
    sessions = [store.attach(handle, OWNER) for handle in handles]
    while True:
        session = chance.choice(sessions)
        if chance.random() < 0.25:
            look(session, chance)
            continue
        data = chance.randbytes(chance.choice([0, 1, 100, 5000, 70_000, 70_000, 2_500_000]))
        writer = session.writer(tool="stress", did=hashlib.sha256(data).hexdigest(), label="x.bin")
        if chance.random() < 0.3:
            os.write(writer.descriptor(), data[: len(data) // 2])
            data = data[len(data) // 2 :]
        for start in range(0, len(data), 60_000):
            writer.write(data[start : start + 60_000])
        if chance.random() < 0.1:
            writer.discard()
        else:
            sys.stdout.write(writer.commit().ref + "\n")
            sys.stdout.flush()


def look(session, chance):
    """Read something; whatever is whole must be what it says it is."""
    artifacts = session.artifacts()
    if artifacts:
        check(chance.choice(artifacts[-50:]))


def check(artifact):
    content = artifact.read(0, artifact.size)
    if artifact.state == "whole" and hashlib.sha256(content).hexdigest() != artifact.did:
        raise SystemExit(f"HALF: {artifact.ref} is {len(content)} bytes of something else")
    if len(content) != artifact.size:
        raise SystemExit(f"SHORT: {artifact.ref}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--sessions", type=int, default=3)
    parser.add_argument("--directory")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        root, handles, seed = given.work
        work(root, json.loads(handles), int(seed))
    place = Path(tempfile.mkdtemp(dir=given.directory))
    try:
        stress(place / "data", given)
    finally:
        shutil.rmtree(place)


def stress(root, given):
    chance = random.Random()
    store = Store(root)
    handles = [store.create(OWNER).handle for _ in range(given.sessions)]
    acknowledged, kills, broken = set(), 0, []

    def start():
        arguments = [str(root), json.dumps(handles), str(chance.getrandbits(32))]
        command = [sys.executable, __file__, "--work", *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    running = [start() for _ in range(given.processes)]
    until = time.monotonic() + given.seconds
    while running:
        time.sleep(chance.random() * 0.2)
        victim = running.pop(chance.randrange(len(running)))
        victim.send_signal(signal.SIGKILL)
        told, said = victim.communicate()
        kills += 1
        acknowledged |= {line.strip() for line in told.splitlines(keepends=True) if line.endswith("\n")}
        if said:
            broken.append(said)
        if time.monotonic() < until:
            running.append(start())
            store.sweep()
    store = Store(root, Limits())
    states = {"whole": 0, "partial": 0, "live": 0}
    lost = set(acknowledged)
    for handle in handles:
        for artifact in store.attach(handle, OWNER).artifacts():
            states[artifact.state] += 1
            try:
                check(artifact)
            except (SystemExit, BursarError) as error:
                broken.append(str(error))
            if artifact.state == "whole":
                lost.discard(artifact.ref)
    print(f"kills {kills}, acknowledged {len(acknowledged)}, lost {len(lost)}, broken {len(broken)}, left {states}")
    for text in broken[:5]:
        print(text)
    sys.exit(bool(lost or broken))


if __name__ == "__main__":
    main()
