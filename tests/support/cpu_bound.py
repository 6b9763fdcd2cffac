"""Do a work in a process that the kernel ends when it has used more processor time than such a work may ever need."""

import os
import resource
from collections.abc import Callable


def ends_within(cpu_s: int, work: Callable[[], object]) -> bool:
    """Tell whether a work is done within whole seconds of processor time."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0
