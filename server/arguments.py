"""Arguments of a call, checked strictly, and what is wrong with them in words that help the next attempt."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, cast

from pydantic import ValidationError

from ..budget.clean import clean
from ..errors import BursarError
from ..tools.base import Tool, ToolArgs

_SHOWN_MAX_CHARACTERS = 80

_ARGUMENTS_MAX = 1000
"""Names and items in all: more than any call needs, and each wrong one costs time to be told apart."""

_ALIASES = {
    "cmd": ("command",),
    "content": ("new",),
    "dir": ("cwd", "path"),
    "directory": ("cwd", "path"),
    "file": ("path",),
    "file_path": ("path",),
    "file_text": ("new",),
    "filename": ("path",),
    "filepath": ("path",),
    "id": ("artifact",),
    "link": ("url",),
    "markdown": ("content",),
    "new_str": ("new",),
    "new_string": ("new",),
    "new_text": ("new",),
    "old_str": ("old",),
    "old_string": ("old",),
    "old_text": ("old",),
    "pattern": ("grep",),
    "query": ("grep",),
    "ref": ("artifact",),
    "reference": ("artifact",),
    "regex": ("grep",),
    "replace_all": ("all",),
    "script": ("command",),
    "stdin": ("input",),
    "text": ("content", "new"),
    "timeout": ("timeout_s", "wait_s"),
    "uri": ("url",),
    "wait": ("wait_s",),
    "workdir": ("cwd",),
    "working_directory": ("cwd",),
}
"""Names that models write for arguments, and which they mean: the first that the tool has. No schema lists them."""


def checked(tool: Tool[Any], given: Mapping[str, Any]) -> ToolArgs:
    """Return the arguments of a call as the tool declares them; another usual name of one is taken for it.

    Raises:
        BursarError: `bad_argument`, naming the first that is wrong, what it should be and what the tool takes.
    """
    if tool.Args.model_config.get("extra") != "allow" and _are_too_many(given):
        fix = f"Leave them out; {tool.name} takes {', '.join(tool.Args.model_fields)}"
        raise BursarError("bad_argument", f"more than {_ARGUMENTS_MAX:,} arguments are given at once", fix)
    try:
        return tool.Args.model_validate(_by_their_names(tool, given))
    except ValidationError as error:
        raise _fault(tool, error) from None


def _are_too_many(given: Mapping[str, Any]) -> bool:
    """Tell whether there are more names and items among the arguments, at every depth, than any call needs."""
    count, waiting = 0, list[object]([given])
    while waiting and count <= _ARGUMENTS_MAX:
        one = waiting.pop()
        if isinstance(one, Mapping | list):
            items = cast("Mapping[str, object] | list[object]", one)
            count += len(items)
            if count <= _ARGUMENTS_MAX:
                waiting.extend(items.values() if isinstance(items, Mapping) else items)
    return count > _ARGUMENTS_MAX


def _by_their_names(tool: Tool[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    named = dict(given)
    if tool.Args.model_config.get("extra") == "allow":  # every name may be one that another server knows
        return named
    for alias in given:
        if alias in tool.Args.model_fields:
            continue
        meant = next((name for name in _ALIASES.get(alias, ()) if name in tool.Args.model_fields), None)
        if meant is not None and meant not in named:
            named[meant] = named.pop(alias)
    return named


def _fault(tool: Tool[Any], error: ValidationError) -> BursarError:
    fault = error.errors(include_url=False, include_context=False)[0]
    name = clean(".".join(str(step) for step in fault["loc"]), 64)
    taken = list(tool.Args.model_fields)
    takes = f"{tool.name} takes {', '.join(taken)}"
    if fault["type"] == "extra_forbidden":
        close = get_close_matches(name, taken, 1)
        meant = f"Use {close[0]!r}; " if close else "Leave it out; "
        return BursarError("bad_argument", f"{tool.name} has no argument {name!r}", meant + takes)
    if fault["type"] == "missing":
        return BursarError("bad_argument", f"{tool.name} needs {name!r}", f"Give it; {takes}")
    wrong = fault["msg"][0].lower() + fault["msg"][1:]
    got = shown(fault["input"])
    return BursarError("bad_argument", f"{name!r}: {wrong}, got {got}" if name else wrong, f"Give what fits; {takes}")


def shown(value: object) -> str:
    """Write a value in short; some cannot be written: lists that are too deep, numbers that are too long."""
    try:
        return clean(repr(value), _SHOWN_MAX_CHARACTERS)
    except (RecursionError, ValueError):
        return f"a {type(value).__name__} that is too large to be shown"
