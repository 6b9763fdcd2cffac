"""Every call has its result, and every result its call: the rule that all providers share."""

from collections.abc import Iterator, Sequence

from ..wire import Part


def unpaired(messages: Sequence[Sequence[Part]], *, is_adjacent: bool) -> Iterator[str]:
    """Tell which calls and results do not belong together.

    Args:
        messages: the parts of each message, in order.
        is_adjacent: results have to follow their calls at once, with nothing between.
    """
    waiting: dict[str, int] = {}
    for number, parts in enumerate(messages):
        answers = [part.call for part in parts if part.kind == "result"]
        if is_adjacent and waiting and not answers:
            yield from _unanswered(waiting)
            waiting = {}
        for answer in answers:
            if waiting.pop(answer, None) is None:
                yield f"message {number}: result of {answer!r} answers no call before it"
        for part in parts:
            if part.kind == "call":
                if part.call in waiting:
                    yield f"message {number}: the id {part.call!r} is that of an earlier call that is still open"
                waiting[part.call] = number
    yield from _unanswered(waiting)


def _unanswered(waiting: dict[str, int]) -> Iterator[str]:
    for call, number in waiting.items():
        yield f"message {number}: call {call!r} has no result"
