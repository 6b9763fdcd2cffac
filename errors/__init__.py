"""The exceptions of bursar: a stable code, what happened, and what to do."""

from collections.abc import Sequence


class BursarError(Exception):
    """A call that could not be done, told so that its reader can act.

    Attributes:
        code: stable snake_case name of the failure; programs may compare it.
        message: one line that says what happened and why, without a full stop.
        fix: one line that says what to do next, without a full stop.
    """

    def __init__(self, code: str, message: str, fix: str) -> None:
        super().__init__(f"{code}: {message}. {fix}.")
        self.code = code
        self.message = message
        self.fix = fix


class RequestTooLarge(BursarError):  # noqa: N818 - the name says what is wrong
    """A request to a model that cannot be made to fit, whatever may be left out of it.

    Attributes:
        estimate: how many tokens it would have.
        limit: how many it may have.
        largest: what takes most of it, the largest first, with its tokens.
    """

    def __init__(self, code: str, message: str, fix: str, *, estimate: int, limit: int, largest: Sequence[str]) -> None:
        super().__init__(code, message, fix)
        self.estimate = estimate
        self.limit = limit
        self.largest = largest
