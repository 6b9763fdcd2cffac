"""The helper process that forks a worker for each call: it has imported what workers need, and seen no content.

A worker reads its request from its socket, confines itself to what that names, says that it has begun, answers, ends.
"""

import array
import contextlib
import ctypes
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Sequence

if sys.platform == "win32":
    raise ImportError("Windows cannot fork")

from ..zygote.command import IGNORED
from ..zygote.limits import lower
from ..zygote.processes import ChildSignals, adopt_orphans, below, below_directly, name_process, send_signal
from . import worker
from .confined import confine, python_places
from .wire import BEGUN, ENDING, HEADER, NOT_FORKED

FILES_AND_CALLS, CALLS = "files and calls", "calls"
_MEANS = (FILES_AND_CALLS, CALLS) if sys.platform == "linux" else ()
"""How workers are confined, the best first; it is tried when the zygote starts, and no worker then has less."""

_FILE_BYTES = 1 << 30
_OPEN_FILES = 256
_CONTROL_FD = 3


class Zygote:
    """Forks workers, prepares modules, and ends everything when the server is gone."""

    def __init__(
        self, orders: socket.socket, server: int | None, packages: Sequence[str], hidden: Sequence[str]
    ) -> None:
        self._orders = orders
        self._server = server
        self._packages = ("bursar", *packages)
        self._hidden = hidden
        self._bell = ChildSignals()
        self._workers: dict[int, int] = {}
        self._serving = True
        self._places: list[str] = []
        self._means = next((means for means in _MEANS if self._works(means)), "")

    @property
    def confines(self) -> bool:
        """Whether workers are confined, and so leave no processes behind."""
        return bool(self._means)

    def run(self) -> None:
        """Serve until the server is gone, then kill every worker."""
        poll = select.poll()
        for fd in (self._orders.fileno(), self._bell.fd, *([] if self._server is None else [self._server])):
            poll.register(fd, select.POLLIN)
        while self._serving:
            for fd, _ in poll.poll():
                if fd == self._bell.fd:
                    self._bell.drain()
                    self._reap()
                elif fd == self._orders.fileno():
                    self._serve()
                else:
                    self._serving = False
        send_signal(below([os.getpid()]), signal.SIGKILL)

    def _serve(self) -> None:
        """Follow one order."""
        try:
            head, control = self._receive()
            kind, number, length = HEADER.unpack(head)
            module = self._exactly(length).decode("ascii")
        except (OSError, EOFError):
            self._serving = False
            return
        if kind == b"K":
            if number in self._workers:
                send_signal([self._workers[number]], signal.SIGKILL)
            return
        is_ready = self._prepare(module)
        if kind == b"W":
            self._tell(number, 0 if is_ready else 1)
        else:
            self._fork(number, control)

    def _receive(self) -> tuple[bytes, int]:
        """Return the next header, and the descriptor that came with it or -1."""
        fds = array.array("i")
        flags = socket.MSG_CMSG_CLOEXEC if sys.platform == "linux" else 0
        head, extras, _, _ = self._orders.recvmsg(HEADER.size, socket.CMSG_SPACE(fds.itemsize), flags)
        for level, kind, data in extras:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
        if not head:
            raise EOFError
        return head + self._exactly(HEADER.size - len(head)), fds[0] if fds else -1

    def _exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            part = self._orders.recv(length - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def _fork(self, number: int, control: int) -> None:
        try:
            pid = os.fork()
        except OSError:
            self._tell(number, NOT_FORKED)
            os.close(control)
            return
        if pid == 0:
            code = 1
            try:
                self._become_worker(control)
                code = 0
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else 1
            finally:
                # Nothing may return into the zygote's loop, and nothing that a library left for the exit may run.
                os._exit(code & 0xFF)
        self._workers[number] = pid
        os.close(control)

    def _become_worker(self, control: int) -> None:
        zygote = os.getppid()
        self._bell.close()
        for number in (*IGNORED, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        os.dup2(control, _CONTROL_FD)
        os.closerange(_CONTROL_FD + 1, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 65536))
        _die_with(zygote)
        with open(_CONTROL_FD, "rb", closefd=False) as requests, open(_CONTROL_FD, "wb", closefd=False) as replies:
            request = worker.received(requests)
            if request is None:
                return
            _limit(float(request["cpu_s"]), int(request["memory_bytes"]))
            sys.dont_write_bytecode = True  # whatever it has parsed must not decide what others will run
            self._confine(self._means, request["reads"], request["writes"])
            replies.write(BEGUN)
            replies.flush()
            gc.enable()
            replies.write(worker.encoded(worker.answer(request, self._packages)))

    def _reap(self) -> None:
        """Wait for workers that ended, and end what they left behind where no wall kept them from forking."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                for number in [number for number, worker_pid in self._workers.items() if worker_pid == pid]:
                    del self._workers[number]
                    self._tell(number, os.waitstatus_to_exitcode(status))
        if sys.platform == "linux" and not self._means:
            strays = [pid for pid in below_directly(os.getpid()) if pid not in self._workers.values()]
            send_signal([*strays, *below(strays)], signal.SIGKILL)

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

    def _tell(self, number: int, status: int) -> None:
        # A server that reads nothing any more is told nothing.
        with contextlib.suppress(OSError):
            self._orders.send(ENDING.pack(number, status), socket.MSG_DONTWAIT)


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


def main(arguments: Sequence[str]) -> None:
    """Serve the server with process id `arguments[1]`, whose orders arrive on the descriptor `arguments[0]`.

    The others: packages whose functions may be named, and directories that no worker may ever read, both as JSON.
    """
    orders = socket.socket(fileno=int(arguments[0]))
    server = None
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # older than Linux 5.3
            server = os.pidfd_open(os.getppid())
    if os.getppid() != int(arguments[1]):
        return
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (*IGNORED, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    name_process(b"bursar-workers")
    adopt_orphans()
    gc.disable()
    gc.freeze()
    zygote = Zygote(orders, server, json.loads(arguments[2]), json.loads(arguments[3]))
    if zygote.confines:
        # In the middle of an import nobody looks whether the server is gone. Workers that cannot fork die with this.
        _die_with(int(arguments[1]))
    zygote.run()


if __name__ == "__main__":
    main(sys.argv[1:])
