"""Writers that are killed at random instants, and what is found afterwards."""

import hashlib
import os
import random
import subprocess
import sys
import time

import pytest
from bursar.artifacts import Limits, Store

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kills with SIGKILL")

WRITER = """
import hashlib, os, random, sys
from pathlib import Path
from bursar.artifacts import Limits, Store

session = Store(Path(sys.argv[1]), Limits()).attach(sys.argv[2], "me")
chance = random.Random(int(sys.argv[3]))
while True:
    size = chance.choice([0, 10, 1000, 70_000, 3_000_000])
    data = chance.randbytes(size)
    writer = session.writer(tool="t", did=hashlib.sha256(data).hexdigest())
    if chance.random() < 0.3:
        os.write(writer.descriptor(), data[: size // 2])
        print("live", writer.artifact.id, flush=True)
        data = data[size // 2 :]
    writer.write(data)
    if chance.random() < 0.1:
        writer.discard()
    else:
        print("done", writer.commit().id, flush=True)
"""


def test_after_a_kill_each_artifact_is_whole_or_absent_or_a_marked_prefix(tmp_path):
    """A few kills; long/store_stress.py has thousands."""
    session = Store(tmp_path / "data", Limits()).create("me")
    chance = random.Random(1)
    done = set()
    for _ in range(6):
        command = [sys.executable, "-c", WRITER, str(tmp_path / "data"), session.handle]
        running = [
            subprocess.Popen([*command, str(chance.random())[2:]], stdout=subprocess.PIPE, text=True) for _ in range(2)
        ]
        for process in running:
            process.stdout.readline()
        time.sleep(chance.random() / 4)
        for process in running:
            process.kill()
            told = process.communicate()[0].splitlines(keepends=True)
            done |= {line.split()[1] for line in told if line.startswith("done") and line.endswith("\n")}
    artifacts = {
        artifact.id: artifact
        for artifact in Store(tmp_path / "data", Limits()).attach(session.handle, "me").artifacts()
    }
    assert done
    assert done <= artifacts.keys()
    for artifact in artifacts.values():
        content = artifact.read(0, artifact.size)
        assert len(content) == artifact.size
        if artifact.id in done or artifact.state == "whole":
            assert artifact.state == "whole"
            assert hashlib.sha256(content).hexdigest() == artifact.did == artifact.sha256
        else:
            assert artifact.state == "partial"
