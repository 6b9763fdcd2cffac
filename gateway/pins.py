"""What was approved of each server: the only thing that a model is told of it, kept on disk from start to start."""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from ..errors import BursarError
from .definition import Definition, loosened
from .upstream import Upstream

TOOLS_MAX = 4000
"""Of one server."""

_FILE_BYTES = 16 * 1024**2


@dataclass(frozen=True)
class Pinned:
    """The tools of a server as they were approved.

    Attributes:
        launch: how the server was reached, as a hash.
        sent: definitions as it sent them.
        costs: what each costs in a list, in tokens, by its name.
        is_approved: whether they may be offered.
        at: when that was decided, in seconds since 1970.
    """

    launch: str
    sent: Sequence[Mapping[str, Any]]
    costs: Mapping[str, int] = field(default_factory=dict[str, int])
    is_approved: bool = True
    at: float = field(default_factory=time.time)

    @cached_property
    def definitions(self) -> Mapping[str, Definition]:
        """What a model may be told, by name; definitions that are none, or hide something, are left out."""
        return definitions_of(self.sent)


def definitions_of(sent: Sequence[Mapping[str, Any]]) -> Mapping[str, Definition]:
    """Return what a model may be told of the tools that a server sends, by name."""
    made = (Definition.of(one) for one in sent[:TOOLS_MAX])
    return {one.name: one for one in made if one is not None}


class Pins:
    """The files in which they are kept; no session, command or server behind this one can read or write them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def load(self, upstream: Upstream) -> Pinned | None:
        """Return what was approved of a server; None if nothing was, or it is reached in another way by now."""
        try:
            raw = self._path(upstream).read_bytes()[:_FILE_BYTES]
            told = cast("dict[str, Any]", json.loads(raw))
            pinned = Pinned(
                told["launch"], told["tools"], told.get("costs", {}), bool(told["approved"]), float(told["at"])
            )
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return pinned if pinned.launch == upstream.launch else None

    def keep(self, upstream: Upstream, pinned: Pinned) -> None:
        """Write down what was approved.

        Raises:
            BursarError: store_failed.
        """
        told = {
            "server": upstream.name,
            "launch": pinned.launch,
            "approved": pinned.is_approved,
            "at": pinned.at,
            "costs": pinned.costs,
            "tools": pinned.sent,
        }
        path = self._path(upstream)
        temporary = path.with_suffix(f".{os.getpid()}")
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(told, file)
            temporary.replace(path)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            what = f"what {upstream.name} offers could not be written down: {error.strerror}"
            raise BursarError("store_failed", what, "Make room on the disk of the artifacts") from error

    def _path(self, upstream: Upstream) -> Path:
        return self._directory / f"{upstream.name}.json"


def changes(approved: Pinned, live: Pinned) -> Iterator[tuple[str, str, str]]:
    """Yield each tool that a server offers otherwise than approved: its name, the kind of change, and it in words.

    The kinds are `new`, `gone`, `loosened`, `arguments` and `wording`.
    """
    for name, one in live.definitions.items():
        before = approved.definitions.get(name)
        if before is None:
            yield name, "new", "it was not there"
        elif before.sha256 != one.sha256:
            if why := loosened(before, one):
                yield name, "loosened", why
            elif before.schema != one.schema:
                yield name, "arguments", "it takes other arguments"
            else:
                yield name, "wording", "it is described in other words"
    for name in approved.definitions:
        if name not in live.definitions:
            yield name, "gone", "it is no longer there"
