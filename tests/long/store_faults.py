"""Lets each system call of the store fail, or be the last before the process dies, and looks at what is left.

    python tests/long/store_faults.py [--quick] [--only NAME] [--directory DIR]

Prints a table; needs strace. For each way through the store, each system call of it and each n, a process runs in which
strace makes the nth of these calls return an error, or kills the process on its way into it. A new process then looks:
what was stored before and what was acknowledged is there and whole, nothing half is taken for whole, an error was one
of the store's own, the same process and a new one can go on, and after a sweep no file is left that belongs to nothing.

Last it traces what happens with --fsync: when a write is acknowledged, no file or directory of it lacks its fsync.
"""

import argparse
import hashlib
import json
import os
import re
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

from bursar.artifacts import Limits, Store, folder, follow, retention
from bursar.budget import notable
from bursar.errors import BursarError

LOADED = (follow, retention, notable, shutil.rmtree)
"""What the store would load as it goes: a file of Python's that cannot be read is no fault of a disk for artifacts."""

OWNER = "faults"
SMALL = b"a line of what is stored\n" * 3000
LARGE = b"a line of what is stored\n" * 90_000
EARLIER = b"stored before\n"
CONTENTS = {hashlib.sha256(data).hexdigest(): data for data in (SMALL, LARGE, EARLIER, b"")}
CALLS = (
    "openat,mkdir,mkdirat,write,pwrite64,ftruncate,linkat,rename,renameat,renameat2,unlink,unlinkat,rmdir,fsync,fdatasync,"
    "fchmod,chmod,fchmodat,flock,fstat,newfstatat,lstat,stat,getdents64,pread64,utimensat,lseek,readlink"
).split(",")
ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EROFS", "EMFILE")
CODES = {"disk_full", "store_failed", "read_failed", "data_directory_refused"}
DIES = "SIGKILL"
FOR_EVER_S = 1e12
REFERRED = []


def shown(artifact):
    return f"{artifact.ref} {artifact.state}"


def plain(session):
    with session.writer(tool="t", did="plain") as writer:
        writer.write(SMALL[:40_000])
        writer.write(SMALL[40_000:])
    return [shown(writer.commit())]


def large(session):
    with session.writer(tool="t", did="large") as writer:
        writer.write(LARGE)
    return [shown(writer.commit())]


def live(session):
    with session.writer(tool="t", did="live") as writer:
        descriptor = writer.descriptor()
        try:
            folder.write(descriptor, SMALL)
        except OSError:  # that of the command
            writer.commit("partial")
            return []
    return [shown(writer.commit())]


def discarded(session):
    writer = session.writer(tool="t", did="discarded")
    with suppress(OSError):
        os.write(writer.descriptor(), SMALL)
    writer.discard()
    return []


def spooled(session):
    with session.spool("it") as spool, session.writer(tool="t", did="spooled") as writer:
        spool.write(SMALL)
        spool.pour(writer)
    return [shown(writer.commit())]


def referred(session):
    artifact = session.refer(*REFERRED, tool="t", did="referred", opener=opener)
    return [shown(artifact)]


def read(session):
    again = Store(session.directory.parent, Limits()).attach(session.handle, OWNER)
    for artifact in again.artifacts():
        if artifact.read(0, artifact.size) not in CONTENTS.values():
            raise AssertionError(f"{artifact.id} is not what was stored")
    return []


def created(session):
    other = Store(session.directory.parent, Limits(fsync=session.catalog.fsync)).create(OWNER)
    return plain(other)


def removed(session):
    """Remove the session, and try to go on in it."""
    Store(session.directory.parent, Limits()).remove(session.handle, OWNER)
    return plain(session)


def swept(session):
    Store(session.directory.parent, Limits(idle_s=FOR_EVER_S, total_bytes=0, settle_s=0)).sweep()
    return []


