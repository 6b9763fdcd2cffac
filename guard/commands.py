"""Commands that end with their call: whatever one starts is found and killed when its time is over, or the server's."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .command import Command, CommandSpec, Limits
from .environment import command_environment
from .sandbox.policy import Isolation

if TYPE_CHECKING:
    from .sandbox.sandbox import Sandbox


_UNSAFE = Isolation("unsafe", reason="commands can do whatever the server can", fix="Leave --terminal at sandboxed")


class Commands:
    """The gate through which a server starts programs; one per server, used on one event loop.

    Linux: a small helper process forks a *keeper* for each command. The keeper is a child subreaper, so whatever the
    command starts (`setsid`, double fork, `nohup`) comes back to it and is killed with the command: at its end, at its
    time-out, when it is stopped, and when the server ends in any way, SIGKILL included.
    macOS has no subreaper: a process that leaves the command's process group *and* loses its parent escapes.
    Windows: a job object ends everything, the server's death included, but there is no SIGTERM: nothing can tidy up.
    """

    def __init__(self, limits: Limits, pass_env: Iterable[str] = (), sandbox: "Sandbox | None" = None) -> None:
        """Start nothing yet.

        Args:
            limits: what commands may use unless told otherwise when they are started.
            pass_env: names of the server's environment variables that commands get to see besides the common ones.
            sandbox: keeps each session's commands in; None to let them do whatever the server can.
        """
        self.limits = limits
        self._keep_env = frozenset(pass_env)
        self._env = command_environment(self._keep_env)
        self._sandbox = sandbox
        if sys.platform == "win32":
            from .windows_commands import WindowsCommands as Starter
        else:
            from .posix_commands import PosixCommands as Starter
        self._starter = Starter(sandbox, self.limits.processes)

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
        stdin: Literal["null", "pipe", "tty"] | bytes = "null",
        script: bytes | None = None,
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        session: Path | None = None,
        errors: int | None = None,
    ) -> Command:
        """Start a program in a session of its own.

        Args:
            argv: the program, as an absolute path, and its arguments.
            cwd: absolute path of the directory it starts in.
            output: descriptor of the file, its own alone, that takes its standard output and standard error in their
                order. It stays the caller's and may be closed once this returns.
            stdin: `null`: nothing to read; `pipe`: open for `send`; `tty`: the same, typed on a terminal of its
                own that shows its output; bytes: those, and then the end.
            script: a text for it to read from descriptor 3 (`/dev/fd/3`), for what is too long for an argument.
            env: added to the common environment.
            limits: when to end it; default: the limits of all.
            session: directory of the caller's session, the only one that a sandboxed command can read.
            errors: descriptor that takes its standard error apart, which nobody counts; not on Windows.

        Raises:
            BursarError: it could not be started (no_such_program, bad_directory, command_too_long, bad_command,
                command_not_started), or not kept in (terminal_off, not_isolated).
        """
        environment = {**self._env, "PWD": str(cwd), **(env or {})}
        kept = self._keep_env | set(env or ())
        order = CommandSpec(argv, cwd, output, stdin, script, environment, limits or self.limits, session, kept, errors)
        return await self._starter.start(order)

    def close(self) -> None:
        """End every command and everything it started, at once; waits up to 0.1 s for the last of them to go.

        For exit paths: to be called on the event loop's thread, from a signal handler too. The server's death does the
        same, only unobserved. A command started afterwards starts everything anew.
        """
        self._starter.close()
        if self._sandbox is not None:
            self._sandbox.close()
