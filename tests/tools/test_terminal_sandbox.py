"""Promises of the terminal in its sandbox: everyday work goes on as ever, and other sessions are out of reach."""

# ruff: noqa: ASYNC240, ISC004
# These tests own their event loop; the commands are long.

import http.server
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from bursar.artifacts import Session, Store, Writer
from bursar.artifacts.limits import Limits as StoreLimits
from bursar.errors import BursarError
from bursar.guard.command import Limits
from bursar.guard.commands import Commands
from bursar.guard.paths import Workspace
from bursar.guard.sandbox.policy import Policy
from bursar.guard.sandbox.sandbox import Sandbox
from bursar.tools.base import Done
from bursar.tools.terminal import Terminal
from harness import call_of
from means import kept_in_by
from needs import PACKAGES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these walls are made of what Linux has")


class Bench:
    """One workspace, and two sessions in one store."""

    def __init__(self, base: Path, means: str) -> None:
        self.base, self.means = base, means
        self.root = base / "work"
        self.root.mkdir()
        self.store = Store(base / "data", StoreLimits())
        self.mine, self.theirs = self.store.create("local:test"), self.store.create("local:test")
        writer = self.theirs.writer(tool="terminal", did="$ secret", label="terminal.log")
        self.secret = os.urandom(16).hex()
        writer.write(self.secret.encode())
        self.target = Path(writer.commit().path)

    def run(self, command: str, session: Session | None = None, **more) -> tuple[Done, str]:
        return anyio.run(self._run, command, session or self.mine, more)

    async def _run(self, command: str, session: Session, more) -> tuple[Done, str]:
        limits = more.pop("limits", Limits())
        settings = {"store": self.store.root, "roots": (self.root,)} | more
        commands = Commands(limits, (), Sandbox(Policy(**settings)))
        terminal = Terminal()
        args = terminal.Args.model_validate({"command": command})
        workspace = Workspace([self.root], closed=[self.store.root])
        call = call_of(terminal, args, session, workspace=workspace, commands=commands)
        try:
            done = await terminal.run(args, call)
        finally:
            for writer in call.writers:
                if writer.is_open:
                    writer.commit("partial")
            commands.close()
        assert isinstance(done, Done)
        output = done.output
        artifact = output.commit() if isinstance(output, Writer) and output.is_open else output
        path = artifact.path if not isinstance(artifact, Writer) else artifact.artifact.path
        return done, Path(path).read_text(errors="replace")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("namespaces + Landlock", marks=pytest.mark.needs("namespaces")),
        pytest.param("bubblewrap + Landlock", marks=pytest.mark.needs("bwrap")),
        "Landlock alone",
    ],
)
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    base = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="bursar-test-"))
    with kept_in_by(request.param):
        bench = Bench(base, request.param)
        yield bench
    bench.mine.close()
    bench.theirs.close()
    shutil.rmtree(base, ignore_errors=True)


# Everyday work

