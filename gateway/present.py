"""How the tools of other servers are listed: at the richest level that fits, fixed for the life of the process."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from .definition import Definition
from .pins import Pinned
from .signature import signature
from .upstream import Upstream

Level = Literal["full", "signatures", "names", "servers"]

CATALOGUE_MAX_CHARACTERS = 4000
"""Of two descriptions together: Claude Code shows 2,048 characters of each."""

SIGNATURES_MAX_CHARACTERS = 2000
"""Some thirty tools. In recorded sessions a further turn costs as much as 270 tokens of a list, and signatures cost 12
a tool more than names: of more tools, a server would have to be used for each twenty of them."""

_DESCRIPTION_MAX_CHARACTERS = 1980
_NAME_MAX_CHARACTERS = 51
"""Providers take 64, and clients put `mcp__bursar__` before it."""

_UNFIT = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)


@dataclass(frozen=True)
class Offered:
    """A server and what may be called of it.

    Attributes:
        pinned: what was approved; None if it was never looked at.
    """

    upstream: Upstream
    pinned: Pinned | None

    @cached_property
    def tools(self) -> Sequence[Definition]:
        """Its tools that may be offered, in its own order."""
        if self.pinned is None or not self.pinned.is_approved:
            return ()
        return [one for name, one in self.pinned.definitions.items() if self.upstream.offers(name)]

    def is_read_only(self, tool: Definition) -> bool:
        """Whether a tool changes nothing, as it was approved or as the user says."""
        return tool.is_read_only or tool.name in self.upstream.read_only

    @property
    def cost(self) -> int | None:
        """Tokens of all its tools listed in full; None if that cannot be, or is not wanted."""
        costs = dict[str, int]() if self.pinned is None else self.pinned.costs
        fits = all(one.name in costs and one.is_sound and "session" not in one.properties for one in self.tools)
        wanted = bool(self.tools) and self.upstream.show != "compact"
        return sum(costs[one.name] for one in self.tools) if fits and wanted else None


@dataclass(frozen=True)
class Presentation:
    """What a list shows of each server.

    Attributes:
        full: servers whose tools are listed, each with its schema.
        rest: the others, all at one level.
        level: of those.
    """

    full: Sequence[Offered]
    rest: Sequence[Offered]
    level: Level

    @property
    def catalogue(self) -> tuple[str, str]:
        """The others in words, in two parts."""
        lines = list(_lines(self.rest, self.level))
        first: list[str] = []
        while lines and sum(map(len, first)) + len(first) + len(lines[0]) <= _DESCRIPTION_MAX_CHARACTERS:
            first.append(lines.pop(0))
        return "\n".join(first), "\n".join(lines)


def presented(servers: Sequence[Offered], most_tokens: int) -> Presentation:
    """Decide how servers are listed.

    A signature costs a seventh of a schema and saves as many turns, so whole schemas are for few tools, and for who
    wants them; `SIGNATURES_MAX_CHARACTERS` says what turns cost.

    Args:
        servers: in the order of the configuration.
        most_tokens: what all that may be listed in full, and need not be, may cost together to be so.
    """
    costs = [server.cost for server in servers if server.upstream.show == "auto" and server.cost is not None]
    are_few = sum(costs) <= most_tokens
    full = [server for server in servers if server.cost is not None and (are_few or server.upstream.show == "full")]
    rest = [server for server in servers if server not in full]
    levels: tuple[Level, ...] = ("signatures", "names")
    fitting: list[Level] = [level for level in levels if _fits(rest, level)]
    return Presentation(full, rest, fitting[0] if fitting else "servers")


def listed_name(server: str, tool: str) -> str:
    """Return what a tool is called in a list: short, of letters that all providers take, and no other's."""
    wanted = f"{server}__{tool}"
    name = _UNFIT.sub("_", wanted)
    # A server `a__b` with a tool `c` is not to be taken for `a` with `b__c`.
    if name == wanted and len(name) <= _NAME_MAX_CHARACTERS and "__" not in server:
        return name
    mark = hashlib.sha256(wanted.encode()).hexdigest()[:5]
    return f"{name[: _NAME_MAX_CHARACTERS - 6]}_{mark}"


def cost_of(definition: Definition, server: str) -> Mapping[str, Any]:
    """Return a tool as it is listed in full, as far as a model reads it."""
    return {
        "name": listed_name(server, definition.name),
        "description": definition.description,
        "inputSchema": shown_schema(definition),
    }


def shown_schema(definition: Definition) -> dict[str, Any]:
    """Return the schema of a tool as it is listed."""
    return {key: value for key, value in definition.schema.items() if key not in ("$schema", "title", "$id")}


def _fits(servers: Sequence[Offered], level: Level) -> bool:
    most = SIGNATURES_MAX_CHARACTERS if level == "signatures" else CATALOGUE_MAX_CHARACTERS
    return sum(len(line) + 1 for line in _lines(servers, level)) <= most


def _lines(servers: Sequence[Offered], level: Level) -> Iterator[str]:
    for server in servers:
        name = server.upstream.name
        if not server.tools:
            yield name
        elif level == "servers":
            yield f"{name} ({len(server.tools)})"
        elif level == "names":
            yield f"{name}: {' '.join(one.name for one in server.tools)}"
        else:
            yield f"{name}: {' '.join(signature(one).text for one in server.tools)}"
