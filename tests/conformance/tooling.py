"""How the suite's tools are registered on bursar's choke point, and what they say beside a reply.

Each is a tool like any other and answers with the reply of the choke point. What a reply of bursar never carries (a
sound, an embedded resource, a question to the user) goes beside it through `aside`, which the fixture server sends on.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from bursar.tools.base import Call, Done, Tool, ToolArgs
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, ContentBlock, InputRequiredResult


@dataclass
class Aside:
    """What one call knows of the protocol, and what it says beside its reply.

    Attributes:
        ctx: the SDK's context of the request.
        params: of the request.
        blocks: content to send after the reply.
        instead: a result to send in place of the reply, or an error to answer with.
    """

    ctx: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    blocks: list[ContentBlock] = field(default_factory=list)
    instead: InputRequiredResult | MCPError | None = None


aside: ContextVar[Aside] = ContextVar("aside")
TOOLS: list[Tool[Any]] = []


class Nothing(ToolArgs):
    """No arguments."""


def tool(arguments: type[ToolArgs] = Nothing) -> Callable[[Callable[[Any, Call], Awaitable[Done]]], None]:
    """Make a function a tool of its name, with its docstring for a description."""

    def made(work: Callable[[Any, Call], Awaitable[Done]]) -> None:
        async def run(self, args, call):
            return await work(args, call)

        parts = {"name": work.__name__, "__doc__": work.__doc__, "Args": arguments, "read_only": True, "run": run}
        TOOLS.append(type(work.__name__, (Tool,), parts | {"did": lambda self, args: work.__name__})())

    return made


def said(text: str, **more: Any) -> Done:
    return Done({"text": text}, **more)
