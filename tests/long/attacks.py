"""Attacks by commands and file tools on another session, on the server and its helpers, by user and means.

python tests/long/attacks.py [SECONDS that swapped links are tried for, default 60] [USER, default both] [behind]

With `behind`, what would be a command of the attacker is done by a server behind this one, in his session.
"""

import contextlib
import ctypes
import json
import os
import platform
import re
import resource
import secrets
import shutil
import socket
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from attack_scripts import BASH, HARM, PLANTED, PRELUDE, PYTHON

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from means import MISSING, without
from peers import Peer, serving, token_file
from replies import reply_of

USERS = ("root", "user")

_AS_USER = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
"""An ordinary user in all that matters here: no capability, and the owner of his own files."""

SEEN = {
    "names and sizes": 'stat -c %s,%n "$TARGET"',
    "command lines": "cat /proc/[0-9]*/cmdline | tr '\\0' ' '",
}
"""What a command may learn of others under Landlock alone, which has nothing against it, and otherwise not."""

RIGHTS_OF_SECRETS = "rights of tokens and keys"
PLANTED_TWICE = "programs and settings planted for the server"
SURVIVOR = "a survivor of setsid"
_LATE_S = 2.0
_OF_COMMANDS = (SURVIVOR, "a background command over many calls", "links swapped under file tools")
_STUB = Path(__file__).resolve().parents[1] / "support" / "mcp_stub.py"

_ARGUMENT = "86400.75"


