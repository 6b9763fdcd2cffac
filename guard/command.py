"""A command: what is to be started, how much it may use, what can be done with it, and how it ended."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import anyio

from ..errors import BursarError


@dataclass(frozen=True, slots=True)
class Limits:
    """What one command may use before it is ended.

    Attributes:
        timeout_s: seconds from its start.
        output_bytes: of its output; what it printed beyond is not kept. (On Windows it is looked at from outside every
            50 ms, so a fast writer gets some megabytes further.)
        free_bytes: room on the output's disk below which a command that printed over 1 MiB is ended.
        cpu_s: seconds of processor time, of everything it starts together; 0 for any. Watched, like the next two, on
            Linux only, up to twice in a second, so that a fast command gets somewhat further.
        memory_bytes: memory of everything it starts together, what is shared counted once; 0 for any.
        processes: how many of them at a time, and 16 times as many threads; 0 for any.
        file_bytes: of any file it writes (not on Windows); 0 for any.
        grace_s: seconds between SIGTERM and SIGKILL at a time-out, and for what is left when the command itself ends.
    """

    timeout_s: float = 120.0
    output_bytes: int = 2 * 1024**3
    free_bytes: int = 256 * 1024**2
    cpu_s: float = 0.0
    memory_bytes: int = 0
    processes: int = 0
    file_bytes: int = 0
    grace_s: float = 0.5


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command to start, as `Commands.start` describes it.

    Attributes:
        keep_env: names in `env` that stay as they are, whatever the sandbox would have.
        errors: takes its standard error, if that is kept apart.
    """

    argv: Sequence[str | bytes]
    cwd: Path
    output: int
    stdin: Literal["null", "pipe", "tty"] | bytes
    script: bytes | None
    env: Mapping[str, str]
    limits: Limits
    session: Path | None = None
    keep_env: frozenset[str] = frozenset()
    errors: int | None = None


End = Literal[
    "exited",
    "timeout",
    "stopped",
    "output limit",
    "process limit",
    "memory limit",
    "cpu limit",
    "disk full",
    "lost",
    "server ended",
]
"""Why a command is no longer running.

`disk full`: its output could not be stored, for that or a similar reason. `lost`: its keeper was killed from outside,
and what was left with it. `server ended`: its client ended the server that ran it.
"""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a command ended.

    Attributes:
        ended: the reason.
        code: its exit status; None when a signal ended it, or when it is unknown.
        signal: name of the signal that ended it, such as `SIGSEGV`; empty otherwise.
        killed: processes besides the command itself that were still running and had to be ended.
        left: processes that could not be ended (another user's, or stuck in the kernel); 0 but in rare cases.
        took_s: seconds from its start to its own end, what it left behind not included.
    """

    ended: End
    code: int | None
    signal: str
    killed: int
    left: int
    took_s: float


class Command(ABC):
    """One started command.

    Attributes:
        pid: process id of the command itself.
        exit: how it ended; None while it runs.
        has_tty: it runs on a terminal of its own, and what is sent to it is typed there.
    """

    def __init__(self, *, has_tty: bool = False) -> None:
        self.pid = 0
        self.has_tty = has_tty
        self.exit: Exit | None = None
        self._ended = asyncio.Event()

    async def wait(self, timeout_s: float | None = None) -> Exit | None:
        """Wait until it and everything it started have ended; None if that takes longer than `timeout_s`."""
        with anyio.move_on_after(timeout_s):
            await self.ended()
        return self.exit

    async def ended(self) -> Exit:
        """Wait until it and everything it started have ended."""
        while self.exit is None:
            await self._ended.wait()
        return self.exit

    @abstractmethod
    async def kill(self, grace_s: float = 0.5) -> Exit:
        """End it and everything it started: SIGTERM, and SIGKILL after `grace_s` (at once if 0)."""

    @abstractmethod
    def cut_off(self) -> None:
        """End it like one that has printed all it may; from any thread, and without waiting."""

    @abstractmethod
    async def send(self, data: bytes, timeout_s: float = 5.0) -> int:
        """Write to its standard input; return how many bytes it took before `timeout_s` was over.

        Raises:
            BursarError: input_closed; its input is not a pipe, was closed, or the command has ended.
        """

    async def asks_password(self) -> bool:
        """Tell whether it reads a line from its terminal that is not to be seen."""
        return False

    @abstractmethod
    def close_stdin(self) -> None:
        """Let its standard input end. Closing it twice does no harm."""


def input_closed() -> BursarError:
    """Refuse to send what no command reads any more."""
    return BursarError(
        "input_closed", "the command reads no input any more", "Start it again with background=true to send it input"
    )
