"""Puts the rooms of a server together."""

import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

from ..artifacts import Limits, Store
from ..artifacts.limits import Redaction
from ..errors import BursarError
from ..guard.commands import Commands
from ..guard.net import AllowNet, Net, NetSettings
from ..guard.paths import Workspace
from ..guard.workers import Workers
from ..tools import tools as all_tools
from ..tools.base import Tool
from . import confinement
from .config import Settings
from .dispatch import Dispatcher, Observer, Turn, at_once
from .fitter import Fitter
from .session_resolver import Sessions, StdioSessions


@asynccontextmanager
async def open_dispatcher(
    settings: Settings,
    sessions: Callable[[Store], Sessions] | None = None,
    *,
    turn: Turn = at_once,
    observers: Sequence[Observer] = (),
    offered: Sequence[Tool[Any]] | None = None,
) -> AsyncGenerator[Dispatcher]:
    """Yield the choke point of a server; end what its calls left running behind it.

    Args:
        settings: how the server behaves.
        sessions: of those who call, made for its store; default: those of one local process.
        turn: keeps a place for each call; default: all run at once.
        observers: are told of each call that has ended.
        offered: the tools; default: all that the settings allow.

    The terminal is left out, and standard error says why, where commands could see the sessions of remote callers.

    Raises:
        BursarError: a setting that cannot be followed, such as a data directory that cannot be written.
    """
    store = store_of(settings)
    commands = Commands(confinement.command_limits(settings), settings.pass_env, confinement.sandbox(settings))
    net = Net(
        NetSettings(
            allow=AllowNet.parse(settings.allow_net),
            proxy=settings.proxy or None,
            obeys_robots=not settings.ignore_robots,
        )
    )
    workers = Workers(hidden=[settings.data_dir])
    behind = AsyncExitStack()
    fitter = Fitter(Workers(hidden=[settings.data_dir]), redacts=settings.redact != "off")
    try:
        if settings.terminal == "required":
            confinement.require(await commands.isolation())
        callers = StdioSessions(store, settings.session) if sessions is None else sessions(store)
        tools = {tool.name: tool for tool in (_tools(settings) if offered is None else offered)}
        if settings.mcp and offered is None:
            from .behind import open_gateway

            tools |= await behind.enter_async_context(open_gateway(settings, net, workers))
        if callers.are_remote and "terminal" in tools and (why := await _unsafe_for_others(commands)):
            sys.stderr.write(f"bursar: the terminal is not offered: {why}\n")
            del tools["terminal"]
        yield Dispatcher(
            tools=tools,
            sessions=callers,
            store=store,
            workspace=Workspace(settings.root, closed=[store.root, *map(Path, filter(None, [settings.auth_tokens]))]),
            commands=commands,
            net=net,
            workers=workers,
            settings=settings,
            fitter=fitter,
            turn=turn,
            observers=observers,
        )
    finally:
        await behind.aclose()
        commands.close()
        workers.close()
        fitter.close()


def store_of(settings: Settings) -> Store:
    """Return the store that a server with these settings keeps its artifacts in."""
    limits = Limits(
        idle_s=settings.idle_days * 86_400,
        total_bytes=settings.quota_bytes,
        session_bytes=min(settings.session_quota_bytes, settings.quota_bytes),
        fsync=settings.fsync,
        redact=cast("Redaction", settings.redact),
    )
    return Store(settings.data_dir / "bursar", limits)


def _tools(settings: Settings) -> list[Tool[Any]]:
    known = {tool.name: tool for tool in all_tools(settings.copy_bytes)}
    wanted = [name.strip() for name in settings.tools]
    if unknown := [name for name in wanted if name not in known]:
        raise BursarError(
            "bad_setting", f"--tools names {unknown[0]!r}, which is none", f"Name some of {', '.join(known)}"
        )
    if settings.terminal == "off":
        del known["terminal"]
    return [tool for name, tool in known.items() if not wanted or name in wanted]


async def _unsafe_for_others(commands: Commands) -> str:
    """Return why commands would see other sessions, which over HTTP are other people's; empty if they would not."""
    isolation = await commands.isolation()
    return f"{isolation.reason}. {isolation.fix}" if isolation.level == "off" else ""
