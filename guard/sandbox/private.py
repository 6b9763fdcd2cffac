"""Private directories for temporary files: one for each session of a running server, gone when nobody uses it."""

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path

from ..environment import helper_environment, python
from ..forkserver.removal import remove

if sys.platform != "win32":
    import fcntl

PREFIX = ".tmp-"
"""The store and its sweep leave names with a leading dot alone."""

LOCK_PREFIX = ".use-"
"""A file and not the directory itself is locked: from a directory that is open, one can go up into the store."""


class Private:
    """A directory that nobody removes while its lock is held: by this object, or by a process it was handed to."""

    def __init__(self, store: Path) -> None:
        """Make one in the store, which is hidden from commands as a whole.

        Raises:
            OSError: the store cannot be written.
        """
        while True:
            name = os.urandom(8).hex()
            self.path, self._lock = store / f"{PREFIX}{name}", store / f"{LOCK_PREFIX}{name}"
            self.fd = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(self.fd, fcntl.LOCK_EX)
            if os.fstat(self.fd).st_nlink:
                break
            os.close(self.fd)  # tidied away by another server, which found it before it was locked
        try:
            self.path.mkdir(mode=0o700)
        except OSError:
            self._let_go()
            raise

    def release(self) -> None:
        """Let go of the lock and have the directory removed, which the server's end does not hinder.

        Never from inside a sandbox: there, the user's own directories may be mounted in it.
        """
        self._let_go()
        with contextlib.suppress(OSError):
            self.path.rmdir()
            return
        with contextlib.suppress(OSError):
            # A large directory takes longer to go than a server may take to end.
            process = subprocess.Popen(
                python("removal", str(self.path)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=helper_environment(),
                start_new_session=True,
            )
            threading.Thread(target=process.wait, name="bursar-remover", daemon=True).start()

    def _let_go(self) -> None:
        with contextlib.suppress(OSError):
            self._lock.unlink()
        with contextlib.suppress(OSError):
            os.close(self.fd)


def tidy(store: Path) -> int:
    """Remove the private directories that no process uses any more; return how many. Blocks."""
    removed = 0
    names = {place.name.removeprefix(PREFIX).removeprefix(LOCK_PREFIX) for place in _found(store)}
    for name in names:
        path, lock = store / f"{PREFIX}{name}", store / f"{LOCK_PREFIX}{name}"
        with contextlib.suppress(OSError):
            fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if path.exists():
                    remove(path)
                    removed += 1
                lock.unlink()
            finally:
                os.close(fd)
    return removed


def _found(store: Path) -> list[Path]:
    return [*store.glob(f"{PREFIX}*"), *store.glob(f"{LOCK_PREFIX}*")]
