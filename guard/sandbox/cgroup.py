"""A bound on how many tasks a session's commands have together, kept by the kernel: a control group of their own."""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "bursar-"
_ENTER = 'echo $$ >"$0"; exec "$@"'
_LEAVE_S = 10.0
_EVERY_S = 0.05
_STALE_S = 60.0


class Group:
    """A control group that holds at most so many tasks.

    Attributes:
        prefix: arguments that come before those of a program that is to run in it, with all it starts.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.prefix = ["/bin/sh", "-c", _ENTER, str(directory / "cgroup.procs")]

    def remove(self) -> None:
        """Remove it once all that ran in it has gone. Returns at once."""
        if not self._removed():
            threading.Thread(target=self._see_out, name="bursar-group", daemon=True).start()

    def _see_out(self) -> None:
        until = time.monotonic() + _LEAVE_S
        while not self._removed() and time.monotonic() < until:
            time.sleep(_EVERY_S)

    def _removed(self) -> bool:
        with contextlib.suppress(OSError):
            self._directory.rmdir()
        return not self._directory.exists()


def group(most: int) -> Group | None:
    """Make a group below the server's own; None where the system does not let it."""
    for home in _homes():
        directory = home / f"{_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
        with contextlib.suppress(OSError):
            _tidy(home)
            directory.mkdir()
            try:
                (directory / "pids.max").write_text(str(most))
            except OSError:
                directory.rmdir()
            else:
                return Group(directory)
    return None


def can_bound() -> bool:
    """Tell whether groups can be made here."""
    made = group(1)
    if made is not None:
        made.remove()
    return made is not None


def _tidy(home: Path) -> None:
    """Remove what servers left that were killed; a group in which something runs cannot be removed."""
    for left in home.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_S:
                left.rmdir()


def _homes() -> Iterator[Path]:
    """Yield the directories of the control groups that this process is in, where they may count tasks."""
    with contextlib.suppress(OSError, ValueError):
        mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text("utf-8").splitlines()]
        for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines():
            _, controllers, own = line.split(":", 2)
            if controllers and "pids" not in controllers.split(","):
                continue
            for mount in mounts:
                root, point = mount[3], mount[4]
                kind, _, options = mount[mount.index("-") + 1 :][:3]
                of_one = kind == "cgroup" and bool(controllers) and "pids" in options.split(",")
                of_all = kind == "cgroup2" and not controllers
                if (of_one or of_all) and Path(own).is_relative_to(root) and ".." not in Path(own).parts:
                    yield Path(point) / Path(own).relative_to(root)
