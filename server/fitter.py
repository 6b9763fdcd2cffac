"""Makes a reply in its time: what is slow to show is left out of it, and never the reply."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, cast

import anyio

from ..artifacts import Artifact
from ..budget.ceilings import Ceiling
from ..budget.cut import Allowance
from ..budget.previews.base import Preview
from ..budget.previews.preview import ContentView, Pointer
from ..budget.reply import Draft, Reply
from ..content.fitting import fitted, is_heavy
from ..errors import BursarError
from ..guard.fair import FairQueue
from ..guard.workers import Workers

_RUN = "bursar.content.fitting:run"
_AT_ONCE_BYTES = 4096
"""With less content a reply is made on the event loop: that is quicker than the way to a thread and back."""

_SMALL_BYTES = 1600
"""A byte is at most a token: what is smaller fits every reply uncounted."""

_THREADS, _THREADS_EACH = 3, 2
"""Replies that are made at the same time, in all and for one sharer: each thread that computes delays the event loop by
some milliseconds."""

_FIRST_BYTES = 4096


@dataclass(frozen=True, slots=True)
class _Unseen:
    """A content of which nothing is shown, for want of time."""

    size: int

    def whole(self, _allowance: Allowance) -> str | None:
        """Nothing of it was looked at."""
        return None

    def part(self, _allowance: Allowance) -> Preview:
        """Name the call that shows how it begins."""
        last = max(0, min(self.size, _FIRST_BYTES) - 1)
        return Preview({}, f"all {self.size:,} bytes not shown", {"bytes": f"0-{last}"})


@dataclass(frozen=True)
class Fitter:
    """Fits drafts of replies to what their contents allow.

    Attributes:
        workers: for contents that are taken apart; they wait for no page or PDF of others.
        redacts: replace what looks like a credential.
        wanted: set with the first content that is not small, which may need the vocabulary, and the next one workers.
    """

    workers: Workers
    redacts: bool
    wanted: anyio.Event = field(default_factory=anyio.Event)
    _threads: FairQueue = field(default_factory=lambda: FairQueue(all=_THREADS, each=_THREADS_EACH))

    async def fit(self, draft: Draft, ceiling: Ceiling, within_s: float) -> Reply:
        """Fit a draft; one whose contents cannot be looked at in time shows nothing of them, and says why.

        Raises:
            BursarError: damaged, source_changed, read_failed or unknown_artifact; a content cannot be read.
        """
        if draft.content_bytes > _SMALL_BYTES:
            self.wanted.set()
        if draft.content_bytes <= _AT_ONCE_BYTES:
            return self.at_once(draft, ceiling)
        reason = f"showing it took longer than {within_s:.2g} s"
        with anyio.move_on_after(within_s):
            reply = await self._threads.in_thread(partial(self._reply_or_request, draft, ceiling))
            if isinstance(reply, Reply):
                return reply
            try:
                value = await self.workers.call(_RUN, reply.arguments, reads=reply.files, deadline_s=within_s)
                return Reply(cast("dict[str, Any]", value))
            except BursarError as error:
                reason = error.message
        return self.at_once(_unseen(draft, reason), ceiling)

    def at_once(self, draft: Draft, ceiling: Ceiling) -> Reply:
        """Fit a draft here and now."""
        return fitted(draft, ceiling, redacts=self.redacts)

    async def warm(self) -> None:
        """Load what the first content that is taken apart needs."""
        await self.workers.warm(_RUN)

    def close(self) -> None:
        """End every process."""
        self.workers.close()

    def _reply_or_request(self, draft: Draft, ceiling: Ceiling) -> "Reply | _Request":
        """Fit a draft unless one of its contents is heavy; then return what to ask a worker for."""
        views = [one.view for one in (draft, *draft.parts) if one.view is not None]
        if not any(map(is_heavy, views)) or not all(map(_is_known_to_workers, views)):
            return self.at_once(draft, ceiling)
        files: list[str] = []
        limits = {"bytes": ceiling.bytes, "tokens": ceiling.tokens}
        return _Request({"draft": _described(draft, files), "ceiling": limits, "redacts": self.redacts}, files)


@dataclass(frozen=True, slots=True)
class _Request:
    """What a worker is asked for: the arguments of `content.fitting.run`, and the files that it may read."""

    arguments: Mapping[str, Any]
    files: list[str]


def _unseen(draft: Draft, reason: str) -> Draft:
    parts = [_unseen(part, reason) for part in draft.parts]
    if draft.view is None or not draft.reference:
        return replace(draft, parts=parts)
    notes = [*filter(None, [draft.entries.get("note")]), f"no preview: {reason}"]
    entries = {**draft.entries, "note": "; ".join(map(str, notes))}
    return replace(draft, entries=entries, view=_Unseen(int(draft.size.get("bytes", 0))), parts=parts)


def _is_known_to_workers(view: object) -> bool:
    return isinstance(view, Pointer) or (isinstance(view, ContentView) and isinstance(view.content, Artifact))


def _described(draft: Draft, files: list[str]) -> dict[str, Any]:
    """Return a draft as JSON has it; the files of its contents are added to `files`."""
    return {
        "entries": dict(draft.entries),
        "name": draft.name,
        "named_from": draft.named_from,
        "beside_part": dict(draft.beside_part),
        "reference": draft.reference,
        "size": dict(draft.size),
        "view": None if draft.view is None else _described_view(draft.view, files),
        "preview": None if draft.preview is None else [draft.preview.tokens, draft.preview.bytes],
        "parts": [_described(part, files) for part in draft.parts],
    }


def _described_view(view: object, files: list[str]) -> dict[str, Any]:
    if isinstance(view, Pointer):
        return asdict(view)
    assert isinstance(view, ContentView)  # noqa: S101 - as was asked before
    artifact = view.content
    assert isinstance(artifact, Artifact)  # noqa: S101 - as was asked before
    files.append(artifact.path)
    with artifact.opened() as content:
        status = os.fstat(content.descriptor)
    file = {"path": artifact.path, "size": artifact.size, "device": status.st_dev, "inode": status.st_ino}
    return {"file": file, "known": asdict(view.known), "hint": asdict(view.hint), "sha256": view.sha256}
