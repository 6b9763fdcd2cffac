"""Types what the server sends on the terminal of a command."""

import os
import sys

if sys.platform == "win32":
    raise ImportError("commands have no terminals on Windows")

import termios

KEYS_S = 0.02
"""Between two tries to type what a command does not read yet."""

READ_BYTES = 1024
"""Taken at a time: a terminal holds 4,096 bytes of a line."""

_LOCAL_MODES = 3


class Keyboard:
    """The keyboard of a terminal.

    Attributes:
        fd: where the keys come from; readable when there are some.
    """

    def __init__(self, fd: int, terminal: int) -> None:
        self.fd = fd
        self._terminal = terminal
        self._keys = b""

    @property
    def is_held_up(self) -> bool:
        """Whether keys are taken that could not be typed yet."""
        return bool(self._keys)

    def take(self) -> bool:
        """Take keys and type them; False if none will come any more."""
        if not self._keys:
            self._keys = os.read(self.fd, READ_BYTES)
            if not self._keys:
                return False
        self.type()
        return True

    def type(self) -> None:
        """Type as much as the terminal takes."""
        try:
            self._keys = self._keys[os.write(self._terminal, self._keys) :]
        except BlockingIOError:
            return
        except OSError:
            self._keys = b""

    def hides(self) -> bool:
        """Tell whether a line is read without being shown, as passwords are."""
        try:
            modes = termios.tcgetattr(self._terminal)[_LOCAL_MODES]
        except termios.error:
            return False
        return bool(modes & termios.ICANON) and not modes & termios.ECHO
