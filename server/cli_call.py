"""One tool from the command line: the reply exactly as a model would get it, and what it costs."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from textwrap import indent

import anyio

from ..budget import tokens
from ..budget.json_size import dumps
from ..errors import BursarError
from ..tools import tools
from . import log
from .bootstrap import open_dispatcher
from .callers import Client
from .config import Settings
from .schema import described

_PATIENCE_S = 86_400.0
"""A person at a terminal waits as long as the command does."""


def call_once(settings: Settings, tool: str, arguments: Mapping[str, object]) -> int:
    """Call a tool, print its reply on standard output and its cost on standard error.

    Returns:
        0, or 1 if the reply is an error.
    """
    log.mute()
    return anyio.run(_call_once, settings, tool, arguments)


async def _call_once(settings: Settings, tool: str, arguments: Mapping[str, object]) -> int:
    async with open_dispatcher(settings) as dispatcher:
        ceiling = replace(dispatcher.client("bursar").ceiling, patience_s=_PATIENCE_S)
        answer = await dispatcher.answer(tool, arguments, Client("bursar", ceiling))
    # As bytes: a terminal that cannot show a character must not cost the reply.
    sys.stdout.buffer.write(answer.text.encode() + b"\n")
    sys.stdout.buffer.flush()
    size = len(answer.text.encode())
    if answer.value.get("state") == "running":
        sys.stderr.write("what was still running has ended with this call; under a client it goes on\n")
    sys.stderr.write(f"{size:,} bytes, {tokens.count(answer.text):,} tokens{', an error' if answer.is_error else ''}\n")
    return int(answer.is_error)


def argument(word: str) -> tuple[str, object]:
    """Understand an argument of a tool as the command line has it: `path=README.md`, `depth:=2`.

    Raises:
        BursarError: bad_command_line.
    """
    name, equals, text = word.partition("=")
    if not equals:
        fix = "Write arguments as path=README.md or depth:=2"
        raise BursarError("bad_command_line", f"{word!r} is not NAME=TEXT", fix)
    if not name.endswith(":"):
        return name, text
    try:
        return name[:-1], json.loads(text)
    except ValueError as error:
        what = f"{word!r} is not NAME:=JSON: {error}"
        raise BursarError("bad_command_line", what, "Quote texts: name:='\"text\"'") from None


def print_tools() -> None:
    """Print each tool's name, arguments and cost, and the cost of all together."""
    total = 0
    for tool in tools(Settings.copy_bytes):
        entry = described(tool)
        told = {"name": tool.name, "description": entry["description"], "schema": entry["inputSchema"]}
        cost = tokens.count(dumps(told))
        total += cost
        sys.stdout.write(f"{tool.name} ({cost} tokens)\n{indent(entry['description'], '  ')}\n")
        for name, schema in entry["inputSchema"]["properties"].items():
            sys.stdout.write(f"    {name} ({schema.get('type', 'any')}): {schema.get('description', '')}\n")
    sys.stdout.write(f"{total} tokens in all\n")
    sys.stdout.flush()
