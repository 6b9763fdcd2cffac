"""Calls of the C library and of the kernel that Python does not know."""

import ctypes
import os

_Argument = int | bytes | None


def libc(name: str, *arguments: _Argument) -> int:
    """Call a function of the C library that says by -1 that it failed.

    Raises:
        OSError: it failed; the message begins with its name.
    """
    return _checked(name, getattr(_library(), name)(*map(_passed, arguments)))


def call(number: int, *arguments: _Argument) -> int:
    """Call the kernel, by the number that the call has on this machine.

    Raises:
        OSError: it failed.
    """
    return _checked("", _library().syscall(ctypes.c_long(number), *map(_passed, arguments)))


def _passed(argument: _Argument) -> "ctypes.c_long | ctypes.c_char_p":
    return ctypes.c_long(argument) if isinstance(argument, int) else ctypes.c_char_p(argument)


def _checked(name: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}" if name else os.strerror(number))
    return result


def _library() -> ctypes.CDLL:
    global _loaded
    if _loaded is None:
        _loaded = ctypes.CDLL(None, use_errno=True)
        _loaded.syscall.restype = ctypes.c_long
    return _loaded


_loaded: "ctypes.CDLL | None" = None
