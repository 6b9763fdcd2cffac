"""What a session was asked and answered: a line for each call, and the exact replies in a file beside them.

The handle stands nowhere on the disk, and so not in a reply that is kept: stars stand in its place.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from . import records
from .folder import APPEND, Folder, read_at, write
from .reference import HANDLE_CHARACTERS, HANDLE_PREFIX

CALLS, REPLIES = "calls.jsonl", "replies.txt"

_DID_MAX_CHARACTERS = 300
_REPLY_MAX_BYTES = 1 << 20
_LINES_MAX_BYTES = 256 << 20
_MASK = HANDLE_PREFIX + "*" * HANDLE_CHARACTERS


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call and its reply.

    Attributes:
        at: when it was answered, in seconds since 1970.
        took_s: seconds until then.
        tool: its name, as the client gave it.
        did: what was done, in one line; empty if the arguments were refused.
        client: what the client calls itself.
        ended: `ok`, the code of the error, or `cancelled`, which has no reply.
        artifacts: ids of those that the reply is of.
        is_reading: it was answered from artifacts that were there before.
        content_bytes: size of what the reply shows or names.
        is_partial: the reply shows a part of that.
        picture: media type of the image that was shown beside the reply; empty if there was none.
        offset: where the reply begins among the replies, in bytes.
        length: how long it is.
    """

    at: float
    took_s: float
    tool: str
    did: str
    client: str
    ended: str
    artifacts: tuple[str, ...] = ()
    is_reading: bool = False
    content_bytes: int = 0
    is_partial: bool = False
    picture: str = ""
    offset: int = 0
    length: int = 0


def note(folder: Folder, exchange: Exchange, reply: str, handle: str) -> int:
    """Append a call and its reply; return how many bytes that took.

    Raises:
        OSError: it was not noted.
    """
    text = reply.replace(handle, _MASK).encode("utf-8", "replace")
    did = exchange.did.replace(handle, _MASK)[:_DID_MAX_CHARACTERS]
    offset = _append(folder, REPLIES, text) if text else 0
    line = json.dumps(asdict(replace(exchange, did=did, offset=offset, length=len(text))), separators=(",", ":"))
    _append(folder, CALLS, line.encode() + b"\n")
    return len(line) + 1 + len(text)


def noted(folder: Folder) -> Iterator[Exchange]:
    """Return the calls in the order in which they were answered; what is damaged is left out."""
    with suppress(OSError):
        for line in folder.contents(CALLS, _LINES_MAX_BYTES).splitlines():
            if (exchange := _loads(line)) is not None:
                yield exchange


def reply_of(folder: Folder, exchange: Exchange) -> str:
    """Return the reply as it was sent; empty if there was none, or it cannot be read."""
    with suppress(OSError):
        descriptor = folder.open(REPLIES)
        try:
            return read_at(descriptor, exchange.offset, exchange.length).decode("utf-8", "replace")
        finally:
            os.close(descriptor)
    return ""


def _append(folder: Folder, name: str, data: bytes) -> int:
    """Add to the end of a file, whoever else does, and return where that is."""
    descriptor = folder.open(name, os.O_RDWR | os.O_CREAT | APPEND)
    try:
        write(descriptor, data)
        return os.lseek(descriptor, 0, os.SEEK_CUR) - len(data)
    finally:
        os.close(descriptor)


def _loads(line: bytes) -> Exchange | None:
    """Read a line; whatever it holds, what is returned has the types that it says."""
    try:
        given = cast("dict[str, Any]", json.loads(line))
        exchange = Exchange(
            at=float(given["at"]),
            took_s=float(given["took_s"]),
            tool=str(given["tool"]),
            did=str(given["did"]),
            client=str(given["client"]),
            ended=str(given["ended"]),
            artifacts=tuple(name for name in given["artifacts"] if records.ID.fullmatch(name)),
            is_reading=bool(given["is_reading"]),
            content_bytes=int(given["content_bytes"]),
            is_partial=bool(given["is_partial"]),
            picture=str(given["picture"]),
            offset=int(given["offset"]),
            length=int(given["length"]),
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    times = all(0 <= time < records.LATEST_S for time in (exchange.at, exchange.took_s))
    numbers = all(0 <= number < 1 << 62 for number in (exchange.content_bytes, exchange.offset, exchange.length))
    return exchange if times and numbers and exchange.length <= _REPLY_MAX_BYTES else None
