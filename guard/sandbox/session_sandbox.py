"""Where one session's commands run: the walls around them and a private directory for temporary files."""

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..forkserver.view import is_within
from . import bubblewrap, seatbelt
from .cgroup import Group, group
from .policy import Policy, private_environment
from .private import Private
from .view import SHARED_MEMORY, view


class Means(NamedTuple):
    """What keeps commands in.

    Attributes:
        namespaces: whether the helper gives itself namespaces of its own.
        bubblewrap: path of the program that does so for it; empty if it does not take part.
        landlock: whether Landlock takes part.
        seatbelt: path of the program of macOS; empty if it does not take part.
    """

    namespaces: bool = False
    bubblewrap: str = ""
    landlock: bool = False
    seatbelt: str = ""

    @property
    def view(self) -> bool:
        """Whether commands see only what they are to see."""
        return self.namespaces or bool(self.bubblewrap)


class Surroundings(NamedTuple):
    """What is around the commands of a session.

    Attributes:
        prefix: arguments that come before those of the helper, or of a process to be tried.
        command_prefix: arguments that come before those of each command.
        walls: what the helper does to itself and the commands, as JSON: `view`, a `forkserver.view.View` or None,
            `enter`, whether it makes that itself, and `walls`, a `forkserver.walls.Walls`; None where the command
            prefix brings all of it.
        private: where the directory for temporary files is in there.
    """

    prefix: list[str]
    command_prefix: list[str]
    walls: dict[str, Any] | None
    private: str


def surroundings(policy: Policy, means: Means, hidden: Sequence[str], session: Path, private: Path) -> Surroundings:
    """Describe what is around the commands of a session.

    Args:
        policy: what commands may do.
        means: what keeps them in.
        hidden: every path to what is to be hidden.
        session: directory of the session.
        private: directory for temporary files.
    """
    if means.seatbelt:
        return Surroundings([], seatbelt.prefix(means.seatbelt, policy, hidden, session, private), None, str(private))
    if not means.view:
        walls = _walls(policy, means, hidden, session, str(private))
        return Surroundings([], [], {"view": None, "enter": False, "walls": walls}, str(private))
    seen, place = view(policy, hidden, session, private)
    walls = _walls(policy, means, hidden, session, place)
    prefix = bubblewrap.prefix(means.bubblewrap, seen) if means.bubblewrap else []
    return Surroundings(prefix, [], {"view": seen._asdict(), "enter": not prefix, "walls": walls}, place)


@dataclass(frozen=True, slots=True)
class Cell:
    """How to start the helper process of one session, and the commands it forks.

    Attributes:
        around: both.
        environment: of commands, beside what all have.
        private: the directory for temporary files, kept while the helper runs.
        group: holds the helper and all it starts, where there can be one.
        sees_server: whether the helper can see the server's process.
    """

    around: Surroundings
    environment: Mapping[str, str]
    private: Private
    group: Group | None
    sees_server: bool

    @property
    def prefix(self) -> Sequence[str]:
        """Arguments that come before the helper's own."""
        return [*([] if self.group is None else self.group.prefix), *self.around.prefix]

    def leave(self) -> None:
        """Let go of the private directory and the group."""
        self.private.release()
        if self.group is not None:
            self.group.remove()


def cell(policy: Policy, means: Means, hidden: Sequence[str], session: Path, tasks: int) -> Cell:
    """Prepare a cell; see `surroundings`. `tasks`: how many its commands may have together; 0 for any.

    Raises:
        OSError: the private directory cannot be made.
    """
    private = Private(policy.store)
    around = surroundings(policy, means, hidden, session, private.path)
    environment = private_environment(around.private, os.environ.get("HOME", ""), policy.writable)
    return Cell(around, environment, private, group(tasks) if tasks else None, not means.bubblewrap)


def _walls(policy: Policy, means: Means, hidden: Sequence[str], session: Path, private: str) -> dict[str, Any]:
    writes = policy.writable
    own = [private]
    if means.view:
        # What is hidden in them is not there, and cannot be moved to where it would be.
        own += [SHARED_MEMORY, *(path for path in writes if holds(path, hidden))]
    return {
        "reads": ["/", os.path.realpath(session)],
        "writes": [path for path in writes if path not in own],
        "private": own,
        "hidden": list(hidden),
        "terminals": means.view,
        "network": policy.network,
        "unix_sockets": policy.unix_sockets,
        "own_ipc": means.view,
        "setgid": means.view,
        "landlock": means.landlock,
    }


def holds(directory: str, hidden: Sequence[str]) -> bool:
    """Tell whether one of the hidden places lies in a directory."""
    return any(is_within(place, directory) for place in hidden)


def every_path(places: Sequence[Path]) -> list[str]:
    """Return every path that leads to the places, through links and through other mounts."""
    if sys.platform == "linux":
        from ..forkserver.mounts import all_places

        with contextlib.suppress(OSError):
            return all_places(map(str, places))
    return [os.path.realpath(place) for place in places]
