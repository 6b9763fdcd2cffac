"""Commands that go on after their call was answered; each is seen out, and its artifact made final."""

import asyncio
import logging
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import anyio
from anyio import to_thread

from ..artifacts import Artifact, Session, Writer
from ..errors import BursarError
from ..guard.command import Command, Exit
from ..guard.sandbox.policy import Level

Facts = dict[str, str | int | float]

GRACE_S = 0.5
"""Between SIGTERM and SIGKILL when a command is stopped or its call is cancelled."""

_LOOK_S = 0.25
"""How often is looked whether the session is still there, and whether other processes ask for the end."""

SERVER_ENDED = "server ended"

_FIXES = {
    "timeout": "Raise timeout_s, or use background=true",
    "output limit": "Make it print less, or write to a file; a larger --session-quota-bytes allows more",
    "process limit": "Make it start fewer at a time, or raise --command-processes",
    "memory limit": "Make it need less memory, or raise --command-memory-bytes",
    "cpu limit": "Make it compute less, or raise --command-cpu-s",
    "file size limit": "Write smaller files, or raise --command-file-bytes",
    "disk full": "Make room on the disk of the artifacts",
    SERVER_ENDED: "Its client ended the server, and so the command. Run it again under a server that stays, or that "
    "answers later: --patience-s",
    "lost": "See what it did before you run it again; it may have killed the process that watched over it",
}

_REFUSED = re.compile(rb"(?i)permission denied|read-only file system|operation not permitted|\b(EACCES|EPERM|EROFS)\b")
_REFUSED_WITHIN_BYTES = 8192
_WALLS = (
    "perhaps the sandbox refused it: commands write only in the roots and $TMPDIR, open no local sockets, and have "
    "no network under --terminal-net=off"
)

_WAIT_S = 60
"""Advised to wait for a running command, besides as long as it has run; no call waits longer than its client does."""

_LOOKS_KEPT = 64

_FILE_SIZE_CODE = 128 + 25
"""What a shell returns for a program that SIGXFSZ ended."""


def outcome(ended: Exit) -> Facts:
    """Tell how a command ended, as facts of a reply: `exit_code`, or `ended` with the reason."""
    facts: Facts = {}
    if ended.ended != "exited":
        facts["ended"] = ended.ended
    elif ended.signal == "SIGXFSZ" or ended.code == _FILE_SIZE_CODE:
        facts["ended"] = "file size limit"
    elif ended.signal:
        facts["ended"] = f"signal {ended.signal}"
    if ended.code is not None:
        facts["exit_code"] = ended.code
    facts["took_s"] = round(ended.took_s, 1 if ended.took_s >= 1 else 3)
    if ended.killed and ended.ended == "exited":  # else all of them were the command
        facts["killed"] = ended.killed
    if ended.left:
        facts["left"] = ended.left
    if facts.get("ended") in _FIXES:
        facts["fix"] = _FIXES[str(facts["ended"])]
    elif "killed" in facts:
        facts["note"] = "what it left running was ended with it; background=true keeps a command running"
    return facts


def recorded(artifact: Artifact) -> Mapping[str, str | int | float | bool | None]:
    """Tell how an artifact's maker ended, by its record; a server that is killed cannot put that into it any more."""
    is_known = not {"took_s", "exit_code", "ended"}.isdisjoint(artifact.facts)
    is_cut_off = artifact.tool == "terminal" and artifact.state == "partial" and not is_known
    return {"ended": SERVER_ENDED, "fix": _FIXES[SERVER_ENDED]} if is_cut_off else artifact.facts


def still_running(took_s: float) -> Facts:
    """Tell of a command that goes on, and of the next call.

    The advice grows with the time, and so each next call is another one: several clients end a run in which the same
    call is made three or four times in a row.
    """
    wait_s = _WAIT_S + round(took_s)
    advice = f"read_artifact(artifact=…, wait_s={wait_s}) waits for it; terminal(artifact=…, stop=true) ends it"
    return {"state": "running", "took_s": round(took_s, 1), "note": advice}


def refused(ended: Exit, output: Artifact, level: Level) -> Facts:
    """Tell a model that sees a command fail for want of rights what may have kept it from its work."""
    if level != "kernel" or not ended.code or ended.ended != "exited":
        return {}
    said = b""
    with suppress(BursarError):  # whoever reads the output meets the same
        said = output.read(max(0, output.size - _REFUSED_WITHIN_BYTES), _REFUSED_WITHIN_BYTES)
    return {"fix": _WALLS} if _REFUSED.search(said) else {}


