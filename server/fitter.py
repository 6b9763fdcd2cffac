"""Makes the text of a reply in its time: what is slow to show is left out of it, and never the reply."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import anyio

from ..artifacts import Artifact
from ..budget.ceilings import Ceiling
from ..budget.cut import Allowance
from ..budget.reply import Draft, Shown
from ..content.fitting import HEAVY_BYTES, ContentView, fitted
from ..content.page_view import PageView, Pointer
from ..errors import BursarError
from ..guard.fair import FairQueue
from ..guard.workers import Workers

_RUN = "bursar.content.fitting:run"
_THREADS, _THREADS_EACH = 3, 2
"""Replies that are fitted at the same time, in all and for one sharer: each thread that computes delays the event loop
by some milliseconds."""

_FIRST_BYTES = 4096


@dataclass(frozen=True, slots=True)
class _Unseen:
    """A content of which nothing is shown, for want of time."""

    size: int

    def whole(self, _allowance: Allowance) -> str | None:
        """Nothing of it was looked at."""
        return None

    def part(self, _allowance: Allowance) -> Shown:
        """Name the call that shows how it begins."""
        last = max(0, min(self.size, _FIRST_BYTES) - 1)
        return Shown({}, f"all {self.size:,} bytes not shown", {"bytes": f"0-{last}"})


@dataclass(frozen=True)
class Fitter:
    """Fits drafts of replies to what their contents allow.

    Attributes:
        workers: for contents that are taken apart; they wait for no page or PDF of others.
        redacts: replace what looks like a credential.
    """

    workers: Workers
    redacts: bool
    _threads: FairQueue = field(default_factory=lambda: FairQueue(all=_THREADS, each=_THREADS_EACH))

    def at_once(self, draft: Draft, ceiling: Ceiling) -> str:
        """Fit a draft whose contents are small."""
        return fitted(draft, ceiling, redacts=self.redacts)

    async def fit(self, draft: Draft, ceiling: Ceiling, within_s: float) -> str:
        """Fit a draft; one whose contents cannot be looked at in time shows nothing of them, and says why.

        Raises:
            BursarError: damaged, source_changed, read_failed or unknown_artifact; a content cannot be read.
        """
        reason = f"showing it took longer than {within_s:.2g} s"
        with anyio.move_on_after(within_s):
            told = await self._threads.in_thread(partial(_told, draft))
            if told is None:
                return await self._threads.in_thread(partial(self.at_once, draft, ceiling))
            limits = {"bytes": ceiling.bytes, "tokens": ceiling.tokens}
            try:
                request = {"draft": told, "ceiling": limits, "redacts": self.redacts}
                text = await self.workers.call(_RUN, request, reads=list(_paths(told)), deadline_s=within_s)
                return str(text)
            except BursarError as error:
                reason = error.message
        return self.at_once(_unseen(draft, reason), ceiling)

    async def warm(self) -> None:
        """Load what the first content that is taken apart needs."""
        await self.workers.warm(_RUN)

    def close(self) -> None:
        """End every process."""
        self.workers.close()


def _unseen(draft: Draft, reason: str) -> Draft:
    parts = [_unseen(part, reason) for part in draft.parts]
    if draft.view is None or not draft.reference:
        return replace(draft, parts=parts)
    notes = [*filter(None, [draft.entries.get("note")]), f"no preview: {reason}"]
    entries = {**draft.entries, "note": "; ".join(map(str, notes))}
    return replace(draft, entries=entries, view=_Unseen(int(draft.size.get("bytes", 0))), parts=parts)


def _told(draft: Draft) -> dict[str, Any] | None:
    """Return a draft as JSON has it; None if it is to be fitted here: none of it is heavy, or not all can be told."""
    drafts = [draft, *draft.parts]
    views = [one.view for one in drafts if one.view is not None]
    heavy = any(
        view.is_heavy if isinstance(view, ContentView) else isinstance(view, PageView) and view.size > HEAVY_BYTES
        for view in views
    )
    if not heavy or not all(_can_be_told(view) for view in views):
        return None
    return _draft(draft)


def _can_be_told(view: object) -> bool:
    return isinstance(view, Pointer) or (
        isinstance(view, ContentView | PageView) and isinstance(view.content, Artifact)
    )


def _draft(draft: Draft) -> dict[str, Any]:
    return {
        "entries": dict(draft.entries),
        "reference": draft.reference,
        "size": dict(draft.size),
        "view": None if draft.view is None else _view(draft.view),
        "preview": None if draft.preview is None else [draft.preview.tokens, draft.preview.bytes],
        "parts": [_draft(part) for part in draft.parts],
    }


def _view(view: object) -> dict[str, Any]:
    if isinstance(view, Pointer):
        return {"following": view.following}
    assert isinstance(view, ContentView | PageView)  # noqa: S101 - as was asked before
    artifact = view.content
    assert isinstance(artifact, Artifact)  # noqa: S101 - as was asked before
    with artifact.opened() as content:
        status = os.fstat(content.descriptor)
    file = {"path": artifact.path, "size": artifact.size, "device": status.st_dev, "inode": status.st_ino}
    rest = view.told() if isinstance(view, ContentView) else {"lines": view.lines}
    return {"file": file, **rest}


def _paths(told: dict[str, Any]) -> Iterator[str]:
    if told["view"] is not None and "file" in told["view"]:
        yield told["view"]["file"]["path"]
    for part in told["parts"]:
        yield from _paths(part)
