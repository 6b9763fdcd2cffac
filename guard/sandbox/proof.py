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

from ..environment import helper_environment
from ..helper import HERE, python
from ..zygote.within import is_within
from . import bubblewrap, seatbelt
from .cell import Means, every_path, holds, told_walls
from .policy import Isolation, Policy

_LONGEST_S = 30.0

DECOY = ".proof-"
_STALE_S = 3600.0

_NAMED_MAX = 2
"""Attacks that are named where one line must do; the doctor tells them all."""

_UNSAFE = "or run commands without walls, as yourself, with --terminal=unsafe"


class Proof:
    """One trial, running beside the server's start; asked for its outcome as often as one likes."""

    def __init__(self, policy: Policy) -> None:
        """Start the trial; takes some milliseconds."""
        self.policy = policy
        self.means = Means()
        self.hidden: list[str] = []
        self._bwrap = bubblewrap.program((*policy.roots, *policy.writes))
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
            self._process = subprocess.Popen(
                python("prober", str(os.getpid()), json.dumps(told)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=helper_environment() | {"BURSAR_DECOY": told["attack"]["secret"]},
                start_new_session=True,
            )
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
        writable = [os.path.realpath(path) for path in (*self.policy.roots, *self.policy.writes)]
        home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 - there may be none
        outside = [path for path in (home, "/var/tmp") if not _is_in(path, writable)]  # noqa: S108
        attack = {
            "secret": secrets.token_hex(32),
            "file": str(decoy / "secret"),
            "own": str(own / "own"),
            "outside": outside,
            "above": [above for path in writable for place in self.hidden for above in bubblewrap.between(path, place)],
            "socket": f"bursar-{secrets.token_hex(12)}",
        }
        files = {"file": attack["file"], "own": attack["own"], "socket": attack["socket"]}
        means = [self._told_means(name, means, own, private) for name, means in self._candidates().items()]
        return {"store": store, "private": str(private), "attack": attack, "means": means, **files}

    def _candidates(self) -> dict[str, Means]:
        if sys.platform == "darwin":
            return {"seatbelt": Means(seatbelt=seatbelt.PROGRAM)}
        found = {"landlock": Means(landlock=True)}
        if self._bwrap:
            found = {
                "bubblewrap+landlock": Means(self._bwrap, landlock=True),
                **found,
                "bubblewrap": Means(self._bwrap),
            }
        return found

    def _told_means(self, name: str, means: Means, own: Path, private: Path) -> dict[str, Any]:
        prefix: Sequence[str] = []
        place = str(private)
        if means.seatbelt:
            prefix = seatbelt.prefix(means.seatbelt, self.policy, self.hidden, own, private)
        elif means.bubblewrap:
            prefix, place = bubblewrap.prefix(means.bubblewrap, self.policy, self.hidden, own, private)
        walls = None if means.seatbelt else told_walls(self.policy, means, self.hidden, own, place)
        writable = [os.path.realpath(path) for path in (*self.policy.roots, *self.policy.writes)]
        roots = [path for path in writable if means.bubblewrap or not holds(path, self.hidden)]
        return {"name": name, "prefix": prefix, "attack": {"walls": walls, "private": place, "roots": roots}}

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
                self.means = self._candidates()[name]
                reason, cure = self._wanting(outcomes)
                return Isolation("kernel", _named(self.means, outcome["landlock"]), reason, cure, attacks)
        return self._failed(outcomes)

    def _wanting(self, outcomes: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
        """Tell what is missing though the walls hold, and what to do about it."""
        if self.means.seatbelt or (self.means.bubblewrap and self.means.landlock):
            return self._within_reach()
        if self.means.bubblewrap:
            return f"Landlock does not take part: {_why(outcomes['bubblewrap+landlock'])}", ""
        around = [path for path in map(os.path.realpath, self.policy.roots) if holds(path, self.hidden)]
        if around:
            reason = (
                f"the artifacts lie in {around[0]}, so without bubblewrap commands can make nothing new directly in it"
            )
            return reason, "Keep them elsewhere with --data-dir, or install bubblewrap"
        missing = "names, sizes and dates of other sessions' files can be seen without bubblewrap, which "
        if not self._bwrap:
            return missing + "is not installed", "Install bubblewrap"
        if "attacks" in outcomes["bubblewrap+landlock"]:
            return missing + f"does not hold here: {_why(outcomes['bubblewrap+landlock'])}", ""
        cure = "Allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000"
        if Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").exists():
            cure = "Install an AppArmor profile for bwrap, or sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        return missing + f"does not work here: {_why(outcomes['bubblewrap+landlock'])}", cure

    def _within_reach(self) -> tuple[str, str]:
        """Tell whether commands can change the programs that the server runs outside the walls, and what to do."""
        writable = [place for place in map(os.path.realpath, (*self.policy.roots, *self.policy.writes)) if place != "/"]
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
        install = "" if self._bwrap else ", or install bubblewrap"
        return _off(reason, f"Use Linux 6.12 or later with Landlock{install}, {_UNSAFE}", attacks)


def _make_store(store: Path) -> None:
    """Make the store's directory: what does not exist cannot be covered."""
    for path in (*reversed(store.parents), store):
        if not path.exists():
            path.mkdir(0o700, exist_ok=True)


def clear(store: Path) -> None:
    """Remove the decoys of trials that were killed. Blocks."""
    import shutil

    for path in store.glob(f"{DECOY}*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _STALE_S:
                shutil.rmtree(path)


def _off(reason: str, cure: str, attacks: Mapping[str, str] | None = None) -> Isolation:
    return Isolation("off", "", reason, cure, attacks or {})


def _why(outcome: Mapping[str, Any]) -> str:
    if "attacks" not in outcome:
        return str(outcome.get("refused", "it did not run"))
    wrong = {name: said for name, said in outcome["attacks"].items() if said != "held"}
    return ", ".join(f"{name.replace('_', ' ')}: {said}" for name, said in list(wrong.items())[:_NAMED_MAX])


def _named(means: Means, landlock: int) -> str:
    if means.seatbelt:
        return "Seatbelt"
    parts = ["bubblewrap"] if means.bubblewrap else []
    return " + ".join([*parts, *([f"Landlock {landlock}"] if means.landlock else []), "seccomp"])


def _is_in(path: str, places: Sequence[str]) -> bool:
    return any(is_within(path, place) for place in places)
