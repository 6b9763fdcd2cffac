"""Killable, confined processes for parsing hostile input: a call is answered in time, or its process dies."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .workers import Confinement, Json, Workers

__all__ = ["Confinement", "Json", "Workers"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - each is of another kind
    # The processes that workers are forked from import this package too, and have no use for the server's side.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import workers

    return getattr(workers, name)
