"""A seccomp filter: which system calls a process, and whatever it starts, may make from now on."""

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterable, Mapping

if sys.platform == "win32":
    raise ImportError("seccomp is a thing of Linux")

NAMESPACES = 0x7E020080
"""Every CLONE_NEW… flag: a namespace of one's own brings capabilities in it, and much of the kernel to attack."""

UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
ROUTE, SOCK_DIAG = 0, 4
"""What of netlink answers questions about addresses and sockets."""

_PRIO_USER, _IOPRIO_WHO_USER = 2, 3
"""All processes of a user."""

TERMINAL_INPUT, CONSOLE = 0x5412, 0x541C
"""TIOCSTI types into the terminal of another, and TIOCLINUX pastes."""

# (number on x86-64, on arm64; None where there is no such call)
_NEVER = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "userfaultfd": (323, 282),
    "uselib": (134, None),
    "vhangup": (153, 58),
}
_MISSING = {
    # Programs that find these missing do without; through the first, others could be made unseen.
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # Its flags lie in memory, where a filter cannot look; libraries then use `clone`.
    "clone3": (435, 435),
}
_JUDGED = {
    "socket": (41, 198),
    "clone": (56, 220),
    "unshare": (272, 97),
    "ioctl": (16, 29),
    "prlimit64": (302, 261),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
}

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32 = 0x40000000

_NR, _ARCH, ARGS = 0, 4, 16
LOAD, JEQ, _JGE, JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
"""Operations of the filter; `ARGS` is where the arguments of the call begin, each of eight bytes."""

_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

Instruction = tuple[int, int, int, int]
"""Operation, how many to skip if it is true and if it is not, and what it works with."""

Calls = Mapping[str, tuple[int | None, int | None]]
"""Numbers of system calls on x86-64 and arm64; None where there is no such call."""


def supported() -> bool:
    """Tell whether the filter knows this machine's system calls."""
    return sys.platform == "linux" and platform.machine() in _ARCHITECTURES


def program(*, network: bool, unix_sockets: bool, machine: str = "") -> bytes:
    """Build the filter.

    Args:
        network: whether sockets of IPv4 and IPv6 may be made.
        unix_sockets: whether local sockets may be made; pairs of them always may, they lead nowhere else.
        machine: as `uname -m` says it; default: this one.

    Raises:
        OSError: its system calls are not known (ENOSYS).
    """
    column, code = beginning(machine)
    if column == _ARCHITECTURES["x86_64"][0]:
        code += [(_JGE, 0, 1, _X32), refuse(errno.ENOSYS)]
    code += refusals(_NEVER, column, errno.EPERM)
    code += refusals(_MISSING, column, errno.ENOSYS)
    families = [*([INET, INET6] if network else []), *([UNIX] if unix_sockets else [])]
    blocks = {
        "socket": _judge_socket(families),
        "clone": _refuse_flags(NAMESPACES),
        "unshare": _refuse_flags(NAMESPACES),
        "ioctl": _judge_ioctl(),
        "prlimit64": _judge_prlimit(),
        "setpriority": _judge_priority(_PRIO_USER),
        "ioprio_set": _judge_priority(_IOPRIO_WHO_USER),
        **dict.fromkeys(("sched_setscheduler", "sched_setparam", "sched_setattr"), _only_own()),
    }
    for name, block in blocks.items():
        code += [(JEQ, 0, len(block), _JUDGED[name][column]), *block]
    return assembled([*code, allow()])


def beginning(machine: str = "") -> tuple[int, list[Instruction]]:
    """Return the column of numbers of the machine's calls, and what every filter begins with; then a call is judged.

    Raises:
        OSError: the machine's system calls are not known (ENOSYS).
    """
    machine = machine or platform.machine()
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no filter of system calls is known for {machine}")
    column, architecture = _ARCHITECTURES[machine]
    code: list[Instruction] = [(LOAD, 0, 0, _ARCH), (JEQ, 1, 0, architecture), _return(_KILL), (LOAD, 0, 0, _NR)]
    return column, code


def refusals(calls: Calls, column: int, number: int) -> list[Instruction]:
    """Return what refuses these calls with an errno."""
    known = [call for numbers in calls.values() if (call := numbers[column]) is not None]
    return [instruction for call in known for instruction in ((JEQ, 0, 1, call), refuse(number))]


def allow() -> Instruction:
    """Return what lets the call happen."""
    return _return(_ALLOW)


def refuse(number: int) -> Instruction:
    """Return what has the call fail with an errno."""
    return _return(_ERRNO | number)


def assembled(code: Iterable[Instruction]) -> bytes:
    """Return the filter as the kernel takes it."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def enforce(code: bytes) -> None:
    """Bind the calling thread and its children to the filter for ever; needs `no_new_privs`.

    Raises:
        OSError: the kernel refused.
    """
    buffer = ctypes.create_string_buffer(code, len(code))
    whole = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.c_char_p(whole), 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")


def _return(value: int) -> Instruction:
    return _RET, 0, 0, value


def _judge_socket(families: list[int]) -> list[Instruction]:
    """Allow these families, and the harmless questions of netlink; refuse every other."""
    block: list[Instruction] = [(LOAD, 0, 0, ARGS)]
    for family in families:
        block += [(JEQ, 0, 1, family), allow()]
    block += [(JEQ, 0, 4, NETLINK), (LOAD, 0, 0, ARGS + 16)]
    block += [(JEQ, 1, 0, ROUTE), (JEQ, 0, 1, SOCK_DIAG), allow()]
    return [*block, refuse(errno.EACCES)]


def _refuse_flags(flags: int) -> list[Instruction]:
    return [(LOAD, 0, 0, ARGS), (JSET, 0, 1, flags), refuse(errno.EPERM), allow()]


def _judge_ioctl() -> list[Instruction]:
    block: list[Instruction] = [(LOAD, 0, 0, ARGS + 8), (JEQ, 1, 0, TERMINAL_INPUT), (JEQ, 0, 1, CONSOLE)]
    return [*block, refuse(errno.EPERM), allow()]


def _judge_prlimit() -> list[Instruction]:
    """Allow to ask for any limits and to set one's own: a limit of processor time ends the process it is set on."""
    pid, low, high = ARGS, ARGS + 16, ARGS + 20
    block: list[Instruction] = [(LOAD, 0, 0, pid), (JEQ, 4, 0, 0)]
    block += [(LOAD, 0, 0, low), (JEQ, 0, 3, 0), (LOAD, 0, 0, high), (JEQ, 0, 1, 0)]
    return [*block, allow(), refuse(errno.EPERM)]


def _judge_priority(user: int) -> list[Instruction]:
    """Allow to slow down oneself or one's own group, and nobody else of the same user."""
    block: list[Instruction] = [(LOAD, 0, 0, ARGS + 8), (JEQ, 0, 3, 0), (LOAD, 0, 0, ARGS), (JEQ, 1, 0, user)]
    return [*block, allow(), refuse(errno.EPERM)]


def _only_own() -> list[Instruction]:
    """Allow a call whose first argument says that it means the calling thread itself."""
    return [(LOAD, 0, 0, ARGS), (JEQ, 0, 1, 0), allow(), refuse(errno.EPERM)]
