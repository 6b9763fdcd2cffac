"""A second filter of system calls, for processes that only compute: no programs, processes, sockets or signals."""

import errno
import os
import platform
import struct
import sys

if sys.platform == "win32":
    raise ImportError("seccomp is a thing of Linux")

# (number on x86-64, on arm64; None where there is no such call)
_NEVER = {
    # programs and processes
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "vfork": (58, None),
    # other processes
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "setpriority": (141, 140),
    "tkill": (200, 130),
    # sockets, and descriptors passed through one
    "accept": (43, 202),
    "accept4": (288, 242),
    "bind": (49, 200),
    "connect": (42, 203),
    "listen": (50, 201),
    "recvfrom": (45, 207),
    "recvmmsg": (299, 243),
    "recvmsg": (47, 212),
    "sendmmsg": (307, 269),
    "sendmsg": (46, 211),
    "sendto": (44, 206),
    "socket": (41, 198),
    "socketpair": (53, 199),
    # memory and queues that processes share by a number, outside the file system
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "msgctl": (71, 187),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "semctl": (66, 191),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmget": (29, 194),
    # what rules for files do not cover
    "chmod": (90, None),
    "chown": (92, None),
    "fanotify_init": (300, 262),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "file_setattr": (469, 469),
    "fremovexattr": (199, 16),
    "fsetxattr": (190, 7),
    "futimesat": (261, None),
    "inotify_add_watch": (254, 27),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "lchown": (94, None),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "removexattr": (197, 14),
    "removexattrat": (466, 466),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
    # so that it ends with who started it
    "setpgid": (109, 154),
    "setsid": (112, 157),
}
_CLONE, _PRCTL, _KILL, _TGKILL = (56, 220), (157, 167), (62, 129), (234, 131)
_CLONE_THREAD = 0x00010000
_PR_SET_PDEATHSIG = 1

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_NR, _ARCH, _ARGS = 0, 4, 16
_LOAD, _JEQ, _JSET, _RET = 0x20, 0x15, 0x45, 0x06
_ALLOW, _REFUSE, _END = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000

_Instruction = tuple[int, int, int, int]


def program(*, machine: str = "", pid: int = 0) -> bytes:
    """Build the filter. It stands behind the general one, which refuses other ways in to the same calls.

    Args:
        machine: as `uname -m` says it; default: this one.
        pid: the process that may be signalled, by itself; default: the calling one.

    Raises:
        OSError: the machine's system calls are not known (ENOSYS).
    """
    machine = machine or platform.machine()
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no filter of system calls is known for {machine}")
    column, architecture = _ARCHITECTURES[machine]
    pid = pid or os.getpid()
    code: list[_Instruction] = [(_LOAD, 0, 0, _ARCH), (_JEQ, 1, 0, architecture), _return(_END), (_LOAD, 0, 0, _NR)]
    for numbers in _NEVER.values():
        number = numbers[column]
        if number is not None:
            code += [(_JEQ, 0, 1, number), _return(_REFUSE)]
    for numbers, judged in (
        (_CLONE, (_JSET, 1, 0, _CLONE_THREAD)),
        (_KILL, (_JEQ, 1, 0, pid)),
        (_TGKILL, (_JEQ, 1, 0, pid)),
    ):
        code += [(_JEQ, 0, 4, numbers[column]), (_LOAD, 0, 0, _ARGS), judged, _return(_REFUSE), _return(_ALLOW)]
    # The other way round: one thing only is refused.
    code += [(_JEQ, 0, 3, _PRCTL[column]), (_LOAD, 0, 0, _ARGS), (_JEQ, 0, 1, _PR_SET_PDEATHSIG), _return(_REFUSE)]
    code.append(_return(_ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def _return(value: int) -> _Instruction:
    return _RET, 0, 0, value