EVERYDAY = {
    "git": (
        "git init -q repo && cd repo && echo x > a && git add a && "
        "git -c user.name=n -c user.email=e commit -qm first && git status --short && git log --format=%s",
        "first\n",
    ),
    "python": ("python3 -c 'import json, ssl, threading; print(json.dumps([1]))'", "[1]\n"),
    "python's processes": (
        'python3 -c \'import subprocess; print(subprocess.check_output(["echo", "x"]))\'',
        "b'x\\n'\n",
    ),
    "a virtual environment": (f"{sys.executable} -m venv --without-pip env && env/bin/python -c 'print(1)'", "1\n"),
    "pipes": ("seq 1000 | grep 9 | sort -rn | head -1", "999\n"),
    "here documents": ("cat <<END\nhere\nEND\ncat <<< string", "here\nstring\n"),
    "process substitution": ("diff <(echo 1) <(echo 1) && echo same", "same\n"),
    "make": ("printf 'all:\\n\\t@echo made > out; cat out\\n' > Makefile && make -s", "made\n"),
    "a background job": ("sleep 0.05 & wait $!; echo $?", "0\n"),
    "jobs that are ended": ("sleep 60 & kill $!; wait $! 2>/dev/null; echo $?", "143\n"),
    "mktemp": ("f=$(mktemp) && echo tmp > $f && cat $f && rm $f && d=$(mktemp -d) && rmdir $d", "tmp\n"),
    "a sort that needs room": ("seq 200000 | sort -S 1M -rn | tail -1", "1\n"),
    "ps": ("ps -o comm= -p $$; true", "bash\n"),
    "/dev/null": ("echo lost > /dev/null 2>&1; head -c 3 /dev/zero | wc -c", "3\n"),
    "fd links": ("echo out > /dev/stdout; echo in | cat /dev/stdin", "out\nin\n"),
    "listing": ("ls / | grep -c etc; ls ~ > /dev/null && echo listed", "1\nlisted\n"),
    "modes and links": (
        "touch m && chmod 600 m && ln -sf m l && ln -f m h && mv h i && stat -c %a l i | tail -1",
        "600\n",
    ),
    "an archive": ("mkdir -p t/u && echo a > t/u/a && tar cf t.tar t && rm -r t && tar xf t.tar && cat t/u/a", "a\n"),
    "a compiled program": ("cp /bin/echo ./own && ./own built", "built\n"),
    "a socket to itself": (
        'python3 -c \'import socket as s; a = s.create_server(("127.0.0.1", 0)); '
        'b = s.create_connection(a.getsockname()); b.send(b"x"); print(a.accept()[0].recv(1))\'',
        "b'x'\n",
    ),
    "threads": (
        "python3 -c 'from concurrent.futures import ThreadPoolExecutor as T; print(list(T(4).map(abs, [-1])))'",
        "[1]\n",
    ),
    "the own artifacts": ("cat {mine}/owner.json | grep -c handle_sha256", "1\n"),
}


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(use, marks=[pytest.mark.needs(name) for name in PACKAGES if name in use.split()])
        for use in EVERYDAY
    ],
)
def test_everyday_work_goes_on_as_ever(bench: Bench, use: str):
    command, expected = EVERYDAY[use]
    done, shown = bench.run(command.replace("{mine}", str(bench.mine.directory)))
    assert (shown, done.facts["exit_code"], done.facts["isolation"]) == (expected, 0, "kernel")


OF_A_GROUP = {
    "git": (
        "git init -q --shared=group ours && cd ours && echo x > a && git add a && "
        "git -c user.name=n -c user.email=e commit -qm first && git log --format=%s && stat -c %A .git/objects",
        "first\ndrwxrwsr-x\n",
    ),
    "copies and archives": (
        "mkdir -m 2775 team && mkdir team/sub && echo a > team/sub/a && cp -r team/sub team/copy && cp -a team same "
        "&& tar cf t.tar team && rm -r team && tar xpf t.tar && chmod g+w team/sub "
        "&& stat -c %A team/sub same/copy same/sub",
        "drwxrwsr-x\ndrwxr-sr-x\ndrwxr-sr-x\n",
    ),
}


@pytest.mark.parametrize(
    "use", [pytest.param(use, marks=pytest.mark.needs("git")) if use == "git" else use for use in OF_A_GROUP]
)
def test_a_tree_can_be_shared_by_a_group_where_nothing_outside_can_be_changed(bench: Bench, use: str):
    command, expected = OF_A_GROUP[use]
    done, shown = bench.run(command)
    if bench.means == "Landlock alone":
        assert done.facts["exit_code"] != 0
        assert expected not in shown
    else:
        assert (shown, done.facts["exit_code"]) == (expected, 0)


def test_no_program_outside_gets_the_group_of_its_owner_for_whoever_runs_it(bench: Bench):
    program = bench.base / "program"
    shutil.copy("/bin/true", program)
    bench.run(f"chmod g+s {program}; chmod 2755 {program}; install -m 2755 {program} {program}")
    assert program.stat().st_mode & 0o7777 == 0o755


CACHES = {
    "npm": "npm --version && npm config get cache",
    "node": "node -e 'console.log(\"/.cache\")'",
}


