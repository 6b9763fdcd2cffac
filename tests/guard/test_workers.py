"""Worker processes: whatever a parser does, its call is answered in time and the next one works."""

# ruff: noqa: ASYNC110

import os
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import accumulate
from pathlib import Path

import anyio
import pytest
from bursar.errors import BursarError
from bursar.guard.workers import Workers

pytestmark = pytest.mark.anyio


@pytest.fixture
async def workers(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    async with Workers(2, packages=("bursar", "hostile")) as started:
        yield started


@pytest.fixture
def told(tmp_path):
    """A file for a worker to say its process id in, and its parent's."""
    path = tmp_path / "told"
    path.touch()
    return path


def pids_in(told):
    worker, parent = told.read_text().split()
    return int(worker), int(parent)


async def until_told(told):
    with anyio.fail_after(10):
        while len(told.read_text().split()) < 2:
            await anyio.sleep(0.01)
    return pids_in(told)


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


async def test_each_call_has_a_process_of_its_own(workers):
    pids = {await workers.call("hostile.jobs:pid", {}) for _ in range(5)}
    assert len(pids) == 5
    assert os.getpid() not in pids


async def test_nothing_of_a_call_is_left_for_the_next(workers):
    for secret in ("one", "two"):
        assert await workers.call("hostile.jobs:remember", {"secret": secret}) == ["", ""]


async def test_what_a_module_loads_is_loaded_once_where_workers_are_forked(workers):
    for _ in range(3):
        told = await workers.call("hostile.jobs:ancestry", {})
        assert told["loaded in"] == [told["parent"]]


async def test_what_was_warmed_is_there(workers):
    await workers.warm("hostile.jobs:echo")
    assert await workers.call("hostile.jobs:echo", {"a": 1}) == {"a": 1}


async def test_a_module_that_cannot_be_imported_is_an_error_of_its_calls_alone(workers):
    await workers.warm("hostile.nothing:run")
    with pytest.raises(BursarError, match="ModuleNotFoundError"):
        await workers.call("hostile.nothing:run", {})
    assert await workers.call("hostile.jobs:echo", {}) == {}


@pytest.mark.parametrize("job", ["loop", "hold_the_interpreter"])
async def test_a_call_that_hangs_is_ended_and_the_next_one_works(workers, job, told):
    with pytest.raises(BursarError) as raised:
        await workers.call(f"hostile.jobs:{job}", {"path": str(told)}, writes=[told], deadline_s=0.5)
    assert raised.value.code == "too_slow"
    worker, _ = pids_in(told)
    with anyio.fail_after(5):
        while not is_gone(worker):
            await anyio.sleep(0.01)
    assert await workers.call("hostile.jobs:echo", {}) == {}


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
    with pytest.raises(BursarError, match="Give shorter ones") as raised:
        await workers.call("hostile.jobs:echo", {"content": "x" * (2 << 20)})
    assert raised.value.code == "bad_argument"


async def test_the_time_that_a_process_takes_to_start_is_not_the_contents(workers):
    await workers.warm("hostile.jobs:echo")
    helper = workers._processes._forker._process
    helper.send_signal(signal.SIGSTOP)
    async with anyio.create_task_group() as group:

        async def go_on():
            await anyio.sleep(2)
            helper.send_signal(signal.SIGCONT)

        group.start_soon(go_on)
        assert await workers.call("hostile.jobs:echo", {"a": 1}, deadline_s=1) == {"a": 1}


async def test_a_cancelled_call_ends_its_process(workers, told):
    async with anyio.create_task_group() as group:
        group.start_soon(sleep, workers, told)
        worker, _ = await until_told(told)
        group.cancel_scope.cancel()
    with anyio.fail_after(5):
        while not is_gone(worker):
            await anyio.sleep(0.01)
    assert await workers.call("hostile.jobs:echo", {}) == {}


async def sleep(workers, told):
    await workers.call("hostile.jobs:sleep_while_told", {"path": str(told)}, writes=[told])


async def test_no_more_than_its_size_run_at_the_same_time(workers, told):
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(partial(workers.call, "hostile.jobs:take_turns", {"path": str(told)}, writes=[told]))
    depths = list(accumulate(1 if sign == "+" else -1 for sign in told.read_text()))
    assert depths[-1] == 0
    assert max(depths) == 2


async def test_a_hundred_calls_at_the_same_time_are_all_answered(workers):
    answers = []

    async def ask(number):
        answers.append((await workers.call("hostile.jobs:echo", {"number": number}))["number"])

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(ask, number)
    assert sorted(answers) == list(range(100))


async def test_a_helper_process_that_was_killed_is_started_anew(workers):
    before = await workers.call("hostile.jobs:ancestry", {})
    for _ in range(3):
        os.kill(before["parent"], signal.SIGKILL)
        after = await workers.call("hostile.jobs:ancestry", {})
        assert after["parent"] != before["parent"]
        before = after


async def test_what_runs_ends_with_a_helper_process_that_was_killed(workers, told):
    async def hang():
        with pytest.raises(BursarError, match="worker_failed"):
            await sleep(workers, told)

    async with anyio.create_task_group() as group:
        group.start_soon(hang)
        worker, fork_server = await until_told(told)
        os.kill(fork_server, signal.SIGKILL)
    if sys.platform == "linux":
        with anyio.fail_after(5):
            while not is_gone(worker):
                await anyio.sleep(0.01)
    assert await workers.call("hostile.jobs:echo", {}) == {}


@pytest.mark.parametrize(
    ("data", "length"), [("[" * 100_000, 100_000), ("[1]", 3), ("{}", 1 << 31), ("{", 100), ("9" * 5000, 5000)]
)
async def test_an_answer_that_is_none_is_an_error(workers, data, length):
    with pytest.raises(BursarError) as raised:
        await workers.call("hostile.jobs:answer_with", {"data": data, "length": length})
    assert raised.value.code == "worker_failed"


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


async def test_closing_ends_what_runs(workers, told):
    async def hang():
        with pytest.raises(BursarError, match="worker_failed"):
            await sleep(workers, told)

    async with anyio.create_task_group() as group:
        group.start_soon(hang)
        pids = await until_told(told)
        workers.close()
    with anyio.fail_after(5):
        while not all(map(is_gone, pids)):
            await anyio.sleep(0.01)
    with pytest.raises(BursarError, match="worker_failed"):
        await workers.call("hostile.jobs:pid", {})


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_a_server_that_was_ended(told, number):
    script = f"""
import anyio
from bursar.guard.workers import Workers
async def main():
    call = {{"path": {str(told)!r}}}
    workers = Workers(packages=("hostile",))
    await workers.call("hostile.jobs:sleep_while_told", call, writes=[{str(told)!r}], deadline_s=60)
anyio.run(main)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen([sys.executable, "-P", "-c", script], env=environment) as server:
        pids = anyio.run(until_told, told)
        server.send_signal(number)
    deadline = time.monotonic() + 10
    while not all(map(is_gone, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert all(map(is_gone, pids))


async def test_the_working_directory_is_not_imported_from(workers, tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the working directory')")
    monkeypatch.chdir(tmp_path)
    assert await workers.call("hostile.jobs:echo", {}) == {}


async def test_secrets_of_the_environment_stay_outside(workers, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "s3cret")
    assert "s3cret" not in (await workers.call("hostile.jobs:environment", {})).values()


async def test_a_bomb_of_processes_or_threads_is_an_error(workers):
    for job in ("fork_without_end", "start_threads_without_end"):
        with pytest.raises(BursarError) as raised:
            await workers.call(f"hostile.jobs:{job}", {}, memory_bytes=500_000_000)
        assert raised.value.code == "worker_failed"
        assert await workers.call("hostile.jobs:compute_in_threads", {}) == 6


async def test_a_file_grows_no_further_than_its_limit(workers, told):
    with pytest.raises(BursarError, match="worker_failed"):
        await workers.call("hostile.jobs:fill_disk", {"path": str(told)}, writes=[told])
    assert told.stat().st_size == 1 << 30


@pytest.mark.anyio
async def test_workers_that_do_not_start_are_not_blamed_on_the_content(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    async with Workers(packages=("hostile",)) as broken:
        with pytest.raises(BursarError) as caught:
            await broken.call("hostile.jobs:pid", {})
    assert caught.value.code == "worker_failed"
    assert "content" not in caught.value.fix
    assert "Install" in caught.value.fix
