"""Grants everything but: walks around what is to stay hidden, wherever it is mounted."""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .landlock import READ_DIR, Rules
from .view import is_within

ENTRIES_MAX = 4096
"""Neighbours granted one by one in a directory on the way to what is hidden; those beyond stay out of reach."""


def all_places(hidden: Iterable[str]) -> list[str]:
    """Return each path without links, and every other path that leads to the same through another mount.

    Raises:
        OSError: the table of mounts cannot be read.
    """
    found: dict[str, None] = {}
    table: list[Mount] | None = None
    for path in hidden:
        real = os.path.realpath(path)
        found[real] = None
        table = mounts() if table is None else table
        found.update(dict.fromkeys(_aliases(real, table)))
    return list(found)


class Mount(NamedTuple):
    """Something that is mounted: its number, device, directory within that, and where it is."""

    number: int
    device: str
    directory: str
    point: str


def mounts() -> list[Mount]:
    """Return everything that is mounted.

    Raises:
        OSError: the table of mounts cannot be read.
    """
    with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123
        lines = [line.split(b" ", 5) for line in file]
    return [Mount(int(fields[0]), fields[2].decode(), _plain(fields[3]), _plain(fields[4])) for fields in lines]


def _mount_of(path: str) -> int:
    """Return the number of the mount that a path lies on; several may have one mount point, or cover one another."""
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)  # type: ignore[attr-defined]
    except OSError:
        if path == "/":
            raise
        return _mount_of(os.path.dirname(path))  # noqa: PTH120
    try:
        with open(f"/proc/self/fdinfo/{fd}", "rb") as file:  # noqa: PTH123
            return next(int(line.split()[1]) for line in file if line.startswith(b"mnt_id:"))
    finally:
        os.close(fd)


def _plain(field: bytes) -> str:
    for escaped, character in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        field = field.replace(escaped, character)
    return os.fsdecode(field)


def _aliases(path: str, table: list[Mount]) -> Iterator[str]:
    number = _mount_of(path)
    above = next((mount for mount in table if mount.number == number), None)
    if above is None:
        return
    inside = _join(above.directory, os.path.relpath(path, above.point))
    for other, device, root, where in table:
        if device != above.device or other == number:
            continue
        if is_within(inside, root):
            alias = _join(where, os.path.relpath(inside, root))
            if _same(alias, path):
                yield alias
        elif is_within(root, inside):
            yield where


def _join(directory: str, relative: str) -> str:
    return directory if relative == "." else os.path.join(directory, relative)  # noqa: PTH118


def _same(one: str, other: str) -> bool:
    """Tell whether two paths are one directory; one that does not exist could still come to be."""
    try:
        return os.path.samestat(os.stat(one), os.stat(other))  # noqa: PTH116
    except OSError:
        return True


class Around:
    """Grants rights on trees, and none on the hidden places in them.

    Attributes:
        walked: directories whose entries were granted one by one: those that appear later are not.
    """

    def __init__(self, rules: Rules, hidden: Iterable[str]) -> None:
        self._rules = rules
        self._hidden = tuple(hidden)
        self.walked: list[str] = []

    def grant(self, path: str, rights: int) -> None:
        """Grant `rights` on a file or a tree. A directory on the way to a hidden one can only be listed.

        A path that lies in a hidden directory is granted: whoever names it means it.

        Raises:
            OSError: it cannot be reached.
            ValueError: it is itself what is to be hidden.
        """
        real = os.path.realpath(path)
        if real in self._hidden:
            raise ValueError(f"{real} is to be hidden")
        inside = [hidden for hidden in self._hidden if is_within(hidden, real)]
        if not inside:
            self._rules.allow(real, rights, follow=True)
            return
        # By listing alone, names in a hidden directory can be seen; refused, `ls /` would not work.
        self._rules.allow(real, rights & READ_DIR, follow=True)
        self._grant_entries(real, rights, inside)

    def _grant_entries(self, directory: str, rights: int, inside: list[str]) -> None:
        self.walked.append(directory)
        with os.scandir(directory) as entries:
            for number, entry in enumerate(entries):
                if number >= ENTRIES_MAX:
                    return
                if entry.is_symlink() or entry.path in inside:
                    continue
                deeper = [hidden for hidden in inside if is_within(hidden, entry.path)]
                try:
                    if deeper:
                        self._grant_entries(entry.path, rights, deeper)
                    else:
                        self._rules.allow(entry.path, rights)
                except OSError:
                    continue  # gone meanwhile, or not ours to look into: then it is not granted either
