"""Keeps one command: starts it, waits for it, and ends what it leaves behind."""

import errno
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

from . import wire
from .capture import Capture
from .command import become
from .keyboard import KEYS_S, Keyboard
from .processes import ChildSignals, below, send_signal
from .watch import Watch

if TYPE_CHECKING:
    from .walls import Prepared

LINGER_S = 0.2
"""What a command leaves behind may end by itself for so long: `cmd > >(tee log)` ends before its `tee`."""

LONGEST_PAUSE_S = 3600.0

GIVE_UP_S = 3.0
"""A process that does not die of SIGKILL for so long is reported as left."""

MANY = 16
"""So many processes may fork faster than they are killed one by one."""

PASSED_LIMITS = ("process limit", "memory limit", "cpu limit")
"""Ends of commands that are not asked to end: the machine may be short of what they use."""


class Keeper:
    """Starts one command, waits for it, and ends what it leaves behind.

    Tells the server over `control`: `{"keeper": pid}`, then `{"started": pid}` or `{"failed": step, "errno": number}`,
    and in the end `{"ended": reason, …}` when nothing of the command is left.
    """

    def __init__(
        self, control: socket.socket, output: int, server: int | None, walls: "Prepared | OSError | None"
    ) -> None:
        """Receive the order.

        Args:
            control: to the server.
            output: takes what the command prints.
            server: becomes readable when the server is gone; None where only `control` tells.
            walls: to be raised around the command; an error where that is not possible, so that it is not started.
        """
        self.walls = walls
        self.control = control
        self.server = server
        self.order = self._receive_order()
        self.limits: dict[str, Any] = self.order["limits"]
        self.watch = Watch(self.limits)
        limits = (self.limits["output_bytes"], self.limits["free_bytes"])
        self.capture = Capture(output, *limits, terminal=self.order["tty"])
        self.keyboard: Keyboard | None = None
        self.bell = ChildSignals()
        self.inbox = wire.Inbox()
        self.main = 0
        self.groups: frozenset[int] = frozenset()
        self.begun = 0.0
        self.failed = -1
        self.status: int | None = None
        self.alone = False
        self.orphaned = False
        self.stop_grace_s: float | None = None
        self.signalled: set[int] = set()
        self.poll = select.poll()

    def run(self, stdin: int, script: int, errors: "int | None" = None) -> bool:
        """Live as long as the command, and a moment longer; tell whether nothing of it is left."""
        self._tell({"keeper": os.getpid()})
        self._fork(stdin, script, errors)
        keys = None if self.keyboard is None else self.keyboard.fd
        watched = (self.control.fileno(), self.bell.fd, self.failed, self.capture.fd, self.server, keys)
        for fd in watched:
            if fd is not None:
                self.poll.register(fd, select.POLLIN)
        reason = self._await_end()
        took_s = time.monotonic() - self.begun
        if reason == "exited":
            reason = self._wait_for_rest(LINGER_S) or reason
        if reason in PASSED_LIMITS:
            self.stop_grace_s = 0.0
        self._end_rest(self.limits["grace_s"] if self.stop_grace_s is None else self.stop_grace_s)
        if reason == "exited" and 0 < self.limits["processes"] < len(self.signalled):
            reason = "process limit"  # they forked on while they were ended, too fast to be counted at any time
        if self.failed >= 0 and self.status is not None:
            self._learn_start()
        self.capture.drain()
        if not self.orphaned:
            self._report(self.capture.failure or reason, took_s)
        return self.alone

    def _receive_order(self) -> dict[str, Any]:
        try:
            return wire.receive(self.control)[0]
        except EOFError:
            os._exit(0)

    def _fork(self, stdin: int, script: int, errors: "int | None") -> None:
        """Start the command; `failed` becomes a descriptor that ends when it runs, or tells why it does not."""
        if isinstance(self.walls, OSError):
            self._tell({"failed": "walls", "errno": self.walls.errno or errno.EINVAL})
            os._exit(0)
        self.failed, write = os.pipe()
        self.begun = time.monotonic()
        try:
            self.main = os.fork()
        except OSError as error:
            self._tell({"failed": "fork", "errno": error.errno})
            os._exit(0)
        if self.main == 0:
            become(self.order, self.capture.command_fd, stdin, script, write, self.walls, errors)
        if sys.platform != "linux":
            self.groups = frozenset({self.main})
        if self.order["tty"]:
            self.keyboard = Keyboard(stdin, self.capture.fd)
        else:
            os.close(stdin)
        for fd in (write, script, self.capture.command_fd, *([] if errors is None else [errors])):
            os.close(fd)

    def _await_end(self) -> str:
        deadline = self.begun + self.limits["timeout_s"]
        while True:
            if self.status is not None:
                return "exited"
            if self.orphaned or self.capture.failure or self.stop_grace_s is not None:
                return "stopped"
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return "timeout"
            if passed := self.watch.look():
                return passed
            self._pause(min(left_s, self.watch.left_s))

    def _pause(self, seconds: float) -> None:
        """Wait for something to happen, and take note of it."""
        if self.keyboard is not None and self.keyboard.is_held_up:
            seconds = min(seconds, KEYS_S)
            self.keyboard.type()
            self.poll.modify(self.keyboard.fd, 0 if self.keyboard.is_held_up else select.POLLIN)
        happened = self.poll.poll(min(max(0.0, seconds), LONGEST_PAUSE_S) * 1000)
        due = not happened
        for fd, _ in happened:
            if fd == self.bell.fd:
                self.bell.drain()
                due = True
            elif fd == self.capture.fd:
                if not self.capture.pump():
                    self.poll.unregister(fd)
            elif fd == self.failed:
                self._learn_start()
            elif self.keyboard is not None and fd == self.keyboard.fd:
                if not self.keyboard.take():
                    self.poll.unregister(fd)
            elif fd == self.control.fileno():
                self._hear()
            else:
                self.orphaned = True
        if due:
            self._reap()

    def _learn_start(self) -> None:
        told = os.read(self.failed, 512)
        self.poll.unregister(self.failed)
        os.close(self.failed)
        self.failed = -1
        self._tell(json.loads(told) if told else {"started": self.main})

    def _hear(self) -> None:
        try:
            part = self.control.recv(512)
        except OSError:
            part = b""
        if not part:
            self.orphaned = True
            self.poll.unregister(self.control.fileno())
        for message in self.inbox.add(part):
            if "stop" in message:
                self.stop_grace_s = message["stop"]
            elif "look" in message:
                self._tell({"password": self.keyboard is not None and self.keyboard.hides()})
            else:
                self.capture.failure = self.capture.failure or "output limit"

    def _reap(self) -> None:
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self.main:
                    self.status = status
        except ChildProcessError:
            self.alone = sys.platform == "linux" or not self._rest()

    def _rest(self) -> list[int]:
        return below([os.getpid()], self.groups)

    def _wait_for_rest(self, seconds: float) -> str:
        """Wait for what is left to end; return the limit that it passed, if any."""
        until = time.monotonic() + seconds
        while not (self.alone or self.orphaned or self.capture.failure or self.stop_grace_s is not None):
            left_s = until - time.monotonic()
            if left_s <= 0:
                break
            if passed := self.watch.look():
                return passed
            self._pause(min(left_s, self.watch.left_s))
        return ""

    def _freeze_rest(self) -> None:
        """Stop everything before any of it is killed: else whatever forks would fill the gaps."""
        give_up = time.monotonic() + GIVE_UP_S
        stopped: set[int] = set()
        while (running := set(self._rest()) - stopped) and time.monotonic() < give_up:
            send_signal(list(running), signal.SIGSTOP)
            stopped |= running

    def _end_rest(self, grace_s: float) -> None:
        if not (self.alone or self.orphaned or self.capture.failure) and grace_s > 0:
            rest = self._rest()
            self.signalled.update(rest)
            send_signal(rest, signal.SIGTERM)
            send_signal(rest, signal.SIGCONT)
            self.stop_grace_s = None
            self._wait_for_rest(grace_s)
        give_up = time.monotonic() + GIVE_UP_S
        while not self.alone and time.monotonic() < give_up:
            rest = self._rest()
            if len(rest) > MANY:
                self._freeze_rest()
                rest = self._rest()
            self.signalled.update(rest)
            send_signal(rest, signal.SIGKILL)
            self._pause(0.02)

    def _report(self, reason: str, took_s: float) -> None:
        status = self.status
        self._tell(
            {
                "ended": reason,
                "code": os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None,
                "signal": os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else 0,
                "killed": len(self.signalled - {self.main}),
                "left": 0 if self.alone else len(self._rest()),
                "took_s": took_s,
            }
        )

    def _tell(self, message: dict[str, Any]) -> None:
        try:
            self.control.sendall(wire.packed(message))
        except OSError:
            self.orphaned = True
