"""The trial of the walls at every start: a decoy session with a secret, and a confined child that wants it."""

import contextlib
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any

if sys.platform == "win32":
    raise ImportError("there are no walls to be tried on Windows")

from .attacks import namespace_of_processes
from .removal import remove
from .wire import memory_file

LONGEST_S = 10.0
"""A trial takes some 50 ms."""

DECOY_VARIABLE = "BURSAR_DECOY"
"""Holds the secret in the environment of this process, which is to be attacked, and not in that of the attacker."""

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
_BOOT = "import sys; sys.path.append(sys.argv.pop(1)); from forkserver.attacks import main; main()"


class Trial:
    """A confined child, and what is heard of it."""

    def __init__(self, name: str, argv: list[str], told: dict[str, Any]) -> None:
        self.name = name
        self.heard = b""
        self.fd, write = os.pipe()
        os.set_inheritable(write, True)
        told_file = memory_file(json.dumps(told).encode())
        python = [sys.executable, "-I", "-S", "-c", _BOOT, _HERE, str(write)]
        try:
            environment = {name: value for name, value in os.environ.items() if name != DECOY_VARIABLE}
            on_stdin = [(os.POSIX_SPAWN_DUP2, told_file, 0)]
            self.pid = os.posix_spawn([*argv, *python][0], [*argv, *python], environment, file_actions=on_stdin)
        finally:
            os.close(write)
            os.close(told_file)

    def outcome(self) -> dict[str, Any]:
        """Return what was heard, once it has ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)
        try:
            return json.loads(self.heard)
        except ValueError:
            return {"refused": "it did not run"}


class Victim:
    """What the confined children attack: this process."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.signalled = False
        signal.signal(signal.SIGURG, self._note)
        self.listener = socket.socket(socket.AF_UNIX)
        if sys.platform == "linux":
            self.listener.bind("\0" + told["socket"])
            self.listener.listen()
            self.listener.setblocking(False)
        self.held = os.open(told["file"], os.O_RDONLY)
        os.chdir(os.path.dirname(told["file"]))  # noqa: PTH120

    def _note(self, _number: int, _frame: object) -> None:
        self.signalled = True

    def tells(self) -> dict[str, str]:
        """Return the attacks that reached it since it was last asked."""
        reached: dict[str, str] = {}
        if self.signalled:
            reached["signal"] = "it was signalled"
        with contextlib.suppress(OSError):
            self.listener.accept()[0].close()
            reached["abstract_socket"] = "it was reached"
        self.signalled = False
        return reached


def try_all(told: dict[str, Any]) -> list[dict[str, Any]]:
    """Try each of the means until one holds; return what came of those that were tried."""
    victim = Victim(told)
    outcomes: list[dict[str, Any]] = []
    for means in told["means"]:
        attack = {**told["attack"], **means["attack"]}
        with open(told["file"], "wb", buffering=0) as file:  # noqa: PTH123
            file.write(told["attack"]["secret"].encode())
        if outcomes:  # what was tried before has left something
            remove(told["private"])
            os.mkdir(told["private"], 0o700)  # noqa: PTH102
        try:
            trial = Trial(means["name"], means["prefix"], attack)
        except OSError as error:
            outcomes.append({"name": means["name"], "refused": str(error)})
            continue
        _listen(trial)
        outcome = {"name": means["name"], **trial.outcome()}
        if "attacks" in outcome:
            outcome["attacks"] |= victim.tells()
            if not os.path.exists(told["file"]):  # noqa: PTH110
                outcome["attacks"]["delete"] = "it was deleted"
        outcomes.append(outcome)
        if "attacks" in outcome and all(said == "held" for said in outcome["attacks"].values()):
            break
    return outcomes


def _listen(trial: Trial) -> None:
    until = time.monotonic() + LONGEST_S
    while (left_s := until - time.monotonic()) > 0 and select.select([trial.fd], [], [], left_s)[0]:
        part = os.read(trial.fd, 65536)
        if not part:
            return
        trial.heard += part


def _make(told: dict[str, Any]) -> None:
    for directory in (told["store"], *(os.path.dirname(told[file]) for file in ("file", "own")), told["private"]):  # noqa: PTH120
        os.makedirs(directory, 0o700, exist_ok=True)  # noqa: PTH103
    for file in ("file", "own"):
        with open(told[file], "wb") as opened:  # noqa: PTH123
            opened.write(told["attack"]["secret"].encode() if file == "file" else b"own")


def _clear(told: dict[str, Any]) -> None:
    for directory in (*(os.path.dirname(told[file]) for file in ("file", "own")), told["private"]):  # noqa: PTH120
        with contextlib.suppress(OSError):
            remove(directory)


def main() -> None:
    """Try what standard input describes for the server with process id `argv[1]`, and write what came of it."""
    os.umask(0o077)
    told = json.load(sys.stdin)
    told["attack"]["victims"] = [os.getpid(), int(sys.argv[1])]
    told["attack"]["processes"] = namespace_of_processes()
    answer: dict[str, Any]
    try:
        _make(told)
        answer = {"outcomes": try_all(told)}
    except OSError as error:
        answer = {"failed": f"{error.strerror}: {error.filename}" if error.filename else str(error)}
    finally:
        os.chdir("/")
        _clear(told)
    os.write(1, json.dumps(answer).encode())
