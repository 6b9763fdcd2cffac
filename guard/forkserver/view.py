"""A view of the machine: the list of what is mounted where, for whoever makes it."""

from typing import Any, Literal, NamedTuple


class Mount(NamedTuple):
    """Something that is mounted.

    Attributes:
        kind: `read` or `write` what lies at `source`, with all that is mounted in it; `empty`, a file system in memory;
            `devices`, the harmless ones; `processes`, those of the namespace.
        at: where; without links.
        source: as it is called outside; default: as `at`.
        size_bytes: of what is empty.
        mode: likewise.
    """

    kind: Literal["read", "write", "empty", "devices", "processes"]
    at: str
    source: str = ""
    size_bytes: int = 1024**2
    mode: int = 0o700


class View(NamedTuple):
    """What processes see.

    Attributes:
        mounts: the first is the whole; each may lie on those before it.
        network: whether they share the network outside.
    """

    mounts: "tuple[Mount, ...]"
    network: bool = True

    @classmethod
    def told(cls, told: "dict[str, Any]") -> "View":
        """Return a view that was told in JSON."""
        return cls(tuple(Mount(*mount) for mount in told["mounts"]), told["network"])


def is_within(path: str, directory: str) -> bool:
    """Tell whether a path is a directory or lies in it; both without links."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")
