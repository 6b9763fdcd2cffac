"""What a worker that was taken over would try: run in one, it tells how well workers are confined."""

import errno
import os
import signal
import socket
from collections.abc import Callable

_REFUSALS = (errno.EPERM, errno.EACCES)


def attack(server: int, decoy: str) -> dict[str, str]:
    """Attack the server and a file that was not given to this process; tell of each attempt `held` or what went wrong.

    Args:
        server: id of the server's process.
        decoy: a file that the server's user may read and write.
    """
    attempts: dict[str, Callable[[], object]] = {
        "read a file": lambda: _open(decoy, os.O_RDONLY),
        "change a file": lambda: _open(decoy, os.O_WRONLY),
        "change who may read a file": lambda: os.chmod(decoy, 0o600),  # noqa: PTH101
        "make a file": lambda: _open(f"{decoy}.new", os.O_WRONLY | os.O_CREAT),
        "list a directory": lambda: os.listdir(os.path.dirname(decoy)),  # noqa: PTH120, PTH208
        "read the server's environment": lambda: _open(f"/proc/{server}/environ", os.O_RDONLY),
        "read the server's memory": lambda: _open(f"/proc/{server}/mem", os.O_RDONLY),
        "signal the server": lambda: os.kill(server, 0),
        "open a socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close(),
        "open a local socket": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).close(),
        # There is no such program; whether one may be started is judged before that.
        "start a program": lambda: os.execv(f"{decoy}.none", ["none"]),  # noqa: S606
        "start a process": _fork,
    }
    return {name: _outcome(attempt) for name, attempt in attempts.items()}


def _outcome(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except OSError as error:
        return "held" if error.errno in _REFUSALS else f"not refused: {os.strerror(error.errno or 0)}"
    return "succeeded"


def _open(path: str, flags: int) -> None:
    os.close(os.open(path, flags, 0o600))


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
