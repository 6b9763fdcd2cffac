"""A request that is ready to be sent, and what is told of how it was made."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .dialects import DIALECTS
from .draft import Leaving
from .plan import Plan, plan
from .replay import replaced_references, replay
from .state import Limit, Request, State, Usage
from .wire import Wire, dumps

_log = logging.getLogger("bursar.request")


@dataclass(frozen=True, slots=True)
class Fitted:
    """A request that is ready to be sent.

    Attributes:
        messages: to be sent; those that nothing was done to are the same objects.
        state: to be given with the next request, and kept with the history.
        told: what was done, by name; empty if nothing was.
    """

    messages: list[Wire]
    state: State
    told: Mapping[str, Any]


def apply(
    request: Request, planned: Plan | None, references: Mapping[str, str] | None = None, state: State | None = None
) -> Fitted:
    """Make the messages that are sent.

    Args:
        request: the one that was planned for.
        planned: what `plan` returned; without, the history is sent as `state` has it.
        references: of what was stored, by the provisional ones of `planned.leaving`: the name of an artifact, or an
            absolute path.
        state: what the last `apply` returned.

    Raises:
        KeyError: something that leaves has no reference: it would be lost.
    """
    after = state or State()
    told: dict[str, Any] = {}
    if planned is not None:
        after = replaced_references(planned.state, {one: (references or {})[one] for one in planned.leaving})
        told = {
            "before": planned.before.tokens,
            "after": planned.after.tokens,
            "before_chars": planned.before.chars,
            "after_chars": planned.after.chars,
            "limit": planned.limit.room,
            **planned.counts,
            "estimated_by": planned.before.by,
            "prefix_kept": planned.prefix_kept,
        }
    replayed = replay(request, after)
    return Fitted([row.sent.message for row in replayed.rows], replayed.state, told)


def fit(
    request: Request,
    limit: Limit,
    store: Callable[[Leaving], str],
    state: State | None = None,
    usage: Usage | None = None,
    *,
    idle_s: float = 0.0,
    is_forced: bool = False,
) -> Fitted:
    """Plan, store and apply; a compaction is one line of the log `bursar.request`.

    Args:
        request, limit, state, usage, idle_s, is_forced: as for `plan`.
        store: keeps what leaves, and returns its reference: the name of an artifact, or an absolute path.

    Raises:
        RequestTooLarge: as `plan` does; and whatever `store` raises, before anything is lost.
    """
    planned = plan(request, limit, state, usage, idle_s=idle_s, is_forced=is_forced)
    references = {one: store(leaving) for one, leaving in planned.leaving.items()} if planned is not None else {}
    fitted = apply(request, planned, references, state)
    if fitted.told:
        _log.info("request %s", dumps(fitted.told))
    return fitted


def problems(request: Request) -> list[str]:
    """Tell what the provider would reject in a request's messages; nothing is sent that has any."""
    return list(DIALECTS[request.dialect].problems(request.messages))
