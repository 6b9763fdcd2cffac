"""What a session was asked and answered: a line of JSON for each call, with the exact reply.

The handle stands nowhere on the disk, and so not in a reply that is kept: stars stand in its place.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, cast

from ..budget.clean import utf8
from . import records
from .folder import APPEND, Folder, write
from .reference import HANDLE_CHARACTERS, HANDLE_PREFIX

CALLS = "calls.jsonl"
MASK = HANDLE_PREFIX + "*" * HANDLE_CHARACTERS
"""Stands for the handle."""

_DID_MAX_CHARACTERS = 300
_LINE_MAX_BYTES = 1 << 20


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
        reply: the text that was sent; empty if there was none.
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
    reply: str = ""


_NAMES = tuple(field.name for field in fields(Exchange))
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def note(folder: Folder, exchange: Exchange, handle: str) -> int:
    """Append a call and its reply; return how many bytes that took.

    Raises:
        OSError: it was not noted.
    """
    told = {name: getattr(exchange, name) for name in _NAMES} | {"did": exchange.did[:_DID_MAX_CHARACTERS]}
    line = utf8(_encode(told).replace(handle, MASK)).encode() + b"\n"
    descriptor = folder.open(CALLS, os.O_WRONLY | os.O_CREAT | APPEND)
    try:
        write(descriptor, line)
    finally:
        os.close(descriptor)
    return len(line)


def noted(folder: Folder) -> Iterator[Exchange]:
    """Yield the calls in the order in which they were answered; what is damaged is left out."""
    with suppress(OSError), os.fdopen(folder.open(CALLS), "rb") as file:
        while line := file.readline(_LINE_MAX_BYTES):
            if (exchange := _loads(line)) is not None:
                yield exchange


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
            reply=str(given["reply"]),
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    times = all(0 <= time < records.LATEST_S for time in (exchange.at, exchange.took_s))
    return exchange if times and 0 <= exchange.content_bytes < 1 << 62 else None
