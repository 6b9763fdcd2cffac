"""Confines the calling process, and whatever it starts, for ever: files, network, signals, capabilities, calls."""

import os
import resource
import sys
from typing import Any, NamedTuple

if sys.platform == "win32":
    raise ImportError("these walls are made of what Linux has")

from . import landlock, seccomp
from .capabilities import drop_all, gain_nothing
from .limits import lower
from .mounts import Around, all_places

_DEVICES = "/dev"
_HARMLESS_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx")
_TERMINALS = "pts"
_KERNEL = ("/proc", "/sys")


class Walls(NamedTuple):
    """What a process may do inside its walls. All paths are absolute.

    Attributes:
        reads: files and trees that may be read and listed; one that lies in a hidden directory is granted all the same.
        writes: trees that may also be changed.
        private: trees of one's own that may be changed, in which what is to be hidden is not to be found anyway.
        execute: whether what may be read may also be run.
        hidden: directories of which nothing may be read or changed, by whichever mount they are reached; only the names
            in them can be listed.
        devices: whether the harmless devices (`/dev/null` and the like) may be used; no other ever can, unless it is
            named in `reads` or `writes`.
        terminals: whether those in `/dev/pts` may be opened: all of the user, unless that file system is one's own.
        network: whether sockets of IPv4 and IPv6 may be made.
        unix_sockets: whether local sockets may be made; connected pairs of them always may. Abstract ones of others
            stay out of reach where the kernel can (Landlock 6).
        own_ipc: whether shared memory, semaphores and queues of System V and queues of POSIX may be used, as these are
            of a namespace of one's own.
        setgid: whether what exists may be given that bit, as directories need it that a group shares. Modes are no rule
            of Landlock's: only where nothing but what may be written can be changed, or programs outside would get it.
        landlock: whether files are walled off here; False where they are by other means.
        limits: pairs of a resource (`resource.RLIMIT_…`) and its most; none is ever raised.
    """

    reads: tuple[str, ...] = ("/",)
    writes: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    execute: bool = True
    hidden: tuple[str, ...] = ()
    devices: bool = True
    terminals: bool = False
    network: bool = True
    unix_sockets: bool = False
    own_ipc: bool = False
    setgid: bool = False
    landlock: bool = True
    limits: tuple[tuple[int, int], ...] = ((resource.RLIMIT_CORE, 0),)


class Prepared:
    """Walls that need only be raised: what takes time is done, and what needs rights that will be given up.

    Attributes:
        version: of Landlock, 0 without it; below 6, processes outside can be signalled.
        walked: directories whose entries were granted one by one: those that appear later are not.
    """

    def __init__(self, walls: Walls) -> None:
        """Look at the file system and build the rules.

        Raises:
            OSError: the kernel lacks the means, or a path that is to be granted cannot be reached.
            ValueError: a path is to be granted and hidden.
        """
        self._filter = seccomp.program(
            network=walls.network, unix_sockets=walls.unix_sockets, own_ipc=walls.own_ipc, setgid=walls.setgid
        )
        self._limits = walls.limits
        self._rules: landlock.Rules | None = None
        self.version = 0
        self.walked: tuple[str, ...] = ()
        if walls.landlock:
            self._rules = landlock.Rules(network=walls.network)
            self.version = self._rules.version
            try:
                self._grant(walls, self._rules)
            except BaseException:
                self._rules.close()
                raise

    def enforce(self) -> None:
        """Confine the calling process, which must have one thread only; any number of processes may do so.

        Raises:
            OSError: the kernel refused. The process may be confined in part: it should end.
        """
        lower(self._limits)
        gain_nothing()
        if self._rules is not None:
            self._rules.enforce()
        drop_all()
        seccomp.enforce(self._filter)

    def close(self) -> None:
        """Let go of the rules."""
        if self._rules is not None:
            self._rules.close()

    def _grant(self, walls: Walls, rules: landlock.Rules) -> None:
        run = landlock.EXECUTE if walls.execute else 0
        hidden = all_places(walls.hidden)
        named = {os.path.realpath(path) for path in (*walls.reads, *walls.writes)}
        # As root, without any capability, one could still read a whole disk through its device file.
        closed = (*hidden, *(path for path in (_DEVICES,) if path not in named))
        around = Around(rules, closed)
        for path in walls.reads:
            around.grant(path, landlock.READ | run)
        # As root, without any capability, one could still change through files of the kernel what it runs.
        around_kernel = Around(rules, (*closed, *(path for path in _KERNEL if path not in named)))
        for path in walls.writes:
            around_kernel.grant(path, landlock.READ | landlock.WRITE | run)
        for path in walls.private:
            rules.allow(path, landlock.READ | landlock.WRITE | run, follow=True)
        self.walked = tuple({*around.walked, *around_kernel.walked})
        if walls.devices:
            rules.allow(_DEVICES, landlock.READ_DIR, follow=True)
            for name in (*_HARMLESS_DEVICES, *([_TERMINALS] if walls.terminals else [])):
                self._allow_device(rules, f"{_DEVICES}/{name}")

    def _allow_device(self, rules: landlock.Rules, path: str) -> None:
        rights = landlock.READ | landlock.WRITE_FILE | landlock.TRUNCATE
        if path.endswith(("tty", "ptmx", _TERMINALS)):
            rights |= landlock.IOCTL_DEV
        try:
            rules.allow(path, rights, follow=True)
        except OSError:
            return  # not every system has each of them


class Plan:
    """The walls of a session's commands, built once and anew when the file system around them has changed."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.walls = Walls(**told)
        self._prepared: Prepared | None = None
        self._seen: tuple[object, ...] = ()

    def prepared(self) -> Prepared:
        """Return the walls, ready to be raised by a process forked from this one.

        Raises:
            OSError: a place is gone, or the kernel refused.
            ValueError: a place to be granted is one to be hidden.
        """
        seen = self._look(() if self._prepared is None else self._prepared.walked)
        if self._prepared is None or seen != self._seen:
            fresh = Prepared(self.walls)
            if self._prepared is not None:
                self._prepared.close()
            self._prepared = fresh
            self._seen = self._look(fresh.walked)
        return self._prepared

    def _look(self, walked: tuple[str, ...]) -> tuple[object, ...]:
        """Tell all that the rules depend on: what is mounted, what the named places are, what lies beside them."""
        if not self.walls.landlock:
            return ()
        with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123
            mounts = file.read()
        named = (*self.walls.reads, *self.walls.writes, *self.walls.private)
        places = tuple(_identity(path) for path in named)
        return (mounts, places, *(os.stat(path).st_mtime_ns for path in walked))  # noqa: PTH116


def raise_walls(walls: Walls) -> int:
    """Confine the calling process, which must have one thread only, for ever; return the version of Landlock.

    Call it late: with `writes` empty and `reads` short, not even an import works any more.

    Raises:
        OSError: the kernel lacks the means, or a path cannot be reached. The process may be confined in part.
        ValueError: a path is to be granted and hidden.
    """
    prepared = Prepared(walls)
    prepared.enforce()
    prepared.close()
    return prepared.version


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)  # noqa: PTH116
    return found.st_dev, found.st_ino
