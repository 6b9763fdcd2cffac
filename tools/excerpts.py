"""Reads a part of an artifact for a reply, and gives up before the client does."""

import time

import anyio

from ..artifacts import Artifact, reader
from ..artifacts.reader import Excerpt
from ..artifacts.spans import Span
from ..errors import BursarError
from .base import Call
from .progress import in_thread

QUICK_BYTES = 1 << 20
"""Read on the event loop; looking for a line in more may take long."""

_SHARE = 0.9
"""Of the client's patience; what was counted by then is known to the next call."""

_LEAST_S = 0.2


async def excerpt(artifact: Artifact, unit: str, span: Span, call: Call, began: float) -> Excerpt:
    """Read a range of `unit`, `lines` or `bytes`, of an artifact of any size.

    Args:
        artifact: what to read.
        unit: of the range.
        span: the range.
        call: which is cancelled, waits and reports progress.
        began: when the call began, on the monotonic clock.

    Raises:
        BursarError: beyond_the_end, damaged, source_changed, timeout.
    """
    if artifact.size <= QUICK_BYTES:
        return reader.excerpt(artifact, unit, span)
    left_s = max(_SHARE * call.patience_s - (time.monotonic() - began), _LEAST_S)
    with anyio.move_on_after(left_s):
        return await in_thread(
            lambda pulse: reader.excerpt(artifact, unit, span, pulse.beat), call.progress, "bytes scanned"
        )
    raise BursarError(
        "timeout",
        f"{unit} {span.first or ''}-{span.last or ''} were not found within {left_s:.2g} s",
        "Call again: it goes on where it stopped; or give bytes, which need no counting",
    )
