"""Fetching for a call: within the client's patience, and knowing what the session fetched before."""

from collections.abc import Callable
from dataclasses import replace
from weakref import WeakKeyDictionary

import anyio.to_thread

from ..artifacts import Session
from ..guard.net import Response, Reuse, Sink
from ..guard.net.cache import Cache, Entry
from .base import Call

_MARGIN_S, _REPLY_S = 1.5, 0.5
_MARGIN_SHARE, _REPLY_SHARE = 0.2, 0.08
"""Of the client's patience, where that is less: of the 4 s of an impatient client, 0.8 and 0.3."""

_LEAST_S = 1.0

_caches: WeakKeyDictionary[Session, Cache] = WeakKeyDictionary()


def margin_s(call: Call) -> float:
    """Return how many seconds of the client's patience are kept from fetching, for reading what came and the reply."""
    return min(_MARGIN_S, call.patience_s * _MARGIN_SHARE)


def reply_s(call: Call) -> float:
    """Return how many seconds of the client's patience are kept from all work, for the reply."""
    return min(_REPLY_S, call.patience_s * _REPLY_SHARE)


def longer(call: Call) -> str:
    """Say what to do about the patience of a client that ended a work."""
    return (
        f"have the server started with a --patience-s above {call.patience_s:g}, which the client's own time-out must "
        "exceed"
    )


async def fetched(
    call: Call,
    url: str,
    sink: Sink,
    *,
    within_s: float,
    cache: Cache | None = None,
    reuse: Reuse = "valid",
    told: Callable[[str], object] | None = None,
) -> Response:
    """Fetch as `Net.fetch` does, within `within_s` seconds; if these were too few, the advice is to wait longer."""
    usual = call.net.settings.limits
    limits = replace(usual, total_s=max(_LEAST_S, min(usual.total_s, within_s)))
    response = await call.net.fetch(url, sink, limits=limits, cache=cache, reuse=reuse, told=told)
    failure = response.failure
    if failure is None or failure.code != "too_slow" or limits.total_s == usual.total_s:
        return response
    fix = f"Use another source, or {longer(call)}"
    return replace(response, failure=replace(failure, fix=fix))


async def cache_of(session: Session) -> Cache:
    """Return the session's cache of fetched addresses; the first time every record of the session is read for it.

    Whoever stores an answer commits it with `facts=entry.facts()` and gives the entry to `Cache.keep`.
    """
    if session not in _caches:
        found = await anyio.to_thread.run_sync(_read, session)
        _caches.setdefault(session, found)  # calls that came at the same time share one
    return _caches[session]


def _read(session: Session) -> Cache:
    cache = Cache()
    for artifact in session.artifacts():
        entry = Entry.of(artifact.facts) if artifact.state == "whole" else None
        if entry is not None:
            cache.keep(entry, artifact.ref)
    return cache
