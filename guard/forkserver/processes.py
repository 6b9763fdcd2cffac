"""Processes: being told when one ends, finding those below another, signalling them."""

import contextlib
import ctypes
import os
import signal
import sys

if sys.platform == "win32":
    raise ImportError("Windows has job objects instead")

NO_GROUPS: frozenset[int] = frozenset()


class ChildSignals:
    """A descriptor that becomes readable when a child process ends."""

    def __init__(self) -> None:
        self.fd, self._write = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._write, False)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def drain(self) -> None:
        """Forget what has rung so far."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self.fd, 512):
                pass

    def close(self) -> None:
        """Ring no more."""
        signal.set_wakeup_fd(-1)
        os.close(self.fd)
        os.close(self._write)


def name_process(name: bytes) -> None:
    """Show up as `name` in `ps` and `top`, so that a `pkill python` of a command does not mean us."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(15, name, 0, 0, 0)  # PR_SET_NAME


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends (Linux; elsewhere there is no such thing)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def _parents() -> dict[int, tuple[int, int]]:
    """Map every process that is alive to its parent and its process group."""
    found: dict[int, tuple[int, int]] = {}
    if sys.platform == "linux":
        for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is not worth its import here
            if name.isdigit():
                with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    fields = file.read().rpartition(b")")[2].split()
                    if fields[0] != b"Z":
                        found[int(name)] = int(fields[1]), int(fields[2])
        return found
    from subprocess import PIPE, Popen

    with Popen(["/bin/ps", "-axo", "pid=,ppid=,pgid=,stat="], stdout=PIPE) as ps:
        for line in ps.communicate()[0].splitlines():
            pid, parent, group, state = line.split()[:4]
            if not state.startswith(b"Z") and int(pid) != ps.pid:
                found[int(pid)] = int(parent), int(group)
    return found


def _listed_children(pid: int) -> list[int]:
    """Return the children of a process as the kernel lists them.

    Raises:
        FileNotFoundError: there is no such process, or the kernel was built without these lists.
    """
    children: list[int] = []
    for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
        with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:  # noqa: PTH123
            children += map(int, file.read().split())
    return children


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].split(None, 1)[0] == b"Z"
    except (OSError, IndexError):
        return True


def below(roots: list[int], groups: frozenset[int] = NO_GROUPS) -> list[int]:
    """Return the children of each of `roots`, their children and so on, without those that have ended.

    `groups`: process groups whose members count too, where orphans do not come back to us.
    """
    found: dict[int, None] = {}
    waiting = list(roots)
    if sys.platform == "linux" and os.path.exists(f"/proc/self/task/{os.getpid()}/children"):  # noqa: PTH110
        while waiting:
            with contextlib.suppress(OSError):
                children = [pid for pid in _listed_children(waiting.pop()) if pid not in found]
                found.update(dict.fromkeys(children))
                waiting += children
        return [pid for pid in found if not _is_zombie(pid)]
    parents = _parents()
    found.update({pid: None for pid, (_, group) in parents.items() if group in groups and pid not in roots})
    waiting += found
    while waiting:
        above = waiting.pop()
        children = [pid for pid, (parent, _) in parents.items() if parent == above and pid not in found]
        found.update(dict.fromkeys(children))
        waiting += children
    return list(found)


def send_signal(pids: list[int], number: int) -> None:
    """Signal each process once, by its process group where it can be: a group cannot fork away from a signal."""
    signalled = {os.getpgrp()}
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            group = os.getpgid(pid)
            if group == os.getpgrp():
                os.kill(pid, number)
            elif group not in signalled:
                signalled.add(group)
                os.killpg(group, number)


def below_directly(pid: int) -> list[int]:
    """Return the children of a process, without those that have ended."""
    try:
        children = _listed_children(pid)
    except OSError:
        children = [child for child, (parent, _) in _parents().items() if parent == pid]
    return [child for child in children if not _is_zombie(child)]
