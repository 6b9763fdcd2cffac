"""What a session has fetched already, so that a page is fetched once and read many times."""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from email.utils import parsedate_to_datetime
from typing import Self

from .robots import Rules

_ENTRIES = 1000
_LONGEST_FRESH_S = 86_400.0
_ASSUMED_FRESH_S = 300.0

Fact = str | int | float


@dataclass(frozen=True, slots=True)
class Entry:
    """One answer that is stored: where, and how to ask whether it still holds. All of it fits into a record as JSON.

    Attributes:
        url: as asked for.
        final_url: where redirects led.
        artifact: the reference of the stored bytes.
        content_type: the media type, lower case, without parameters.
        charset: from the header; empty when it named none.
        etag, last_modified: validators; empty when the server gave none.
        fetched_at, fresh_until: seconds since the epoch.
    """

    url: str
    final_url: str
    artifact: str = ""
    content_type: str = ""
    charset: str = ""
    etag: str = ""
    last_modified: str = ""
    fetched_at: float = 0.0
    fresh_until: float = 0.0

    def facts(self) -> dict[str, Fact]:
        """Give the entry as JSON values, to be kept beside the artifact."""
        return asdict(self)

    @classmethod
    def of(cls, facts: Mapping[str, object]) -> Self | None:
        """Read what `facts` gave; None when it is not that."""
        known = {field.name: facts.get(field.name, field.default) for field in fields(cls)}
        fitting = all(
            isinstance(known[field.name], (int, float) if field.type is float else str) for field in fields(cls)
        )
        return cls(**known) if fitting else None  # pyright: ignore[reportArgumentType] - each was checked above

    def validators(self) -> dict[str, str]:
        """Give the request headers that ask whether the stored answer still holds."""
        asked = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in asked.items() if value}


class Cache:
    """The entries of one session, in memory; `entries` of an earlier process may be given back to it.

    It is private to its session: one session cannot learn from timing what another has read.
    """

    def __init__(self, entries: Mapping[str, Entry] | None = None, clock: Callable[[], float] = time.time) -> None:
        """Start with `entries` by address, if there are any."""
        self._entries = OrderedDict(entries or {})
        self._clock = clock
        self.robots: OrderedDict[str, Rules] = OrderedDict()

    def get(self, url: str) -> Entry | None:
        """Find what is stored for an address, as asked for or as it finally was."""
        entry = self._entries.get(url)
        if entry is not None:
            self._entries.move_to_end(url)
        return entry

    def keep(self, entry: Entry, artifact: str) -> None:
        """Remember that an answer is stored as `artifact`; the least used one goes when there are too many."""
        entry = replace(entry, artifact=artifact)
        for url in {entry.url, entry.final_url}:
            self._entries[url] = entry
            self._entries.move_to_end(url)
        while len(self._entries) > _ENTRIES:
            self._entries.popitem(last=False)

    def is_fresh(self, entry: Entry) -> bool:
        """Tell whether the entry may be used without asking the server; a clock that went back makes it stale."""
        return entry.fetched_at <= self._clock() < entry.fresh_until

    def keep_robots(self, origin: str, rules: Rules) -> None:
        """Remember the rules of a site."""
        self.robots[origin] = rules
        while len(self.robots) > _ENTRIES:
            self.robots.popitem(last=False)


def fresh_for_s(headers: Mapping[str, str]) -> float:
    """Say for how many seconds an answer holds by its own headers.

    Without a word from the server five minutes: a session that reads a page twice means the same page.
    """
    told: dict[str, str] = {}
    for part in headers.get("cache-control", "").lower().split(","):
        name, _, value = part.strip().partition("=")
        told[name] = value.strip('" ')
    if "no-store" in told or "no-cache" in told:
        return 0.0
    if (lasts_s := _seconds(told.get("max-age", ""))) is not None:
        return min(_LONGEST_FRESH_S, max(0.0, lasts_s - (_seconds(headers.get("age", "")) or 0.0)))
    if "expires" in headers:
        return _until(headers["expires"], headers.get("date", ""))
    return _ASSUMED_FRESH_S


def _seconds(told: str) -> float | None:
    return float(told) if told.isascii() and told.isdigit() else None


def _until(expires: str, date: str) -> float:
    try:
        left = parsedate_to_datetime(expires).timestamp() - (
            parsedate_to_datetime(date).timestamp() if date else time.time()
        )
    except (ValueError, OverflowError, OSError):
        return 0.0
    return min(_LONGEST_FRESH_S, max(0.0, left))
