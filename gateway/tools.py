"""The tools through which a model uses other servers: one to find, two to call, and theirs where they are listed."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import anyio
from pydantic import ConfigDict, Field

from ..artifacts import Session
from ..budget.clean import clean
from ..budget.json_size import dumps
from ..budget.page import Page, Piece
from ..errors import BursarError
from ..tools import excerpts
from ..tools.base import Call, Outcome, Reading, ShownArgs, Tool, ToolArgs, unlisted
from . import arguments
from .definition import Definition
from .gateway import Gateway
from .present import Offered, listed_name, shown_schema
from .remote_call import Pending, RemoteCall
from .signature import in_line, signature

_HITS = 12
_DID_CHARACTERS = 120
_WAITED = 0.85
"""Of the client's patience."""


class FindToolArgs(ShownArgs):
    """What to look for; nothing lists the servers."""

    query: str = ""
    server: str = Field("", description="all tools of one")
    tool: str = Field("", description="its whole schema")
    max_tokens: int = unlisted(0)


class FindTool(Tool[FindToolArgs]):
    """Find tools of the servers behind call_tool."""

    name: ClassVar[str] = "find_tool"
    read_only: ClassVar[bool] = True
    Args = FindToolArgs

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def did(self, args: FindToolArgs) -> str:
        """Say what is looked for."""
        return f"find {args.tool or args.server or args.query or 'servers'}"

    async def run(self, args: FindToolArgs, call: Call) -> Outcome:
        """Look into what was approved of each server.

        Raises:
            BursarError: unknown_server, unknown_tool, and whatever it takes to start one that was never looked at.
        """
        with anyio.move_on_after(call.patience_s * _WAITED):
            return _listed(await self._found(args, call.session))
        what = f"{clean(args.server or args.tool, 80)} is still being started"
        raise BursarError("upstream_start", what, "Call again in a moment; it goes on starting")

    async def _found(self, args: FindToolArgs, session: Session) -> list[str]:
        if args.tool:
            return [_whole(*await self._gateway.tool(args.tool, session))]
        if args.server:
            offered = await self._gateway.server(args.server, session)
            return [signature(tool).text for tool in offered.tools]
        if not args.query:
            return [_named(offered) for offered in self._gateway.servers]
        hits = [
            in_line(tool, f"{offered.upstream.name}.{tool.name}")
            for offered, tool in await self._gateway.find(args.query, _HITS)
        ]
        unknown = [_named(offered) for offered in self._gateway.servers if offered.pinned is None]
        return [*(hits or ["nothing fits; find_tool(server=…) lists all tools of one"]), *unknown]


def _as_object(schema: dict[str, Any]) -> None:
    """List an argument as an object, whatever else is understood."""
    schema.pop("anyOf", None)
    schema["type"] = "object"


class CallToolArgs(excerpts.ExcerptArgs):
    """Which tool to call, and with what; what is not known here lies beside `arguments`."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)

    tool: str = Field(description="server.tool")
    arguments: dict[str, Any] | str = Field(default="", json_schema_extra=_as_object)
    lines: str | None = unlisted(coerce_numbers_to_str=True)
    grep: str | None = Field(None, description="show only matching lines of the result")
    context: str | None = unlisted(coerce_numbers_to_str=True)
    sql: str | None = unlisted()
    max_tokens: int = unlisted(0)


class CallTool(Tool[CallToolArgs]):
    """Call a tool of another server."""

    name: ClassVar[str] = "call_tool"
    destructive: ClassVar[bool] = True
    open_world: ClassVar[bool] = True
    Args = CallToolArgs
    reads_only: ClassVar[bool] = False

    def __init__(self, gateway: Gateway, pending: Pending) -> None:
        self._gateway = gateway
        self._pending = pending

    def did(self, args: CallToolArgs) -> str:
        """Write the call."""
        return _written(args.tool, args.arguments or args.model_extra or {})

    async def leave(self, session: Session) -> None:
        """End the servers of a session."""
        self._gateway.children.leave(session)

    async def run(self, args: CallToolArgs, call: Call) -> Outcome:
        """Call it.

        Raises:
            BursarError: unknown_tool, bad_argument, not_read_only, and whatever the server and the way to it raise.
        """
        given = arguments.given(args.arguments, args.model_extra or {})
        asked = RemoteCall(self._gateway, args.tool, given, call, self.reads_only)
        return await asked.answered(self._pending, args)


class CallReadTool(CallTool):
    """Call one that changes nothing."""

    name: ClassVar[str] = "call_read_tool"
    read_only: ClassVar[bool] = True
    destructive: ClassVar[bool] = False
    reads_only: ClassVar[bool] = True


class RemoteArgs(ToolArgs):
    """Arguments as another server declares them."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)


