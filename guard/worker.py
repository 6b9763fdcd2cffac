"""The inside of a worker process: reads calls from stdin, answers on stdout, one after the other, until stdin ends."""

import ctypes
import importlib
import json
import os
import re
import signal
import sys
from collections.abc import Sequence
from typing import Any, BinaryIO, cast

from ..errors import BursarError

_SPENT_BYTES = 600_000_000


def warm(modules: Sequence[str]) -> None:
    """Import `modules`, so that the first real call finds them."""
    for module in modules:
        importlib.import_module(module)


def main(packages: Sequence[str]) -> None:
    """Serve calls to public functions of `packages`."""
    _die_with_the_server()
    requests, replies = _own_pipes()
    while (request := _read(requests)) is not None:
        reply = _answer(request, packages)
        replies.write(len(reply).to_bytes(4, "big") + reply)
        replies.flush()


def _own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Take stdin and stdout away from the libraries: what they print must not look like an answer."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    return requests, replies


def _read(requests: BinaryIO) -> dict[str, Any] | None:
    head = requests.read(4)
    if len(head) < 4:
        return None
    length = int.from_bytes(head, "big")
    body = requests.read(length)
    return cast("dict[str, Any]", json.loads(body)) if len(body) == length else None


def _answer(request: dict[str, Any], packages: Sequence[str]) -> bytes:
    spent = False
    try:
        _limit(float(request["cpu_s"]), int(request["memory_bytes"]))
        module, _, name = str(request["call"]).partition(":")
        if module.partition(".")[0] not in packages or name.startswith("_"):
            raise ValueError("not a public function of the packages")
        result = getattr(importlib.import_module(module), name)(**request["args"])
        answer: dict[str, Any] = {"result": result, "spent": _peak_bytes() > _SPENT_BYTES}
        return json.dumps(answer).encode()
    except BursarError as error:
        told = (error.code, error.message, error.fix)
    except MemoryError:
        spent = True
        told = ("too_large", "the content needs more memory than it is given", "It is kept as received")
    except RecursionError:
        told = ("too_deep", "the content is nested too deeply to be parsed", "It is kept as received")
    except Exception as error:  # noqa: BLE001 - whatever a parser raises about hostile content is an outcome
        told = ("worker_failed", _line(error), "The content is probably damaged; it is kept as received")
    code, message, fix = (text[:500] for text in told)
    return json.dumps({"error": {"code": code, "message": message, "fix": fix}, "spent": spent}).encode()


def _line(error: Exception) -> str:
    said = re.sub(r"\s+", " ", str(error)).strip()
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _die_with_the_server() -> None:
    if sys.platform == "linux":
        parent = os.getppid()
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
        if os.getppid() != parent:
            # The server died between our start and the request to die with it.
            os._exit(1)
        try:
            # The kernel should end a worker before it ends the server.
            with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:  # noqa: PTH123
                score.write("500")
        except OSError:
            return


if sys.platform == "win32":

    def _limit(cpu_s: float, memory_bytes: int) -> None:
        """Windows has no such limits for a running process; the server's deadline is all there is."""

    def _peak_bytes() -> int:
        return 0

else:
    import resource

    def _limit(cpu_s: float, memory_bytes: int) -> None:
        """Bound this call's processor time (a backstop behind the server's deadline) and address space."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        used_s = usage.ru_utime + usage.ru_stime
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        _lower(resource.RLIMIT_CPU, int(used_s + cpu_s) + 2, most)
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        _lower(resource.RLIMIT_AS, memory_bytes, most)
        _lower(resource.RLIMIT_CORE, 0, 0)

    def _lower(what: int, wanted: int, most: int) -> None:
        limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        try:
            resource.setrlimit(what, (limit, most))
        except (OSError, ValueError):
            # macOS refuses an address space below what is mapped already; the deadline still holds.
            return

    def _peak_bytes() -> int:
        if sys.platform == "linux":
            # Not ru_maxrss: a new process is given its parent's, and a server that once was large would wear out all.
            with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123
                return next((int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM")), 0)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main(sys.argv[1:])