class Stage:
    """A server with a victim, ann, and an attacker, bob."""

    is_behind = False

    def __init__(self, base, process, url, peers, secrets_, shared, again):
        self.base, self.process, self.shared, self.again = base, process, shared, again
        self.left = secrets.randbits(30)
        self.program = base / "program"
        shutil.copy("/bin/true", self.program)
        self.work, self.store = base / "work", base / "data" / "bursar"
        self.ann, self.bob = peers
        self.port = url.rpartition(":")[2].partition("/")[0]
        self.marker, self.environment, self.service = secrets_
        self.is_turned = False
        self.tokens = base / "secret" / "tokens"
        self.canary = base / "canary"
        self._set_up()

    def _set_up(self):
        (self.work / "secret.txt").write_text(self.marker + "\n")
        reply = self.ann.done("read_file", path="secret.txt")
        (self.work / "secret.txt").unlink()
        self.reference = reply["artifact"]
        self.handle = self.reference.partition("/")[0]
        self.target = next(place for place in self.store.glob("*/a1-*"))
        self.theirs = self.target.parent
        held = f'export HELD="$(cat {self.target})"; cp {self.target} "$TMPDIR/kept"; exec sleep {_ARGUMENT}'
        self.ann.done("terminal", session=self.handle, command=held, background=True)
        self.private = next(iter(self.store.glob(".tmp-*/kept"))).parent
        self.victim = next(
            pid for pid, words in _commands().items() if words == ["sleep", _ARGUMENT] and self._mine(pid)
        )
        self.chain = [self.process.pid, *_between(self.victim, self.process.pid), self.victim]
        listed = self.ann.done("read_artifact", session=self.handle)
        self.known = listed["artifacts"]
        self.started = time.time()
        reply = self.bob.done("terminal", command="true")
        self.isolation = reply.get("isolation", "kernel")
        self.bobs = reply["artifact"].partition("/")[0]
        key = next((self.store / ".server").glob("*key*"), None)
        hashes = [line.partition(":")[2].strip() for line in self.tokens.read_text().splitlines()]
        self.secrets = [self.marker, self.environment, self.service, *hashes]
        if key is not None:
            self.secrets += [key.read_bytes().decode("latin-1").strip()]
        self.before = self._state()

    def _mine(self, pid):
        return self.process.pid in _above(pid)

    def told(self):
        """Return what the attacker knows: everything."""
        return {
            "TARGET": self.target,
            "THEIRS": self.theirs,
            "STORE": self.store,
            "PRIVATE": self.private,
            "KEYS": self.store / ".server",
            "TOKENS": self.tokens,
            "SERVER": self.process.pid,
            "HELPERS": " ".join(map(str, self.chain[1:-1])) or self.process.pid,
            "VICTIM": self.victim,
            "WORK": self.work,
            "PORT": self.port,
            "SOCKET": self.base / "service",
            "SHARED": self.shared,
            "LEFT": self.left,
            "PROGRAM": self.program,
            "ABSTRACT": f"bursar-{self.service[:8]}",
            "CANARY": self.canary,
            "BASE": self.base,
            "PYTHON": sys.executable,
            "HANDLE": self.handle,
        }

    def command(self, script, **more):
        """Run a script as bob; return his reply and all that it printed."""
        told = "".join(f"export {name}={_quoted(value)}\n" for name, value in self.told().items())
        whole = f"{told}{{ {script}\n}} 2>&1"
        if self.is_behind and not self.is_turned:
            given = {"tool": "shell.run", "arguments": {"command": f"cd {self.work}\n{whole}"}}
            # Each in a session of its own: a server that keeps ending is left alone there.
            text, is_error = self.bob.call("call_tool", **given)
        else:
            text, is_error = self.bob.call("terminal", session=self.bobs, command=whole, timeout_s=10, **more)
        return text, "" if is_error else self.output(reply_of(text))

    def output(self, reply):
        places = self.store.glob(f"*/{reply['artifact'].rpartition('/')[2]}")
        return "".join(_beginning(place) for place in places if (place.parent == self.theirs) == self.is_turned)

    def turn(self):
        """Let the victim attack himself, who may read it all: a script that finds nothing then is no attack."""
        self.bob, self.bobs, self.is_turned = self.ann, self.handle, True

    def leaked(self, *texts):
        """Return which secrets stand in texts, or in files that the attacker may write."""
        found = [_beginning(place) for place in _files(self.work)]
        whole = "\n".join((*texts, *found))
        leaks = [f"secret {number}" for number, secret in enumerate(self.secrets) if secret[:24] in whole]
        return leaks + [line for line in whole.splitlines() if line.startswith(HARM)]

    def harmed(self):
        """Return what has become of the victim's files and processes, the server's, and of what is outside."""
        try:
            now = self._state()
        except PermissionError:
            # Under Landlock alone a command may change rights; they are mended when the session is used again.
            self.ann.call("read_artifact", artifact=self.reference)
            now = self._state()
        harm = [
            f"{what}: {self.before[what]!r} is now {value!r}"
            for what, value in now.items()
            if value != self.before[what]
        ]
        if self.process.poll() is None:
            try:
                text, is_error = self.ann.call("read_artifact", artifact=self.reference)
                if is_error or self.marker not in text:
                    harm.append(f"the victim reads {text[:200]}")
            except Exception as error:
                harm.append(f"the victim gets {error!r}")
        return harm + [f"{place.name} was made" for place in self.base.glob("canary*")]

    def _state(self):
        state = {f"process {number}": _shape(pid) for number, pid in enumerate(self.chain)}
        kept = [*self.theirs.glob("a1*"), self.theirs / "owner.json", *self.theirs.glob("planted*")]
        state["files"] = {place.name: place.read_bytes() if place.is_file() else None for place in kept}
        state["kept"] = (self.private / "kept").read_bytes() if (self.private / "kept").exists() else None
        state["tokens"] = self.tokens.read_bytes() if self.tokens.exists() else None
        state["workspace"] = self.work.is_dir() and not self.work.is_symlink()
        state["aged"] = _used(self.theirs) < self.started - 60
        state["shared memory"] = self.shared_memory()
        state["left behind"] = [kind for kind in ("shm", "msg", "sem") if _is_left(kind, self.left)]
        state["rights of programs"] = [place.name for place in _files(self.base) if self._gives_rights(place)]
        state["core pattern"] = Path("/proc/sys/kernel/core_pattern").read_text()
        return state

    def _gives_rights(self, place):
        """Tell whether a program gives its rights to whoever runs it; of the group, in the workspace it may."""
        return place.stat().st_mode & (0o4000 if place.is_relative_to(self.work) else 0o6000)

    def shared_memory(self):
        """Return what a program outside shares under a number; it begins with a secret."""
        return ctypes.string_at(_LIBC.shmat(_LIBC.shmget(self.shared, 0, 0), None, 0), 64)

    def tidy(self):
        """Empty the workspace."""
        for place in self.work.iterdir():
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place, ignore_errors=True)
            else:
                place.unlink()
        (self.work / "note.md").write_text("# a note\n\n![](picture.png)\n")

    @property
    def is_well(self):
        return self.process.poll() is None and not self.harmed()