@pytest.mark.parametrize("program", [pytest.param(name, marks=pytest.mark.needs(name)) for name in CACHES])
def test_what_keeps_caches_works_where_the_home_cannot_be_written(bench: Bench, program: str):
    done, shown = bench.run(CACHES[program])
    assert done.facts["exit_code"] == 0, shown
    assert "/.cache" in shown


@pytest.mark.needs("ensurepip")
@pytest.mark.parametrize("bench", ["Landlock alone"], indirect=True, scope="module")
def test_pip_installs_itself_also_where_least_can_be_written(bench: Bench):
    done, shown = bench.run("python3 -m venv environment && environment/bin/python -m pip cache dir")
    assert done.facts["exit_code"] == 0, shown
    assert "/.cache" in shown


def test_a_server_of_this_machine_can_be_reached(bench: Bench):
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.handle_request, daemon=True).start()
    fetch = f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{server.server_port}/').status)"
    assert bench.run(f'python3 -c "{fetch}"')[1] == "200\n"
    server.server_close()


def test_without_a_network_nothing_is_reached(bench: Bench):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        _, shown = bench.run(
            f"exec 5<>/dev/tcp/127.0.0.1/{port} && echo reached; ls {bench.root} > /dev/null", network=False
        )
    assert "reached" not in shown


def test_a_further_directory_can_be_allowed(bench: Bench):
    further = bench.base / "further"
    further.mkdir(exist_ok=True)
    write = f"echo x > {further}/file && cat {further}/file"
    assert bench.run(write)[0].facts["exit_code"] == 1
    assert bench.run(write, writes=(further,))[1] == "x\n"


# Attacks on another session

