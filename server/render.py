"""From the outcome of a tool to the draft of its reply."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from ..artifacts import Artifact, Reference
from ..budget.clean import clean
from ..budget.cut import Allowance
from ..budget.previews.preview import CaptureFacts, ContentView, Hint
from ..budget.reply import Draft, facts, next_call
from ..guard.names import written
from ..tools.base import Call, Done, Outcome, Reading

BYTES_PER_TOKEN = 4.5
"""Room in bytes that goes with a preview's tokens: English prose has about that many, so neither ceiling idles."""

SAME_MIN_BYTES = 1200
"""A repeated content shorter than this is shown again: pointing to it would cost as much."""


def view_of(artifact: Artifact, hint: Hint) -> ContentView:
    """Return what shows a stored content by its kind."""
    known = CaptureFacts(artifact.lines, artifact.notable, artifact.watched_bytes)
    return ContentView(artifact, known, hint, artifact.sha256)


def draft_of(
    outcome: Outcome, call: Call, preview_tokens: int, seen: Collection[str] = (), *, by_uri: bool = False
) -> Draft:
    """Draft the reply to a call whose outputs are stored.

    Args:
        outcome: what the tool returned, its writers replaced by their artifacts.
        call: what was called.
        preview_tokens: size of the preview of a content that does not fit whole.
        seen: references of artifacts that the session was shown before; they are only pointed to.
        by_uri: tell the address of a resource where else the path of the file is told.
    """
    if isinstance(outcome, Reading):
        return _of_reading(outcome, call)
    preview = Allowance(preview_tokens, int(preview_tokens * BYTES_PER_TOKEN))
    parts = [_of_done(part, "", preview, seen, by_uri) for part in outcome.parts]
    return replace(_of_done(outcome, call.did, preview, seen, by_uri), parts=parts)


def _of_reading(reading: Reading, call: Call) -> Draft:
    artifact = reading.artifact
    named = {} if artifact is None else {"artifact": artifact.ref}
    entries = named | facts({"did": call.did, **reading.facts})
    return Draft(entries, reference="" if artifact is None else artifact.ref, view=reading.page)


def _of_done(done: Done, did: str, preview: Allowance, seen: Collection[str], by_uri: bool) -> Draft:
    told = facts(({"did": did} if did else {}) | dict(done.facts))
    if by_uri and (kept := Reference.parse(str(told.get("artifact")))) is not None:  # an output that is not shown
        told |= {"path": kept.uri}
    if not isinstance(done.output, Artifact):
        return Draft(told)
    artifact = done.output
    path = artifact.uri if by_uri else clean(written(artifact.path), 4096)
    entries = {"artifact": artifact.ref, "path": path} | told
    if artifact.ref in seen:
        note = {"same_as": f"unchanged since it was shown; see it again: {next_call(artifact.ref, {})}"}
        return Draft(entries | note, artifact.ref, _size(artifact))
    view = done.view or view_of(artifact, done.hint)
    return Draft(entries, artifact.ref, _size(artifact), view, preview)


def _size(artifact: Artifact) -> dict[str, Any]:
    size: dict[str, Any] = {"bytes": artifact.size}
    return size if artifact.lines is None else size | {"lines": artifact.lines}
