"""Arguments for a tool of another server, taken as models write them and looked at before they are sent.

The server checks them anyway; here only what costs a turn most often is found at once, and answered with the tool's
signature. A whole validator would follow references of a stranger's schema, which can be made to take for ever.
"""

import json
from collections.abc import Mapping
from typing import Any, cast

from ..budget.clean import clean
from ..errors import BursarError
from .definition import Definition
from .nearest import nearest
from .signature import signature

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_CHOICES_SHOWN = 12


def given(arguments: object, beside: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as an object, be they one, its JSON, or lie beside the name of the tool.

    Raises:
        BursarError: bad_argument; they are neither.
    """
    if isinstance(arguments, str) and arguments.strip():
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError) as error:
            what = f"arguments is no JSON: {error}"
            raise BursarError("bad_argument", what, 'Give an object, such as {"path": "README.md"}') from None
    if arguments in (None, "", {}):
        return dict(beside)
    if not isinstance(arguments, dict):
        what = f"arguments is a {type(arguments).__name__}"
        raise BursarError("bad_argument", what, 'Give an object, such as {"path": "README.md"}')
    return {**beside, **cast("dict[str, Any]", arguments)}


def check(tool: Definition, arguments: Mapping[str, Any]) -> None:
    """Refuse what the tool cannot take.

    Raises:
        BursarError: bad_argument, with the signature of the tool.
    """
    fault = _fault(tool, arguments)
    if fault:
        raise BursarError("bad_argument", fault, f"It takes {clean(signature(tool).text, 1000)}")


def _fault(tool: Definition, arguments: Mapping[str, Any]) -> str:
    known = tool.properties
    if missing := [name for name in sorted(tool.required) if name not in arguments]:
        return f"{tool.name} needs {', '.join(missing)}"
    if known and tool.schema.get("additionalProperties") is False:
        for name in arguments:
            if name not in known:
                close = nearest(name, known)
                return f"{tool.name} has no argument {clean(name, 64)!r}{f'; is {close[0]!r} meant?' if close else ''}"
    for name, value in arguments.items():
        if why := _unfit(value, known.get(name)):
            return f"{clean(name, 64)!r} of {tool.name} {why}"
    return ""


def _unfit(value: object, schema: object) -> str:
    if not isinstance(schema, dict):
        return ""
    told = cast("dict[str, Any]", schema)
    kinds = told.get("type")
    wanted = [kinds] if isinstance(kinds, str) else cast("list[Any]", kinds) if isinstance(kinds, list) else []
    if wanted and all(isinstance(kind, str) and kind in _KINDS for kind in wanted):
        fits = any(
            isinstance(value, _KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool)) for kind in wanted
        )
        if not fits:
            return f"is to be {' or '.join(wanted)}, not {clean(json.dumps(value), 60)}"
    choices = told.get("enum")
    if isinstance(choices, list) and value not in choices:
        shown = ", ".join(clean(str(choice), 40) for choice in cast("list[Any]", choices)[:_CHOICES_SHOWN])
        return f"cannot be {clean(json.dumps(value), 60)}, but {shown}"
    return ""
