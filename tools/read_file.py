"""Reads a local file: its text becomes an artifact in UTF-8, of which the reply shows what fits or is asked for."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from ..artifacts import SCHEME, Artifact, Source, Writer, source_of
from ..budget.previews.preview import Hint
from ..content import encoding
from ..content.encoding import Encoding, ToUtf8
from ..content.files.forms import HEAD_BYTES, form_of
from ..errors import BursarError
from ..guard.names import rewritten
from ..guard.opened import OpenedFile
from . import documents, excerpts
from .base import Call, Done, Outcome, Tool, unlisted
from .excerpts import ExcerptArgs
from .progress import in_thread

BLOCK_BYTES = 1 << 20

QUICK_BYTES = 256 * 1024
"""Read on the event loop: a quarter of a millisecond, less than a thread costs to reach under load."""

SCAN_BYTES = 4 * 1024 * 1024
"""Of a file that is not copied, how far to look for a character that tells its encoding: some milliseconds."""

ENDLESS_BYTES = 64 * 1024 * 1024
"""Read of a file that tells no size, such as those of /sys."""

FINE_TICK_S = 0.02
"""A file system's clock ticks at least this often (Linux: 100 to 1,000 times a second)."""

COARSE_TICK_S = 2.0
"""What FAT keeps of a time; assumed where a time has no fraction below a millisecond."""

_NOTED = ("encoding", "replaced", "changed", "unreadable")
"""What is said of a file with each part of it."""

Beat = Callable[[float, float], None]


class ReadFileArgs(ExcerptArgs):
    """Which file, and which part of it to show."""

    path: str
    bytes: str | None = unlisted(coerce_numbers_to_str=True)


class ReadFile(Tool[ReadFileArgs]):
    """Look at a file of any size or kind; in archives: x.zip/file."""

    name: ClassVar[str] = "read_file"
    read_only: ClassVar[bool] = True
    Args = ReadFileArgs

    def __init__(self, copy_bytes: int) -> None:
        self._copy_bytes = copy_bytes

    def did(self, args: ReadFileArgs) -> str:
        """Describe the reading: the artifact is the file, whatever part of it is shown."""
        return f"read {rewritten(args.path)}"

    async def run(self, args: ReadFileArgs, call: Call) -> Outcome:
        """Read.

        Raises:
            BursarError: what is asked for cannot be, or a path that is none or cannot be read.
        """
        if args.path.startswith(SCHEME):
            read = f'Use read_artifact(artifact="{args.path}")'
            raise BursarError("not_a_file", "that is the address of an artifact, not a path", read)
        args.query(call.room)  # what is wrong with it is said before anything is stored
        began = time.monotonic()
        path, member = args.path, ""
        try:
            artifact = await self._read(path, call)
        except BursarError as error:
            holder = call.workspace.holder(path) if error.code == "not_found" else None
            if holder is None:
                raise
            path, member = holder
            artifact = await self._read(path, call)
        # Bytes are those of the file; of a notebook, which is JSON, queries ask what is in it.
        is_raw = args.bytes is not None or (args.sql is not None and path.endswith(".ipynb"))
        name = _original(artifact)
        within_s = excerpts.left_s(call, began)
        found = await documents.document(artifact, name, member, call, within_s, is_raw=is_raw)
        facts = {**artifact.facts, **found.facts} if found.content is artifact else found.facts
        if not args.asks:
            return Done(facts, found.content, Hint(name=name if found.content is artifact else found.content.name))
        reading = await excerpts.part(args, found.content, call, began)
        return replace(reading, facts={name: facts[name] for name in _NOTED if name in facts} | dict(reading.facts))

    async def _read(self, path: str, call: Call) -> Artifact:
        if call.workspace.is_quick(path, QUICK_BYTES):
            return self._stored(path, call, _no_beat)
        return await in_thread(lambda pulse: self._stored(path, call, pulse.beat), call.progress, "bytes read")

    def _stored(self, path: str, call: Call, beat: Beat) -> Artifact:
        """Return the artifact of a file as it is now: an earlier one if it has not changed since, else a new one."""
        workspace = call.workspace
        with workspace.open(path) as file:
            own = _own(file, call)
            if own is not None:
                return own
            status = file.status
            source = source_of(str(file.path), status)
            earlier = call.session.same_source(source, workspace.descriptor)
            if earlier is not None and _surely_same(earlier, source):
                return earlier
            found = encoding.BINARY
            if not form_of(file.read(0, HEAD_BYTES), file.path.name):
                found = encoding.detect(file, SCAN_BYTES if file.size > self._copy_bytes else None)
            facts = _noted(file, found)
            if file.size > self._copy_bytes and found.codec is None:
                return call.session.refer(
                    source.path, status, tool=call.tool, did=call.did, opener=workspace.descriptor, facts=facts
                )
            writer = call.output(file.path.name)
            replaced = _copy(file, writer, found, beat)
            if replaced:
                facts["replaced"] = f"{replaced:,} broken character{'s' * (replaced > 1)}, by U+FFFD"
            after = os.fstat(file.descriptor)
            if source_of(source.path, after) != source:
                facts["changed"] = "while it was read"
                return writer.commit(facts=facts)
            same = call.session.same_as(writer.sha256, writer.size)
            if same is not None and same.source is not None and same.source.path == source.path:
                writer.discard()
                return same
            return writer.commit(source=source, facts=facts)


