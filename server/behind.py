"""The servers behind this one: from settings to the tools that a model reaches them by."""

import shutil
import sys
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from ..gateway.child import Surroundings
from ..gateway.gateway import Gateway
from ..gateway.pins import Pins
from ..gateway.present import Offered, presented
from ..gateway.tools import gateway_tools
from ..gateway.upstream import Upstream, load
from ..guard.command import Limits
from ..guard.commands import Commands
from ..guard.net import Net
from ..guard.sandbox.sandbox import Sandbox
from ..guard.workers import Workers
from ..tools.base import Tool
from . import confinement
from .config import Settings

DIRECTORY = ".gateway"
"""In the store, which no command and no server behind this one can read or write; its sweep leaves such names alone."""

_LONGEST_S = 400 * 86_400.0


@asynccontextmanager
async def open_gateway(settings: Settings, net: Net, workers: Workers) -> AsyncGenerator[Mapping[str, Tool[Any]]]:
    """Yield the tools of the servers that the settings name, by their names; end the servers behind it.

    Raises:
        BursarError: bad_setting; a configuration that cannot be understood.
    """
    gateway = gateway_of(settings, net, workers)
    try:
        yield {tool.name: tool for tool in gateway_tools(gateway)}
    finally:
        with anyio.CancelScope(shield=True):
            await gateway.close()


def gateway_of(settings: Settings, net: Net, workers: Workers) -> Gateway:
    """Return the servers that the settings name, none of them started.

    Raises:
        BursarError: bad_setting.
    """
    return Gateway(load(settings.mcp), surroundings(settings, net, workers), settings.mcp_tokens)


def states(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """Yield each server that the settings name, what is known of it, and why it cannot be used, if it cannot.

    Raises:
        BursarError: bad_setting.
    """
    servers = [Offered(upstream, Pins(directory(settings)).load(upstream)) for upstream in load(settings.mcp)]
    shown = presented(servers, settings.mcp_tokens)
    for offered in servers:
        upstream, approved = offered.upstream, offered.pinned
        fault = upstream.fault
        if not fault and upstream.command and shutil.which(upstream.command[0]) is None:
            fault = f"there is no program {upstream.command[0]!r}"
        if approved is None:
            state = f"not looked at yet; `bursar mcp review {upstream.name}` does"
        elif not approved.is_approved:
            state = f"{len(approved.definitions)} tools, not approved; see `bursar mcp review {upstream.name}`"
        else:
            level = "full" if offered in shown.full else shown.level
            cost = sum(approved.costs.values())
            state = f"{len(offered.tools)} tools, listed as {level}; {cost:,} tokens in full"
        yield upstream.name, state, f"cannot be started: {fault}" if fault else ""


def directory(settings: Settings) -> Path:
    """Return where what was approved is kept."""
    return settings.data_dir / "bursar" / DIRECTORY


def surroundings(settings: Settings, net: Net, workers: Workers) -> Surroundings:
    """Return what the servers behind this one run in."""

    def commands(upstream: Upstream) -> Commands:
        return Commands(_limits(settings), (), _sandbox(settings, upstream))

    roots = [root.resolve() for root in settings.root]
    return Surroundings(commands, net, workers, roots, directory(settings))


def _sandbox(settings: Settings, upstream: Upstream) -> Sandbox | None:
    """Return the walls around one server: those of commands, less its network, with what its entry lets it write."""
    if upstream.sandbox == "off" or settings.terminal == "unsafe":
        return None
    usual = confinement.policy(settings)
    return Sandbox(
        replace(
            usual,
            writes=(*usual.writes, *map(Path.absolute, upstream.write)),
            network=upstream.net,
            unix_sockets=upstream.unix_sockets or usual.unix_sockets,
        )
    )


def _limits(settings: Settings) -> Limits:
    """Return what one server may use: as a command, but for as long as it is wanted, and to say as much as it likes."""
    usual = confinement.command_limits(settings)
    return replace(usual, timeout_s=_LONGEST_S, cpu_s=0, output_bytes=sys.maxsize, free_bytes=0)
