"""The server's side of a process that forks others on request: see `forkserver/server.py`."""

import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

if sys.platform == "win32":
    raise ImportError("Windows cannot fork")

from .forkserver import wire
from .forkserver.wire import memory_file

CLOSE_S = 0.1

numbers = itertools.count(1)
"""Of what is forked: never the same one again, whichever process forks it."""


class ForkClient:
    """A fork server, which runs from now on until it is left."""

    def __init__(
        self,
        command: Sequence[str],
        told: object,
        environment: Mapping[str, str],
        *,
        files: Sequence[int] = (),
        sees_server: bool = True,
        cwd: str | None = None,
    ) -> None:
        """Start it.

        Args:
            command: to which the descriptor for its orders and the process id of this process are added.
            told: what its standard input tells as JSON: others can see its arguments.
            environment: all of it.
            files: descriptors that it inherits.
            sees_server: whether it can see this process.
            cwd: where it starts; default: here.

        Raises:
            OSError: the system refuses a further process or open file.
        """
        with ExitStack() as undo, ExitStack() as done:
            self._connection, theirs = socket.socketpair()
            undo.callback(self._connection.close)
            orders = done.enter_context(theirs).fileno()
            done.callback(os.close, file := memory_file(json.dumps(told).encode()))
            self._process = subprocess.Popen(
                [*command, str(orders), str(os.getpid() if sees_server else 0)],
                stdin=file,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # whoever reads the server's to its end does not wait for a command
                pass_fds=[orders, *files],
                cwd=cwd,
                env=environment,
                # The user's Ctrl-C is for the server, which ends what it has started itself.
                start_new_session=True,
            )
            undo.pop_all()
        self._connection.setblocking(False)

    @property
    def is_gone(self) -> bool:
        """Whether it has ended, or is about to, without being asked."""
        try:
            return not self._connection.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def send(self, message: wire.Message, files: Sequence[int] = ()) -> None:
        """Give an order.

        Raises:
            BlockingIOError: it does not keep up.
            OSError: it is gone.
        """
        wire.send(self._connection, message, files)

    def leave(self) -> None:
        """Have it end, and every process below it, without waiting for that."""
        self._connection.close()

    def close(self, wait_s: float = CLOSE_S, afterwards: Callable[[], None] = lambda: None) -> bool:
        """End it and every process below it; wait up to `wait_s`, and then see it gone without waiting here.

        Returns:
            Whether it has ended; then, or once it has, `afterwards` was called.
        """
        self.leave()
        try:
            self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            threading.Thread(target=self._see_out, args=[afterwards], name="bursar-helper", daemon=True).start()
            return False
        afterwards()
        return True

    def _see_out(self, afterwards: Callable[[], None]) -> None:
        self._process.wait()
        afterwards()