def _no_beat(done: float, total: float) -> None:
    """Small files are read at one go."""


def _surely_same(earlier: Artifact, source: Source) -> bool:
    """Tell whether equal times mean equal contents: not for a file that was written just before it was read.

    Nor for files without a size, which the kernel writes anew at each reading.
    """
    return source.size > 0 and (
        earlier.is_reference or all(_is_past(at_ns, earlier.created) for at_ns in (source.mtime_ns, source.ctime_ns))
    )


def _is_past(at_ns: int, now: float) -> bool:
    """Tell whether a clock that showed `at_ns` shows something else by `now`."""
    return now - at_ns / 1e9 > (FINE_TICK_S if at_ns % 1_000_000 else COARSE_TICK_S)


def _own(file: OpenedFile, call: Call) -> Artifact | None:
    """Return the artifact whose content the file is, if it lies in the caller's session directory."""
    directory = call.session.directory
    if file.path.parent.name != directory.name or not file.path.parent.samefile(directory):
        return None
    try:
        return call.session.open(str(directory / file.path.name), call.workspace.descriptor)
    except BursarError:
        return None


def _copy(file: OpenedFile, writer: Writer, found: Encoding, beat: Beat) -> int:
    """Stream a file into its artifact, as long as it was when it was opened; return how many characters were broken."""
    converter = ToUtf8(found)
    size = file.size or ENDLESS_BYTES
    done = 0
    while done < size and (block := file.read(done, min(BLOCK_BYTES, size - done))):
        done += len(block)
        writer.write(converter.feed(block))
        beat(done, file.size)
    if rest := converter.feed(b"", last=True):
        writer.write(rest)
    return converter.replaced


def _noted(file: OpenedFile, found: Encoding) -> dict[str, str | int | float | bool | None]:
    """Return what is worth knowing of the original, beside its content."""
    facts: dict[str, str | int | float | bool | None] = {}
    if found.codec is not None:
        facts["encoding"] = f"{found.name}, shown and stored as UTF-8"
    elif found.name not in {"utf-8", "binary"}:
        facts["encoding"] = found.name
    head = ToUtf8(found).feed(file.read(0, 1 << 16)) if found.name != "binary" else b""
    if b"\r\n" in head:
        facts["newlines"] = "CRLF" if head.count(b"\n") == head.count(b"\r\n") else "CRLF and LF, mixed"
    return facts


def _original(artifact: Artifact) -> str:
    return artifact.source.path if artifact.source is not None else artifact.path
