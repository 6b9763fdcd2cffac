"""Commands that end with their call: whatever one starts is found and killed when its time is over, or the server's."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from .environment import command_environment
from .limits import Limits
from .sandbox.policy import Isolation

if TYPE_CHECKING:
    from .sandbox.sandbox import Sandbox

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
        cpu_s: user and system time of everything it started and that was waited for.
        max_rss_bytes: largest resident size of any one of its processes; never less than
            the helper's it was forked from.
    """

    ended: End
    code: int | None
    signal: str
    killed: int
    left: int
    took_s: float
    cpu_s: float
    max_rss_bytes: int


class Command(Protocol):
    """One started command."""

    @property
    def pid(self) -> int:
        """Process id of the command itself."""
        ...

    @property
    def exit(self) -> Exit | None:
        """How it ended; None while it runs."""
        ...

    async def wait(self, timeout_s: float | None = None) -> Exit | None:
        """Wait until it and everything it started have ended; None if that takes longer than `timeout_s`."""
        ...

    async def ended(self) -> Exit:
        """Wait until it and everything it started have ended."""
        ...

    async def kill(self, grace_s: float = 0.5) -> Exit:
        """End it and everything it started: SIGTERM, and SIGKILL after `grace_s` (at once if 0)."""
        ...

    def cut_off(self) -> None:
        """End it like one that has printed all it may; from any thread, and without waiting."""
        ...

    async def send(self, data: bytes, timeout_s: float = 5.0) -> int:
        """Write to its standard input; return how many bytes it took before `timeout_s` was over.

        Raises:
            BursarError: input_closed; its input is not a pipe, was closed, or the command has ended.
        """
        ...

    def close_stdin(self) -> None:
        """Let its standard input end. Closing it twice does no harm."""
        ...


class _Starter(Protocol):
    @property
    def running(self) -> int: ...

    def warm(self) -> None: ...

    def leave(self, session: Path) -> None: ...

    async def start(self, order: "CommandSpec") -> Command: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command to start, as `Commands.start` describes it.

    Attributes:
        keep_env: names in `env` that stay as they are, whatever the sandbox would have.
    """

    argv: Sequence[str | bytes]
    cwd: Path
    output: int
    stdin: Literal["null", "pipe"] | bytes
    script: bytes | None
    env: Mapping[str, str]
    limits: Limits
    session: Path | None = None
    keep_env: frozenset[str] = frozenset()


_UNSAFE = Isolation("unsafe", reason="commands can do whatever the server can", fix="Leave --terminal at sandboxed")


class Commands:
    """The gate through which a server starts programs; one per server, used on one event loop.

    Linux: a small helper process forks a *keeper* for each command. The keeper is a child subreaper, so whatever the
    command starts (`setsid`, double fork, `nohup`) comes back to it and is killed with the command: at its end, at its
    time-out, when it is stopped, and when the server ends in any way, SIGKILL included.
    macOS has no subreaper: a process that leaves the command's process group *and* loses its parent escapes.
    Windows: a job object ends everything, the server's death included, but there is no SIGTERM: nothing can tidy up.
    """

    def __init__(
        self, pass_env: Iterable[str] = (), limits: Limits | None = None, sandbox: "Sandbox | None" = None
    ) -> None:
        """Start nothing yet.

        Args:
            pass_env: names of the server's environment variables that commands get to see besides the common ones.
            limits: what commands may use unless told otherwise when they are started.
            sandbox: keeps each session's commands in; None to let them do whatever the server can.
        """
        self.limits = limits or Limits()
        self._keep_env = frozenset(pass_env)
        self._env = command_environment(self._keep_env)
        self._sandbox = sandbox
        if sys.platform == "win32":
            from .windows_commands import WindowsCommands

            self._starter: _Starter = WindowsCommands(sandbox)
        else:
            from .posix_commands import PosixCommands

            self._starter = PosixCommands(sandbox, self.limits.processes)

    @property
    def running(self) -> int:
        """How many commands are running."""
        return self._starter.running

    @property
    def env(self) -> Mapping[str, str]:
        """The environment that commands get."""
        return self._env

    async def isolation(self) -> Isolation:
        """Return how well commands are kept in, once that was tried."""
        return _UNSAFE if self._sandbox is None else await self._sandbox.isolation()

    @property
    def known_isolation(self) -> Isolation | None:
        """How well commands are kept in; None while that is being tried."""
        return _UNSAFE if self._sandbox is None else self._sandbox.known

    async def admit(self) -> Isolation:
        """Return how well commands are kept in, if they may be started at all.

        Raises:
            BursarError: terminal_off.
        """
        return _UNSAFE if self._sandbox is None else await self._sandbox.admit()

    def tidy(self) -> None:
        """Remove what servers that were killed left behind of their commands. Blocks."""
        if self._sandbox is not None:
            self._sandbox.tidy()

    def warm(self) -> None:
        """Start the helper process, so that the first command need not wait some 20 ms for it. Returns at once."""
        self._starter.warm()

    def leave(self, session: Path) -> None:
        """End everything that runs for a session, and remove its private directory for temporary files. Blocks.

        Args:
            session: its directory. Where nothing keeps sessions apart, their commands are not known by it.
        """
        self._starter.leave(session)

    async def start(
        self,
        argv: Sequence[str | bytes],
        *,
        cwd: Path,
        output: int,
        stdin: Literal["null", "pipe"] | bytes = "null",
        script: bytes | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        session: Path | None = None,
    ) -> Command:
        """Start a program in a session of its own.

        Args:
            argv: the program, as an absolute path, and its arguments.
            cwd: absolute path of the directory it starts in.
            output: descriptor of the file, its own alone, that takes its standard output and standard error in their
                order. It stays the caller's and may be closed once this returns.
            stdin: `null`: nothing to read; `pipe`: open for `send`; bytes: those, and then the end.
            script: a text for it to read from descriptor 3 (`/dev/fd/3`), for what is too long for an argument.
            env: added to the common environment.
            limits: when to end it; default: the limits of all.
            session: directory of the caller's session, the only one that a sandboxed command can read.

        Raises:
            BursarError: it could not be started (no_such_program, bad_directory, command_too_long, bad_command,
                command_not_started), or not kept in (terminal_off, not_isolated).
        """
        environment = {**self._env, "PWD": str(cwd), **(env or {})}
        order = CommandSpec(
            argv,
            cwd,
            output,
            stdin,
            script,
            environment,
            limits or self.limits,
            session,
            self._keep_env | set(env or ()),
        )
        return await self._starter.start(order)

    def close(self) -> None:
        """End every command and everything it started, at once; waits up to 0.1 s for the last of them to go.

        For exit paths: to be called on the event loop's thread, from a signal handler too. The server's death does the
        same, only unobserved. A command started afterwards starts everything anew.
        """
        self._starter.close()
        if self._sandbox is not None:
            self._sandbox.close()
