"""A `Call` for tests of one tool, and a `Dispatcher` for tests of the choke point, in this process."""

from contextlib import closing, contextmanager

from bursar.artifacts import Limits, Store
from bursar.guard.command import Limits as CommandLimits
from bursar.guard.commands import Commands
from bursar.guard.net import Net
from bursar.guard.paths import Workspace
from bursar.guard.workers import Workers
from bursar.server.config import Settings
from bursar.server.dispatch import Dispatcher
from bursar.server.fitter import Fitter
from bursar.server.session_resolver import StdioSessions
from bursar.tools.base import Call

NO_GATES = dict.fromkeys(("workspace", "commands", "net", "workers"))


async def unheard(done, total=None, message=""):
    """Take a report of progress."""


def call_of(tool, args, session, **given):
    """Return a call of a tool; a gate that is not given is None, for a tool that has no use for it."""
    defaults = NO_GATES | {"progress": unheard, "patience_s": 60.0, "room": 2000}
    return Call(tool=tool.name, did=tool.did(args), session=session, **(defaults | given))


@contextmanager
def dispatching(root, data_dir, *tools, observers=(), **settings):
    """Yield a choke point with a store of its own that offers these tools."""
    with (
        closing(Store(data_dir / "bursar", Limits())) as store,
        closing(Commands(CommandLimits())) as commands,
        closing(Workers()) as workers,
        closing(Fitter(Workers(), redacts=False)) as fitter,
    ):
        yield Dispatcher(
            tools={tool.name: tool for tool in tools},
            sessions=StdioSessions(store),
            store=store,
            workspace=Workspace([root], closed=[store.root]),
            commands=commands,
            net=Net(),
            workers=workers,
            settings=Settings(root=(root,), data_dir=data_dir, **settings),
            fitter=fitter,
            observers=observers,
        )
