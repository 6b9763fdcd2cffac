"""From the outcome of a tool to the draft of its reply."""

import json
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property
from typing import Any

from ..artifacts import Artifact
from ..budget import reply, tokens
from ..budget.ceilings import Ceiling
from ..budget.clean import clean
from ..budget.cut import Allowance
from ..budget.preview import Hint, Known, Look
from ..budget.reply import Draft, PageView, Shown, facts, next_call
from ..tools.base import Call, Done, Outcome, Reading

BYTES_PER_TOKEN = 4.5
"""Room in bytes that goes with a preview's tokens: English prose has about that many, so neither ceiling idles."""

SAME_MIN_BYTES = 1200
"""A repeated content shorter than this is shown again: pointing to it would cost as much."""


class ContentView:
    """Shows a stored content: whole if it fits, else what its kind makes most useful."""

    def __init__(self, artifact: Artifact, hint: Hint) -> None:
        self._artifact = artifact
        self._hint = hint

    @cached_property
    def _look(self) -> Look:
        artifact = self._artifact
        return Look(artifact, Known(artifact.lines, artifact.notable, artifact.watched_bytes), self._hint)

    def whole(self, allowance: Allowance) -> str | None:
        """Return the content if it is valid UTF-8 and fits."""
        return self._look.whole(allowance) if self._artifact.size <= allowance.bytes else None

    def part(self, allowance: Allowance) -> Shown:
        """Show a preview by kind, with the measures that a reader of the whole wants."""
        seen = self._look.part(allowance)
        left_out = f"{seen.left_out} not shown" if seen.left_out else ""
        return Shown(seen.value, left_out, seen.suggest or None, self._measures)

    @cached_property
    def _measures(self) -> dict[str, str]:
        artifact = self._artifact
        with artifact.opened() as content:
            samples = [content.read(offset, length) for offset, length in tokens.windows(content.size)]
        measures = {"tokens": tokens.human(tokens.estimate(artifact.size, samples))}
        return measures | ({"sha256": artifact.sha256[:12]} if artifact.sha256 else {})


def draft_of(
    outcome: Outcome, call: Call, taste_tokens: int, seen: Collection[str] = (), *, by_uri: bool = False
) -> Draft:
    """Draft the reply to a call whose outputs are stored.

    Args:
        outcome: what the tool returned, its writers replaced by their artifacts.
        call: what was called.
        taste_tokens: size of the preview of a content that does not fit whole.
        seen: references of artifacts that the session was shown before; they are only pointed to.
        by_uri: tell the address of a resource where else the path of the file is told.
    """
    if isinstance(outcome, Reading):
        return _of_reading(outcome, call)
    taste = Allowance(taste_tokens, int(taste_tokens * BYTES_PER_TOKEN))
    parts = [_of_done(part, "", taste, seen, by_uri) for part in outcome.parts]
    return replace(_of_done(outcome, call.did, taste, seen, by_uri), parts=parts)


def fitted(draft: Draft, ceiling: Ceiling, *, redacts: bool) -> str:
    """Serialise a draft within its ceiling; what looks like a credential is replaced, and `redacted` counts it.

    Contents come here without theirs: what is cut in a preview can no longer be recognised. The rest, such as names and
    titles, is looked at here.
    """
    text = reply.fit(draft, ceiling)
    if not redacts:
        return text
    from ..budget import redact

    text = redact.document(text)
    if count := redact.marks(text):
        text = redact.document(reply.fit(replace(draft, entries={**draft.entries, "redacted": count}), ceiling))
    return text


def is_partial(text: str) -> bool:
    """Tell whether a reply shows only a part of a content; what stands in the content itself does not count."""
    if '"incomplete":' not in text:
        return False
    told = json.loads(text)
    return any("incomplete" in part for part in (told, *told.get("parts", ())))


def _of_reading(reading: Reading, call: Call) -> Draft:
    artifact = reading.artifact
    named = {} if artifact is None else {"artifact": artifact.ref}
    entries = named | facts({"did": call.did, **reading.facts})
    return Draft(entries, reference="" if artifact is None else artifact.ref, view=PageView(reading.page))


def _of_done(done: Done, did: str, taste: Allowance, seen: Collection[str], by_uri: bool) -> Draft:
    told = facts(({"did": did} if did else {}) | dict(done.facts))
    if by_uri and "artifact" in told:  # of an output that is not shown
        told |= {"path": f"artifact://{told['artifact']}"}
    if not isinstance(done.output, Artifact):
        return Draft(told)
    artifact = done.output
    path = f"artifact://{artifact.ref}" if by_uri else clean(artifact.path, 4096)
    entries = {"artifact": artifact.ref, "path": path} | told
    if artifact.ref in seen:
        note = {"same_as": f"unchanged since it was shown; see it again: {next_call(artifact.ref, {})}"}
        return Draft(entries | note, artifact.ref, _size(artifact))
    view = done.view or ContentView(artifact, done.hint)
    return Draft(entries, artifact.ref, _size(artifact), view, taste)


def _size(artifact: Artifact) -> dict[str, Any]:
    size: dict[str, Any] = {"bytes": artifact.size}
    return size if artifact.lines is None else size | {"lines": artifact.lines}
