"""What parsers of hostile content may do to the process they run in."""

import ctypes
import os
import re
import signal
import sys
import time

from bursar.errors import BursarError


def pid() -> int:
    return os.getpid()


def echo(**given):
    return given


def loop() -> None:
    while True:
        pass


def hold_the_interpreter() -> None:
    re.fullmatch(r"(a+)+b", "a" * 60)


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
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(60)


def _hidden() -> None:
    """Not for callers."""
