"""Refusals that take equally long, so that their time does not tell a handle that exists from one that does not."""

import time
from types import TracebackType
from typing import Self

import anyio

from ..errors import BursarError

_REFUSALS = {"unknown_session", "unknown_artifact"}

_AFTER_S = 0.01
"""Some ten times what looking for a session takes, and nothing to whoever made a mistake."""


class ConstantTimeRefusals:
    """Holds back a refusal of a session or an artifact until all such refusals come."""

    __slots__ = ("_started",)

    async def __aenter__(self) -> Self:
        self._started = time.monotonic()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(raised, BursarError) and raised.code in _REFUSALS:
            await held_back(self._started)


async def held_back(started: float) -> None:
    """Wait until a refusal may come.

    Args:
        started: when looking for the session began, by `time.monotonic`.
    """
    await anyio.sleep(max(0.0, started + _AFTER_S - time.monotonic()))