def attack(stage, script):
    """Let bob run a script; return `held`, or what came of it."""
    stage.tidy()
    text, printed = stage.command(script)
    if script is BASH[SURVIVOR]:
        time.sleep(_LATE_S)
    found = stage.leaked(text, printed) + stage.harmed()
    if script is BASH[SURVIVOR] and (stage.work / "alive").exists():
        found.append("a process outlived its call")
    return "; ".join(found)[:300] or "held"


def python(script):
    """Return the command that runs a script in Python."""
    return f"$PYTHON -I - <<'END OF SCRIPT'\n{PRELUDE}{script}\nEND OF SCRIPT"


def restarted(stage, script):
    """Let bob run a script, then start the server once more with what it left of tokens and keys."""
    outcome = attack(stage, script)
    try:
        with stage.again() as (_, url):
            ann = Peer(url, stage.ann_token)
            text, is_error = ann.call("read_artifact", artifact=stage.reference)
            ann.http.close()
    except Exception as error:
        return f"{outcome}; started again: {error!r}"[:300]
    return outcome if stage.marker in text and not is_error else f"{outcome}; started again: {text[:200]}"


def plants(stage):
    """Plant programs wherever possible, then let server, victim and attacker do all that starts one."""
    stage.tidy()
    text, printed = stage.command(PLANTED)
    replies = [text, printed]
    for peer, handle in ((stage.bob, stage.bobs), (stage.ann, stage.handle)):
        for tool, arguments in {
            "read_artifact": {"artifact": "a1", "grep": "zebra|x"},
            "directory_tree": {"depth": 3},
            "read_file": {"path": "note.md"},
            "write_pdf": {"content": "# Title\n\ntext"},
            "terminal": {"command": "command -v true"},
        }.items():
            said = peer.call(tool, session=handle, **arguments)[0]
            replies += [said] if peer is stage.bob else []
    # Each new session starts helpers of its own.
    stage.bob.call("terminal", command="true")
    return "; ".join(stage.leaked(*replies) + stage.harmed())[:300] or "held"


def background(stage):
    """Attack from a command that runs on while other calls come and go."""
    stage.tidy()
    script = 'while :; do cat "$TARGET" "$PRIVATE"/* "$STORE"/*/*; kill -9 $VICTIM $SERVER; sleep 0.05; done'
    text, _ = stage.command(script, background=True)
    reply = reply_of(text)
    other, printed = stage.command('sleep 0.3; cat "$TARGET"')
    stopped = stage.bob.call("terminal", session=stage.bobs, artifact=reply["artifact"], stop=True)[0]
    running = "" if '"stopped"' in stopped or '"ended"' in stopped else f"; not stopped: {stopped[:100]}"
    found = stage.leaked(text, other, printed, stopped, stage.output(reply)) + stage.harmed()
    return ("; ".join(found)[:300] or "held") + running


SWAPS = {
    "link to the file": ("link", "{name}"),
    "link to the directory": ("link", "s/{name}"),
    "exchanged directories": ("exchange", "s/{name}"),
    "a name with two files": ("file", "{name}"),
}

_SWAP = r"""
import ctypes, os, time
libc = ctypes.CDLL(None)
theirs, target, name = os.environ["THEIRS"], os.environ["TARGET"], os.path.basename(os.environ["TARGET"])
os.makedirs("mine", exist_ok=True)
open("mine/" + name, "w").write("mine")
open("plain", "w").write("mine")
os.symlink("mine", "s"); os.symlink(theirs, "t")
os.symlink("plain", name); os.symlink(target, "u")
os.mkdir("w"); os.symlink("mine", "r")
while True:
    libc.renameat2(-100, b"s", -100, b"t", 2)
    libc.renameat2(-100, name.encode(), -100, b"u", 2)
    libc.renameat2(-100, b"mine", -100, b"w", 2)
"""


