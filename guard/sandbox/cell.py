"""Where one session's commands run: the walls around them and a private directory for temporary files."""

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..zygote.within import is_within
from . import bubblewrap, seatbelt
from .policy import Policy, private_environment
from .private import Private
from .tasks import Group, group


class Means(NamedTuple):
    """What keeps commands in.

    Attributes:
        bubblewrap: path of the program; empty if it does not take part.
        landlock: whether Landlock takes part.
        seatbelt: path of the program of macOS; empty if it does not take part.
    """

    bubblewrap: str = ""
    landlock: bool = False
    seatbelt: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """How to start the helper process of one session, and the commands it forks.

    Attributes:
        prefix: arguments that come before the helper's own.
        walls: for the commands, as the helper is told them in JSON; None where `command_prefix` brings them.
        environment: of commands, beside what all have.
        command_prefix: arguments that come before those of each command.
        private: the directory for temporary files, kept while the helper runs.
        group: holds the helper and all it starts, where there can be one.
        sees_server: whether the helper can see the server's process.
    """

    prefix: Sequence[str]
    walls: Mapping[str, Any] | None
    environment: Mapping[str, str]
    command_prefix: Sequence[str]
    private: Private
    group: Group | None
    sees_server: bool

    def leave(self) -> None:
        """Let go of the private directory and the group."""
        self.private.release()
        if self.group is not None:
            self.group.remove()


def cell(policy: Policy, means: Means, hidden: Sequence[str], session: Path, home: str, tasks: int) -> Cell:
    """Prepare a cell.

    Args:
        policy: what commands may do.
        means: what keeps them in.
        hidden: every path to what is to be hidden.
        session: directory of the session.
        home: of the user, for where tools usually keep what they cache.
        tasks: how many the commands of the session may have together; 0 for any.

    Raises:
        OSError: the private directory cannot be made.
    """
    private = Private(policy.store)
    prefix: list[str] = []
    place = str(private.path)
    if means.bubblewrap:
        prefix, place = bubblewrap.prefix(means.bubblewrap, policy, hidden, session, private.path)
    writable = (*policy.roots, *policy.writes)
    command_prefix: list[str] = []
    if means.seatbelt:
        command_prefix = seatbelt.prefix(means.seatbelt, policy, hidden, session, private.path)
    walls = None if means.seatbelt else told_walls(policy, means, hidden, session, place)
    held = group(tasks) if tasks else None
    return Cell(
        prefix=prefix if held is None else [*held.prefix, *prefix],
        walls=walls,
        environment=private_environment(place, home, writable),
        command_prefix=command_prefix,
        private=private,
        group=held,
        sees_server=not means.bubblewrap,
    )


def told_walls(policy: Policy, means: Means, hidden: Sequence[str], session: Path, private: str) -> dict[str, Any]:
    """Return `zygote.walls.Walls` for the commands of a session, as JSON."""
    writes = [os.path.realpath(path) for path in (*policy.roots, *policy.writes)]
    own = [private]
    if means.bubblewrap:
        # What is hidden in them is not there, and cannot be moved to where it would be.
        own += [bubblewrap.SHARED_MEMORY, *(path for path in writes if holds(path, hidden))]
    return {
        "reads": ["/", os.path.realpath(session)],
        "writes": [path for path in writes if path not in own],
        "private": own,
        "hidden": list(hidden),
        "terminals": bool(means.bubblewrap),
        "network": policy.network,
        "unix_sockets": policy.unix_sockets,
        "landlock": means.landlock,
    }


def holds(directory: str, hidden: Sequence[str]) -> bool:
    """Tell whether one of the hidden places lies in a directory."""
    return any(is_within(place, directory) for place in hidden)


def every_path(places: Sequence[Path]) -> list[str]:
    """Return every path that leads to the places, through links and through other mounts."""
    if sys.platform == "linux":
        from ..zygote.places import all_places

        with contextlib.suppress(OSError):
            return all_places(map(str, places))
    return [os.path.realpath(place) for place in places]
