"""The last steps of a freshly forked process before it is the command."""

import contextlib
import errno
import fcntl
import json
import os
import resource
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

if sys.platform == "win32":
    raise ImportError("Windows has job objects instead")

import termios

from .limits import lower, tasks_now, tasks_of

if TYPE_CHECKING:
    from .walls import Prepared

IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""The server decides when its helpers end; a Ctrl-C or a `pkill` meant for others must not leave commands alone."""

RESTORED = (*IGNORED, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)
"""What commands find at its default again. Python itself ignores SIGPIPE and SIGXFSZ."""

SCRIPT_FD = 3


def become(
    order: dict[str, Any],
    output: int,
    stdin: int,
    script: int,
    failed: int,
    walls: "Prepared | None",
    errors: "int | None",
) -> NoReturn:
    """Turn this freshly forked process into the command; tells the keeper the step and the errno if that fails.

    The walls are raised last: everything above runs with the server's rights, and what is below with the command's.
    """
    step = "exec"
    try:
        signal.set_wakeup_fd(-1)
        for number in RESTORED:
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        # Move ours out of the way of the numbers the command is given.
        output, stdin, script, failed, errors = (
            fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
            for fd in (output, stdin, script, failed, output if errors is None else errors)
        )
        if order["tty"]:
            fcntl.ioctl(output, termios.TIOCSCTTY, 0)
            stdin = output
        _limit(order["limits"])
        _volunteer_for_oom()
        step = "cwd"
        os.chdir(_bytes(order["cwd"]))
        step = "walls"
        if walls is not None:
            walls.enforce()
        step = "exec"
        os.dup2(stdin, 0)
        os.dup2(output, 1)
        os.dup2(errors, 2)
        if order["script"]:
            os.dup2(script, SCRIPT_FD)
        first = SCRIPT_FD + 1 if order["script"] else SCRIPT_FD
        os.closerange(first, failed)
        os.closerange(failed + 1, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 65536))
        argv = [_bytes(argument) for argument in order["argv"]]
        env = {_bytes(name): _bytes(value) for name, value in order["env"].items()}
        os.execve(argv[0], argv, env)  # noqa: S606 - argv[0] is the shell that was asked for
    except BaseException as error:  # noqa: BLE001 - nothing may return into the keeper's code
        number = error.errno if isinstance(error, OSError) else None
        os.write(failed, json.dumps({"failed": step, "errno": number or errno.EINVAL}).encode())
    os._exit(127)


def _limit(limits: dict[str, Any]) -> None:
    """Limit each process by itself; what all of them use together, the keeper watches."""
    wanted = {resource.RLIMIT_CORE: 0}
    if limits["file_bytes"]:
        wanted[resource.RLIMIT_FSIZE] = limits["file_bytes"]
    # Two backstops: the keeper looks from time to time and counts all processes together.
    if limits["cpu_s"]:
        wanted[resource.RLIMIT_CPU] = int(limits["cpu_s"]) + 2
    if limits["processes"] and (others := tasks_now()):
        # The kernel counts all tasks of the user, or those in one namespace; the machine's are never fewer.
        wanted[resource.RLIMIT_NPROC] = others + tasks_of(limits["processes"])
    lower(wanted.items())


def _volunteer_for_oom() -> None:
    """Let the kernel, when memory runs out, kill the command rather than the server."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:  # noqa: PTH123
            file.write(b"500")


def _bytes(text: str) -> bytes:
    """Undo how the order carries bytes: JSON has only text, so each byte is one character."""
    return text.encode("latin-1")