def swapped(stage, seconds):
    """Read and write through links that a command swaps all the while; return tries and what came of them."""
    stage.tidy()
    name = stage.target.name
    (stage.work / "mine").mkdir()
    text, _ = stage.command(python(_SWAP), background=True)
    reply = reply_of(text)
    ways = {
        "read_file": [{"path": f"s/{name}"}, {"path": name}, {"path": f"mine/{name}"}, {"path": f"s/../{name}"}],
        "directory_tree": [{"path": "s"}, {"path": "s/.."}, {"path": "t", "all": True}],
        "write_pdf": [
            {"content": "x", "path": "s/planted.pdf"},
            {"content": "x", "path": f"s/{name}", "overwrite": True},
            {"content": f"![]({name})\n\n![](s/{name})"},
        ],
        "edit_file": [
            {"new": "x", "path": "s/planted.txt"},
            {"new": "x", "path": f"s/{name}", "all": True},
            {"old": "e", "new": "x", "path": f"s/{name}"},
        ],
        "terminal": [{"command": "cat *", "cwd": "s"}],
    }
    counts = dict.fromkeys(ways, 0)
    found: list[str] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end and not found:
        for tool, all_arguments in ways.items():
            for arguments in all_arguments:
                said, _ = stage.bob.call(tool, session=stage.bobs, **arguments)
                counts[tool] += 1
                if stage.marker in said or (tool == "directory_tree" and stage.target.name in said and "owner" in said):
                    found.append(f"{tool} {arguments}: {said[:100]}")
    stage.bob.call("terminal", session=stage.bobs, artifact=reply["artifact"], stop=True)
    stored = [place for place in stage.store.glob("*/a*") if place.parent != stage.theirs]
    found += [f"{place.name} holds it" for place in stored if stage.marker in _beginning(place)]
    tries = sum(counts.values())
    return "; ".join(found + stage.harmed())[:300] or f"held in {tries:,} calls"


@contextmanager
def staged(user, means, is_behind=False):
    """Set a stage where commands are kept in by these means."""
    with ExitStack() as stack:
        base = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="bursar-attacks-"))
        stack.callback(shutil.rmtree, base, ignore_errors=True)
        for place in ("work", "data", "secret"):
            (base / place).mkdir(mode=0o700)
        path = f"{base}/work/node_modules/.bin:{base}/work/bin:{os.environ['PATH']}"
        marker, environment, service = (secrets.token_hex(16) for _ in range(3))
        stack.enter_context(_services(base / "service", f"bursar-{service[:8]}", service))
        tokens = token_file(base / "secret" / "tokens", "ann", "bob")
        before = [*(_AS_USER if user == "user" else []), *without(MISSING[means])]
        options = ["--root", base / "work", "--data-dir", base / "data", "--auth-tokens", base / "secret" / "tokens"]
        if is_behind:
            stub = {"command": sys.executable, "args": [str(_STUB)], "bursar": {"show": "compact"}}
            (base / "secret" / "mcp.json").write_text(json.dumps({"mcpServers": {"shell": stub}}))
            options += ["--mcp", base / "secret" / "mcp.json"]

        def serve():
            env = {"BURSAR_TEST_SECRET": environment, "PATH": path}
            return serving(*map(str, options), before=before, env=env, cwd=base / "work")

        shared = stack.enter_context(_shared_memory(service))
        process, url = stack.enter_context(serve())
        peers = [Peer(url, token) for token in tokens]
        for peer in peers:
            stack.callback(peer.http.close)
        stage = Stage(base, process, url, peers, (marker, environment, service), shared, serve)
        stage.ann_token, stage.is_behind = tokens[0], is_behind
        stack.callback(_clear, stage.left)
        yield stage


_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.shmat.restype = ctypes.c_void_p
_IPC_CREAT_EXCLUSIVE, _IPC_RMID = 0o3000, 0


@contextmanager
def _shared_memory(told):
    """Share memory that begins with a secret, as databases do; yield its number."""
    key = secrets.randbits(30)
    number = _LIBC.shmget(key, 4096, _IPC_CREAT_EXCLUSIVE | 0o666)
    ctypes.memmove(_LIBC.shmat(number, None, 0), told.encode(), len(told))
    try:
        yield key
    finally:
        _LIBC.shmctl(number, _IPC_RMID, None)


def _is_left(kind, key):
    lines = Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
    return any(int(line.split()[0]) & 0xFFFFFFFF == key for line in lines)


def _clear(key):
    _LIBC.shmctl(_LIBC.shmget(key, 0, 0), _IPC_RMID, None)
    _LIBC.msgctl(_LIBC.msgget(key, 0), _IPC_RMID, None)
    _LIBC.semctl(_LIBC.semget(key, 0, 0), 0, _IPC_RMID)


@contextmanager
def _services(path, abstract, told):
    """Run two services on local sockets, as a container engine's is, that tell a secret to whoever connects.

    A third takes datagrams, as that of the system's log does.
    """
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as other, datagrams:
        datagrams.bind(f"{path}.datagrams")
        one.bind(str(path))
        other.bind("\0" + abstract)
        for service in (one, other):
            service.listen()
            threading.Thread(target=_tell, args=(service, told), daemon=True).start()
        yield
        for service in (one, other):
            with contextlib.suppress(OSError):
                service.shutdown(socket.SHUT_RDWR)


