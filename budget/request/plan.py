"""What to sacrifice, and in which order, so that a request is within its limit."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ...errors import RequestTooLarge
from .draft import Draft, Leaving
from .replay import Replayed, replay
from .state import Limit, Request, Size, State, Usage, ratio_of

_UNKNOWN_RATIO = 1.25
"""Before a provider has told what it counted: vocabularies, templates and schemas differ by up to a quarter."""

_WARM_SHARE = 0.60
"""From here on a compaction is worth it when the provider's cache is gone anyway."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a request will cost.

    Attributes:
        tokens: as the provider will count them.
        chars: as the model reads them.
        ratio: the provider's tokens for one of ours.
        by: whether the ratio is learned from what the provider told, or assumed.
    """

    tokens: int
    chars: int
    ratio: float
    by: Literal["usage", "count"]


@dataclass(frozen=True, slots=True)
class Plan:
    """A compaction.

    Attributes:
        leaving: what to store first, by provisional reference.
        state: the one after it, with provisional references.
        before: what the request would cost as it is.
        after: what it will cost, references taken to be as long as a session's handle and an artifact's name.
        limit: what it may cost.
        counts: how many results and media were `replaced`, arguments and reasonings `shortened`, texts `truncated` to
            their ends, messages `dropped` into the ledger.
        prefix_kept: how many messages at the start stay as they were sent last.
    """

    leaving: Mapping[str, Leaving]
    state: State
    before: Estimate
    after: Estimate
    limit: Limit
    counts: Mapping[str, int]
    prefix_kept: int


def estimate(request: Request, state: State | None = None, usage: Usage | None = None) -> Estimate:
    """Tell what a request will cost as `state` has it sent.

    Our own count is scaled by what the provider counted for the last request; a usage from before the last compaction,
    or one that cannot be, does not count.
    """
    replayed = replay(request, state or State())
    return _estimated(replayed, usage)


def _estimated(replayed: Replayed, usage: Usage | None) -> Estimate:
    size, state = replayed.size, replayed.state
    ratio = None
    if usage is not None and usage.messages >= state.upto:
        behind = (row.sent.size.tokens for row in replayed.rows if row.index >= usage.messages)
        ratio = ratio_of(usage, size.tokens - sum(behind))
    ratio = ratio or state.ratio
    scale = ratio or _UNKNOWN_RATIO
    return Estimate(round(size.tokens * scale), size.chars, scale, "usage" if ratio else "count")


def plan(
    request: Request,
    limit: Limit,
    state: State | None = None,
    usage: Usage | None = None,
    *,
    idle_s: float = 0.0,
    is_forced: bool = False,
) -> Plan | None:
    """Plan a compaction; None if the request is sent as `state` has it.

    Args:
        request: with the whole history.
        limit: what it may cost.
        state: what the last `apply` returned.
        usage: what the provider told of the last request.
        idle_s: seconds since then.
        is_forced: compact although the request seems to fit, after a provider refused it as too long.

    Raises:
        RequestTooLarge: `request_too_large`, `overhead_too_large`: nothing may be sacrificed that would help.
    """
    replayed = replay(request, state or State())
    before = _estimated(replayed, usage)
    share, floor = limit.share(Size(before.tokens, before.chars)), replayed.state.floor
    if is_forced and share < 1:
        # What was refused is over the limit, whatever that was taken to be.
        limit, share = replace(limit, tokens=before.tokens, reply=0, chars=None), 1.0
    threshold = min(_WARM_SHARE, limit.high) if idle_s >= limit.cold_s else limit.high
    if not (is_forced or share > 1 or (share > threshold and share >= floor + limit.gain)):
        return None
    draft = Draft(request, limit, replayed, before.ratio)
    if (overhead := draft.share_of(replayed.overhead)) > limit.high:
        what = f"instructions and tools alone take {overhead:.0%} of the limit"
        raise _too_large("overhead_too_large", what, "Offer fewer tools, shorten the instructions", draft, before)
    least = draft.share_of(draft.least)
    if least <= 1:
        draft.compact()
        least = draft.share
    if least > 1:
        what = f"what may not be left out takes {least:.0%} of the limit"
        raise _too_large("request_too_large", what, "Shorten what is named, unpin it", draft, before)
    if share <= 1 and share - draft.share < limit.gain:
        return None
    after = Estimate(round(draft.total.tokens * before.ratio), draft.total.chars, before.ratio, before.by)
    state = draft.state(before.ratio if before.by == "usage" else None)
    return Plan(draft.leaving, state, before, after, limit, draft.counts, draft.prefix_kept)


def _too_large(code: str, what: str, fix: str, draft: Draft, before: Estimate) -> RequestTooLarge:
    limit = draft.limit
    largest = draft.largest
    message = f"The request has {before.tokens:,} tokens and {before.chars:,} characters, and {what} ({limit.told})"
    told = f"{message}; largest: {', '.join(largest)}"
    fix += ", or use a model with a larger window"
    return RequestTooLarge(code, told, fix, estimate=before.tokens, limit=limit.room, largest=largest)
