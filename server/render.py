"""From the outcome of a tool to the draft of its reply."""

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..artifacts import Artifact
from ..budget.clean import clean
from ..budget.cut import Allowance
from ..budget.previews.preview import CaptureFacts, ContentView, Hint
from ..budget.reply import Draft, facts, next_call
from ..guard.names import written
from ..tools.base import Done, Fact, Outcome, Reading

PREVIEW_TOKENS = 600
"""Of a content that does not fit whole: enough to ask the next question by."""

BYTES_PER_TOKEN = 4.5
"""Room in bytes that goes with a preview's tokens: English prose has about that many, so neither ceiling idles."""

_WORTH_TELLING_S = 10
"""Of a command that took longer, the time is told: it may be run in another way the next time."""

COUNTED_AT_SIGHT = 10
"""So many matches need no number beside them."""

SAME_MIN_BYTES = 1200
"""A repeated content shorter than this is shown again: pointing to it would cost as much. For the same reason it is not
named where it is shown whole."""


def view_of(artifact: Artifact, hint: Hint) -> ContentView:
    """Return what shows a stored content by its kind."""
    known = CaptureFacts(artifact.lines, artifact.notable, artifact.watched_bytes)
    return ContentView(artifact, known, hint, artifact.sha256)


@dataclass(frozen=True, slots=True)
class Naming:
    """How artifacts are named in a reply.

    Attributes:
        home: handle of the session whose artifacts need no handle: the caller's connection has it already. Empty if
            the caller may come back over another connection.
        by_uri: tell the address of a resource where else the path of the file is told.
    """

    home: str = ""
    by_uri: bool = False

    def name(self, artifact: Artifact) -> str:
        """Return what an artifact is called."""
        return artifact.name if artifact.handle == self.home else f"{artifact.handle}/{artifact.name}"

    def reference(self, artifact: Artifact) -> str:
        """Return what it is called in a call that is suggested: it stands beside its name, so the id will do."""
        return artifact.id if artifact.handle == self.home else artifact.ref

    def path(self, artifact: Artifact) -> str:
        """Return where all of it is."""
        return artifact.uri if self.by_uri else clean(written(artifact.path), 4096)


def _news(facts: Mapping[str, Fact]) -> Mapping[str, Fact]:
    """Leave out what a reader takes for granted: success, at once, behind the walls that were promised."""
    usual = {"exit_code": 0, "isolation": "kernel", "took_s": facts.get("took_s")}
    if isinstance(took_s := usual["took_s"], int | float) and took_s >= _WORTH_TELLING_S:
        del usual["took_s"]
    return {name: value for name, value in facts.items() if name not in usual or value != usual[name]}


def draft_of(outcome: Outcome, naming: Naming, seen: Collection[str] = ()) -> Draft:
    """Draft the reply to a call whose outputs are stored.

    Args:
        outcome: what the tool returned, its writers replaced by their artifacts.
        naming: what artifacts are called.
        seen: references of artifacts that the session was shown before; they are only pointed to.
    """
    if isinstance(outcome, Reading):
        return _of_reading(outcome, naming)
    parts = [_of_done(part, naming, seen) for part in outcome.parts]
    return replace(_of_done(outcome, naming, seen), parts=parts)


def _of_reading(reading: Reading, naming: Naming) -> Draft:
    artifact = reading.artifact
    if artifact is None:
        return Draft(facts(reading.facts), view=reading.page)
    obvious = _seen_anyway(reading, artifact)
    unsaid = {"isolation": "kernel", **obvious}
    said = {name: value for name, value in reading.facts.items() if unsaid.get(name) != value}
    draft = Draft(facts(said), naming.reference(artifact), view=reading.page, beside_part=obvious)
    return _named(draft, artifact, naming, sys.maxsize if reading.by_name else 0)


def _seen_anyway(reading: Reading, artifact: Artifact) -> dict[str, Fact]:
    """Return what a page tells that is shown whole: that it is all there is, or how few matches there are."""
    shown, found = reading.facts.get("lines"), reading.facts.get("matches")
    is_all = shown == f"1-{artifact.lines} of {artifact.lines}"
    is_few = isinstance(found, int) and 0 < found <= COUNTED_AT_SIGHT and bool(reading.page.pieces)
    return ({"lines": shown} if is_all else {}) | ({"matches": found} if is_few else {})


def _named(draft: Draft, artifact: Artifact, naming: Naming, named_from: int) -> Draft:
    """Have a reply tell an artifact's name where that is worth its tokens, or in any case to who was told none yet."""
    name = naming.name(artifact)
    if not naming.home:
        return replace(draft, entries={"artifact": name, **draft.entries})
    return replace(draft, name=name, named_from=named_from)


def _of_done(done: Done, naming: Naming, seen: Collection[str]) -> Draft:
    named = {name: naming.name(fact) if isinstance(fact, Artifact) else fact for name, fact in done.facts.items()}
    shown = facts(_news(named))
    if naming.by_uri and isinstance(kept := done.facts.get("artifact"), Artifact):  # one that is not shown
        shown |= {"path": kept.uri}
    if not isinstance(done.output, Artifact):
        return Draft(shown)
    artifact = done.output
    reference = naming.reference(artifact)
    if artifact.ref in seen:
        note = {"same_as": f"unchanged since it was shown; see it again: {next_call(reference, {})}"}
        return _named(Draft(shown | note, reference), artifact, naming, 0)
    view = done.view or view_of(artifact, done.hint)
    preview = Allowance(PREVIEW_TOKENS, int(PREVIEW_TOKENS * BYTES_PER_TOKEN))
    is_where_named = artifact.source is not None and not naming.by_uri
    beside_part = {} if is_where_named else {"path": naming.path(artifact)}
    draft = Draft(shown, reference, _size(artifact), view, preview, beside_part=beside_part)
    return _named(draft, artifact, naming, SAME_MIN_BYTES if artifact.state == "whole" else 0)


def _size(artifact: Artifact) -> dict[str, Any]:
    size: dict[str, Any] = {"bytes": artifact.size}
    return size if artifact.lines is None else size | {"lines": artifact.lines}
