"""The helper process that forks a worker for each call: it has imported what workers need, and seen no content.

A worker reads its request from its socket, confines itself to what that names, says that it has begun, answers, ends.
"""

import contextlib
import ctypes
import gc
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Sequence

if sys.platform == "win32":
    raise ImportError("Windows cannot fork")

from ..forkserver import wire
from ..forkserver.command import RESTORED
from ..forkserver.limits import lower
from ..forkserver.server import ForkServer, serve
from . import worker
from .confined import confine, python_places

FILES_AND_CALLS, CALLS = "files and calls", "calls"
_MEANS = (FILES_AND_CALLS, CALLS) if sys.platform == "linux" else ()
"""How workers are confined, the best first; it is tried when the fork server starts, and no worker then has less."""

_FILE_BYTES = 1 << 30
_OPEN_FILES = 256
_CONTROL_FD = 3


class WorkerForks(ForkServer):
    """Forks workers and prepares modules."""

    def __init__(
        self, orders: socket.socket, server: int | None, packages: Sequence[str], hidden: Sequence[str]
    ) -> None:
        """Find out how workers can be confined.

        Args:
            orders: from the server.
            server: see `ForkServer`.
            packages: whose functions may be named.
            hidden: directories that no worker may ever read.
        """
        self._packages = ("bursar", *packages)
        self._hidden = hidden
        self._places: list[str] = []
        self._means = next((means for means in _MEANS if self._works(means)), "")
        # Where workers are confined, they cannot fork.
        super().__init__(orders, server, are_tidy=bool(self._means))

    def obey(self, order: wire.Message, files: list[int]) -> None:
        """Prepare a module, and fork a worker if that is wanted."""
        is_ready = self._prepare(order["module"])
        if "prepare" in order:
            self.note_end(order["prepare"], 0 if is_ready else 1)
        elif not self.fork(order["fork"], lambda: self._work(files[0])):
            self.note_end(order["fork"], None)

    def note_end(self, number: int, status: int | None) -> None:
        """Tell the server how a worker or a preparation ended; None: the system refused to fork."""
        self.tell({"ended": number, "status": status})

    def _work(self, control: int) -> int:
        fork_server = os.getppid()
        for number in RESTORED:
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.dup2(control, _CONTROL_FD)
        os.closerange(_CONTROL_FD + 1, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 65536))
        _die_with(fork_server)
        with open(_CONTROL_FD, "rb", closefd=False) as requests, open(_CONTROL_FD, "wb", closefd=False) as replies:
            body = wire.read(requests)
            if body is None:
                return 1
            request = json.loads(body)
            _limit(float(request["cpu_s"]), int(request["memory_bytes"]))
            sys.dont_write_bytecode = True  # whatever it has parsed must not decide what others will run
            self._confine(self._means, request["reads"], request["writes"])
            replies.write(wire.packed({"begun": True}))
            replies.flush()
            gc.enable()
            replies.write(worker.encoded(worker.answer(request, self._packages)))
        return 0

    def _confine(self, means: str, reads: Sequence[str], writes: Sequence[str]) -> None:
        """Confine the calling process as well as it is known to work; anything less raises."""
        if means:
            readable = (*self._places, *reads)
            confine(readable, writes, self._hidden, landlock=means == FILES_AND_CALLS)

    def _works(self, means: str) -> bool:
        """Try in a process of its own whether the kernel confines by these means."""
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                self._confine(means, [], [])
                code = 0
            finally:
                os._exit(code)
        return os.waitpid(pid, 0)[1] == 0

    def _prepare(self, module: str) -> bool:
        """Load a module into this process, for all workers to come; tell whether that worked."""
        if self._places and worker.is_prepared(module):
            return True
        try:
            worker.prepare([module])
        except Exception:  # noqa: BLE001 - the worker meets the same and tells it in its answer
            return False
        finally:
            self._places = python_places()
            gc.freeze()
        return True


def _limit(cpu_s: float, memory_bytes: int) -> None:
    """Bound processor time (a backstop behind the server's deadline), address space and files, for ever."""
    bounds = {
        resource.RLIMIT_CPU: int(cpu_s) + 2,
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_FSIZE: _FILE_BYTES,
        resource.RLIMIT_NOFILE: _OPEN_FILES,
        resource.RLIMIT_CORE: 0,
    }
    for bound in bounds.items():
        # macOS refuses an address space below what is mapped already; the deadline still holds.
        with contextlib.suppress(OSError, ValueError):
            lower([bound])
    if sys.platform == "linux":
        # The kernel should end a worker before it ends the server.
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as score:  # noqa: PTH123
            score.write(b"500")


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            # It died between our start and the request to die with it.
            os._exit(1)


def _worker_forks(orders: socket.socket, server: int | None, told: wire.Message) -> WorkerForks:
    parent = os.getppid()
    forks = WorkerForks(orders, server, told["packages"], told["hidden"])
    if forks.are_tidy:
        # In the middle of an import nobody looks whether the server is gone. Workers that cannot fork die with this.
        _die_with(parent)
    return forks


if __name__ == "__main__":
    serve("bursar-workers", _worker_forks)
