"""JSON of other programs, read without trust: what is not of the kind that is wanted is empty."""

from typing import Any, cast


def mapping(value: object) -> dict[str, Any]:
    """Return an object, or an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """Return a list, or an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def text(value: object) -> str:
    """Return a text, or an empty one."""
    return value if isinstance(value, str) else ""


def is_mapping(value: object) -> bool:
    """Tell whether it is an object."""
    return isinstance(value, dict)


def is_sequence(value: object) -> bool:
    """Tell whether it is a list."""
    return isinstance(value, list)
