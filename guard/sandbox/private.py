"""Private directories for temporary files: one for each session of a running server, gone when nobody uses it."""

import contextlib
import os
import shutil
import sys
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_PRUNED_MAX = 32

PREFIX = ".tmp-"
"""The store and its sweep leave names with a leading dot alone."""


class Private:
    """A directory that nobody removes while its lock is held: by this object, or by a process it was handed to."""

    def __init__(self, store: Path) -> None:
        """Make one in the store, which is hidden from commands as a whole.

        Raises:
            OSError: the store cannot be written.
        """
        while True:
            self.path = store / f"{PREFIX}{os.urandom(8).hex()}"
            self.path.mkdir(mode=0o700)
            try:
                self.fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue  # tidied away by another server, which found it before it was locked
            fcntl.flock(self.fd, fcntl.LOCK_EX)
            if self.path.exists():
                return
            os.close(self.fd)

    def release(self) -> None:
        """Let go of the lock; the directory goes if no file is left in it, else with the next server's tidying."""
        with contextlib.suppress(OSError):
            os.close(self.fd)
        _prune(self.path)


def tidy(store: Path) -> int:
    """Remove the private directories that no process uses any more; return how many. Blocks."""
    removed = 0
    for path in store.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path)
                removed += 1
            finally:
                os.close(fd)
    return removed


def _prune(path: Path) -> None:
    """Remove a directory that holds no file: where something was mounted within, empty ones were in use until now."""
    empty: list[str] = []
    for directory, directories, files in os.walk(path):
        empty.append(directory)
        if files or len(empty) + len(directories) > _PRUNED_MAX:
            return
    with contextlib.suppress(OSError):
        for directory in reversed(empty):
            Path(directory).rmdir()


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():
        # What a command took its own rights from is given them back.
        for directory, _, _ in os.walk(path):
            for entry in os.scandir(directory):
                if entry.is_dir(follow_symlinks=False):
                    Path(entry.path).chmod(0o700)
        shutil.rmtree(path)
