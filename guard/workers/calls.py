"""A second filter of system calls, for processes that only compute: no programs, processes, sockets or signals."""

import errno
import os
import sys

from ..zygote.seccomp import ARGS, JEQ, JSET, LOAD, allow, assembled, beginning, refusals, refuse

if sys.platform == "win32":
    raise ImportError("seccomp is a thing of Linux")

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


def program(*, machine: str = "", pid: int = 0) -> bytes:
    """Build the filter. It stands behind the general one, which refuses other ways in to the same calls.

    Args:
        machine: as `uname -m` says it; default: this one.
        pid: the process that may be signalled, by itself; default: the calling one.

    Raises:
        OSError: the machine's system calls are not known (ENOSYS).
    """
    column, code = beginning(machine)
    code += refusals(_NEVER, column, errno.EPERM)
    pid = pid or os.getpid()
    for numbers, judged in (
        (_CLONE, (JSET, 1, 0, _CLONE_THREAD)),
        (_KILL, (JEQ, 1, 0, pid)),
        (_TGKILL, (JEQ, 1, 0, pid)),
    ):
        code += [(JEQ, 0, 4, numbers[column]), (LOAD, 0, 0, ARGS), judged, refuse(errno.EPERM), allow()]
    # The other way round: one thing only is refused.
    code += [(JEQ, 0, 3, _PRCTL[column]), (LOAD, 0, 0, ARGS), (JEQ, 0, 1, _PR_SET_PDEATHSIG), refuse(errno.EPERM)]
    return assembled([*code, allow()])
