"""What keeps commands in, chosen: for a server that is started, or within this process."""

import platform
import struct
import sys
from contextlib import contextmanager

from bursar.guard.forkserver.syscalls import NUMBERS
from bursar.guard.sandbox import selftest

LANDLOCK = (444, 445, 446)
NAMESPACES = (442,)
"""mount_setattr, without which the server makes no view of its own; bubblewrap does."""

BUBBLEWRAP = (NUMBERS["pivot_root"][0 if platform.machine() == "x86_64" else 1],)

MISSING = {
    "namespaces + Landlock": (),
    "bubblewrap + Landlock": NAMESPACES,
    "Landlock alone": (*NAMESPACES, *BUBBLEWRAP),
    "namespaces alone": LANDLOCK,
    "bubblewrap alone": (*NAMESPACES, *LANDLOCK),
}
"""By the means that are left: system calls that the kernel does not have then."""

_BECOME = """
import os, sys
from bursar.guard.forkserver import capabilities, seccomp
capabilities.gain_nothing()
seccomp.enforce(bytes.fromhex(sys.argv[1]))
os.execvp(sys.argv[2], sys.argv[2:])
"""


def without(numbers):
    """Return the arguments that come before those of a program whose kernel is to have no such system calls."""
    code = [(0x20, 0, 0, 0)]
    for number in numbers:
        code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | 38)]
    code += [(0x06, 0, 0, 0x7FFF0000)]
    return [sys.executable, "-c", _BECOME, b"".join(struct.pack("=HBBI", *one) for one in code).hex()]


@contextmanager
def kept_in_by(means):
    """Have only these means tried in this process, such as `bubblewrap + Landlock`."""
    name = {"Landlock alone": "landlock"}.get(means, means.lower().replace(" + ", "+").removesuffix(" alone"))
    tried = selftest.candidates
    selftest.candidates = lambda bwrap: {name: tried(bwrap)[name]}
    try:
        yield
    finally:
        selftest.candidates = tried
