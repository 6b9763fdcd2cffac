"""What a session fetched before, read from the records of its artifacts, so that it survives a restart."""

from weakref import WeakKeyDictionary

from ..artifacts import Session
from ..guard.net.cache import Cache, Entry

_caches: WeakKeyDictionary[Session, Cache] = WeakKeyDictionary()


def cache_of(session: Session) -> Cache:
    """Return the session's cache of fetched addresses.

    Whoever stores an answer commits it with `facts=entry.facts()` and gives the entry to `Cache.keep`.
    """
    cache = _caches.get(session)
    if cache is None:
        cache = Cache()
        for artifact in session.artifacts():
            entry = Entry.of(artifact.facts) if artifact.state == "whole" else None
            if entry is not None:
                cache.keep(entry, artifact.ref)
        _caches[session] = cache
    return cache
