"""`bursar doctor`: what works on this machine, what does not, and what to do about it."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import anyio

from .. import __version__
from ..errors import BursarError
from ..guard.command import Limits
from ..guard.commands import Commands
from ..guard.sandbox.policy import Isolation
from ..guard.workers import Workers
from . import confinement
from .background import UNSEEN_LOCKS, UNSEEN_LOCKS_CURE
from .bootstrap import store_of
from .config import Settings


def doctor(settings: Settings) -> int:
    """Print what was found.

    Returns:
        0 if a server with these settings would work as it should, else 1.
    """
    try:
        isolation = anyio.run(_isolation, settings)
    except BursarError as error:
        isolation = Isolation("off", reason=error.message, fix=error.fix)
    workers, fault = anyio.run(_workers, settings)
    behind, lacking = _behind(settings)
    wanting = [*_wanting(settings, isolation), *([fault] if fault else []), *lacking]
    verdict = wanting or ["all is well"]
    for line in (
        *_about(settings, isolation),
        workers,
        *behind,
        *_tried(isolation.attacks),
        *_noted(isolation),
        *verdict,
    ):
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    return int(bool(wanting))


async def _isolation(settings: Settings) -> Isolation:
    commands = Commands(Limits(), sandbox=confinement.sandbox(settings))
    try:
        return await commands.isolation()
    finally:
        commands.close()


async def _workers(settings: Settings) -> tuple[str, str]:
    """Say how well those are kept in who read pages, pictures and documents, and what is wanting if they are not."""
    try:
        async with Workers(hidden=[settings.data_dir]) as workers:
            confinement = await workers.confinement()
    except BursarError as error:
        return "workers     do not work", _sentence("pages and pictures cannot be read", error.message, "")
    what = "a hostile page or picture could do what the server can"
    fix = "Use Linux 6.12 or later with Landlock" if sys.platform == "linux" else ""
    return f"workers     {confinement.line()}", "" if confinement.holds else _sentence(what, confinement.line(), fix)


def _behind(settings: Settings) -> tuple[list[str], list[str]]:
    """Say what is known of the servers behind this one, and which of them are wanting."""
    if not settings.mcp:
        return [], []
    from .behind import states

    try:
        found = list(states(settings))
    except BursarError as error:
        return [], [_sentence("no server behind this one can be used", error.message, error.fix)]
    lines = [f"behind      {name}: {fault or state}" for name, state, fault in found]
    return lines, [_sentence(f"{name} cannot be used", fault, "See its entry") for name, _, fault in found if fault]


def _about(settings: Settings, isolation: Isolation) -> Iterator[str]:
    data = settings.data_dir / "bursar"
    yield f"bursar      {__version__}, Python {platform.python_version()}, {platform.system()} {platform.release()}"
    yield f"data        {data}{'' if data.exists() else ' (not made yet)'}, {_room(data)}"
    yield f"roots       {', '.join(map(str, settings.root))}"
    yield f"isolation   {isolation.level}{f': {isolation.means}' if isolation.means else ''}"
    yield f"terminal    {settings.terminal}, network {settings.terminal_net}"
    yield from _bounds(settings)


def _bounds(settings: Settings) -> Iterator[str]:
    """Tell whether the kernel bounds what commands fork faster than it can be watched."""
    if sys.platform != "linux" or settings.terminal not in {"sandboxed", "required"} or not settings.command_processes:
        return
    from ..guard.forkserver.limits import tasks_of
    from ..guard.sandbox.cgroup import can_bound

    most = tasks_of(settings.command_processes)
    if can_bound():
        yield f"fork bombs  held at {most:,} tasks of a session, by a control group"
    elif os.geteuid() != 0:
        yield f"fork bombs  held at {most:,} tasks more than there are, by a limit of the user"
    else:
        yield "fork bombs  ended, but the kernel bounds no fork of root where no control group can be made"


def _tried(attacks: Mapping[str, str]) -> Iterator[str]:
    if not attacks:
        return
    yield "a sandboxed command tried to"
    for name, outcome in attacks.items():
        said = ("it could" if name.startswith("may_") else "refused") if outcome == "held" else outcome
        yield f"  {_way(name):34} {said}"


def _way(name: str) -> str:
    """Say in words what a way is that was tried, as it says itself."""
    if sys.platform != "win32":
        from ..guard.forkserver.attacks import Attacks

        if said := getattr(Attacks, name, None):
            return str(said.__doc__)[0].lower() + str(said.__doc__).partition(".")[0][1:]
    return name.replace("_", " ")


def _noted(isolation: Isolation) -> Iterator[str]:
    if isolation.level == "kernel" and isolation.reason:
        yield f"note: {isolation.reason}{f'. {isolation.fix}' if isolation.fix else ''}"


def _wanting(settings: Settings, isolation: Isolation) -> Iterator[str]:
    """Tell what is not as it should be, and the fix."""
    if settings.terminal in {"sandboxed", "required"} and isolation.level != "kernel":
        yield _sentence("the terminal does not work", isolation.reason, isolation.fix)
    elif settings.terminal == "unsafe":
        yield _sentence("commands are not kept in", isolation.reason, isolation.fix)
    yield from _store(settings)
    if sys.platform != "win32" and shutil.which("bash") is None:
        yield _sentence("there is no bash", "commands are run by /bin/sh instead", "Install bash")


def _store(settings: Settings) -> Iterator[str]:
    try:
        store = store_of(settings)
        store.check()
        if not store.is_local:
            what = "old sessions are never removed from the data directory"
            yield _sentence(what, UNSEEN_LOCKS, UNSEEN_LOCKS_CURE)
    except BursarError as error:
        yield _sentence(error.message, "", error.fix)


def _sentence(what: str, why: str, fix: str) -> str:
    return f"wanting: {what}{f': {why}' if why else ''}{f'. {fix}' if fix else ''}"


def _room(place: Path) -> str:
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    writable = "" if os.access(place, os.W_OK) else "; cannot be written"
    return f"{free / 1024**3:.1f} GiB free{writable}"