class RemoteTool(Tool[RemoteArgs]):
    """A tool of another server under a name of its own; a class for each is made by `remote`."""

    Args = RemoteArgs
    tool: ClassVar[Definition]
    server: ClassVar[str]

    def __init__(self, gateway: Gateway, pending: Pending) -> None:
        self._gateway = gateway
        self._pending = pending

    def did(self, args: RemoteArgs) -> str:
        """Write the call."""
        return _written(f"{self.server}.{self.tool.name}", args.model_extra or {})

    async def run(self, args: RemoteArgs, call: Call) -> Outcome:
        """Call it.

        Raises:
            BursarError: bad_argument, and whatever the server and the way to it raise.
        """
        asked = RemoteCall(self._gateway, f"{self.server}.{self.tool.name}", args.model_extra or {}, call)
        return await asked.answered(self._pending)

    async def leave(self, session: Session) -> None:
        """End the servers of a session."""
        self._gateway.children.leave(session)


def remote(offered: Offered, tool: Definition) -> type[RemoteTool]:
    """Make the class of a tool of another server: what a tool is stands on its class."""
    about: dict[str, Any] = {
        "__doc__": tool.description,
        "name": listed_name(offered.upstream.name, tool.name),
        "schema": shown_schema(tool),
        "read_only": offered.is_read_only(tool),
        "destructive": tool.hints.get("destructiveHint", True),
        "open_world": tool.hints.get("openWorldHint", True),
        "tool": tool,
        "server": offered.upstream.name,
    }
    return type("RemoteTool", (RemoteTool,), about)


def gateway_tools(gateway: Gateway) -> list[Tool[Any]]:
    """Return the tools that a server offers for those behind it: theirs where they fit, and three for the rest."""
    pending, shown = Pending(), gateway.presentation
    listed: list[Tool[Any]] = [
        remote(offered, tool)(gateway, pending) for offered in shown.full for tool in offered.tools
    ]
    first, more = shown.catalogue
    is_listed = bool(shown.rest)
    finds = type("FindTool", (FindTool,), {"__doc__": f"{FindTool.__doc__}\n{more}".rstrip(), "is_listed": is_listed})
    calls = type("CallTool", (CallTool,), {"__doc__": f"{CallTool.__doc__}\n{first}", "is_listed": is_listed})
    reads = type("CallReadTool", (CallReadTool,), {"__doc__": CallReadTool.__doc__, "is_listed": is_listed})
    return [*listed, finds(gateway), calls(gateway, pending), reads(gateway, pending)]


def _listed(lines: Sequence[str]) -> Reading:
    return Reading(Page([Piece(f"{line}\n", {"query": "…"}) for line in lines]))


def _whole(offered: Offered, tool: Definition) -> str:
    """Write all that is known of a tool."""
    told = {
        "tool": f"{offered.upstream.name}.{tool.name}",
        "description": tool.description,
        "arguments": shown_schema(tool) or "not told",
        **({"read_only": True} if offered.is_read_only(tool) else {}),
    }
    return dumps(told)


def _named(offered: Offered) -> str:
    name = offered.upstream.name
    if offered.pinned is None:
        return f"{name}: not looked at yet; find_tool(server={name!r}) does"
    if not offered.pinned.is_approved:
        return f"{name}: not approved by the user yet"
    return f"{name}: {', '.join(tool.name for tool in offered.tools)}"


def _written(name: str, given: object) -> str:
    """Write a call in short."""
    if isinstance(given, Mapping):
        pairs = [f"{key}={dumps(value)}" for key, value in cast("Mapping[str, Any]", given).items()]
        return f"{clean(name, 80)}({clean(', '.join(pairs), _DID_CHARACTERS)})"
    return f"{clean(name, 80)}({clean(str(given), _DID_CHARACTERS)})"