ATTACKS = {
    "cat": "cat {target}; cat {theirs}/*",
    "search": "grep -r . {store}; find {store} /tmp -path '*/{name}/*' -exec cat {} + 2>/dev/null",
    "copy": "cp -r {store} {root}/copy; cp {target} {root}/copied; cat {root}/cop*; tar c {store} | cat",
    "hard link": "ln {target} {root}/hard; cat {root}/hard",
    "symbolic link": "ln -s {target} {root}/soft; cat {root}/soft; ln -s {store} {root}/dir; cat {root}/dir/*/*",
    "other roots": "cat /proc/*/root{target}; cat /proc/*/cwd/*.log",
    "descriptors": "cat /proc/*/fd/* 2>/dev/null < /dev/null & sleep 0.3; kill $!",
    "memory": "for p in /proc/[0-9]*; do grep -a {half} $p/environ $p/mem; done",
    "move": "mv {store} {root}/; mv {theirs} {root}/; cat {root}/*/*",
    "bind mount": "mount --bind {store} {root}; unshare -rm mount --bind {store} {root}; cat {root}/*/*",
    "umount": "umount {store}; umount -l {store}; cat {target}",
    "namespaces": "nsenter -t 1 -m cat {target}; unshare -r cat {target}; unshare -p cat {target}",
    "handle": "python3 -c 'import os; print(open(os.open(\"{target}\", os.O_PATH)))'; cat {target}",
    "background": "(setsid sh -c 'sleep 0.2; cat {target}' &); sleep 0.5",
    "swapped link": "for i in $(seq 60); do ln -sfn {root} s; ln -sfn {theirs} s; cat s/*.log; done 2>/dev/null",
    "another shell": "su -c 'cat {target}' root < /dev/null; sudo cat {target}; chroot / cat {target}",
    "raw disk": "for d in /dev/vd* /dev/sd* /dev/nvme*; do head -c 4096 $d | grep -a {half}; done",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_other_session_stays_out_of_reach(bench: Bench, attack: str):
    text = ATTACKS[attack]
    for name, value in {
        "target": bench.target,
        "theirs": bench.theirs.directory,
        "name": bench.theirs.directory.name,
        "store": bench.store.root,
        "root": bench.root,
        "half": bench.secret[:16],
    }.items():
        text = text.replace("{" + name + "}", str(value))
    _, shown = bench.run(f"( {text} ) 2>&1; true")
    assert bench.secret[16:] not in shown
    assert bench.target.read_text() == bench.secret


def test_the_other_session_cannot_be_changed(bench: Bench):
    before = sorted(bench.theirs.directory.iterdir())
    bench.run(
        f"rm -rf {bench.theirs.directory} {bench.store.root}; echo x > {bench.target}; truncate -s 0 {bench.target}; "
        f"touch {bench.theirs.directory}/planted; mv {bench.target} {bench.theirs.directory}/b"
    )
    assert sorted(bench.theirs.directory.iterdir()) == before
    assert bench.target.read_text() == bench.secret


def test_the_own_artifacts_can_be_read_and_not_be_changed(bench: Bench):
    directory = bench.mine.directory
    _, shown = bench.run(f"ls {directory}/owner.json; echo x > {directory}/owner.json; rm -f {directory}/*; true")
    assert shown.startswith(f"{directory}/owner.json\n")
    assert "handle_sha256" in (directory / "owner.json").read_text()


def test_nothing_outside_the_workspace_can_be_written(bench: Bench):
    home = Path.home()
    places = [home, Path("/var/tmp"), Path("/etc"), bench.base, Path("/usr/local/bin"), Path("/run")]
    name = f"bursar-planted-{os.getpid()}"
    bench.run("; ".join(f"touch {place}/{name}" for place in places))
    assert [place for place in places if (place / name).exists()] == []


def test_the_server_and_its_helpers_cannot_be_signalled(bench: Bench):
    victim = subprocess.Popen(["sleep", "60"])
    bench.run(f"kill -9 {victim.pid} {os.getpid()}; kill -9 -1; pkill -9 sleep")
    assert victim.poll() is None
    victim.kill()
    victim.wait()


def test_secrets_of_the_servers_environment_do_not_reach_a_command(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BURSAR_TEST_SECRET", bench.secret)
    assert bench.secret not in bench.run("env; cat /proc/$PPID/environ /proc/self/environ; true")[1]


def test_a_memory_hog_ends_as_a_clear_error(bench: Bench):
    hog = "ulimit -v 2000000; python3 -c 'x = bytearray(900_000_000); import time; time.sleep(60)'"
    done, _ = bench.run(hog, limits=Limits(memory_bytes=150_000_000))
    assert done.facts["ended"] == "memory limit"
    assert "--command-memory-bytes" in str(done.facts["fix"])


def test_a_fork_bomb_ends_as_a_clear_error(bench: Bench):
    bomb = "f() { [ $1 = 0 ] || { f $(($1-1)) & f $(($1-1)) & sleep 9; }; }; f 8"
    done, _ = bench.run(bomb, limits=Limits(processes=40))
    assert done.facts["ended"] == "process limit"
    assert "--command-processes" in str(done.facts["fix"])


def test_a_fork_bomb_that_is_left_alone_is_told_too(bench: Bench):
    done, _ = bench.run("f() { f | f & }; f", limits=Limits(processes=40))
    assert done.facts["ended"] == "process limit"


def test_what_the_sandbox_may_have_refused_is_told(bench: Bench):
    for command in ("touch /etc/bursar-planted", "echo x > ~/bursar-planted", "echo 'Error: EACCES: mkdir'; exit 1"):
        assert "$TMPDIR" in str(bench.run(command)[0].facts.get("fix")), command
    for command in ("touch /etc/bursar-planted || true", "ls nothing", "exit 3"):
        assert "fix" not in bench.run(command)[0].facts, command


def test_a_file_that_grew_too_large_is_told(bench: Bench):
    done, _ = bench.run("head -c 3000000 /dev/zero > big", limits=Limits(file_bytes=1_000_000))
    assert done.facts["ended"] == "file size limit"
    assert "--command-file-bytes" in str(done.facts["fix"])


def test_where_the_terminal_is_off_the_error_says_what_to_do(bench: Bench, tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(BursarError, match="terminal_off") as refused:
        bench.run("true", store=tmp_path / "file" / "store")
    assert refused.value.fix
