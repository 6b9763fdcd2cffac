"""One structured line on standard error per event; a line that cannot be written is counted and changes nothing.

No line tells a content, the handle of a session, or a credential: who reads logs is not who may read those.
"""

import json
import logging
import os
import select
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from typing import Any, cast

from ..budget.clean import clean
from ..budget.redact import discreet

_LINE_MAX_BYTES = 4096
"""POSIX's PIPE_BUF at its usual size: a pipe that is ready for writing takes this much without blocking."""

_VALUE_MAX_CHARACTERS = 1000
_TRACE_MAX_FRAMES, _TRACE_MAX_DEPTH = 24, 8

_dropped = 0
_muted = False


def mute() -> None:
    """Write nothing from now on: a person at a terminal sees the replies themselves."""
    global _muted
    _muted = True


def event(name: str, **values: Any) -> None:  # noqa: ANN401 - whatever JSON can carry
    """Write one JSON line: the time in UTC, the event's name and its values, their texts cleaned."""
    global _dropped
    if _muted:
        return
    line: dict[str, Any] = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "event": name}
    line |= {key: _told(value) for key, value in values.items()}
    if _dropped:
        line["dropped_before"] = _dropped
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    if len(text) <= _LINE_MAX_BYTES and _ready():
        try:
            os.write(2, text)
        except OSError:
            _dropped += 1
        else:
            _dropped = 0
    else:
        _dropped += 1


def crash(what: str) -> None:
    """Write where the exception that is being handled came from.

    What it says is left out: it may quote a content. Its type, its number and the lines of code are enough.
    """
    error = sys.exception()
    event("crash", what=what, traceback=[] if error is None else list(_frames(error))[-_TRACE_MAX_FRAMES:])


def library(record: logging.LogRecord) -> None:
    """Write that a library has warned or failed, and where.

    Its words are kept only as far as they are a pattern that it fills in: what it fills in may be a content.
    """
    error = record.exc_info[1] if record.exc_info else None
    event(
        "library",
        source=record.name,
        level=record.levelname.lower(),
        at=f"{record.pathname}:{record.lineno}",
        **({"words": str(record.msg)} if record.args else {}),
        **({} if error is None else {"traceback": list(_frames(error))[-_TRACE_MAX_FRAMES:]}),
    )


class Libraries(logging.Handler):
    """Writes what libraries report into the log: by themselves they would quote messages on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one report."""
        library(record)


def _frames(error: BaseException, depth: int = 0) -> Iterator[str]:
    """Tell an exception and what led to it, the cause before the effect."""
    if depth == _TRACE_MAX_DEPTH:
        return
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _frames(before, depth + 1)
    inside: tuple[object, ...] = getattr(error, "exceptions", ())  # of a group
    for inner in inside[:_TRACE_MAX_DEPTH]:
        if isinstance(inner, BaseException):
            yield from _frames(inner, depth + 1)
    for frame in traceback.extract_tb(error.__traceback__, -_TRACE_MAX_FRAMES):
        yield f"{frame.filename}:{frame.lineno} in {frame.name}"
    number: object = getattr(error, "errno", None)
    yield type(error).__name__ if number is None else f"{type(error).__name__} {number}"


def _told(value: object) -> object:
    """Return a value as it may stand in a log."""
    if isinstance(value, str):
        return discreet(clean(value, _VALUE_MAX_CHARACTERS))
    if isinstance(value, Mapping):
        return {clean(str(name), 64): _told(inner) for name, inner in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_told(inner) for inner in cast("list[object]", value)]
    return value


def _ready() -> bool:
    """Tell whether standard error takes a line at once: a client that never reads it must not stop the server."""
    if sys.platform == "win32":
        return True
    poll = select.poll()
    poll.register(2, select.POLLOUT)
    return any(state & select.POLLOUT for _, state in poll.poll(0))
