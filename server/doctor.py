"""`bursar doctor`: what works on this machine, what does not, and what to do about it."""

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import anyio

from .. import __version__
from ..budget.clean import clean
from ..errors import BursarError
from ..guard.command import Limits
from ..guard.commands import Commands
from ..guard.sandbox.policy import Isolation
from ..guard.workers import Workers
from . import checks, confinement
from .background import UNSEEN_LOCKS, UNSEEN_LOCKS_CURE
from .bootstrap import store_of
from .checks import Finding
from .config import Settings

_LINE_CHARACTERS = 1000


def doctor(settings: Settings, *, as_json: bool = False) -> int:
    """Print what was found: green what works and red what does not, on a terminal that has colours.

    Args:
        settings: those of the server that is asked about.
        as_json: print one object, for other programs.

    Returns:
        0 if a server with these settings would work as it should, else 1.
    """
    findings = list(_findings(settings))
    wanting = [finding for finding in findings if finding.wanting]
    if as_json:
        told = {"well": not wanting, "findings": [asdict(finding) for finding in findings]}
        sys.stdout.write(f"{json.dumps(told)}\n")
    else:
        has_colours = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        red, green, end = ("\x1b[31m", "\x1b[32m", "\x1b[0m") if has_colours else ("", "", "")
        for one in findings:
            line = clean(f"{one.part:11} {one.found}", _LINE_CHARACTERS)
            sys.stdout.write(f"{red}{line}{end}\n" if one.wanting else f"{line}\n")
        for one in wanting:
            sys.stdout.write(f"{red}{_sentence(one)}{end}\n")
        if not wanting:
            sys.stdout.write(f"{green}all is well{end}\n")
    sys.stdout.flush()
    return int(bool(wanting))


def _findings(settings: Settings) -> Iterator[Finding]:
    try:
        isolation = anyio.run(_isolation, settings)
    except BursarError as error:
        isolation = Isolation("off", reason=error.message, fix=error.fix)
    yield from _about(settings, isolation)
    yield from _store(settings)
    yield from anyio.run(_workers, settings)
    yield from checks.programs()
    yield from checks.vocabulary()
    yield from checks.fonts()
    yield from checks.access(settings)
    yield from checks.clients()
    yield from _behind(settings)
    yield from _tried(isolation.attacks)
    if isolation.level == "kernel" and isolation.reason:
        yield Finding("note", f"{isolation.reason}{f'. {isolation.fix}' if isolation.fix else ''}")
    yield from checks.trial(settings)


async def _isolation(settings: Settings) -> Isolation:
    commands = Commands(Limits(), sandbox=confinement.sandbox(settings))
    try:
        return await commands.isolation()
    finally:
        commands.close()


async def _workers(settings: Settings) -> list[Finding]:
    """Say how well those are kept in who read pages, pictures and documents."""
    try:
        async with Workers(hidden=[settings.data_dir]) as workers:
            confinement = await workers.confinement()
    except BursarError as error:
        return [Finding("workers", "do not work", "pages and pictures cannot be read", error.message, error.fix)]
    line = confinement.line()
    if confinement.holds:
        return [Finding("workers", line)]
    fix = "Use Linux 6.12 or later with Landlock" if sys.platform == "linux" else ""
    return [Finding("workers", line, "a hostile page or picture could do what the server can", line, fix)]


def _behind(settings: Settings) -> Iterator[Finding]:
    """Say what is known of the servers behind this one, and which of them are wanting."""
    if not settings.mcp:
        return
    from .behind import states

    try:
        for name, state, fault in states(settings):
            if fault:
                yield Finding("behind", f"{name}: {fault}", f"{name} cannot be used", fault, "See its entry")
            else:
                yield Finding("behind", f"{name}: {state}")
    except BursarError as error:
        yield Finding.of("behind", "no server behind this one can be used", error)


def _about(settings: Settings, isolation: Isolation) -> Iterator[Finding]:
    data, level = settings.data_dir / "bursar", isolation.level
    version = f"{__version__}, Python {platform.python_version()}, {platform.system()} {platform.release()}"
    yield Finding("bursar", version)
    yield Finding("data", f"{data}{'' if data.exists() else ' (not made yet)'}, {_room(data)}")
    yield Finding("roots", ", ".join(map(str, settings.root)))
    wanting = ""
    if settings.terminal in {"sandboxed", "required"} and level != "kernel":
        wanting = "the terminal does not work"
    elif settings.terminal == "unsafe":
        wanting = "commands are not kept in"
    why, fix = (isolation.reason, isolation.fix) if wanting else ("", "")
    found = f"{level}{f': {isolation.means}' if isolation.means else ''}"
    yield Finding("isolation", found, wanting, why, fix)
    yield Finding("terminal", f"{settings.terminal}, network {settings.terminal_net}")
    for line in _bounds(settings):
        yield Finding("fork bombs", line)


def _bounds(settings: Settings) -> Iterator[str]:
    """Tell whether the kernel bounds what commands fork faster than it can be watched."""
    if sys.platform != "linux" or settings.terminal not in {"sandboxed", "required"} or not settings.command_processes:
        return
    from ..guard.forkserver.limits import tasks_of
    from ..guard.sandbox.cgroup import can_bound

    most = tasks_of(settings.command_processes)
    if can_bound():
        yield f"held at {most:,} tasks of a session, by a control group"
    elif os.geteuid() != 0:
        yield f"held at {most:,} tasks more than there are, by a limit of the user"
    else:
        yield "ended, but the kernel bounds no fork of root where no control group can be made"


def _tried(attacks: Mapping[str, str]) -> Iterator[Finding]:
    """Tell what a sandboxed command tried, and what came of it."""
    for name, outcome in attacks.items():
        said = ("it could" if name.startswith("may_") else "refused") if outcome == "held" else outcome
        yield Finding("tried", f"{_way(name):34} {said}")


def _way(name: str) -> str:
    """Say in words what a way is that was tried, as it says itself."""
    if sys.platform != "win32":
        from ..guard.forkserver.attacks import Attacks

        if said := getattr(Attacks, name, None):
            return str(said.__doc__)[0].lower() + str(said.__doc__).partition(".")[0][1:]
    return name.replace("_", " ")


def _store(settings: Settings) -> Iterator[Finding]:
    try:
        with closing(store_of(settings)) as store:
            store.check()
            if not store.is_local:
                what = "old sessions are never removed from the data directory"
                yield Finding("store", UNSEEN_LOCKS, what, UNSEEN_LOCKS, UNSEEN_LOCKS_CURE)
            else:
                yield Finding("store", "takes and gives back")
    except BursarError as error:
        yield Finding.of("store", "nothing can be stored", error)


def _sentence(one: Finding) -> str:
    said = f"wanting: {one.wanting}{f': {one.why}' if one.why else ''}{f'. {one.fix}' if one.fix else ''}"
    return clean(said, _LINE_CHARACTERS)


def _room(place: Path) -> str:
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    writable = "" if os.access(place, os.W_OK) else "; cannot be written"
    return f"{free / 1024**3:.1f} GiB free{writable}"
