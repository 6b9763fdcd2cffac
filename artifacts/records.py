"""The record of an artifact: everything known about its content, as one small JSON file beside it."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from ..budget.notable import Notables

State = Literal["whole", "live", "partial"]
"""`whole`: all that there was. `live`: still being written. `partial`: what was there when the writing broke off."""

Fact = str | int | float | bool | None

ID = re.compile(r"a[1-9][0-9]{0,8}", re.ASCII)
_CONTENT = re.compile(r"(a[1-9][0-9]{0,8})-[A-Za-z0-9._-]{1,60}", re.ASCII)
_NOT_IN_LABELS = re.compile(r"[^A-Za-z0-9._-]+")
LABEL_MAX_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Source:
    """A local file as it was when it was read; equal sources have equal contents.

    Attributes:
        path: absolute, as the file rules resolved it.
        size: in bytes.
        mtime_ns: time of the last modification.
        inode: number of the file on its device.
        device: number of the device.
        ctime_ns: when anything about it last changed, which no program can set back; 0 in records from before it was
            kept. (On Windows, when it was created.)
    """

    path: str
    size: int
    mtime_ns: int
    inode: int
    device: int = 0
    ctime_ns: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """What is kept of an artifact; see `Artifact` for the meanings.

    Attributes:
        content: name of the content file; empty for a reference.
        mtime_ns: modification time of the content file when it was stored; 0 when not known.
    """

    id: str
    tool: str
    did: str
    created: float
    state: State
    size: int
    content: str = ""
    lines: int | None = None
    sha256: str = ""
    mtime_ns: int = 0
    source: Source | None = None
    notable: "Notables | None" = None
    watched_bytes: int = 0
    facts: Mapping[str, Fact] = field(default_factory=dict[str, Fact])

    def dumps(self) -> bytes:
        """Write as one line of JSON; no prefix of it is valid, so a torn record reads as none."""
        given: dict[str, Any] = {
            "id": self.id,
            "content": self.content,
            "state": self.state,
            "size": self.size,
            "lines": self.lines,
            "sha256": self.sha256,
            "tool": self.tool,
            "did": self.did,
            "created": self.created,
            "mtime_ns": self.mtime_ns,
        }
        if self.facts:
            given["facts"] = dict(self.facts)
        if self.source is not None:
            given["source"] = asdict(self.source)
        if self.notable is not None:
            given |= {"notable": asdict(self.notable), "watched_bytes": self.watched_bytes}
        return json.dumps(given, separators=(",", ":")).encode()


def loads(name: str, data: bytes) -> Record | None:
    """Read the record of artifact `name`; None for what is not one, such as a record that was never finished."""
    try:
        given = cast("dict[str, Any]", json.loads(data))
        if given["id"] != name or given["state"] not in {"whole", "live", "partial"}:
            return None
        source = given.get("source")
        content: str = given["content"]
        if source is None and ((parts := _CONTENT.fullmatch(content)) is None or parts[1] != name):
            return None
        return Record(
            id=name,
            content=content,
            state=given["state"],
            size=int(given["size"]),
            lines=None if given["lines"] is None else int(given["lines"]),
            sha256=str(given["sha256"]),
            tool=str(given["tool"]),
            did=str(given["did"]),
            created=float(given["created"]),
            mtime_ns=int(given["mtime_ns"]),
            source=None if source is None else Source(**source),
            notable=_notable(given.get("notable")),
            watched_bytes=int(given.get("watched_bytes", 0)),
            facts=dict(given.get("facts", {})),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _notable(given: Mapping[str, Any] | None) -> "Notables | None":
    if given is None:
        return None
    from ..budget.notable import Notables

    values: dict[str, Any] = {
        name: tuple(cast("list[Any]", value)) if isinstance(value, list) else value for name, value in given.items()
    }
    values["lines"] = tuple((int(number), str(text)) for number, text in given["lines"])
    return Notables(**values)


def label(wanted: str) -> str:
    """Turn any text into the end of a file name, of ASCII letters, digits, `.`, `-`, `_`; its suffix is kept."""
    return _NOT_IN_LABELS.sub("-", wanted)[-LABEL_MAX_CHARACTERS:].strip("-.") or "output"


def number(artifact: str) -> int:
    """Return 7 of `a7`."""
    return int(artifact[1:])
