"""Refusals that take equally long, so that their time does not tell a handle that exists from one that does not."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from ..errors import BursarError

_REFUSALS = {"unknown_session", "unknown_artifact"}

_AFTER_S = 0.01
"""Some ten times what looking for a session takes, and nothing to whoever made a mistake."""


@asynccontextmanager
async def even_refusals() -> AsyncGenerator[None]:
    """Hold back a refusal of a session or an artifact until all such refusals come."""
    started = time.monotonic()
    try:
        yield
    except BursarError as error:
        if error.code in _REFUSALS:
            await held_back(started)
        raise


async def held_back(started: float) -> None:
    """Wait until a refusal may come.

    Args:
        started: when looking for the session began, by `time.monotonic`.
    """
    await anyio.sleep(max(0.0, started + _AFTER_S - time.monotonic()))
