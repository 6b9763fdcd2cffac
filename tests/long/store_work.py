"""What a process of `store_stress.py` does: random things with a store for ever, judging all that it reads."""

import hashlib
import json
import os
import random
import select
import shutil
from contextlib import suppress

import anyio
from bursar.artifacts import Limits, Store, follow, reader, retention
from bursar.artifacts.search import Query, grep
from bursar.budget import notable
from bursar.errors import BursarError

LOADED = (follow, notable, retention, shutil.rmtree)
"""What the store would load as it goes; see `load`."""

OWNERS = ("one", "other")
LIMITS = Limits(idle_s=4, total_bytes=120 << 20, session_bytes=24 << 20, settle_s=0)
SIZES = [0, 1, 100, 100, 1000, 5000, 5000, 30_000, 70_000, 70_000, 400_000, 1_500_000]


class Wrong(Exception):  # noqa: N818
    """Something that must never be."""


def content_of(did):
    """Return the content that belongs to a description, `seed size`."""
    seed, size = map(int, did.split())
    block = hashlib.sha256(str(seed).encode()).hexdigest().encode()[:63] + b"\n"
    return (block * (size // len(block) + 1))[:size]


def judge(artifact):
    """Compare an artifact with its description."""
    content = artifact.read(0, artifact.size)
    expected = content_of(artifact.did)
    if artifact.state == "whole":
        if content != expected:
            raise Wrong(f"half: {artifact.ref} is {len(content)} bytes of {len(expected)}")
    elif not expected.startswith(content):
        raise Wrong(f"not a beginning: {artifact.ref}")


def load(place):
    """Load what the store would load as it goes: Python's own files are not what fails here."""
    session = Store(place / "loading", Limits()).create("loading")
    with session.writer(tool="t", did="1 1000") as writer:
        writer.write(content_of("1 1000"))
    if anyio.run(grep, writer.commit(), Query("no such line")).matches:
        raise Wrong("found what is not there")


class Worker:
    """One process: does random things for ever, and tells what was acknowledged."""

    def __init__(self, root, wire, seed, mine):
        self.store = Store(root, LIMITS)
        self.root = root
        self.wire = wire
        self.chance = random.Random(seed)
        self.open = {}
        self.mine = {handle: dict(owned) for handle, owned in mine.items()}
        self.handles = {}

    def run(self):
        while True:
            work = self.chance.choices(WORKS, WEIGHTS)[0]
            told = {"did": work.__name__}
            try:
                with suppress(FileNotFoundError):
                    self.learn()
                told["end"] = work(self) or "done"
            except BursarError as error:
                told["end"] = error.code
                if error.code == "damaged":
                    raise Wrong(f"damaged: {error.message}") from error
            self.tell(told)

    def tell(self, told):
        self.wire.send(json.dumps(told).encode())

    def learn(self):
        """Take over what the parent has said: sessions, and what dead processes owned."""
        while select.select([self.wire], [], [], 0)[0]:
            told = json.loads(self.wire.recv(1 << 20))
            self.handles.update(told.get("handles", {}))
            for handle, owned in told.get("mine", {}).items():
                self.mine.setdefault(handle, {}).update(owned)

    def session(self):
        """Choose a session, opened before or now; what this process owns in it must be there."""
        if self.open and (self.chance.random() < 0.9 or not self.handles):
            return self.open[self.chance.choice(list(self.open))]
        if not self.handles:
            return self.create()
        handle = self.chance.choice(list(self.handles))
        if handle not in self.open:
            self.attach(handle)
        return self.open[handle]

    def attach(self, handle):
        try:
            session = self.store.attach(handle, self.handles[handle])
        except BursarError as error:
            if error.code == "unknown_session":
                self.handles.pop(handle)
                self.mine.pop(handle, None)
                self.tell({"gone": handle})
            raise
        self.open[handle] = session
        for artifact in list(self.mine.get(handle, {})):
            self.find(session, artifact)

    def find(self, session, artifact):
        """Open what this process owns: in an open session it cannot be missing."""
        try:
            found = session.open(artifact)
        except BursarError as error:
            if error.code == "unknown_artifact":
                raise Wrong(f"lost while in use: {session.handle}/{artifact}") from error
            raise
        if found.did != self.mine[session.handle][artifact]:
            raise Wrong(f"another artifact has its name: {found.ref}")
        return found

    def create(self):
        owner = self.chance.choice(OWNERS)
        session = self.store.create(owner)
        self.open[session.handle] = session
        self.handles[session.handle] = owner
        self.tell({"created": session.handle, "owner": owner})
        return session

    def acknowledged(self, session, artifact):
        """Own a new artifact; it can be read at once."""
        self.tell({"acknowledged": artifact.ref, "did": artifact.did, "state": artifact.state})
        self.mine.setdefault(session.handle, {})[artifact.id] = artifact.did
        judge(self.find(session, artifact.id))
        return "done"

    def described(self):
        size = self.chance.choice(SIZES)
        return f"{self.chance.getrandbits(31)} {size}"


def _cut(data):
    return [data[start : start + 60_000] for start in range(0, len(data), 60_000)]


def write(worker):
    session, did = worker.session(), worker.described()
    with session.writer(tool="stress", did=did, label="x.log") as writer:
        for part in _cut(content_of(did)):
            writer.write(part)
        ends = worker.chance.random()
        if ends < 0.05:
            writer.discard()
            return "discarded"
        if ends < 0.1:
            writer.commit("partial")
            return "partial"
    return worker.acknowledged(session, writer.commit())


def live(worker):
    session, did = worker.session(), worker.described()
    data = content_of(did)
    writer = session.writer(tool="stress", did=did, label="live.log")
    try:
        writer.write(data[: len(data) // 3])
        descriptor = writer.descriptor()
        data = data[len(data) // 3 :]
        while data:
            data = data[os.write(descriptor, data[:100_000]) :]
        if worker.chance.random() < 0.1:
            writer.discard()
            return "discarded"
        artifact = writer.commit()
    except OSError:  # of the command, not of the store
        writer.commit("partial")
        return "partial"
    except BaseException:
        with suppress(BursarError):
            writer.commit("partial") if writer.is_open else None
        raise
    return worker.acknowledged(session, artifact)


def spool(worker):
    session, did = worker.session(), worker.described()
    with session.spool("it") as held, session.writer(tool="stress", did=did) as writer:
        held.write(content_of(did))
        held.pour(writer)
    worker.acknowledged(session, writer.commit())


def refer(worker):
    session = worker.session()
    did = "7 5000"
    path = worker.root.parent / "referred"
    try:
        found = path.stat()
    except OSError:
        return "missed"
    artifact = session.refer(str(path), found, tool="stress", did=did, opener=opener)
    judge(artifact)
    return "done"


def same(worker):
    session = worker.session()
    owned = worker.mine.get(session.handle)
    if owned:
        artifact = worker.find(session, worker.chance.choice(list(owned)))
        equal = session.same_as(artifact.sha256, artifact.size)
        if equal is not None and equal.sha256 != artifact.sha256:
            raise Wrong(f"not the same: {equal.ref}")


def read(worker):
    session = worker.session()
    owned = worker.mine.get(session.handle)
    if owned:
        artifact = worker.find(session, worker.chance.choice(list(owned)))
        judge(artifact)
        if artifact.size:
            reader.tail(artifact, 20)
            reader.lines(artifact, 1, 50)


def everything(worker):
    """List, and judge a few of what anybody made."""
    artifacts = worker.session().artifacts(opener)
    for artifact in worker.chance.sample(artifacts, min(5, len(artifacts))):
        try:
            judge(artifact)
        except BursarError as error:
            if error.code != "unknown_artifact":  # its owner may remove it meanwhile
                raise


def find_lines(worker):
    session = worker.session()
    owned = worker.mine.get(session.handle)
    if owned:
        artifact = worker.find(session, worker.chance.choice(list(owned)))
        found = anyio.run(grep, artifact, Query("no such line|^$"))
        if found.matches:
            raise Wrong(f"found what is not there: {artifact.ref}")


def remove(worker):
    session = worker.session()
    owned = worker.mine.get(session.handle, {})
    if not owned:
        return "nothing"
    for name in worker.chance.sample(list(owned), min(len(owned), 1 + len(owned) // 4)):
        artifact = worker.find(session, name)
        worker.tell({"removing": artifact.ref})
        owned.pop(name)
        session.remove(artifact)
    return "done"


def close(worker):
    if worker.open:
        worker.open.pop(worker.chance.choice(list(worker.open))).close()


def create(worker):
    worker.create()


def sweep(worker):
    worker.tell({"sweeping": True})
    return "removed some" if worker.store.sweep().sessions else "done"


def intrude(worker):
    """Try to get at a session with another owner's name, from the outside and through a reference."""
    session = worker.session()
    stranger = OWNERS[session.owner == OWNERS[0]]
    for attempt in (
        lambda: worker.store.attach(session.handle, stranger),
        lambda: worker.store.create(stranger).open(f"{session.handle}/a1"),
    ):
        try:
            attempt()
        except BursarError as error:
            if not error.code.startswith("unknown_") and error.code not in {"disk_full", "store_failed", "read_failed"}:
                raise
        else:
            raise Wrong(f"a stranger got into {session.handle}")


def opener(path):
    try:
        return os.open(path, os.O_RDONLY)
    except OSError as error:
        raise BursarError("read_failed", str(error), "Try again") from error


WORKS, WEIGHTS = zip(
    (write, 30), (live, 8), (spool, 5), (refer, 3), (same, 6), (read, 25), (everything, 4), (find_lines, 0.5),
    (remove, 4), (close, 2), (create, 0.6), (sweep, 0.5), (intrude, 1), strict=True,
)  # fmt: skip
