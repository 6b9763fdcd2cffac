"""Refusals that take equally long."""

import time

import anyio
import pytest
from bursar.artifacts import errors
from bursar.server.constant_time import ConstantTimeRefusals, held_back


@pytest.mark.parametrize("ago_s", [0.0, 0.009, 0.02, 3600.0])
def test_a_refusal_that_is_late_already_still_comes(ago_s):
    started = time.monotonic()
    anyio.run(held_back, started - ago_s)
    assert time.monotonic() - started >= 0.01 - ago_s


@pytest.mark.parametrize("took_s", [0.0, 0.02])
@pytest.mark.parametrize("refusal", [errors.unknown_session, errors.unknown_artifact])
def test_the_refusal_itself_is_unchanged(refusal, took_s):
    raised = refusal()

    async def refuse():
        async with ConstantTimeRefusals():
            await anyio.sleep(took_s)
            raise raised

    with pytest.raises(type(raised)) as told:
        anyio.run(refuse)
    assert told.value is raised
