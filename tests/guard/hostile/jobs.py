"""What parsers of hostile content may do to the process they run in."""

import ctypes
import json
import os
import re
import signal
import sys
import threading
import time

from bursar.errors import BursarError

CONTROL_FD = 3


def pid() -> int:
    return os.getpid()


def echo(**given):
    return given


def load() -> None:
    """Run where workers are forked, once."""
    loaded_in.append(os.getpid())


loaded_in: list[int] = []
remembered: list[str] = []


def ancestry() -> dict[str, object]:
    return {"parent": os.getppid(), "loaded in": loaded_in}


def remember(secret: str) -> list[str]:
    before = [*remembered, os.environ.get("REMEMBERED", ""), getattr(json, "remembered", "")]
    remembered.append(secret)
    os.environ["REMEMBERED"] = json.remembered = secret
    return before


def environment() -> dict[str, str]:
    return dict(os.environ)


def read(path: str) -> str:
    with open(path) as file:
        return file.read()


def tell_pid(path: str) -> None:
    with open(path, "w") as file:
        file.write(f"{os.getpid()} {os.getppid()}")


def loop(path: str = "") -> None:
    if path:
        tell_pid(path)
    while True:
        pass


def hold_the_interpreter(path: str = "") -> None:
    if path:
        tell_pid(path)
    re.fullmatch(r"(a+)+b", "a" * 60)


def take_turns(path: str) -> None:
    with open(path, "ab", buffering=0) as file:
        file.write(b"+")
        time.sleep(0.02)
        file.write(b"-")


def answer_with(data: str, length: int) -> None:
    """Write past what the worker itself says."""
    os.write(CONTROL_FD, length.to_bytes(4, "big") + data.encode())
    os._exit(0)


def fork_without_end() -> None:
    while True:
        os.fork()


def start_threads_without_end() -> None:
    while True:
        threading.Thread(target=time.sleep, args=[60], daemon=True).start()


def compute_in_threads() -> int:
    results = []
    threads = [threading.Thread(target=results.append, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(results)


def fill_disk(path: str) -> None:
    with open(path, "wb", buffering=0) as file:
        file.seek((1 << 30) - 1)
        while True:
            file.write(b"x")


def segfault() -> None:
    ctypes.string_at(1)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> None:
    sys.exit(3)


def eat(byte_count: int) -> int:
    return len(b"x" * byte_count)


def nest() -> None:
    nest()


def print_much() -> str:
    print("{" * 100_000, flush=True)
    os.write(1, b"\x00\x00\x00\x02{}")
    sys.stdin.read()
    return "printed"


def answer_much() -> str:
    return "x" * 5_000_000


def answer_no_json() -> object:
    return object()


def refuse() -> None:
    raise BursarError("too_odd", "this is odd", "try something even")


def fail() -> None:
    raise ValueError("line one\nline two " + "x" * 9000)


def sleep_while_told(path: str) -> None:
    tell_pid(path)
    time.sleep(60)


def _hidden() -> None:
    """Not for callers."""
