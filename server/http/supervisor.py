"""Several server processes on one address: a small parent starts them, replaces those that die, and ends them all."""

import gc
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ...errors import BursarError
from .. import log
from .relay import Post

Work = Callable[[Post, Callable[[], None]], None]
"""Serves in one process until a signal ends it; tells the second argument when it can be reached."""

_SETTLED_S = 10.0
"""A process that lived so long was no bad start."""

_DELAY_S = 0.1
_DELAY_MAX_S = 5.0
"""Between the deaths of one process that keeps dying and its next start; doubled each time up to the second."""

_BAD_STARTS = 5
"""So many deaths in a row before a process could be reached mean that no further one would help."""

_END_S = 8.0
"""How long processes may take to end when they are told to; then they are killed."""

_BAD_USAGE = 2
"""Exit status of a process that cannot follow its settings."""

_ENDING = (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM))


@dataclass
class _Process:
    """One of the server's processes."""

    post: Post
    pid: int
    since: float
    ready: int
    """A descriptor that can be read once it can be reached, or has died."""
    is_ready: bool = False


def supervise(work: Work, count: int, finished: Callable[[int], None] = lambda _pid: None) -> None:
    """Keep `count` processes at work until a signal ends them.

    Each is forked from this one, so that they share the memory of what was imported; none outlives it.

    Args:
        work: what each of them does.
        count: how many.
        finished: told the id of each process that has ended.

    Raises:
        BursarError: no_workers on a system that cannot fork; workers_failed if they die before they can be reached.
    """
    if not hasattr(os, "fork"):
        raise BursarError("no_workers", "--workers needs a system that can fork", "Leave it out: one process serves")
    with _private_directory() as place, _signals() as waking:
        supervisor = _Supervisor(work, count, finished, place, waking)
        try:
            supervisor.run()
        finally:
            supervisor.end()


