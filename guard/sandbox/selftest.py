"""The proof, at every start, that the walls hold: not what the kernel says it can do, but what was tried."""

import contextlib
import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..environment import HERE, helper_environment, python
from ..forkserver.view import is_within
from . import bubblewrap, seatbelt
from .policy import Isolation, Policy
from .session_sandbox import Means, every_path, holds, surroundings
from .view import between

_LONGEST_S = 30.0

DECOY = ".proof-"
_STALE_S = 3600.0

_NAMED_MAX = 2
"""Attacks that are named where one line must do; the doctor tells them all."""

_UNSAFE = "or run commands without walls, as yourself, with --terminal=unsafe"


def candidates(bwrap: str) -> dict[str, Means]:
    """Return what may keep commands in, the best first; `bwrap` is where bubblewrap is installed, if it is."""
    if sys.platform == "darwin":
        return {"seatbelt": Means(seatbelt=seatbelt.PROGRAM)}
    views = {"namespaces": Means(namespaces=True)} | ({"bubblewrap": Means(bubblewrap=bwrap)} if bwrap else {})
    walled = {f"{name}+landlock": means._replace(landlock=True) for name, means in views.items()}
    return {**walled, "landlock": Means(landlock=True), **views}


class SelfTest:
    """One trial, running beside the server's start; asked for its outcome as often as one likes."""

    def __init__(self, policy: Policy) -> None:
        """Start the trial; takes some milliseconds."""
        self.policy = policy
        self.means = Means()
        self.hidden: list[str] = []
        self._bwrap = bubblewrap.program(policy.writable)
        self._lock = threading.Lock()
        self._isolation: Isolation | None = None
        self._process: subprocess.Popen[bytes] | None = None
        if sys.platform == "win32":
            self._isolation = _off("Windows has nothing that keeps a command in", f"Use WSL, {_UNSAFE}")
            return
        try:
            _make_store(policy.store)
        except OSError as error:
            fault = f"{policy.store} cannot be made: {error.strerror}"
            self._isolation = _off(fault, "Give a directory that you can write with --data-dir")
            return
        self.hidden = every_path([policy.store, *policy.hidden])
        told = self._told()
        try:
            self._process = _started(python("selftest", str(os.getpid())), told)
        except OSError as error:
            self._isolation = _off(f"the trial could not be started: {error}", "Restart the server")

    @property
    def done(self) -> bool:
        """Whether the outcome is there without waiting."""
        return self._isolation is not None or (self._process is not None and self._process.poll() is not None)

    def outcome(self) -> Isolation:
        """Return how well commands are kept in. Blocks until that is known."""
        with self._lock:
            if self._isolation is None and self._process is not None:
                try:
                    said, _ = self._process.communicate(timeout=_LONGEST_S)
                except subprocess.TimeoutExpired:
                    self._process.kill()
                    said, _ = self._process.communicate()
                self._isolation = self._judge(said)
            return self._isolation or _off("nothing was tried", "Restart the server")

    def abandon(self) -> None:
        """End a trial that nobody waits for any more."""
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(OSError):
                process.kill()
            process.wait()
        if process is not None and process.stdout is not None:
            process.stdout.close()

    def _told(self) -> dict[str, Any]:
        store = os.path.realpath(self.policy.store)
        decoy, own, private = (Path(store, f"{DECOY}{what}-{secrets.token_hex(6)}") for what in ("a", "b", "c"))
        writable = self.policy.writable
        home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 - there may be none
        outside = [path for path in (home, "/var/tmp") if not _is_in(path, writable)]  # noqa: S108
        attack = {
            "secret": secrets.token_hex(32),
            "file": str(decoy / "secret"),
            "own": str(own / "own"),
            "outside": outside,
            "above": [above for path in writable for place in self.hidden for above in between(path, place)],
            "socket": f"bursar-{secrets.token_hex(12)}",
        }
        files = {"file": attack["file"], "own": attack["own"], "socket": attack["socket"]}
        means = [self._told_means(name, means, own, private) for name, means in candidates(self._bwrap).items()]
        return {"store": store, "private": str(private), "attack": attack, "means": means, **files}

    def _told_means(self, name: str, means: Means, own: Path, private: Path) -> dict[str, Any]:
        around = surroundings(self.policy, means, self.hidden, own, private)
        roots = [path for path in self.policy.writable if means.view or not holds(path, self.hidden)]
        attack = {"walls": around.walls, "private": around.private, "roots": roots}
        return {"name": name, "prefix": [*around.prefix, *around.command_prefix], "attack": attack}

    def _judge(self, said: bytes) -> Isolation:
        try:
            answer: dict[str, Any] = json.loads(said)
        except ValueError:
            return _off("the trial of the walls came to no end", "Restart the server")
        if "failed" in answer:
            return _off(
                f"the trial could not begin: {answer['failed']}", "Give a directory that you can write with --data-dir"
            )
        outcomes: dict[str, dict[str, Any]] = {outcome["name"]: outcome for outcome in answer["outcomes"]}
        for name, outcome in outcomes.items():
            attacks: Mapping[str, str] = outcome.get("attacks", {"start": outcome.get("refused", "it did not run")})
            if all(result == "held" for result in attacks.values()):
                self.means = candidates(self._bwrap)[name]
                reason, fix = self._wanting(outcomes)
                means = _named(self.means, outcome["landlock"])
                return Isolation("kernel", means, reason, fix, attacks, own_view=self.means.view)
        return self._failed(outcomes)

    def _wanting(self, outcomes: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
        """Tell what is missing though the walls hold, and what to do about it."""
        found = [self._within_reach()]
        if self.means.landlock and not self.means.view:
            found.append(self._without_view(outcomes))
        elif self.means.view and not self.means.landlock:
            found.append((f"Landlock does not take part: {_why(outcomes.get('landlock', {}))}", ""))
        reasons, cures = zip(*found, strict=True)
        return "; ".join(filter(None, reasons)), "; ".join(filter(None, cures))

    def _without_view(self, outcomes: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
        """Tell what Landlock alone leaves, why commands got no namespaces of their own, and what to do about it."""
        refused = [f"{name.partition('+')[0]}: {_why(told)}" for name, told in outcomes.items() if "+" in name]
        reason = (
            "names, sizes and dates of other sessions' files can be seen, as commands get no namespaces of their own"
        )
        around = [path for path in map(os.path.realpath, self.policy.roots) if holds(path, self.hidden)]
        if around:
            reason += f", and nothing new can be made directly in {around[0]}, where the artifacts lie"
        fix = "Allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)"
        with contextlib.suppress(OSError):
            if int(Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").read_text()):
                fix = "Install bubblewrap and its AppArmor profile, or an own one for this Python"
        return ": ".join(filter(None, (reason, "; ".join(refused)))), fix

    def _within_reach(self) -> tuple[str, str]:
        """Tell whether commands can change the programs that the server runs outside the walls, and what to do."""
        writable = [place for place in self.policy.writable if place != "/"]
        for program in map(os.path.realpath, (sys.prefix, HERE)):
            if _is_in(program, writable):
                reason = f"{program}, from which the server runs, may be changed by commands, and so the server itself"
                return reason, "Install bursar outside the roots, as uvx and pipx do"
        return "", ""

    def _failed(self, outcomes: Mapping[str, Mapping[str, Any]]) -> Isolation:
        reason = "; ".join(f"{name}: {_why(outcome)}" for name, outcome in outcomes.items())
        attacks = {
            f"{name}: {way}": result
            for name, outcome in outcomes.items()
            for way, result in outcome.get("attacks", {"start": outcome.get("refused", "")}).items()
        }
        if sys.platform == "darwin":
            return _off(reason, f"See that {seatbelt.PROGRAM} works, {_UNSAFE}", attacks)
        others = [root for root in self.policy.roots if os.geteuid() == 0 and root.stat().st_uid != 0]
        if others and "may write root" in reason:
            # Without capabilities root obeys modes as everybody does.
            return _off(reason, f"Run the server as the user who owns {others[0]}, {_UNSAFE}", attacks)
        install = "" if self._bwrap else ", install bubblewrap"
        return _off(
            reason, f"Use Linux 6.12 or later with Landlock, allow user namespaces{install}, {_UNSAFE}", attacks
        )


def _make_store(store: Path) -> None:
    """Make the store's directory: what does not exist cannot be covered."""
    for path in (*reversed(store.parents), store):
        if not path.exists():
            path.mkdir(0o700, exist_ok=True)


def _started(command: list[str], told: dict[str, Any]) -> "subprocess.Popen[bytes]":
    """Start the process of the trial.

    Raises:
        OSError: the system refuses a further process or open file.
    """
    from ..forkserver.wire import memory_file

    # Neither the secret nor where it lies is among the arguments, which everybody can read.
    file = memory_file(json.dumps(told).encode())
    try:
        return subprocess.Popen(
            command,
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=helper_environment() | {"BURSAR_DECOY": told["attack"]["secret"]},
            start_new_session=True,
        )
    finally:
        os.close(file)


def clear(store: Path) -> None:
    """Remove the decoys of trials that were killed. Blocks."""
    import shutil

    for path in store.glob(f"{DECOY}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _STALE_S:
                shutil.rmtree(path)


def _off(reason: str, fix: str, attacks: Mapping[str, str] | None = None) -> Isolation:
    return Isolation("off", "", reason, fix, attacks or {})


def _why(outcome: Mapping[str, Any]) -> str:
    if "attacks" not in outcome:
        return str(outcome.get("refused", "it did not run"))
    wrong = {name: said for name, said in outcome["attacks"].items() if said != "held"}
    return ", ".join(f"{name.replace('_', ' ')}: {said}" for name, said in list(wrong.items())[:_NAMED_MAX])


def _named(means: Means, landlock: int) -> str:
    if means.seatbelt:
        return "Seatbelt"
    parts = [
        (means.namespaces, "namespaces"),
        (means.bubblewrap, "bubblewrap"),
        (means.landlock, f"Landlock {landlock}"),
    ]
    return " + ".join([*(name for takes_part, name in parts if takes_part), "seccomp"])


def _is_in(path: str, places: Sequence[str]) -> bool:
    return any(is_within(path, place) for place in places)
