"""Lists the sessions of a store by the names of their directories, without looking into their artifacts."""

from contextlib import suppress
from dataclasses import dataclass

from . import errors, ownership, usage
from .catalog import Catalog
from .folder import Folder
from .session import DIRECTORY
from .usage import LOCK


@dataclass(frozen=True, slots=True)
class Listed:
    """A session as it is listed.

    Attributes:
        name: of its directory; the handle stands nowhere.
        owner: whom it belongs to.
        used_at: when it was used last, in seconds since 1970; 0 when not known.
        artifacts: ids of those that are stored in it, in their order; one that is being entered may be among them.
    """

    name: str
    owner: str
    used_at: float
    artifacts: tuple[str, ...]


def listed(root: Folder) -> list[Listed]:
    """Return all sessions, the last used first; what cannot be looked into is left out.

    Raises:
        BursarError: read_failed.
    """
    found: list[Listed] = []
    try:
        for entry in root.entries():
            if DIRECTORY.fullmatch(entry.name):
                with suppress(OSError):
                    found.append(_look_at(root, entry.name))
    except OSError as error:
        raise errors.unreadable("the list of sessions", error) from error
    return sorted(found, key=lambda session: session.used_at, reverse=True)


def _look_at(root: Folder, name: str) -> Listed:
    folder = root.child(name)
    try:
        used = usage.noted(folder, LOCK)
        return Listed(
            name, ownership.read(folder).name, used.at if used else 0.0, tuple(Catalog(folder, fsync=False).ids())
        )
    finally:
        folder.close()
