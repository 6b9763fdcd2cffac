"""From settings to walls: how commands are kept in, begun early and told once."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from ..errors import BursarError
from ..guard.command import Limits
from ..guard.sandbox.policy import Isolation, Policy
from ..guard.sandbox.sandbox import Closed, Sandbox, begin
from .config import Settings

MEMORY_SHARE = 0.75
"""Of this machine's memory, for one command with all that it starts."""

_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def policy(settings: Settings) -> Policy:
    """Return what sandboxed commands may do."""
    return Policy(
        store=Path(os.path.abspath(settings.data_dir / "bursar")),  # noqa: PTH100 - links are not to be resolved
        roots=tuple(Path(os.path.abspath(root)) for root in settings.root),  # noqa: PTH100
        writes=settings.terminal_write,
        hidden=(Path(settings.auth_tokens).expanduser(),) if settings.auth_tokens else (),
        network=settings.terminal_net == "on",
        unix_sockets=settings.terminal_unix_sockets,
    )


def begin_early(settings: Settings) -> None:
    """Start the trial of the walls, so that it runs while the server is still loading its libraries."""
    if settings.terminal in {"sandboxed", "required"}:
        wanted = policy(settings)
        wanted.check()
        begin(wanted)


def sandbox(settings: Settings) -> Sandbox | None:
    """Return what keeps commands in; None if nothing is to.

    Raises:
        BursarError: bad_setting.
    """
    if settings.terminal == "unsafe":
        return None
    if settings.terminal == "off":
        fix = "Start the server without --terminal=off"
        return Closed(Isolation("off", reason="the terminal was switched off", fix=fix))
    return Sandbox(policy(settings))


def require(isolation: Isolation) -> None:
    """Refuse to serve with less than was asked for.

    Raises:
        BursarError: isolation_required.
    """
    if isolation.level != "kernel":
        message = f"commands are not kept in by the kernel but {isolation.level}: {isolation.reason}"
        raise BursarError("isolation_required", message, isolation.fix or "Leave --terminal at sandboxed")


def command_limits(settings: Settings) -> Limits:
    """Return what one command may use."""
    return Limits(
        output_bytes=settings.capture_bytes,
        cpu_s=settings.command_cpu_s,
        memory_bytes=command_memory_bytes(settings),
        processes=settings.command_processes,
        file_bytes=settings.command_file_bytes,
    )


def command_memory_bytes(settings: Settings) -> int:
    """Return how much memory one command may use: as set, else a share of what there is."""
    return settings.command_memory_bytes or int(MEMORY_SHARE * _memory_bytes())


def _memory_bytes() -> int:
    if sys.platform == "win32":
        return 0
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in _CGROUP_LIMITS:
        with suppress(OSError, ValueError):
            most = min(most, int(Path(path).read_text(encoding="ascii")))
    return most
