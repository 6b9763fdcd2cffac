"""What a client is told of the server before its first call, as the protocol writes it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import __version__
from ..tools.base import Tool
from .dispatch import Dispatcher
from .schema import described, instructions

SERVER = {
    "name": "bursar",
    "title": "Bursar",
    "version": __version__,
    "description": "Tools that never flood a model's context",
}

CAPABILITIES: dict[str, dict[str, bool]] = {
    "completions": {},
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}

ARTIFACT: dict[str, Any] = {
    "name": "artifact",
    "uriTemplate": "artifact://{session}/{id}",
    "description": "The output of an earlier call: its content if it is short, else a small JSON object with a preview "
    "that says how to read on. A part of it: ?lines=100-200, ?bytes=0-4095, ?tail=50 or ?grep=PATTERN.",
}

PROMPT: dict[str, Any] = {
    "name": "investigate",
    "description": "Investigate a big output without reading it whole",
    "arguments": [
        {"name": "artifact", "description": "its artifact, such as a7", "required": True},
        {"name": "question", "description": "what to find out; default: what went wrong", "required": False},
    ],
}


@dataclass(frozen=True, slots=True)
class Offer:
    """What one server offers; the same for all of its clients.

    Attributes:
        instructions: what it tells a model once.
        lists: results of the requests that list something, by their methods.
    """

    instructions: str
    lists: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, dispatcher: Dispatcher) -> "Offer":
        """Describe what a dispatcher answers."""
        said = instructions(
            dispatcher.commands.known_isolation, dispatcher.tools, network=dispatcher.settings.terminal_net == "on"
        )
        lists: dict[str, dict[str, Any]] = {
            "tools/list": {"tools": as_listed(dispatcher.tools.values(), takes_session=dispatcher.sessions.are_remote)},
            "prompts/list": {"prompts": [PROMPT]},
            # Lists must not differ between connections, and everything here belongs to a session.
            "resources/list": {"resources": []},
            "resources/templates/list": {"resourceTemplates": [ARTIFACT]},
        }
        return cls(said, lists)


def as_listed(tools: Iterable[Tool[Any]], *, takes_session: bool = False) -> list[dict[str, Any]]:
    """Describe tools for `tools/list`; what several have alike is explained by the first of them.

    Args:
        tools: in the order in which they are listed.
        takes_session: calls may name the session they work in.
    """
    descriptions: list[dict[str, Any]] = []
    explained: set[tuple[str, str]] = set()
    for tool in filter(lambda tool: tool.is_listed, tools):
        descriptions.append(described(tool, takes_session=takes_session))
        own: dict[str, Any] = {} if tool.schema is not None else descriptions[-1]["inputSchema"]["properties"]
        for name, argument in own.items():
            key = name, argument.get("description", "")
            if key in explained:
                del argument["description"]
            elif key[1]:
                explained.add(key)
    return descriptions