class _Supervisor:
    def __init__(
        self, work: Work, count: int, finished: Callable[[int], None], place: Path, waking: socket.socket
    ) -> None:
        self._work = work
        self._count = count
        self._finished = finished
        self._place = place
        self._waking = waking
        self._key = os.urandom(32).hex()
        self._alive, self._lifeline = os.pipe()
        self._processes: dict[int, _Process] = {}
        self._deaths = dict.fromkeys(range(count), 0)
        self._due: dict[int, float] = {}
        self._has_started = False

    def run(self) -> None:
        """Start the processes and keep them running; returns when a signal says so."""
        gc.collect()
        gc.freeze()  # what is never collected is never written to, and stays shared
        self._start(0)
        while not self._processes or not any(process.is_ready for process in self._processes.values()):
            if self._step():
                return
        for number in range(1, self._count):
            self._start(number)
        while not self._step():
            pass

    def end(self) -> None:
        """End every process: first asked to, then killed."""
        for process in self._processes.values():
            _send(process.pid, signal.SIGTERM)
        until = time.monotonic() + _END_S
        while self._processes and time.monotonic() < until:
            self._reap()
            time.sleep(0.02)
        for process in self._processes.values():
            _send(process.pid, signal.SIGKILL)
        while self._processes:
            self._reap(block=True)
        os.close(self._lifeline)
        os.close(self._alive)

    def _step(self) -> bool:
        """Wait for something to do, and do it; return whether a signal said to end.

        Raises:
            BursarError: workers_failed.
        """
        unready = {process.ready: process for process in self._processes.values() if not process.is_ready}
        wait_s = max(0.0, min(self._due.values(), default=time.monotonic() + 60) - time.monotonic())
        heard, _, _ = select.select([self._waking.fileno(), *unready], [], [], wait_s)
        for descriptor in heard:
            if descriptor in unready:
                unready[descriptor].is_ready = bool(os.read(descriptor, 1)) or unready[descriptor].is_ready
        received = _drain(self._waking)
        for number, code, was_ready, lived_s in self._reap():
            self._died(number, code, was_ready, lived_s)
        for number in [number for number, when in self._due.items() if when <= time.monotonic()]:
            del self._due[number]
            self._start(number)
        return any(number in _ENDING for number in received)

    def _died(self, number: int, code: int, was_ready: bool, lived_s: float) -> None:
        self._deaths[number] = 0 if was_ready and lived_s >= _SETTLED_S else self._deaths[number] + 1
        deaths = self._deaths[number]
        if not was_ready and (code == _BAD_USAGE or deaths >= _BAD_STARTS):
            what = f"a server process ended {deaths} times before it could be reached (status {code})"
            raise BursarError("workers_failed", what, "See what it wrote above, or try without --workers")
        delay_s = 0.0 if deaths <= 1 else min(_DELAY_MAX_S, _DELAY_S * 2**deaths)
        log.event("worker_died", worker=number, status=code, lived_s=round(lived_s, 1), restart_in_s=delay_s)
        self._due[number] = time.monotonic() + delay_s

    def _start(self, number: int) -> None:
        post = Post(self._place, f"w{number}-{os.urandom(4).hex()}", self._key, is_first=not self._has_started)
        self._has_started = True
        ready, tell = os.pipe()
        pid = os.fork()
        if not pid:
            with suppress(OSError):
                os.close(ready)
            self._be(post, tell)
        os.close(tell)
        self._processes[pid] = _Process(post, pid, time.monotonic(), ready)

    def _be(self, post: Post, tell: int) -> None:
        """Be a server process; never returns."""
        code = 1
        try:
            os.setpgid(0, 0)  # the terminal's Ctrl-C is for the parent, which passes it on once
            signal.set_wakeup_fd(-1)
            for number in (*_ENDING, signal.SIGCHLD):
                signal.signal(number, signal.SIG_DFL)
            os.close(self._lifeline)
            for process in self._processes.values():
                os.close(process.ready)
            self._waking.close()
            threading.Thread(target=_follow, args=(self._alive,), daemon=True).start()
            self._work(post, lambda: _tell(tell))
            code = 0
        except BursarError as error:
            sys.stderr.write(f"bursar: {error}\n")
            code = _BAD_USAGE
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 1
        except BaseException:  # noqa: BLE001 - whatever it was, the parent's frames must not run here
            log.crash("worker")
        finally:
            os._exit(code)

    def _reap(self, *, block: bool = False) -> list[tuple[int, int, bool, float]]:
        """Bury the processes that have ended; return number, status, readiness and seconds of life of each."""
        ended: list[tuple[int, int, bool, float]] = []
        while self._processes:
            pid, status = os.waitpid(-1, 0 if block and not ended else os.WNOHANG)
            if not pid:
                break
            process = self._processes.pop(pid, None)
            if process is None:
                continue
            process.is_ready = process.is_ready or bool(os.read(process.ready, 1))
            os.close(process.ready)
            process.post.door.unlink(missing_ok=True)
            self._finished(pid)
            lived_s = time.monotonic() - process.since
            ended.append((process.post.number, os.waitstatus_to_exitcode(status), process.is_ready, lived_s))
        return ended


def _tell(descriptor: int) -> None:
    os.write(descriptor, b"1")
    os.close(descriptor)


def _follow(alive: int) -> None:
    """End this process once its parent has: the other end of the pipe is only there."""
    os.read(alive, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_END_S)
    os._exit(1)


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


@contextmanager
def _private_directory() -> Generator[Path]:
    place = Path(tempfile.mkdtemp(prefix="bursar-"))
    if len(os.fsencode(place)) > _SOCKET_DIRECTORY_MAX_BYTES:
        place.rmdir()
        place = Path(tempfile.mkdtemp(prefix="bursar-", dir="/tmp"))
    owner = os.getpid()
    try:
        yield place
    finally:
        if os.getpid() == owner:
            shutil.rmtree(place, ignore_errors=True)


_SOCKET_DIRECTORY_MAX_BYTES = 80
"""The path of a Unix socket may have 104 bytes on the strictest of systems."""


@contextmanager
def _signals() -> Generator[socket.socket]:
    """Yield a socket that gets the number of each signal as a byte."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    numbers = (*_ENDING, signal.SIGCHLD)
    before = {number: signal.signal(number, _heard) for number in numbers}
    previous = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    try:
        yield ours
    finally:
        signal.set_wakeup_fd(previous)
        for number, handler in before.items():
            signal.signal(number, handler)
        ours.close()
        theirs.close()


def _heard(_number: int, _frame: object) -> None:
    """Do nothing: the number is in the socket already, and without a handler the signal would end the process."""


def _drain(waking: socket.socket) -> bytes:
    try:
        return waking.recv(4096)
    except BlockingIOError:
        return b""
