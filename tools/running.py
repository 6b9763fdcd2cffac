"""Commands that go on after their call was answered; each is seen out, and its artifact made final."""

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass

import anyio

from ..artifacts import Artifact, Writer
from ..errors import BursarError
from ..guard.commands import Command, Exit
from ..guard.sandbox.policy import Level

Told = dict[str, str | int | float]

_FIXES = {
    "timeout": "Raise timeout_s, or use background=true",
    "output limit": "Make it print less, or write to a file; --capture-bytes and --session-quota-bytes allow more",
    "process limit": "Make it start fewer at a time, or raise --command-processes",
    "memory limit": "Make it need less memory, or raise --command-memory-bytes",
    "cpu limit": "Make it compute less, or raise --command-cpu-s",
    "file size limit": "Write smaller files, or raise --command-file-bytes",
    "disk full": "Make room on the disk of the artifacts",
    "lost": "See what it did before you run it again; it may have killed the process that watched over it",
}

_REFUSED = re.compile(rb"(?i)permission denied|read-only file system|operation not permitted|\b(EACCES|EPERM|EROFS)\b")
_REFUSED_WITHIN_BYTES = 8192
_WALLS = (
    "perhaps the sandbox refused it: commands write only in the roots and $TMPDIR, open no local sockets, and have "
    "no network under --terminal-net=off"
)

_FILE_SIZE_CODE = 128 + 25
"""What a shell returns for a program that SIGXFSZ ended."""


def outcome(ended: Exit) -> Told:
    """Tell how a command ended, as facts of a reply: `exit_code`, or `ended` with the reason."""
    told: Told = {}
    if ended.ended != "exited":
        told["ended"] = ended.ended
    elif ended.signal == "SIGXFSZ" or ended.code == _FILE_SIZE_CODE:
        told["ended"] = "file size limit"
    elif ended.signal:
        told["ended"] = f"signal {ended.signal}"
    if ended.code is not None:
        told["exit_code"] = ended.code
    told["took_s"] = round(ended.took_s, 1 if ended.took_s >= 1 else 3)
    if ended.killed and ended.ended == "exited":  # else all of them were the command
        told["killed"] = ended.killed
    if ended.left:
        told["left"] = ended.left
    if told.get("ended") in _FIXES:
        told["fix"] = _FIXES[str(told["ended"])]
    elif "killed" in told:
        told["note"] = "what it left running was ended with it; background=true keeps a command running"
    return told


def refused(ended: Exit, output: Artifact, level: Level) -> Told:
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


class Running:
    """The commands of a server that outlast their calls."""

    def __init__(self) -> None:
        self._live: dict[str, Live] = {}

    def adopt(self, command: Command, writer: Writer) -> Artifact:
        """Let a command go on without its call, and return its live artifact.

        The writer is no longer the call's: it is committed here when the command ends.
        """
        artifact = writer.artifact
        if artifact is None:
            raise ValueError("the command does not write into this writer")
        task = asyncio.get_running_loop().create_task(self._see_out(artifact.ref, command, writer))
        self._live[artifact.ref] = Live(command, task)
        return artifact

    def has(self, reference: str) -> bool:
        """Tell whether a command writes the artifact of this whole reference."""
        return reference in self._live

    def find(self, artifact: Artifact) -> Live:
        """Return the command that writes an artifact.

        Raises:
            BursarError: not_running; it has ended, or belongs to another process.
        """
        live = self._live.get(artifact.ref)
        if live is not None:
            return live
        if artifact.state == "live":
            what, fix = "was started by another server process", "Stop it there"
        else:
            what, fix = "is no running command", "Read it with read_artifact"
        raise BursarError("not_running", f"{artifact.id} {what}", fix)

    async def _see_out(self, reference: str, command: Command, writer: Writer) -> Artifact:
        try:
            return await close_output(writer, await command.ended())
        except asyncio.CancelledError:
            # The event loop is about to close: nobody will see the command out any more.
            with anyio.CancelScope(shield=True):
                writer.commit("partial", facts=outcome(await command.kill(0)))
            raise
        finally:
            del self._live[reference]
