"""Put the rooms of a server together."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ..artifacts import Limits, Store
from ..guard.commands import Commands
from ..guard.commands import Limits as CommandLimits
from ..guard.net import AllowNet, Net, NetSettings
from ..guard.paths import Workspace
from ..guard.workers import Workers
from ..tools import tools
from .callers import LocalCallers
from .config import Settings
from .dispatch import Dispatcher


@asynccontextmanager
async def house(settings: Settings) -> AsyncGenerator[Dispatcher]:
    """Yield the choke point of a server for one process's client; end what its calls left running behind it.

    Raises:
        BursarError: a setting that cannot be followed, such as a data directory that cannot be written.
    """
    limits = Limits(
        idle_s=settings.idle_days * 86_400,
        total_bytes=settings.quota_bytes,
        session_bytes=settings.quota_bytes,
        fsync=settings.fsync,
    )
    store = Store(settings.data_dir / "bursar", limits)
    commands = Commands(settings.pass_env, CommandLimits(output_bytes=settings.capture_bytes))
    net = Net(
        NetSettings(
            allow=AllowNet.parse(settings.allow_net),
            proxy=settings.proxy or None,
            obeys_robots=not settings.ignore_robots,
        )
    )
    workers = Workers()
    try:
        yield Dispatcher(
            tools={tool.name: tool for tool in tools(settings.copy_bytes)},
            callers=LocalCallers(store, settings.session),
            store=store,
            workspace=Workspace(settings.root, closed=[store.root]),
            commands=commands,
            net=net,
            workers=workers,
            settings=settings,
        )
    finally:
        commands.close()
        workers.close()
