"""Tells whether a view still stands: a mount falls off when what lies under it is removed or replaced outside.

See mount_namespaces(7), "Restrictions on mount namespaces": since Linux 4.1 what is a mount point in one namespace only
can be removed or renamed over in the others, which unmounts it; renamed, it takes along what is mounted on it.
"""

import errno
from collections.abc import Iterable

from .mounts import mounts
from .view import View


class Standing:
    """The mounts of the view that this process is in.

    Attributes:
        fd: shows an error condition to `poll` whenever something was unmounted.
    """

    def __init__(self, view: View, hidden: Iterable[str]) -> None:
        """Take note of them.

        Raises:
            OSError: what is to be hidden is not, already.
        """
        self._file = open("/proc/self/mountinfo", "rb")  # noqa: PTH123, SIM115
        self.fd = self._file.fileno()
        points = {mount.at for mount in view.mounts}
        self._noted = {found for found in self._now() if found[1] in points}
        covers = points.intersection(hidden)
        self._covers = {found for found in self._noted if found[1] in covers}
        if covers != {point for _, point in self._covers}:
            raise OSError(errno.ENOENT, "what is to be hidden is not")

    def stands(self) -> bool:
        """Tell whether everything is mounted where it was."""
        return self._noted <= self._now()

    def covers(self) -> bool:
        """Tell whether what is to be hidden still is."""
        return self._covers <= self._now()

    def _now(self) -> set[tuple[int, str]]:
        return {(mount.number, mount.point) for mount in mounts()}
