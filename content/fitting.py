"""Shows contents in a reply, here or in a worker: whoever fits it needs no more than the files and a few values.

To know a large table or document takes seconds, and parts of that are single steps in which nothing else can run.
"""

import os
import stat
from collections.abc import Mapping
from typing import Any, cast

from ..budget import reply, tokens
from ..budget.ceilings import Ceiling
from ..budget.content import Content
from ..budget.cut import Allowance
from ..budget.notable import Notables
from ..budget.previews.preview import CaptureFacts, ContentView, Hint, Pointer
from ..budget.reply import Draft, Reply
from ..errors import BursarError

HEAVY_BYTES = 64 * 1024
"""A content that is taken apart is taken apart by a worker if it is larger."""

_TAKEN_APART = {"json", "jsonl", "csv", "tsv", "markdown", "SQLite database", "Parquet table", "Arrow table"}


def is_heavy(view: object) -> bool:
    """Tell whether a worker is to show a content; looks at how it begins."""
    return (
        isinstance(view, ContentView)
        and view.content.size > HEAVY_BYTES
        and not _TAKEN_APART.isdisjoint((view.kind, view.form))
    )


def fitted(draft: Draft, ceiling: Ceiling, *, redacts: bool) -> Reply:
    """Make a reply within its ceiling; what looks like a credential is replaced.

    Contents come here without theirs: what is cut in a preview can no longer be recognised. The rest, such as names and
    titles, is looked at here.
    """
    made = reply.fit(draft, ceiling)
    if not redacts:
        return made
    from ..budget import redact

    return Reply(cast("dict[str, Any]", redact.document(made.value)))


def load() -> None:
    """Load the vocabulary ahead of the first call."""
    tokens.warm()


def run(draft: Mapping[str, Any], ceiling: Mapping[str, Any], redacts: bool) -> Mapping[str, Any]:
    """Make a reply of a draft that came as JSON; see `fitted`. Returns it as an object.

    Raises:
        BursarError: another file has the name of a content.
    """
    return fitted(_draft(draft, redacts=redacts), Ceiling(**ceiling), redacts=redacts).value


def _draft(told: Mapping[str, Any], *, redacts: bool) -> Draft:
    return Draft(
        entries=told["entries"],
        name=told["name"],
        named_from=told["named_from"],
        beside_part=told["beside_part"],
        reference=told["reference"],
        size=told["size"],
        view=None if told["view"] is None else _view(told["view"], redacts=redacts),
        preview=None if told["preview"] is None else Allowance(*told["preview"]),
        parts=[_draft(part, redacts=redacts) for part in told["parts"]],
    )


def _view(told: Mapping[str, Any], *, redacts: bool) -> ContentView | Pointer:
    if "following" in told:
        return Pointer(**told)
    content: Content = _File(told["file"])
    if redacts:
        from ..budget.redact import Redacted

        content = Redacted(content)
    known: dict[str, Any] = told["known"]
    notables = None if known["notables"] is None else Notables.read(known["notables"])
    counted = CaptureFacts(known["lines"], notables, known["watched_bytes"])
    return ContentView(content, counted, Hint(**told["hint"]), told["sha256"])


class _File:
    """A file as it was when it was named, up to the size that it then had."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.size = cast("int", told["size"])
        self._descriptor = os.open(told["path"], os.O_RDONLY | getattr(os, "O_BINARY", 0))
        found = os.fstat(self._descriptor)
        if (found.st_dev, found.st_ino) != (told["device"], told["inode"]) or not stat.S_ISREG(found.st_mode):
            raise BursarError("source_changed", "another file has its name", "Call the tool again")

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes from `offset`; fewer only at the end."""
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        left = min(length, self.size - offset)
        parts: list[bytes] = []
        while left > 0 and (part := os.read(self._descriptor, left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
