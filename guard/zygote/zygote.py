"""Forks keepers on demand, and ends everything when the server is gone."""

import array
import contextlib
import errno
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING, Any

if sys.platform == "win32":
    raise ImportError("Windows has job objects instead")

from .command import IGNORED
from .keeper import Keeper
from .processes import ChildSignals, adopt_orphans, below, below_directly, name_process, send_signal

if TYPE_CHECKING:
    from .plan import Plan
    from .standing import Standing
    from .walls import Prepared

MESSAGE_BYTES = 9
DESCRIPTORS = 4

LOOK_S = 0.5
"""Between two looks at the view while commands run: the kernel tells at once what was unmounted, and not what was
renamed."""

SERVER_END_S = 10.0
"""How long the zygote goes on killing after the server's end."""


class Zygote:
    """Forks keepers, and takes over from a keeper that was itself killed."""

    def __init__(
        self,
        orders: socket.socket,
        server: int | None,
        plan: "Plan | None" = None,
        standing: "Standing | None" = None,
    ) -> None:
        """Take note of what to do.

        Args:
            orders: from the server.
            server: becomes readable when the server is gone; None where only `orders` tells.
            plan: of the walls around commands; None for none.
            standing: of the view that this process is in; None if it is in none.
        """
        self.orders = orders
        self.server = server
        self.plan = plan
        self.standing = standing
        self.bell = ChildSignals()
        self.keepers: set[int] = set()

    def run(self) -> None:
        """Serve until the server is gone, or commands might see what is hidden from them; then end everything."""
        poll = select.poll()
        for fd in (self.orders.fileno(), self.bell.fd, *([] if self.server is None else [self.server])):
            poll.register(fd, select.POLLIN)
        if self.standing is not None:
            poll.register(self.standing.fd, select.POLLPRI)
        serving = True
        while serving:
            for fd, _ in poll.poll(self._pause_ms()):
                if fd == self.bell.fd:
                    self.bell.drain()
                    self._reap()
                elif fd == self.orders.fileno():
                    serving = self._serve() and serving
                elif fd == self.server:
                    serving = False
            serving = serving and (self.standing is None or self.standing.covers())
        self._end()

    def _pause_ms(self) -> "float | None":
        return None if self.standing is None or not self.keepers else LOOK_S * 1000

    def _serve(self) -> bool:
        fds = array.array("i")
        flags = socket.MSG_CMSG_CLOEXEC if sys.platform == "linux" else 0
        try:
            message, extras, _, _ = self.orders.recvmsg(
                MESSAGE_BYTES, socket.CMSG_SPACE(DESCRIPTORS * fds.itemsize), flags
            )
        except OSError:
            return False
        for level, kind, data in extras:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
        if message.startswith(b"K"):
            self._signal_keeper(int(message[1:]), signal.SIGKILL)
        elif message.startswith(b"C"):
            self._signal_keeper(int(message[1:]), signal.SIGCONT)
        elif message.startswith(b"F") and len(fds) == DESCRIPTORS:
            self._fork(fds)
        for fd in fds:
            os.close(fd)
        return bool(message)

    def _fork(self, fds: "array.array[int]") -> None:
        """Fork a keeper; where the system refuses, the end of its control socket tells the server."""
        if self.standing is not None and not self.standing.stands():
            with contextlib.suppress(OSError):
                os.write(fds[0], b'{"failed": "view", "errno": 0}\n')
            return
        walls = self._walls()
        try:
            pid = os.fork()
        except OSError:
            return
        if pid == 0:
            code = 1
            try:
                code = 0 if self._become_keeper(fds, walls) else 1
            finally:
                # Neither an error nor anything else may return into the zygote's loop.
                os._exit(code)
        self.keepers.add(pid)

    def _walls(self) -> "Prepared | OSError | None":
        try:
            return None if self.plan is None else self.plan.prepared()
        except OSError as error:
            return error
        except ValueError:
            return OSError(errno.EINVAL, "")

    def _become_keeper(self, fds: "array.array[int]", walls: "Prepared | OSError | None") -> bool:
        """Keep one command; tell whether nothing of it is left."""
        self.orders.close()
        self.bell.close()
        adopt_orphans()
        name_process(b"bursar-keeper")
        control, output, stdin, script = fds
        return Keeper(socket.socket(fileno=control), output, self.server, walls).run(stdin, script)

    def _signal_keeper(self, pid: int, number: int) -> None:
        if pid in self.keepers:
            os.kill(pid, number)

    def _reap(self) -> None:
        """Wait for keepers; whatever else is a child of ours was orphaned by the death of its keeper."""
        all_well = True
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                all_well = all_well and status == 0 and pid in self.keepers
                self.keepers.discard(pid)
        if sys.platform == "linux" and not all_well:
            strays = [pid for pid in below_directly(os.getpid()) if pid not in self.keepers]
            send_signal([*strays, *below(strays)], signal.SIGKILL)

    def _end(self) -> None:
        # Whoever learns of the commands' end finds this process gone.
        self.orders.close()
        give_up = time.monotonic() + SERVER_END_S
        with contextlib.suppress(ChildProcessError):
            while time.monotonic() < give_up:
                send_signal(below([os.getpid()]), signal.SIGKILL)
                select.select([self.bell.fd], [], [], 0.02)
                self.bell.drain()
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def main() -> None:
    """Serve the orders that arrive on the descriptor `argv[1]`, for the server with process id `argv[2]`.

    That is 0 where the server cannot be seen: then this process is made to end with it. Standard input tells as JSON
    the view of this process and the walls for the commands; null for neither.
    """
    orders = socket.socket(fileno=int(sys.argv[1]))
    server = None
    if sys.argv[2] != "0":
        if sys.platform == "linux":
            with contextlib.suppress(OSError, AttributeError):  # older than Linux 5.3
                server = os.pidfd_open(os.getppid())
        if os.getppid() != int(sys.argv[2]):
            return
    told = json.load(sys.stdin)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    standing = _standing(told)
    plan = _plan(told)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.valid_signals():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    for number in (*IGNORED, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    name_process(b"bursar-zygote")
    adopt_orphans()
    gc.disable()
    gc.freeze()
    Zygote(orders, server, plan, standing).run()


def _standing(told: "dict[str, Any] | None") -> "Standing | None":
    """Take on the view, if there is one and nobody else has made it."""
    if not told or not told["view"]:
        return None
    from .standing import Standing
    from .view import View

    view = View.told(told["view"])
    if told["enter"]:
        from .namespaces import enter

        enter(view)
    return Standing(view, told["walls"]["hidden"])


def _plan(told: "dict[str, Any] | None") -> "Plan | None":
    if not told:
        return None
    from .plan import Plan

    return Plan(told["walls"])
