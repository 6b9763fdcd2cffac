"""The process that a client starts and ends; the server behind it can see a command out when the client has gone."""

import contextlib
import ctypes
import os
import signal
import stat
import sys
from typing import NoReturn

_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


class Launcher:
    """The server's way to let go of the process in front of it, and of the client."""

    def __init__(self, release: int, ends: frozenset[tuple[int, int]]) -> None:
        self._release = release
        self._ends = ends

    def let_go(self) -> None:
        """Have the process in front end well; its end, and the client's, mean nothing to the server from now on."""
        null = os.open(os.devnull, os.O_RDWR)
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - numbers, not paths
            with contextlib.suppress(OSError):  # the one that listed them
                if int(name) != null and _identity(int(name)) in self._ends:
                    os.dup2(null, int(name), inheritable=False)
        os.close(null)
        _on_death_of_parent(0)
        os.write(self._release, b"\n")
        os.close(self._release)


def step_behind() -> Launcher | None:
    """Leave the process that the client started in front, and go on as the server in another.

    Signals to the one in front are handed on; it ends with the server and as the server does; whatever ends it first
    ends the server. The server has a session of its own: clients end the process group of what they started.

    Returns:
        None where no client holds the other ends, or the system has no means to let the server end with its parent.
    """
    if sys.platform != "linux" or not all(_is_channel(fd) for fd in (0, 1)):
        return None
    ends = frozenset(_identity(fd) for fd in (0, 1, 2))
    released, release = os.pipe()
    client = os.getpid()
    server = os.fork()
    if server:
        os.close(release)
        _stand_in_front(server, released)
    os.close(released)
    os.setsid()
    _on_death_of_parent(signal.SIGKILL)
    if os.getppid() != client:
        os._exit(1)
    return Launcher(release, ends)


def _stand_in_front(server: int, released: int) -> NoReturn:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda number, _: _hand_on(server, number))
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    if os.read(released, 1):
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(server, 0)[1])
    if code < 0:
        with contextlib.suppress(OSError, ValueError):  # SIGKILL cannot be handled anyway
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


def _hand_on(server: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has ended, and this process is about to
        os.kill(server, number)


def _on_death_of_parent(number: int) -> None:
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, number, 0, 0, 0)


def _is_channel(fd: int) -> bool:
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _identity(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino
