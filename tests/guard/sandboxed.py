"""A server's ground outside /tmp, and sandboxes on it that are kept by different means."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bursar.guard.command import Exit, Limits
from bursar.guard.commands import Commands
from bursar.guard.sandbox.policy import Policy
from bursar.guard.sandbox.sandbox import Sandbox
from means import without

MEANS = (
    pytest.param("namespaces + Landlock", marks=pytest.mark.needs("namespaces")),
    pytest.param("bubblewrap + Landlock", marks=pytest.mark.needs("bwrap")),
    "Landlock alone",
)


class Ground:
    """A workspace, a store with the own session and that of another, and commands that are kept in."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.work = base / "work"
        self.store = base / "data" / "bursar"
        self.own = self.store / "aaaaaaaaaaaa"
        self.other = self.store / "bbbbbbbbbbbb"
        for place in (self.work, self.own, self.other):
            place.mkdir(parents=True)
        self.secret = os.urandom(16).hex()
        (self.other / "a1-terminal.log").write_text(self.secret)
        (self.own / "a1-terminal.log").write_text("of my own")

    def policy(self, **more) -> Policy:
        return Policy(**({"store": self.store, "roots": (self.work,)} | more))

    def commands(self, limits: Limits | None = None, pass_env=(), **more) -> Commands:
        return Commands(limits or Limits(), pass_env, Sandbox(self.policy(**more)))

    async def run(self, commands: Commands, text: str, session: Path | None = None, **given) -> tuple[Exit, str]:
        file = self.base / f"output-{os.urandom(4).hex()}"
        fd = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        try:
            command = await commands.start(
                ["/bin/bash", "-c", text], **{"cwd": self.work, "output": fd, "session": session or self.own, **given}
            )
        finally:
            os.close(fd)
        exit_ = await command.wait(60)
        assert exit_ is not None
        return exit_, file.read_text(errors="replace")


@contextmanager
def ground() -> Iterator[Ground]:
    base = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="bursar-test-"))
    try:
        yield Ground(base)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def python_without(numbers: Iterable[int], text: str, **options) -> "subprocess.CompletedProcess[str]":
    """Run Python in a process whose kernel has no such system calls."""
    command = [*without(numbers), sys.executable, "-c", text]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, **options)
