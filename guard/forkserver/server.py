"""Forks processes on request, sees to what they leave behind, and ends everything when the server is gone."""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable

if sys.platform == "win32":
    raise ImportError("Windows cannot fork")

from . import wire
from .command import IGNORED
from .processes import ChildSignals, adopt_orphans, below, below_directly, name_process, send_signal

SERVER_END_S = 10.0
"""How long this process goes on killing after the server's end."""


class ForkServer:
    """Waits for orders, signals and the server's end; what an order means, the two kinds of fork servers say.

    Attributes:
        children: process ids of those that were forked and have not ended, by the numbers that the server gave them.
        are_tidy: whether a child that ends with status 0 has left no process behind.
    """

    def __init__(self, orders: socket.socket, server: "int | None", *, are_tidy: bool) -> None:
        """Take note of what to watch.

        Args:
            orders: from the server.
            server: becomes readable when the server is gone; None where only `orders` tells.
            are_tidy: see the class.
        """
        self.orders = orders
        self.server = server
        self.are_tidy = are_tidy
        self.bell = ChildSignals()
        self.children: dict[int, int] = {}
        self.poll = select.poll()
        for fd in (orders.fileno(), self.bell.fd, *([] if server is None else [server])):
            self.poll.register(fd, select.POLLIN)

    def run(self) -> None:
        """Serve until the server is gone, or it must end for another reason; then end everything."""
        serving = True
        while serving:
            for fd, _ in self.poll.poll(self.pause_ms()):
                if fd == self.bell.fd:
                    self.bell.drain()
                    self._reap()
                elif fd == self.orders.fileno():
                    serving = self._serve() and serving
                elif fd == self.server:
                    serving = False
            serving = serving and self.may_go_on()
        self._end()

    def pause_ms(self) -> "float | None":
        """Return the longest time until `may_go_on` is asked again; None for any."""
        return None

    def may_go_on(self) -> bool:
        """Tell whether anything else is still as it must be."""
        return True

    def obey(self, order: wire.Message, files: "list[int]") -> None:
        """Follow an order; the files are closed afterwards."""
        raise NotImplementedError

    def note_end(self, number: int, status: int) -> None:
        """Take note of how a child ended."""

    def fork(self, number: int, live: Callable[[], int]) -> bool:
        """Fork a child that calls `live` and ends with the status that it returns.

        Returns:
            False where the system refuses.
        """
        try:
            pid = os.fork()
        except OSError:
            return False
        if pid == 0:
            code = 1
            try:
                self.orders.close()
                self.bell.close()
                code = live()
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else 1
            finally:
                # Nothing may return into this process's loop, and nothing that a library left for the exit may run.
                os._exit(code & 0xFF)
        self.children[number] = pid
        return True

    def tell(self, message: wire.Message) -> None:
        """Tell the server; one that reads nothing any more is told nothing."""
        with contextlib.suppress(OSError):
            self.orders.send(wire.packed(message), socket.MSG_DONTWAIT)

    def _serve(self) -> bool:
        try:
            order, files = wire.receive(self.orders)
        except EOFError:
            return False
        try:
            if "signal" not in order:
                self.obey(order, files)
            elif order["number"] in self.children:
                send_signal([self.children[order["number"]]], order["signal"])
        finally:
            for fd in files:
                os.close(fd)
        return True

    def _reap(self) -> None:
        """Wait for children; whatever else is a child of ours was left behind by one."""
        all_tidy = self.are_tidy
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                numbers = [number for number, child in self.children.items() if child == pid]
                all_tidy = all_tidy and status == 0 and bool(numbers)
                for number in numbers:
                    del self.children[number]
                    self.note_end(number, os.waitstatus_to_exitcode(status))
        if sys.platform == "linux" and not all_tidy:
            strays = [pid for pid in below_directly(os.getpid()) if pid not in self.children.values()]
            send_signal([*strays, *below(strays)], signal.SIGKILL)

    def _end(self) -> None:
        # Whoever learns of the children's end finds this process gone.
        self.orders.close()
        give_up = time.monotonic() + SERVER_END_S
        with contextlib.suppress(ChildProcessError):
            while time.monotonic() < give_up:
                send_signal(below([os.getpid()]), signal.SIGKILL)
                select.select([self.bell.fd], [], [], 0.02)
                self.bell.drain()
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def serve(name: str, make: "Callable[[socket.socket, int | None, wire.Message], ForkServer]") -> None:
    """Be a fork server: for orders on the descriptor `argv[1]`, of the server with process id `argv[2]`.

    That is 0 where the server cannot be seen: then this process is made to end with it.

    Args:
        name: of the process.
        make: from the orders, what becomes readable when the server is gone, and what standard input tells.
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
    os.chdir("/")
    fork_server = make(orders, server, told)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.valid_signals():
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    for number in (*IGNORED, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    name_process(name.encode())
    adopt_orphans()
    gc.disable()
    gc.freeze()
    fork_server.run()
