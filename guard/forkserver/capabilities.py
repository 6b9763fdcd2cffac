"""Gives up what root may do beyond its files, for ever."""

import contextlib
import struct
import sys

from .kernel import libc

_PR_CAPBSET_DROP = 24
_PR_SET_DUMPABLE = 4
_PR_SET_SECUREBITS = 28
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4

_NOROOT_AND_NO_SETUID_FIXUP_LOCKED = 0b1111
_CAPSET_VERSION_3 = 0x20080522
_LONGEST = 64


def gain_nothing() -> None:
    """Never again gain a right by starting a program (setuid, file capabilities); Landlock and seccomp need this.

    Raises:
        OSError: the kernel refused.
    """
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def hide_memory() -> None:
    """Keep the memory, environment and descriptors of this process from others of the same user, root excepted."""
    if sys.platform == "linux":
        _prctl(_PR_SET_DUMPABLE, 0)


def drop_all() -> None:
    """Give up every capability, and the means to regain one.

    Raises:
        OSError: the kernel refused.
    """
    # Refused to all but root; whoever has none to begin with gains none, by `gain_nothing`.
    with contextlib.suppress(OSError):
        for capability in range(_LONGEST):
            libc("prctl", _PR_CAPBSET_DROP, capability, 0, 0, 0)
    with contextlib.suppress(OSError):
        libc("prctl", _PR_SET_SECUREBITS, _NOROOT_AND_NO_SETUID_FIXUP_LOCKED, 0, 0, 0)
    with contextlib.suppress(OSError):
        libc("prctl", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    libc("capset", struct.pack("=Ii", _CAPSET_VERSION_3, 0), bytes(24))


def _prctl(option: int, value: int) -> None:
    libc("prctl", option, value, 0, 0, 0)
