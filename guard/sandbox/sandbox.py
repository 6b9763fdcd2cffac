"""The sandbox of a server's commands: proved once, then a cell for each session."""

from pathlib import Path

from ...errors import BursarError
from . import private, selftest
from .policy import Isolation, Policy
from .session_sandbox import Cell, cell

_begun: dict[Policy, selftest.SelfTest] = {}


def begin(policy: Policy) -> selftest.SelfTest:
    """Start the trial of the walls, or return the one that this process has started already."""
    found = _begun.get(policy)
    if found is None:
        found = _begun[policy] = selftest.SelfTest(policy)
    return found


class Sandbox:
    """Keeps the commands of each session in; there is no way back to doing without."""

    def __init__(self, policy: Policy) -> None:
        """Prepare, but start no trial: it costs as much as half a start, and may not be needed.

        Raises:
            BursarError: bad_setting; the policy cannot be kept.
        """
        policy.check()
        self.policy = policy

    @property
    def _proof(self) -> selftest.SelfTest:
        return begin(self.policy)

    async def isolation(self) -> Isolation:
        """Return how well commands are kept in, once the trial has ended."""
        known = self.known
        if known is None:
            import anyio.to_thread  # the trial is begun before anything else is loaded

            known = await anyio.to_thread.run_sync(self._proof.outcome, abandon_on_cancel=True)
        return known

    @property
    def known(self) -> Isolation | None:
        """How well commands are kept in; None while the trial runs."""
        return self._proof.outcome() if self._proof.done else None

    async def admit(self) -> Isolation:
        """Refuse to start anything unless the walls hold, and return how well they do.

        Raises:
            BursarError: terminal_off.
        """
        isolation = await self.isolation()
        if isolation.level != "kernel":
            message = f"no command is run here: {isolation.reason}"
            raise BursarError("terminal_off", message, isolation.fix)
        return isolation

    def cell(self, session: Path, tasks: int = 0) -> Cell:
        """Prepare where the commands of a session run, which may have so many tasks together (0: any).

        Raises:
            BursarError: not_isolated.
        """
        for place in (*self.policy.roots, *self.policy.writes):
            if not place.is_dir():
                message = f"{place}, where commands may write, is gone, so the command was not started"
                raise BursarError("not_isolated", message, "Make it again, or start the server without it")
        try:
            return cell(self.policy, self._proof.means, self._proof.hidden, session, tasks)
        except OSError as error:
            message = f"no private directory could be made for the command, so it was not started: {error.strerror}"
            raise BursarError("not_isolated", message, "Make room on the disk of the artifacts") from error

    def tidy(self) -> None:
        """Remove what servers that were killed left behind. Blocks."""
        private.tidy(self.policy.store)
        selftest.clear(self.policy.store)

    def close(self) -> None:
        """End a trial that nobody waits for any more."""
        if begun := _begun.get(self.policy):
            begun.abandon()


class Closed(Sandbox):
    """Starts no command at all."""

    def __init__(self, isolation: Isolation) -> None:
        self._isolation = isolation

    @property
    def known(self) -> Isolation:
        """Why none is started."""
        return self._isolation

    async def isolation(self) -> Isolation:
        """Return why none is started."""
        return self._isolation

    def tidy(self) -> None:
        """Do nothing: there are no private directories."""

    def close(self) -> None:
        """Do nothing: there is no trial."""