def _tell(service, told):
    while True:
        try:
            line, _ = service.accept()
        except OSError:
            return
        with line, contextlib.suppress(OSError):
            line.sendall(told.encode())


def run(user, means, seconds, chosen=None, is_behind=False):
    """Try everything with one user and means; yield the name of each attack and what came of it."""
    attacks = {name: lambda stage, script=script: attack(stage, script) for name, script in BASH.items()}
    attacks |= {name: lambda stage, script=script: attack(stage, python(script)) for name, script in PYTHON.items()}
    attacks |= {
        PLANTED_TWICE: plants,
        "a background command over many calls": background,
        RIGHTS_OF_SECRETS: lambda stage: restarted(stage, BASH[RIGHTS_OF_SECRETS]),
        "links swapped under file tools": lambda stage: swapped(stage, seconds),
    }
    if is_behind:  # a server may live on from call to call, and what it starts with it
        attacks = {name: done for name, done in attacks.items() if name not in _OF_COMMANDS}
    for name, script in SEEN.items():
        attacks[name] = lambda stage, script=script: _seen(stage, script)
    left = [name for name in attacks if chosen is None or name in chosen]
    while left:
        with staged(user, means, is_behind) as stage:
            if stage.isolation != "kernel":
                raise AssertionError(stage.isolation)
            while left:
                name = left.pop(0)
                yield name, attacks[name](stage)
                if not stage.is_well:
                    break


def _seen(stage, script):
    stage.tidy()
    _, printed = stage.command(script)
    if f"sleep {_ARGUMENT}" in printed or f",{stage.target}" in printed:
        return "seen"
    return "held"


def _quoted(value):
    return "'" + str(value).replace("'", "'\\''") + "'"


def _files(place):
    for directory, _, names in os.walk(place):
        for name in names:
            path = Path(directory, name)
            if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 22:
                yield path


def _beginning(place):
    with place.open("rb") as file:
        return file.read(1 << 23).decode(errors="replace")


def _used(directory):
    """Return when a session was used last, as the store tells it when it looks for old ones."""
    return float((directory / "lock").read_text().split()[0])


def _shape(pid):
    """Tell what should not change of a process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "gone"
    if fields[0] in "TtZX":
        return f"state {fields[0]}"
    limits = tuple(
        resource.prlimit(pid, what) for what in (resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_AS)
    )
    with contextlib.suppress(OSError):
        return limits, os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid)
    return limits


def _commands():
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found[int(place.name)] = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    return found


def _above(pid):
    found = []
    while pid > 1:
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
        found.append(pid)
    return found


def _between(pid, ancestor):
    above = _above(pid)
    return above[: above.index(ancestor)][::-1]


def is_held(outcome):
    """Tell whether an attack got nothing and harmed nothing; some see what is documented."""
    return re.fullmatch(r"held( in [\d,]+ \w+)?|seen", outcome) is not None


def main(seconds, users, is_behind=False):
    print(f"{platform.platform()}, {os.cpu_count()} cores; swapped links: {seconds:g} s each\n")
    table = {}
    columns = [(user, means) for user in users for means in MISSING]
    for user, means in columns:
        for name, outcome in run(user, means, seconds, None, is_behind):
            table.setdefault(name, {})[user, means] = outcome
            if not is_held(outcome):
                print(f"!! {user}, {means}, {name}: {outcome}", flush=True)
    print("| attack | " + " | ".join(f"{user}: {means}" for user, means in columns) + " |")
    print("|---|" + "---|" * len(columns))
    for name, row in table.items():
        cells = [row.get(column, "") for column in columns]
        print(f"| {name} | " + " | ".join(cell if not cell or is_held(cell) else "LEAK" for cell in cells) + " |")
    leaks = sum(not is_held(cell) for row in table.values() for cell in row.values())
    tried = sum(len(row) for row in table.values())
    print(f"\n{tried} trials of {len(table)} attacks, {leaks} leaks")
    return leaks


if __name__ == "__main__":
    words = [word for word in sys.argv[2:] if word != "behind"]
    swaps_s = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    sys.exit(bool(main(swaps_s, words or USERS, "behind" in sys.argv)))
