"""One structured line on standard error per event; a line that cannot be written is counted and changes nothing."""

import json
import os
import select
import sys
import time
import traceback
from typing import Any

from ..budget.clean import clean, utf8

_LINE_MAX_BYTES = 4096
"""POSIX's PIPE_BUF at its usual size: a pipe that is ready for writing takes this much without blocking."""

_TRACE_MAX_CHARACTERS = 2500

_dropped = 0
_muted = False


def mute() -> None:
    """Write nothing from now on: a person at a terminal sees the replies themselves."""
    global _muted
    _muted = True


def event(name: str, **values: Any) -> None:  # noqa: ANN401 - whatever JSON can carry
    """Write one JSON line: the time in UTC, the event's name and its values, texts cleaned."""
    global _dropped
    if _muted:
        return
    line: dict[str, Any] = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "event": name}
    line |= {key: clean(value, 1000) if isinstance(value, str) else value for key, value in values.items()}
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
    """Write the exception that is being handled, with as much of its end as a line takes."""
    event("crash", what=what, traceback=utf8(traceback.format_exc())[-_TRACE_MAX_CHARACTERS:].splitlines())


def _ready() -> bool:
    """Tell whether standard error takes a line at once: a client that never reads it must not stop the server."""
    if sys.platform == "win32":
        return True
    poll = select.poll()
    poll.register(2, select.POLLOUT)
    return any(state & select.POLLOUT for _, state in poll.poll(0))