async def close_output(writer: Writer, ended: Exit) -> Artifact:
    """Make the output of a command final: whole, unless the end came from outside and cut it off.

    Raises:
        BursarError: disk_full or store_failed.
    """
    whole = ended.ended in {"exited", "timeout", "stopped"}
    return await writer.finish("whole" if whole else "partial", facts=outcome(ended))


@dataclass(frozen=True, slots=True)
class Live:
    """A command whose call was answered before it ended."""

    command: Command
    _seen_out: asyncio.Task[Artifact]

    async def final(self) -> Artifact:
        """Wait for its end, and return its final artifact.

        Raises:
            BursarError: disk_full or store_failed; its output could not be made final.
        """
        return await asyncio.shield(self._seen_out)


class Looks:
    """How much of the output of each running command was shown already, whichever tool showed it."""

    def __init__(self) -> None:
        self._shown_bytes: dict[str, int] = {}

    def keep(self, artifact: Artifact) -> None:
        """Remember that an artifact was shown as it is; of one that has ended nothing more will come."""
        self._shown_bytes.pop(artifact.ref, None)
        if artifact.state == "live":
            while len(self._shown_bytes) >= _LOOKS_KEPT:
                del self._shown_bytes[next(iter(self._shown_bytes))]
            self._shown_bytes[artifact.ref] = artifact.size

    def last(self, artifact: Artifact) -> int | None:
        """Return how many bytes of it had been shown by the last look; None if that is not known."""
        return self._shown_bytes.get(artifact.ref)


class Running:
    """The commands of a server that outlast their calls."""

    def __init__(self) -> None:
        self._live: dict[str, Live] = {}

    def adopt(self, command: Command, writer: Writer, session: Session) -> Artifact:
        """Let a command go on without its call, and return its live artifact.

        The writer is no longer the call's: it is committed here when the command ends. The command is stopped when
        another process asks for that, and when its session is deleted, wherever that is done.
        """
        artifact = writer.artifact
        if artifact is None:
            raise ValueError("the command does not write into this writer")
        task = asyncio.get_running_loop().create_task(self._see_out(artifact, command, writer, session))
        task.add_done_callback(_log_failure)
        self._live[artifact.ref] = Live(command, task)
        return artifact

    def find(self, artifact: Artifact) -> Live | None:
        """Return the command that writes an artifact; None if another server process has it.

        Raises:
            BursarError: not_running; there is none, or it has ended.
        """
        live = self._live.get(artifact.ref)
        if live is None and artifact.state != "live":
            raise BursarError("not_running", f"{artifact.id} is no running command", "Read it with read_artifact")
        return live

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._live)

    async def see_out(self, within_s: float) -> None:
        """Wait for the end of all of them.

        Args:
            within_s: after so many seconds the rest is stopped.
        """
        until = time.monotonic() + within_s
        while self._live:
            for live in list(self._live.values()):
                if time.monotonic() >= until:
                    await _end(live, GRACE_S)
            await anyio.sleep(_LOOK_S)

    async def end(self, handle: str, grace_s: float) -> None:
        """End the commands of a session, and make their artifacts final."""
        async with anyio.create_task_group() as group:
            for reference, live in self._live.items():
                if reference.startswith(f"{handle}/"):
                    group.start_soon(_end, live, grace_s)

    async def _see_out(self, artifact: Artifact, command: Command, writer: Writer, session: Session) -> Artifact:
        try:
            while (ended := await command.wait(_LOOK_S)) is None:
                # In a thread: a disk that does not answer must not stop the server.
                is_over = await to_thread.run_sync(_is_to_end, artifact, session, abandon_on_cancel=True)
                if is_over:
                    await command.kill(GRACE_S)
            return await close_output(writer, ended)
        except asyncio.CancelledError:
            # The event loop is about to close: nobody will see the command out any more.
            with anyio.CancelScope(shield=True):
                facts = outcome(replace(await command.kill(0), ended="server ended"))
                try:
                    writer.commit("partial", facts=facts)
                except BursarError as error:
                    _log_loss(error)
            raise
        finally:
            del self._live[artifact.ref]


def _is_to_end(artifact: Artifact, session: Session) -> bool:
    return session.is_gone or artifact.is_asked_to_stop()


async def _end(live: Live, grace_s: float) -> None:
    await live.command.kill(grace_s)
    with suppress(BursarError):  # it is reported to whoever waits for the command, and in the log
        await live.final()


def _log_failure(task: asyncio.Task[Artifact]) -> None:
    """Have nothing happen unseen to a command that nobody waits for."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log_loss(error)


def _log_loss(error: BaseException) -> None:
    if not isinstance(error, BursarError) or error.code != "unknown_session":  # whoever deleted it knows
        logging.getLogger(__name__).error("the output of a command could not be made final", exc_info=error)