WAYS = {
    "plain": (plain, {}),
    "large, with an index": (large, {}),
    "plain, fsync": (plain, {"fsync": True}),
    "plain, no nameless files": (plain, {"nameless": False}),
    "live": (live, {}),
    "live, fsync": (live, {"fsync": True}),
    "live, no nameless files": (live, {"nameless": False}),
    "live, discarded": (discarded, {}),
    "spool": (spooled, {}),
    "reference": (referred, {}),
    "new session": (created, {}),
    "new session, fsync": (created, {"fsync": True}),
    "removed": (removed, {}),
    "attach, list, read": (read, {}),
    "sweep": (swept, {}),
}
QUICK = {"plain": ("ENOSPC", DIES), "live": ("EIO", DIES), "new session": (DIES,)}


def opener(path):
    return os.open(path, os.O_RDONLY)


class Run:
    """One process that goes one way, and what was there before it."""

    def __init__(self, place, way, options):
        self.place = Path(tempfile.mkdtemp(dir=place))
        path = self.place / "referred"
        path.write_bytes(SMALL)
        REFERRED[:] = [str(path), path.stat()]
        self.root = self.place / "data"
        self.way = way
        self.options = options
        self.handles = []
        for _ in range(2):
            session = Store(self.root, Limits()).create(OWNER)
            for _ in range(2):
                with session.writer(tool="t", did="earlier") as writer:
                    writer.write(EARLIER)
            self.handles.append(session.handle)
            session.close()
        ours, theirs = socket.socketpair()
        self.child = os.fork()
        if not self.child:
            ours.close()
            try:
                self.live_in(theirs)
            finally:
                os._exit(1)
        theirs.close()
        self.wire = ours
        if self.wire.recv(8) != b"ready":
            raise SystemExit("the process could not begin")

    def live_in(self, wire):
        """Be the process: go, tell how it went, and whether work goes on."""
        if not self.options.get("nameless", True):
            folder.Folder._can_name = lambda _: False
        limits = Limits(fsync=self.options.get("fsync", False))
        session = Store(self.root, limits).attach(self.handles[0], OWNER)
        wire.send(b"ready")
        wire.recv(1)
        told = {}
        try:
            told["done"] = self.way(session)
        except BursarError as error:
            told["code"] = error.code
        except BaseException:
            told["crash"] = traceback.format_exc()
        wire.send(json.dumps(told).encode())
        wire.recv(1)
        try:
            told = {"again": plain(session)}
        except BaseException:
            told = {"crash": traceback.format_exc()}
        wire.send(json.dumps(told).encode())

    def go(self, trace, *options):
        """Let it go under strace; return what it told, and that its work went on."""
        command = ["strace", "-f", "-o", str(trace), *options, "-p", str(self.child)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
            for line in tracer.stderr:
                if "attached" in line:
                    break
            else:
                raise SystemExit(f"strace could not attach: is ptrace allowed here? ({' '.join(command)})")
            told = self.ask()
            if told is not None:
                tracer.send_signal(signal.SIGINT)
                tracer.wait()
        again = None if told is None else self.ask()
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        self.wire.close()
        return told, again

    def ask(self):
        try:
            self.wire.send(b"x")
            if not select.select([self.wire], [], [], 30)[0]:
                return {"crash": "it hangs"}
            said = self.wire.recv(1 << 16)
        except ConnectionError:
            return None
        return json.loads(said) if said else None

    def violations(self, told, again):
        """Previewer from a new process at what is left; yields what must not be."""
        reading, writing = os.pipe()
        looker = os.fork()
        if not looker:
            try:
                found = list(self.look(told, again))
            except BaseException:
                found = [traceback.format_exc()]
            os.write(writing, json.dumps(found).encode()[:60_000])
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            found = json.loads(pipe.read())
        os.waitpid(looker, 0)
        shutil.rmtree(self.place)
        return found

    def look(self, told, again):
        if told is not None:
            if "crash" in told:
                yield told["crash"]
            if told.get("code", "disk_full") not in CODES | ({"unknown_session"} if self.way is removed else set()):
                yield f"an error of another kind: {told['code']}"
            if "again" not in again and self.way is not removed:
                yield f"no work goes on: {again}"
        store = Store(self.root, Limits(idle_s=FOR_EVER_S, settle_s=0))
        kept = self.handles[:1] if self.way is not removed or self.is_there(store, told) else []
        kept += [] if self.way is swept else self.handles[1:]
        acknowledged = {*(told or {}).get("done", []), *(again or {}).get("again", [])}
        there = set()
        for handle in {*kept, *(ref.partition("/")[0] for ref in acknowledged)}:
            session = store.attach(handle, OWNER)
            for artifact in session.artifacts(opener):
                content = artifact.read(0, artifact.size)
                there.add(shown(artifact))
                if artifact.state == "whole":
                    if content not in CONTENTS.values() or (
                        not artifact.is_reference and artifact.sha256 not in CONTENTS
                    ):
                        yield f"half: {artifact}"
                elif artifact.state != "partial" or not LARGE.startswith(content):
                    yield f"neither whole nor the beginning: {artifact}"
            with session.writer(tool="t", did="goes on") as writer:
                writer.write(EARLIER)
            session.close()
        earlier = {f"{handle}/a{number} whole" for handle in kept for number in (1, 2)}
        for lost in (earlier | acknowledged) - there:
            yield f"lost: {lost}"
        for _ in range(2):  # the first notes when it saw what was never finished
            store.sweep()
            time.sleep(0.01)
        yield from self.strays()

    def is_there(self, store, told):
        """Tell whether a session is there that was to be removed."""
        try:
            store.attach(self.handles[0], OWNER).close()
        except BursarError:
            return False
        if told is not None and told.get("code") == "unknown_session":
            raise AssertionError("a removed session is there")
        return True

    def strays(self):
        """Name what belongs to no artifact and no session, and stays."""
        for entry in self.root.iterdir():
            names = {file.name for file in entry.iterdir()}
            if entry.name.startswith(".") or "owner.json" not in names:
                yield f"stays for ever: {entry.name} {names}"
            last = max((int(found[1]) for name in names if (found := re.match(r"a(\d+)", name))), default=0)
            for name in names - {"lock", "owner.json", "calls.jsonl", f"a{last}.json"}:
                artifact = re.match(r"a\d+", name)
                if artifact is None or f"{artifact[0]}.json" not in names:
                    yield f"stays for ever: {name}"
                elif name.endswith(".json") and not (entry / name).read_bytes().endswith(b"}"):
                    yield f"stays for ever, half: {name}"


def count_calls(place, way, options):
    """Tell how often each system call is made on a way where nothing fails."""
    run = Run(place, way, options)
    trace = place / "trace"
    told, again = run.go(trace, "-e", "trace=" + ",".join(f"?{call}" for call in CALLS))
    found = run.violations(told, again)
    if found:
        raise SystemExit(f"{way.__name__}: {found}")
    counted = Counter()
    for thread in _by_thread(trace):
        counted |= Counter(match[1] for line in thread if (match := re.match(r"\d+ +(\w+)\(", line)))
    return {call: counted[call] for call in CALLS if counted[call]}


def _by_thread(trace):
    threads = {}
    for line in trace.read_text().splitlines():
        threads.setdefault(line.partition(" ")[0], []).append(line)
    return threads.values()


def inject(place, name, faults):
    """Try every fault at every call of a way; return the row of the table and what must not be."""
    way, options = WAYS[name]
    calls = count_calls(place, way, options)
    ends, broken = Counter(), []
    trace = place / "trace"
    for call, times in calls.items():
        for fault in faults:
            for nth in range(1, times + 1):
                how = f"signal={DIES}" if fault == DIES else f"error={fault}"
                run = Run(place, way, options)
                told, again = run.go(trace, "-e", f"trace={call}", "-e", f"inject={call}:{how}:when={nth}")
                end = "died" if told is None else "error" if "code" in told else "went on"
                ends["missed"] += "INJECTED" not in trace.read_text() and told is not None
                ends[end] += 1
                broken += [f"{name}, {call} {nth} {fault}: {text}" for text in run.violations(told, again)]
    total = ends["died"] + ends["error"] + ends["went on"]
    figures = [sum(calls.values()), total, ends["died"], ends["error"], ends["went on"], ends["missed"], len(broken)]
    return [name, *figures], broken


SYNCED = re.compile(r"\d+ +(?:fsync|fdatasync)\(\d+<([^>]*)>")
WRITTEN = re.compile(r"\d+ +(?:write|pwrite64|ftruncate)\(\d+<([^>]*)>")
NAMED = re.compile(
    r"\d+ +(?:linkat\(.*, (?:\d+|AT_FDCWD)<([^>]*)>, \"|renameat2?\(.*, (?:\d+|AT_FDCWD)<([^>]*)>, \"|"
    r"mkdirat?\((?:\d+|AT_FDCWD)<([^>]*)>, \"|openat\((?:\d+|AT_FDCWD)<([^>]*)>, \"[^\"]+\", [^)]*O_CREAT)"
)


def unsynced(place, name):
    """Tell what a way with fsync has not forced to the disk when it is acknowledged."""
    way, options = WAYS[name]
    run = Run(place, way, options)
    trace = place / "trace"
    told, again = run.go(trace, "-y", "-e", "trace=" + ",".join(f"?{call}" for call in [*CALLS, "sendto"]))
    dirty = {}
    for line in trace.read_text().splitlines():
        if " sendto(" in line:
            break
        if match := SYNCED.match(line):
            dirty.pop(_inode(match[1]), None)
        elif match := WRITTEN.match(line):
            dirty[_inode(match[1])] = match[1]
        elif match := NAMED.match(line):
            path = next(group for group in match.groups() if group)
            dirty[_inode(path)] = path
    needed = [
        path for path in dirty.values() if path.startswith(str(run.root)) and not path.endswith(("/lock", ".idx"))
    ]
    found = [f"{name}: {text}" for text in run.violations(told, again)]
    return [*found, *(f"{name}: not on the disk when acknowledged: {path}" for path in needed)]


def _inode(path):
    """Tell which file a path means, also for one that had no name yet, which Linux shows as `#` and its number."""
    if match := re.search(r"/#(\d+)", path):
        return int(match[1])
    return os.stat(path).st_ino if os.path.exists(path) else path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a part that takes seconds")
    parser.add_argument("--only", action="append", choices=WAYS, help="only this way; repeat for more")
    parser.add_argument("--directory", help="where to write; default: the system's temporary directory")
    given = parser.parse_args()
    if shutil.which("strace") is None:
        raise SystemExit("strace is missing: install it (apt-get install strace), this cannot be shown without it")
    place = Path(tempfile.mkdtemp(dir=given.directory))
    names = given.only or list(QUICK if given.quick else WAYS)
    started = time.monotonic()
    broken = []
    print(f"{'way':<28}{'calls':>7}{'faults':>8}{'died':>7}{'errors':>8}{'no harm':>9}{'missed':>8}{'violations':>12}")
    try:
        for name in names:
            row, found = inject(place, name, QUICK[name] if given.quick else (*ERRORS, DIES))
            broken += found
            print("{:<28}{:>7}{:>8}{:>7}{:>8}{:>9}{:>8}{:>12}".format(*row), flush=True)
        for name in [name for name in WAYS if "fsync" in name and not given.quick and name in (given.only or WAYS)]:
            found = unsynced(place, name)
            broken += found
            print(f"{name}: {len(found)} not on the disk when it is acknowledged")
    finally:
        shutil.rmtree(place)
    print(f"{len(broken)} violations, {time.monotonic() - started:.0f} s")
    for text in broken[:20]:
        print(text.strip().replace("\n", "\n    "))
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
