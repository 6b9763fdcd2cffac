"""Where no process can be forked, a few go on from call to call; whatever a parser does, the next call works."""

# ruff: noqa: ASYNC110

import os
from pathlib import Path

import anyio
import pytest
from bursar.errors import BursarError
from bursar.guard.workers import Workers
from bursar.guard.workers.pool import Pool

pytestmark = pytest.mark.anyio


@pytest.fixture
async def workers(monkeypatch):
    """What Windows has, on whichever system this is."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    started = Workers(2, packages=("hostile",))
    started._processes = Pool(("hostile",), 2)
    async with started:
        yield started


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_a_process_stays_warm(workers):
    await workers.warm("hostile.jobs:pid")
    pids = {await workers.call("hostile.jobs:pid", {}) for _ in range(5)}
    assert len(pids) == 1
    assert os.getpid() not in pids


async def test_a_call_that_hangs_is_ended_and_the_next_one_works(workers):
    before = await workers.call("hostile.jobs:pid", {})
    with pytest.raises(BursarError, match="too_slow"):
        await workers.call("hostile.jobs:loop", {}, deadline_s=0.3)
    assert await workers.call("hostile.jobs:pid", {}) != before


@pytest.mark.parametrize("job", ["segfault", "die", "leave", "answer_much", "answer_no_json", "fail"])
async def test_a_crash_is_an_error_and_the_next_call_works(workers, job):
    with pytest.raises(BursarError, match="worker_failed"):
        await workers.call(f"hostile.jobs:{job}", {})
    assert await workers.call("hostile.jobs:echo", {"a": 1}) == {"a": 1}


async def test_a_refusal_comes_back_as_it_was_raised(workers):
    with pytest.raises(BursarError, match="too_odd"):
        await workers.call("hostile.jobs:refuse", {})


async def test_a_cancelled_call_ends_its_process(workers, tmp_path):
    told = tmp_path / "told"
    told.touch()

    async def sleep():
        await workers.call("hostile.jobs:sleep_while_told", {"path": str(told)})

    async with anyio.create_task_group() as group:
        group.start_soon(sleep)
        with anyio.fail_after(10):
            while not told.read_text():
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    pid = int(told.read_text().split()[0])
    with anyio.fail_after(5):
        while not is_gone(pid):
            await anyio.sleep(0.01)
    assert await workers.call("hostile.jobs:echo", {}) == {}


async def test_many_calls_share_a_few_processes(workers):
    pids = set()

    async def ask():
        for _ in range(5):
            pids.add(await workers.call("hostile.jobs:pid", {}))

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(ask)
    assert 1 <= len(pids) <= 2


async def test_closing_ends_what_runs(workers):
    async def hang():
        with pytest.raises(BursarError, match="worker_failed"):
            await workers.call("hostile.jobs:loop", {})

    async with anyio.create_task_group() as group:
        group.start_soon(hang)
        await anyio.sleep(0.3)
        workers.close()
    with pytest.raises(BursarError, match="worker_failed"):
        await workers.call("hostile.jobs:pid", {})
