"""How much a command may use."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What one command may use before it is ended.

    Attributes:
        timeout_s: seconds from its start.
        output_bytes: of its output; what it printed beyond is not kept. (On Windows it is looked at from outside every
            50 ms, so a fast writer gets some megabytes further.)
        free_bytes: room on the output's disk below which a command that printed over 1 MiB is ended.
        cpu_s: seconds of processor time, of everything it starts together; 0 for any. Watched, like the next two, on
            Linux only, up to twice in a second, so that a fast command gets somewhat further.
        memory_bytes: memory of everything it starts together, what is shared counted once; 0 for any.
        processes: how many of them at a time, and 16 times as many threads; 0 for any.
        file_bytes: of any file it writes (not on Windows); 0 for any.
        grace_s: seconds between SIGTERM and SIGKILL at a time-out, and for what is left when the command itself ends.
    """

    timeout_s: float = 120.0
    output_bytes: int = 2 * 1024**3
    free_bytes: int = 256 * 1024**2
    cpu_s: float = 0.0
    memory_bytes: int = 0
    processes: int = 0
    file_bytes: int = 0
    grace_s: float = 0.5
