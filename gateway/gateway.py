"""All servers behind this one: what they offer, as it was approved, and the way to call it."""

import logging
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread

from ..artifacts import Session
from ..budget import tokens
from ..budget.clean import clean
from ..budget.json_size import dumps
from ..errors import BursarError
from .arguments import check
from .child import Child, Surroundings
from .children import Children
from .definition import Definition, loosened
from .find import Finder
from .message import Message
from .nearest import nearest
from .peer import Told
from .pins import Pinned, Pins, definitions_of
from .present import Offered, Presentation, cost_of, presented
from .signature import signature
from .upstream import Upstream

_NEAREST = 3
READ_RESOURCE = "read_resource"
"""A tool that each server with resources has, beside its own."""

_log = logging.getLogger(__name__)


class Gateway:
    """The servers behind one server.

    Attributes:
        presentation: how they are listed, from the start to the end.
    """

    def __init__(self, upstreams: Sequence[Upstream], around: Surroundings, most_tokens: int) -> None:
        """Read what was approved of them; start none.

        Args:
            upstreams: in the order of the configuration.
            around: what they run in.
            most_tokens: of tools that are listed with their schemas.
        """
        self.children = Children(around)
        self._pins = Pins(around.directory)
        self._offered = {upstream.name: Offered(upstream, self._pins.load(upstream)) for upstream in upstreams}
        self._finder: Finder | None = None
        self.presentation: Presentation = presented(list(self._offered.values()), most_tokens)

    @property
    def servers(self) -> Sequence[Offered]:
        """All of them, as they are known now."""
        return list(self._offered.values())

    async def server(self, name: str, session: Session) -> Offered:
        """Return a server whose tools are known; one that was never looked at is started for that.

        Raises:
            BursarError: unknown_server, not_approved, and whatever it takes to start it.
        """
        offered = self._offered.get(name)
        if offered is None:
            close = nearest(name, self._offered)
            fix = f"Use {close[0]!r}" if close else f"Use one of {', '.join(self._offered)}"
            raise BursarError("unknown_server", f"there is no server {clean(name, 60)!r} behind this one", fix)
        if offered.pinned is None:
            async with self.children.child(offered.upstream, session) as child:
                await self._looked_at(offered.upstream, child)
            offered = self._offered[name]
        if offered.pinned is not None and not offered.pinned.is_approved:
            what = f"what {name} offers was not approved yet"
            raise BursarError("not_approved", what, f"Have the user run `bursar mcp review {name}`")
        return offered

    async def tool(self, named: str, session: Session) -> tuple[Offered, Definition]:
        """Return a tool by its name, `server.tool`.

        Raises:
            BursarError: unknown_tool, with the nearest ones, and as `server`.
        """
        name, dot, tool = named.partition(".")
        if not dot or name not in self._offered:
            name, _, tool = named.partition("__")
        if name not in self._offered or not tool:
            name, tool = self._alone(named)
        offered = await self.server(name, session)
        found = next((one for one in offered.tools if one.name == tool), None)
        if found is None and tool == READ_RESOURCE:
            found = _READS
        if found is None:
            raise self._unknown(offered, tool)
        return offered, found

    async def find(self, query: str, most: int) -> list[tuple[Offered, Definition]]:
        """Return the tools that fit a query best, the best first."""
        offered = dict(self._offered)
        finder = self._finder
        if finder is None:
            tools = {name: server.tools for name, server in offered.items()}
            finder = await anyio.to_thread.run_sync(Finder, tools)
            self._finder = finder if offered == self._offered else None
        return [(offered[found.server], found.definition) for found in finder.find(query, most)]

    @asynccontextmanager
    async def child(self, offered: Offered, session: Session) -> AsyncGenerator[Child]:
        """Yield the running server of an entry, which offers what was approved or less.

        Raises:
            BursarError: whatever it takes to start it.
        """
        async with self.children.child(offered.upstream, session) as child:
            await child.started()
            if child.definitions is None or child.has_new_lists():
                await self._looked_at(offered.upstream, child)
            yield child

    async def ask(
        self, child: Child, offered: Offered, tool: Definition, arguments: Mapping[str, Any], told: Told | None
    ) -> Message:
        """Call a tool as far as it is what was approved.

        Raises:
            BursarError: tool_changed, bad_argument, and whatever asking raises.
        """
        if tool is _READS:
            return await child.ask("resources/read", arguments, told)
        live = (child.definitions or {}).get(tool.name)
        name, review = offered.upstream.name, f"Have the user run `bursar mcp review {offered.upstream.name}`"
        if live is None:
            raise BursarError("tool_changed", f"{name} has no tool {tool.name} any more", review)
        if live.sha256 != tool.sha256:
            if why := loosened(tool, live):
                raise BursarError("tool_changed", f"{tool.name} of {name} is not what was approved: {why}", review)
            check(live, arguments)
        return await child.ask("tools/call", {"name": tool.name, "arguments": arguments}, told)

    async def close(self) -> None:
        """End all servers."""
        await self.children.close()

    async def _looked_at(self, upstream: Upstream, child: Child) -> None:
        """Learn what a running server offers; what is seen for the first time is approved, unless the user is asked."""
        sent = await child.tools()
        child.definitions = await anyio.to_thread.run_sync(definitions_of, sent)
        if self._offered[upstream.name].pinned is None:
            seen = await anyio.to_thread.run_sync(pinned, upstream, sent)
            self._pins.keep(upstream, seen)
            self._offered[upstream.name] = Offered(upstream, seen)
            self._finder = None
            _log.info("%s offers %d tools; approved at first sight", upstream.name, len(seen.definitions))

    def _alone(self, named: str) -> tuple[str, str]:
        """Return the server of a tool that is named without it, if only one has it.

        Raises:
            BursarError: unknown_tool.
        """
        holders = [name for name, offered in self._offered.items() if any(one.name == named for one in offered.tools)]
        if len(holders) == 1:
            return holders[0], named
        servers = ", ".join(holders or self._offered)
        what = f"{clean(named, 80)!r} names no tool of {servers}"
        raise BursarError("unknown_tool", what, "Name it as server.tool; find_tool(query=…) finds it")

    def _unknown(self, offered: Offered, tool: str) -> BursarError:
        names = {one.name: one for one in offered.tools}
        close = nearest(tool, names, _NEAREST, 0.4)
        name = offered.upstream.name
        shown = "; ".join(signature(names[each]).text for each in close)
        fix = f"Nearest: {shown}" if shown else f"find_tool(server={name!r}) lists what it has"
        return BursarError("unknown_tool", f"{name} has no tool {clean(tool, 80)!r}", clean(fix, 1000))


def pinned(upstream: Upstream, sent: Sequence[Mapping[str, Any]], *, is_approved: bool | None = None) -> Pinned:
    """Return what a server sends as it is written down, with what each tool costs in a list."""
    costs: dict[str, int] = {}
    for one in sent:
        definition = Definition.of(one)
        if definition is not None and definition.schema:
            costs[definition.name] = tokens.count(dumps(cost_of(definition, upstream.name)))
    wanted = upstream.trust != "ask" if is_approved is None else is_approved
    kept = [{key: one[key] for key in _KEPT if key in one} for one in sent]
    return Pinned(upstream.launch, kept, costs, wanted, time.time())


_KEPT = ("name", "title", "description", "inputSchema", "annotations")

_READS = Definition(
    READ_RESOURCE,
    "Reads a resource that a result links to",
    {"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]},
    {"readOnlyHint": True},
    "",
)
