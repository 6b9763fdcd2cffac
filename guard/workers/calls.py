"""A second filter of system calls, for processes that only compute: no programs, processes, sockets or signals."""

import errno
import os
import sys

from ..forkserver.seccomp import (
    ARGS,
    JEQ,
    JSET,
    LOAD,
    SHARED_BY_NUMBER,
    allow,
    assembled,
    beginning,
    judging,
    refusals,
    refuse,
)

if sys.platform == "win32":
    raise ImportError("seccomp is a thing of Linux")

_NEVER = [
    # programs and processes
    *"execve execveat fork vfork".split(),
    # other processes
    *"ioprio_set kcmp migrate_pages move_pages pidfd_getfd pidfd_open pidfd_send_signal process_madvise".split(),
    *"process_mrelease process_vm_readv process_vm_writev ptrace rt_sigqueueinfo rt_tgsigqueueinfo".split(),
    *"sched_setaffinity sched_setattr sched_setparam sched_setscheduler setpriority tkill".split(),
    # sockets, and descriptors passed through one
    *"accept accept4 bind connect listen recvfrom recvmmsg recvmsg sendmmsg sendmsg sendto socket socketpair".split(),
    *SHARED_BY_NUMBER,
    # what rules for files do not cover
    *"chmod chown fanotify_init fchmod fchmodat fchmodat2 fchown fchownat file_setattr fremovexattr fsetxattr".split(),
    *"futimesat inotify_add_watch inotify_init inotify_init1 lchown lremovexattr lsetxattr removexattr".split(),
    *"removexattrat setxattr setxattrat utime utimensat utimes".split(),
    # so that it ends with who started it
    *"setpgid setsid".split(),
]
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
    for name, judged in (
        ("clone", (JSET, 1, 0, _CLONE_THREAD)),
        ("kill", (JEQ, 1, 0, pid)),
        ("tgkill", (JEQ, 1, 0, pid)),
    ):
        code += judging(name, column, [(LOAD, 0, 0, ARGS), judged, refuse(errno.EPERM), allow()])
    # The other way round: one thing only is refused.
    judged = (JEQ, 0, 1, _PR_SET_PDEATHSIG)
    code += judging("prctl", column, [(LOAD, 0, 0, ARGS), judged, refuse(errno.EPERM), allow()])
    return assembled([*code, allow()])
