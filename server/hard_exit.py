"""Ends the process in time, whatever still runs in it."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable

LEAVE_S = 1.2
"""From the word to leave to the end of the process: in two seconds it is to be gone, and a large one takes its time."""

LAST_S = 1.8
"""From a signal to the end by the kernel, should the event loop be too busy to hear of it."""


class HardExit:
    """Has the process end within `LEAVE_S` if it has not ended by itself.

    A thread cannot be ended, and Python waits for each. Nothing is lost that a kill would not lose: artifacts are safe
    as they are made, and what runs for the server dies with it.
    """

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def begin(self) -> None:
        """Leave from now on."""
        self.put_off()
        self._timer = threading.Timer(LEAVE_S, os._exit, [0])
        self._timer.daemon = True
        self._timer.start()

    def put_off(self) -> None:
        """Stay until it is begun again."""
        if self._timer is not None:
            self._timer.cancel()


if sys.platform != "win32":

    def heed(number: signal.Signals, leave: Callable[[], None]) -> None:
        """Have the running event loop leave at a signal, and the kernel end the process if that does not happen."""
        asyncio.get_running_loop().add_signal_handler(number, leave)
        # The loop is woken by the signal itself; this runs even while it is busy, and SIGALRM then needs nobody.
        signal.signal(number, _bound)

    def _bound(_number: int, _frame: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, LAST_S)
