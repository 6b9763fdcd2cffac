"""Where goes what leaves a request: artifacts of a session, which `read_artifact` reads, or this process's memory."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..artifacts import Artifact, Limits, Reference, Session, Store, reader, search
from ..artifacts.matches import Query
from ..artifacts.ownership import local_owner
from ..artifacts.spans import Span, parse
from ..artifacts.store import default_data_dir
from ..budget.ceilings import Ceiling
from ..budget.clean import clean, utf8
from ..budget.previews.preview import CaptureFacts, ContentView, Hint
from ..budget.reply import Draft, Reply, error_line
from ..budget.reply import fit as fit_reply
from ..budget.request import Leaving
from ..errors import BursarError

DOOR_BYTES = 8192
"""A result that is larger is stored before it becomes part of a history, and shown as bursar's tools show theirs."""

_FOR_EVER = Limits(idle_s=1e13, total_bytes=10**18)
"""What a history names can be read as long as the history is there: no sweep takes it."""

_CEILING = Ceiling()
_REACH_S = 10.0
_PREVIEW = b'{"artifact":"'
_LABELS = {"application/json": "json", "application/x-ndjson": "jsonl"}


class Shelf:
    """Keeps what leaves in the artifacts of a session, and reads it again.

    Given to `fit` as its `store`. `read_artifact` is the tool to offer where no server of bursar's is connected: a
    plain function, as all frameworks take it.

    Attributes:
        session: whose artifacts they are.
    """

    def __init__(self, session: Session) -> None:
        self.session = session

    @classmethod
    def open(cls, handle: str = "", data_dir: Path | None = None, *, is_kept: bool = True) -> "Shelf":
        """Open a session of this user's, or begin one, which no sweep takes until it is removed.

        Args:
            handle: the key to it, or any reference from it; empty for a new one.
            data_dir: as the server's `--data-dir`; by default the platform's place for data.
            is_kept: no sweep takes it; else it is kept as long as other sessions are.

        Raises:
            BursarError: unknown_session, data_directory_refused, disk_full, store_failed.
        """
        store = Store((data_dir or default_data_dir()) / "bursar", _FOR_EVER if is_kept else Limits())
        named = Reference.parse(handle)
        session = (
            store.attach(named.handle if named else handle, local_owner()) if handle else store.create(local_owner())
        )
        store.close()
        return cls(session)

    def __call__(self, leaving: Leaving) -> str:
        """Store what leaves a request, and return its reference; of what was only a preview, the one of the whole."""
        if (shown := self._previewed(leaving.data)) is not None:
            return shown.ref
        return self.store(
            leaving.data, leaving.name, "left out of a request", _LABELS.get(leaving.media_type, "txt")
        ).ref

    def store(self, data: bytes, tool: str, did: str, label: str = "txt") -> Artifact:
        """Store a content; one that is there already is not stored again.

        Raises:
            BursarError: unknown_session, quota, disk_full, store_failed.
        """
        same = self.session.same_as(hashlib.sha256(data).hexdigest(), len(data))
        if same is not None:
            return same
        with self.session.writer(tool=clean(tool, 64), did=clean(did), label=f"{tool}.{label}") as writer:
            writer.write(data)
            return writer.commit()

    def shown(self, output: str | bytes, tool: str, did: str) -> str:
        """Return a result as a model should see it: whole if it is small, else stored and shown by its kind.

        Raises:
            BursarError: as `store` does.
        """
        data = utf8(output).encode() if isinstance(output, str) else output
        if len(data) <= DOOR_BYTES and isinstance(output, str):
            return output
        return _preview(self.store(data, tool, did), clean(did))

    def _previewed(self, reply: bytes) -> Artifact | None:
        """Return the artifact that a text is the preview of; a text that only pretends to be one is none."""
        with suppress(BursarError, ValueError, KeyError, TypeError):
            if reply.startswith(_PREVIEW):
                told = Reply.parse(reply.decode()).value
                artifact = self.session.open(str(told["artifact"]))
                return artifact if _preview(artifact, str(told.get("did", ""))).encode() == reply else None
        return None

    async def read_artifact(self, artifact: str, grep: str = "", lines: str = "", bytes: str = "") -> str:  # noqa: A002 - the server's words
        """Read on in an earlier output, or search it.

        Args:
            artifact: its name, such as ses_…/a7.
            grep: a regular expression; the lines that match are shown.
            lines: a range of lines, such as 40-50, 100- or -50 for the last.
            bytes: a range of bytes, such as 4096-8191.
        """
        try:
            found = self.session.open(artifact)
            unit, span = ("bytes", parse(bytes, "bytes")) if bytes else ("lines", parse(lines or "1-", "lines"))
            if grep:
                within: dict[str, Any] = {unit: span} if lines or bytes else {}
                shown = await search.grep(found, Query(grep, **within), _REACH_S)
            else:
                shown = reader.excerpt(found, unit, span if bytes or lines else Span(1, None))
        except BursarError as error:
            fix = "Run the call that made it again" if error.code == "unknown_artifact" else error.fix
            return error_line(error.code, error.message, fix, _CEILING)
        entries: Mapping[str, Any] = {"artifact": found.ref, **shown.facts()}
        return fit_reply(Draft(entries, found.ref, view=shown.page), _CEILING).text


def _preview(artifact: Artifact, did: str) -> str:
    known = CaptureFacts(artifact.lines, artifact.notable, artifact.watched_bytes)
    view = ContentView(artifact, known, Hint(), artifact.sha256)
    size = {"bytes": artifact.size} | ({} if artifact.lines is None else {"lines": artifact.lines})
    entries = {"artifact": artifact.ref} | ({"did": did} if did else {})
    return fit_reply(Draft(entries, artifact.ref, size, view), _CEILING).text


class MemoryShelf:
    """Keeps what leaves in memory, by names such as `a3`; for tests, and for conversations that nobody resumes.

    Attributes:
        held: everything by its name.
    """

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}

    def __call__(self, leaving: Leaving) -> str:
        """Keep what leaves a request, and return its name."""
        name = f"a{len(self.held) + 1}"
        self.held[name] = leaving.data
        return name

    async def read_artifact(self, artifact: str, grep: str = "") -> str:
        """Read an earlier output again, or the lines of it in which a text stands.

        Args:
            artifact: its name, such as a7.
            grep: a text.
        """
        if artifact not in self.held:
            return error_line(
                "unknown_artifact", f"there is no {artifact}", "Run the call that made it again", _CEILING
            )
        text = self.held[artifact].decode("utf-8", "replace")
        lines = [line for line in text.splitlines() if grep in line] if grep else [text]
        from ..budget.cut import Allowance, head

        return head("\n".join(lines), Allowance(_CEILING.tokens, _CEILING.bytes))
