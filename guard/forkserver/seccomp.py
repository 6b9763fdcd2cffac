"""A seccomp filter: which system calls a process, and whatever it starts, may make from now on."""

import ctypes
import errno
import platform
import struct
from collections.abc import Iterable

from .kernel import libc
from .syscalls import NUMBERS

NAMESPACES = 0x7E020080
"""Every CLONE_NEW… flag: a namespace of one's own brings capabilities in it, and much of the kernel to attack."""

UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
ROUTE, SOCK_DIAG = 0, 4
"""What of netlink answers questions about addresses and sockets."""

_PRIO_USER, _IOPRIO_WHO_USER = 2, 3
"""All processes of a user."""

TERMINAL_INPUT, CONSOLE = 0x5412, 0x541C
"""TIOCSTI types into the terminal of another, and TIOCLINUX pastes."""

_NEVER = (
    "acct add_key bpf clock_adjtime clock_settime create_module delete_module finit_module fsconfig fsmount fsopen "
    "fspick init_module ioperm iopl kexec_file_load kexec_load keyctl lookup_dcookie mount mount_setattr move_mount "
    "nfsservctl open_by_handle_at open_tree open_tree_attr perf_event_open pivot_root quotactl quotactl_fd reboot "
    "request_key setdomainname sethostname setns settimeofday swapoff swapon syslog umount2 uselib userfaultfd "
    "vhangup"
).split()
_MISSING = ("io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "openat2")
"""Programs that find these missing do without. Through the first, others could be made unseen; what the last two are to
do lies in memory, where a filter cannot look, and libraries then use `clone` and `openat`."""

SHARED_BY_NUMBER = (
    "mq_open mq_unlink msgctl msgget msgrcv msgsnd semctl semget semop semtimedop shmat shmctl shmget"
).split()
"""Memory and queues that are reached by a number or a name that no rule for files covers, and that outlive who made
them: all of a namespace share them."""

_SETUID, _SETUID_SETGID = 0o4000, 0o6000
"""A filter cannot tell whether a file or a directory is meant, nor where it lies. `mkdir` the kernel itself gives
neither."""

_CREATES = 0o20000100
"""O_CREAT, and what is O_TMPFILE without O_DIRECTORY: only then `open` has a mode."""
_UNCONNECTED = 2
"""A bit of SOCK_DGRAM and SOCK_RAW, and of no other kind that local sockets have."""

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32 = 0x40000000

_NR, _ARCH, ARGS = 0, 4, 16
LOAD, JEQ, _JGE, JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
"""Operations of the filter; `ARGS` is where the arguments of the call begin, each of eight bytes."""

_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2

Instruction = tuple[int, int, int, int]
"""Operation, how many to skip if it is true and if it is not, and what it works with."""


def program(
    *, network: bool, unix_sockets: bool, own_ipc: bool = False, setgid: bool = False, machine: str = ""
) -> bytes:
    """Build the filter.

    Args:
        network: whether sockets of IPv4 and IPv6 may be made.
        unix_sockets: whether local sockets may be made; connected pairs of them always may, they lead nowhere else.
        own_ipc: whether the memory and queues that are shared by number are those of commands alone.
        setgid: whether what exists may be given that bit, see `walls.Walls`.
        machine: as `uname -m` says it; default: this one.

    Raises:
        OSError: its system calls are not known (ENOSYS).
    """
    column, code = beginning(machine)
    if column == _ARCHITECTURES["x86_64"][0]:
        code += [(_JGE, 0, 1, _X32), refuse(errno.ENOSYS)]
    given_later = _SETUID if setgid else _SETUID_SETGID
    families = [*([INET, INET6] if network else []), *([UNIX] if unix_sockets else [])]
    blocks = {
        "openat": _judge_mode(3, flags=2),
        "open": _judge_mode(2, flags=1),
        **dict.fromkeys(("creat", "mknod"), _judge_mode(1)),
        "mknodat": _judge_mode(2),
        **dict.fromkeys(("chmod", "fchmod"), _judge_mode(1, given_later)),
        **dict.fromkeys(("fchmodat", "fchmodat2"), _judge_mode(2, given_later)),
        "socket": _judge_socket(families),
        "socketpair": [allow()] if unix_sockets else _judge_pair(),
        "clone": _refuse_flags(NAMESPACES),
        "unshare": _refuse_flags(NAMESPACES),
        "ioctl": _judge_ioctl(),
        "prlimit64": _judge_prlimit(),
        "setpriority": _judge_priority(_PRIO_USER),
        "ioprio_set": _judge_priority(_IOPRIO_WHO_USER),
        **dict.fromkeys(("sched_setscheduler", "sched_setparam", "sched_setattr"), _only_own()),
    }
    for name, block in blocks.items():
        code += judging(name, column, block)
    code += refusals(_NEVER, column, errno.EPERM)
    code += refusals(_MISSING, column, errno.ENOSYS)
    code += [] if own_ipc else refusals(SHARED_BY_NUMBER, column, errno.EPERM)
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


def judging(name: str, column: int, block: list[Instruction]) -> list[Instruction]:
    """Return what judges one call; `block` ends with a decision, and begins where the number of the call is known."""
    number = NUMBERS[name][column]
    return [] if number is None else [(JEQ, 0, len(block), number), *block]


def refusals(calls: Iterable[str], column: int, number: int) -> list[Instruction]:
    """Return what refuses these calls with an errno."""
    return [instruction for name in calls for instruction in judging(name, column, [refuse(number)])]


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
    libc("prctl", _PR_SET_SECCOMP, _MODE_FILTER, whole, 0, 0)


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


def _judge_pair() -> list[Instruction]:
    """Allow local pairs that stay connected to one another; the others reach any local socket by its path."""
    block: list[Instruction] = [(LOAD, 0, 0, ARGS), (JEQ, 0, 2, UNIX)]
    return [*block, (LOAD, 0, 0, ARGS + 8), (JSET, 0, 1, _UNCONNECTED), refuse(errno.EACCES), allow()]


def _judge_mode(mode: int, bits: int = _SETUID_SETGID, flags: "int | None" = None) -> list[Instruction]:
    """Refuse to give a file rights beyond its user's: it would keep them for whoever runs it outside.

    Args:
        mode: which argument the mode is.
        bits: of the mode, which are refused.
        flags: which one tells whether there is a mode at all.
    """
    block: list[Instruction] = []
    if flags is not None:
        block += [(LOAD, 0, 0, ARGS + 8 * flags), (JSET, 1, 0, _CREATES), allow()]
    return [*block, (LOAD, 0, 0, ARGS + 8 * mode), (JSET, 0, 1, bits), refuse(errno.EPERM), allow()]


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
