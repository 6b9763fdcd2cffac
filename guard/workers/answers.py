"""What comes back from a worker: an answer, or that it ended without one."""

import json
from typing import Any, cast

import anyio.to_thread

from ...errors import BursarError

_DAMAGED = "The content is probably damaged or hostile; it is kept as received"

_PARSED_HERE_BYTES = 64 * 1024
"""A longer answer is parsed in a thread: the event loop has other calls to serve."""


class EndedError(Exception):
    """A process ended without an answer; says how, and what to do about it."""

    def __init__(self, how: str, fix: str = _DAMAGED) -> None:
        super().__init__(how)
        self.fix = fix

    @classmethod
    def by(cls, status: int | None) -> "EndedError":
        """Return the one of an exit status: of a signal if it is negative, None where it is unknown."""
        if status is None:
            return cls("was stopped")
        return cls(f"was ended by signal {-status}" if status < 0 else f"ended with status {status}")


async def read_answer(body: bytes) -> dict[str, Any]:
    """Parse what a process answered, which may have been taken over by what it parsed.

    Raises:
        EndedError: it is no answer.
    """
    try:
        if len(body) > _PARSED_HERE_BYTES:
            answer: object = await anyio.to_thread.run_sync(json.loads, body)
        else:
            answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise EndedError("gave no proper answer")
    return cast("dict[str, Any]", answer)


def shutting_down() -> BursarError:
    """Return the refusal of a server that is about to end."""
    return BursarError("worker_failed", "the server is shutting down", "Try again when it is back")
