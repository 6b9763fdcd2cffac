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
LABEL = re.compile(r"-[A-Za-z0-9._-]{1,60}", re.ASCII)
"""How the name of a content file goes on behind the id."""

_CONTENT = re.compile(rf"({ID.pattern}){LABEL.pattern}", re.ASCII)
_NOT_IN_LABELS = re.compile(r"[^A-Za-z0-9._-]+")
LABEL_MAX_CHARACTERS = 60
_WRITTEN = "id content state size lines sha256 tool did created mtime_ns".split()
_STATES = ("whole", "live", "partial")
_BEYOND = 1 << 63
LATEST_S = 1e11
"""The year 5138."""


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
    """What is kept of an artifact.

    Attributes:
        id: its name within the session, such as `a7`.
        tool: the tool that made it.
        did: what was done, in one line.
        created: when it was stored, in seconds since 1970.
        state: `whole`, `live` or `partial`.
        size: length in bytes; of a live artifact, when it was last looked at.
        content: name of the content file; empty for a reference.
        lines: number of lines, an unfinished last one included; None if nobody counted them yet.
        sha256: hash of the content in hexadecimal; empty while live, for references, and for what a crash left.
        mtime_ns: modification time of the content file when it was stored; 0 when not known.
        source: the local file that the content was read from, or that it refers to.
        stood_out: lines that stand out, credentials included; None if nobody looked. For readers: `Artifact.notable`.
        watched_bytes: how many bytes, at the beginning and the end, they were found in.
        facts: short values that the tool noted when it was done, such as an exit code.
        entered_ns: when the record's own file last changed, which no program can set back; 0 when not known. Not
            written into it: a content that changed later is not what was recorded.
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
    stood_out: "Notables | None" = None
    watched_bytes: int = 0
    facts: Mapping[str, Fact] = field(default_factory=dict[str, Fact])
    entered_ns: int = field(default=0, compare=False)

    def dumps(self) -> bytes:
        """Write as one line of JSON; no prefix of it is valid, so a torn record reads as none."""
        given: dict[str, Any] = {name: getattr(self, name) for name in _WRITTEN}
        if self.facts:
            given["facts"] = dict(self.facts)
        if self.source is not None:
            given["source"] = asdict(self.source)
        if self.stood_out is not None:
            given |= {"notable": asdict(self.stood_out), "watched_bytes": self.watched_bytes}
        return json.dumps(given, separators=(",", ":")).encode()


def loads(name: str, data: bytes, entered_ns: int = 0) -> Record | None:
    """Read the record of artifact `name`; None for what is not one, such as a record that was never finished.

    Whatever the file holds, what is returned has the types that it says, and names no file but the artifact's own.
    """
    try:
        given = cast("dict[str, Any]", json.loads(data))
        source = given.get("source")
        record = Record(
            id=_text(given["id"]),
            content=_text(given["content"]),
            state=given["state"],
            size=_count(given["size"]),
            lines=None if given["lines"] is None else _count(given["lines"]),
            sha256=_text(given["sha256"]),
            tool=_text(given["tool"]),
            did=_text(given["did"]),
            created=_time(given["created"]),
            mtime_ns=_whole(given["mtime_ns"]),
            source=None if source is None else _source(source),
            stood_out=_notable(given.get("notable")),
            watched_bytes=_count(given.get("watched_bytes", 0)),
            facts=_facts(given.get("facts", {})),
            entered_ns=entered_ns,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return record if record.id == name and record.state in _STATES and _is_own(record) else None


def is_torn(data: bytes) -> bool:
    """Tell whether a record was never finished, rather than damaged or written by a later version."""
    return not data.rstrip().endswith(b"}")


def _is_own(record: Record) -> bool:
    """Tell whether a record's content is a file that can only be its own; a reference has none."""
    if not record.content:
        return record.source is not None
    parts = _CONTENT.fullmatch(record.content)
    return parts is not None and parts[1] == record.id


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _whole(value: object) -> int:
    if type(value) is not int or abs(value) >= _BEYOND:
        raise ValueError(value)
    return value


def _count(value: object) -> int:
    number = _whole(value)
    if number < 0:
        raise ValueError(value)
    return number


def _time(value: object) -> float:
    if not isinstance(value, int | float) or not abs(value) < LATEST_S:  # not a number is not below anything
        raise ValueError(value)
    return float(value)


def _facts(given: object) -> Mapping[str, Fact]:
    facts = cast("dict[Any, Any]", given)
    if not all(isinstance(value, str | int | float | None) for value in facts.values()):
        raise TypeError(given)
    return dict(facts)


def _source(given: Mapping[str, Any]) -> Source:
    numbers = {name: _whole(value) for name, value in given.items() if name != "path"}
    return Source(path=_text(given["path"]), **numbers)


def _notable(given: Mapping[str, Any] | None) -> "Notables | None":
    if given is None:
        return None
    from ..budget.notable import Notables

    return Notables.read(given)


def label(wanted: str) -> str:
    """Turn any text into the end of a file name, of ASCII letters, digits, `.`, `-`, `_`; its suffix is kept."""
    return _NOT_IN_LABELS.sub("-", wanted)[-LABEL_MAX_CHARACTERS:].strip("-.") or "output"


def number(artifact: str) -> int:
    """Return 7 of `a7`."""
    return int(artifact[1:])
