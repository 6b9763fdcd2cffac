"""The inside of a worker: runs one function of this package on input nobody trusts, and words what came of it."""

import importlib
import json
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, BinaryIO

from ...errors import BursarError
from ..forkserver import wire

MAX_REPLY_BYTES = 4 << 20
_prepared: set[str] = set()


def prepare(modules: Sequence[str]) -> None:
    """Import `modules` and run the `load()` of those that have one, each once in a process.

    That is for loading what the first call would load; it sees no content of anybody.
    """
    for module in modules:
        if module not in _prepared:
            _prepared.add(module)
            getattr(importlib.import_module(module), "load", lambda: None)()


def is_prepared(module: str) -> bool:
    """Tell whether this process has prepared the module."""
    return module in _prepared


def answer(request: dict[str, Any], packages: Sequence[str]) -> dict[str, Any]:
    """Run the public function of `packages` that `request` names, and tell its result or why there is none."""
    try:
        module, _, name = str(request["call"]).partition(":")
        if module.partition(".")[0] not in packages or name.startswith("_"):
            raise ValueError("not a public function of the packages")
        return {"result": getattr(importlib.import_module(module), name)(**request["args"])}
    except BursarError as error:
        told = (error.code, error.message, error.fix)
    except MemoryError:
        told = ("too_large", "the content needs more memory than it is given", "It is kept as received")
    except RecursionError:
        told = ("too_deep", "the content is nested too deeply to be parsed", "It is kept as received")
    except Exception as error:  # noqa: BLE001 - whatever a parser raises about hostile content is an outcome
        told = ("worker_failed", _line(error), "The content is probably damaged; it is kept as received")
    code, message, fix = (text[:500] for text in told)
    return {"error": {"code": code, "message": message, "fix": fix}}


def encoded(reply: dict[str, Any]) -> bytes:
    """Return a reply as it is sent: its length, and JSON."""
    try:
        body = json.dumps(reply).encode()
    except (TypeError, ValueError, RecursionError) as error:
        body = json.dumps({"error": {"code": "worker_failed", "message": _line(error), "fix": "Report this"}}).encode()
    return wire.framed(body)


def _line(error: Exception) -> str:
    said = re.sub(r"\s+", " ", str(error)).strip()
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def main(packages: Sequence[str]) -> None:
    """Serve calls from stdin, one after the other, where no process can be forked for each."""
    requests, replies = _own_pipes()
    while (request := wire.read(requests)) is not None:
        replies.write(encoded(answer(json.loads(request), packages)))
        replies.flush()


def _own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Take stdin and stdout away from the libraries: what they print must not look like an answer."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    return requests, replies


if __name__ == "__main__":
    main(sys.argv[1:])
