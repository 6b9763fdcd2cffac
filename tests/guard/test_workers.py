"""Worker processes: whatever a parser does, its call is answered in time and the next one works."""

# ruff: noqa: ASYNC110, ASYNC240

import os
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest
from bursar.errors import BursarError
from bursar.guard.workers import Workers

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def workers(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    async with Workers(2, packages=("bursar", "hostile")) as started:
        yield started


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(") ")[2].startswith("Z")


async def test_a_result_comes_back_as_json(workers):
    given = {"text": "日本語 \ud800", "number": 1.5, "list": [None, True, {"a": []}]}
    assert await workers.call("hostile.jobs:echo", given) == given


async def test_a_process_stays_warm(workers):
    pids = {await workers.call("hostile.jobs:pid", {}) for _ in range(5)}
    assert len(pids) == 1
    assert os.getpid() not in pids


async def test_a_server_that_once_was_large_does_not_wear_out_its_processes(workers):
    large = bytearray(b"x" * 620_000_000)
    pids = {await workers.call("hostile.jobs:pid", {}) for _ in range(3)}
    del large
    assert len(pids) == 1


@pytest.mark.parametrize("job", ["loop", "hold_the_interpreter"])
async def test_a_call_that_hangs_is_ended_and_the_next_one_works(workers, job):
    before = await workers.call("hostile.jobs:pid", {})
    with pytest.raises(BursarError) as raised:
        await workers.call(f"hostile.jobs:{job}", {}, deadline_s=0.3)
    assert raised.value.code == "too_slow"
    with anyio.fail_after(5):
        while not is_gone(before):
            await anyio.sleep(0.01)
    assert await workers.call("hostile.jobs:pid", {}) != before


@pytest.mark.parametrize("job", ["segfault", "die", "leave", "answer_much", "answer_no_json", "fail"])
async def test_a_crash_is_an_error_and_the_next_call_works(workers, job):
    with pytest.raises(BursarError) as raised:
        await workers.call(f"hostile.jobs:{job}", {})
    assert raised.value.code == "worker_failed"
    assert len(raised.value.message) <= 500
    assert "\n" not in raised.value.message
    assert await workers.call("hostile.jobs:echo", {}) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of memory for a running process")
async def test_memory_is_bounded(workers):
    with pytest.raises(BursarError) as raised:
        await workers.call("hostile.jobs:eat", {"byte_count": 2_000_000_000})
    assert raised.value.code == "too_large"
    assert await workers.call("hostile.jobs:eat", {"byte_count": 50_000_000}) == 50_000_000


async def test_endless_nesting_is_an_error(workers):
    with pytest.raises(BursarError) as raised:
        await workers.call("hostile.jobs:nest", {})
    assert raised.value.code == "too_deep"


async def test_what_a_library_prints_is_no_answer(workers):
    assert await workers.call("hostile.jobs:print_much", {}) == "printed"


async def test_a_refusal_comes_back_as_it_was_raised(workers):
    with pytest.raises(BursarError) as raised:
        await workers.call("hostile.jobs:refuse", {})
    assert (raised.value.code, raised.value.message, raised.value.fix) == (
        "too_odd",
        "this is odd",
        "try something even",
    )


@pytest.mark.parametrize(
    "name",
    [
        "os:getpid",
        "hostile.jobs:_hidden",
        "bursar:x:y",
        "hostile.jobs",
        "subprocess:run",
        "bursar.errors.__init__:os.x",
    ],
)
async def test_only_public_functions_of_the_packages_can_be_named(workers, name):
    with pytest.raises(ValueError, match="not a public function"):
        await workers.call(name, {})


async def test_bulk_content_is_not_an_argument(workers):
    with pytest.raises(ValueError, match="through a file"):
        await workers.call("hostile.jobs:echo", {"content": "x" * (2 << 20)})


async def test_a_cancelled_call_ends_its_process(workers, tmp_path):
    told = tmp_path / "pid"
    async with anyio.create_task_group() as group:
        group.start_soon(workers.call, "hostile.jobs:sleep_while_told", {"path": str(told)})
        with anyio.fail_after(5):
            while not (told.exists() and told.read_text()):
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    with anyio.fail_after(5):
        while not is_gone(int(told.read_text())):
            await anyio.sleep(0.01)
    assert await workers.call("hostile.jobs:echo", {}) == {}


async def test_no_more_than_its_size_run_at_the_same_time(workers):
    pids = set()

    async def ask():
        for _ in range(5):
            pids.add(await workers.call("hostile.jobs:pid", {}))

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(ask)
    assert 1 <= len(pids) <= 2


async def test_who_waits_too_long_is_told_so(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    async with Workers(1, patience_s=0.1, packages=("hostile",)) as workers, anyio.create_task_group() as group:

        async def hang():
            with pytest.raises(BursarError, match="too_slow"):
                await workers.call("hostile.jobs:loop", {}, deadline_s=1)

        group.start_soon(hang)
        await anyio.sleep(0.05)
        with pytest.raises(BursarError, match="busy"):
            await workers.call("hostile.jobs:pid", {})


async def test_waiting_and_running_together_end_in_time(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    async with Workers(1, packages=("hostile",)) as workers, anyio.create_task_group() as group:

        async def hang():
            with pytest.raises(BursarError, match="too_slow"):
                await workers.call("hostile.jobs:loop", {}, deadline_s=0.5)

        group.start_soon(hang)
        await anyio.sleep(0.05)
        with pytest.raises(BursarError, match="busy"):
            await workers.call("hostile.jobs:pid", {}, within_s=0.05)


async def test_closing_ends_what_runs(workers, tmp_path):
    told = tmp_path / "pid"

    async def hang():
        with pytest.raises(BursarError, match="worker_failed"):
            await workers.call("hostile.jobs:sleep_while_told", {"path": str(told)})

    async with anyio.create_task_group() as group:
        group.start_soon(hang)
        with anyio.fail_after(5):
            while not (told.exists() and told.read_text()):
                await anyio.sleep(0.01)
        workers.close()
    with pytest.raises(BursarError, match="worker_failed"):
        await workers.call("hostile.jobs:pid", {})


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a busy child with its parent at once")
def test_no_process_outlives_a_server_that_was_killed(tmp_path):
    told = tmp_path / "pid"
    script = f"""
import anyio
from bursar.guard.workers import Workers
async def main():
    await Workers(packages=("hostile",)).call("hostile.jobs:sleep_while_told", {{"path": {str(told)!r}}}, deadline_s=60)
anyio.run(main)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen([sys.executable, "-P", "-c", script], env=environment) as server:
        deadline = time.monotonic() + 10
        while not (told.exists() and told.read_text()) and time.monotonic() < deadline:
            time.sleep(0.01)
        server.kill()
    child = int(told.read_text())
    while not is_gone(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert is_gone(child)


async def test_the_working_directory_is_not_imported_from(workers, tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the working directory')")
    monkeypatch.chdir(tmp_path)
    assert await workers.call("hostile.jobs:echo", {}) == {}


async def test_secrets_of_the_environment_stay_outside(workers, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "s3cret")
    pid = await workers.call("hostile.jobs:pid", {})
    if sys.platform == "linux":
        assert b"s3cret" not in Path(f"/proc/{pid}/environ").read_bytes()
