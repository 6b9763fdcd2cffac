"""Whoever asks for a lot waits for his own work, whatever the places are for."""

# ruff: noqa: ASYNC110

import threading
from pathlib import Path

import anyio
import pytest
from bursar.errors import BursarError
from bursar.guard import net as network
from bursar.guard.fair import FairQueue, shared_by
from bursar.guard.net.client import Client
from bursar.guard.net.dial import Dialler, Watch
from bursar.guard.net.failures import FetchError
from bursar.guard.net.settings import NetSettings
from bursar.guard.workers import Workers
from loopback import Sink, net_for, page, site, without_end


async def hold(queue, who, log, gate):
    with shared_by(who):
        async with queue.place():
            log.append(who)
            await gate.wait()


def is_empty(queue):
    return not (queue.held or queue._by_sharer or queue._by_part or queue._waiting)


def test_no_sharer_holds_more_than_its_share_however_long_it_has_waited():
    async def scenario():
        queue, log, gate = FairQueue(all=3, each=2), [], anyio.Event()
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(hold, queue, "ann", log, gate)
            await anyio.wait_all_tasks_blocked()
            assert log == ["ann", "ann"]
            tasks.start_soon(hold, queue, "bob", log, gate)
            await anyio.wait_all_tasks_blocked()
            assert log == ["ann", "ann", "bob"]
            gate.set()
        return queue

    assert is_empty(anyio.run(scenario))


def test_who_is_cancelled_while_waiting_leaves_the_queue():
    async def scenario():
        queue, log, gate = FairQueue(all=1, each=1), [], anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hold, queue, "ann", log, gate)
            await anyio.wait_all_tasks_blocked()
            with anyio.move_on_after(0.01):
                await hold(queue, "ann", log, gate)
            assert queue.waiting("ann") == 0
            gate.set()
        return queue

    assert is_empty(anyio.run(scenario))


def test_a_parser_is_left_for_others_when_one_keeps_all_of_its_share_busy(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))

    async def scenario():
        async with Workers(2, patience_s=30, packages=("hostile",)) as workers:
            with shared_by("ann"):
                async with anyio.create_task_group() as tasks:
                    for _ in range(6):
                        tasks.start_soon(endless, workers)
                    while workers.running < 2:
                        await anyio.sleep(0.01)
                    with shared_by("bob"):
                        answer = await workers.call("hostile.jobs:echo", {"a": 1}, within_s=20)
                    running = workers.running
                    tasks.cancel_scope.cancel()
        return answer, running

    async def endless(workers):
        with pytest.raises(BursarError):
            await workers.call("hostile.jobs:loop", {}, deadline_s=60)

    assert anyio.run(scenario) == ({"a": 1}, 2)


def test_names_that_take_long_hold_up_those_of_others_not_at_all_and_their_own_until_they_end():
    released = threading.Event()

    def resolve(host, _port):
        if host.startswith("slow"):
            released.wait(30)
        return ["192.0.2.1"]

    async def scenario():
        queue = Client(NetSettings())._resolving
        dialler = Dialler(NetSettings().allow, resolve, queue, Watch(1000))
        with shared_by("ann"):
            for _ in range(2):  # the second round finds the places of the cancelled first taken
                with anyio.move_on_after(0.1):
                    async with anyio.create_task_group() as tasks:
                        for number in range(20):
                            tasks.start_soon(dialler._look_up, f"slow{number}.example", 80, 60)
        assert 0 < queue.held <= queue.each < queue.all
        assert not queue._waiting
        with shared_by("bob"):
            assert await dialler._look_up("quick.example", 80, 20) == ["192.0.2.1"]
        released.set()
        while queue.held:
            await anyio.sleep(0.01)

    anyio.run(scenario)


def test_fetches_that_take_long_hold_up_those_of_others_not_at_all_and_their_own_within_their_time():
    async def scenario():
        body = without_end(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n", b"x", pause_s=0.05)
        async with site({"/slow": body, "/": page(b"page")}) as there:
            net = net_for(there, limits=network.Limits(total_s=60))
            short = network.Limits(total_s=0.2)
            with shared_by("ann"):
                async with anyio.create_task_group() as tasks:
                    for _ in range(net._fetching.each):
                        tasks.start_soon(net.fetch, there.url("/slow"), Sink())
                    while net._fetching.held < net._fetching.each:
                        await anyio.sleep(0.01)
                    waited = await net.fetch(there.url(), Sink(), limits=short)
                    with shared_by("bob"):
                        answered = await net.fetch(there.url(), Sink(), limits=network.Limits(total_s=20))
                    tasks.cancel_scope.cancel()
            assert is_empty(net._fetching)
        return waited, answered

    waited, answered = anyio.run(scenario)
    assert (waited.failure.stage, waited.failure.code) == ("timeout", "too_slow")
    assert "waiting for other fetches" in waited.failure.message
    assert answered.failure is None


def test_a_name_that_no_thread_can_be_had_for_leaves_its_place_to_the_next(monkeypatch):
    def no_thread(_):
        raise RuntimeError("can't start new thread")

    async def scenario():
        queue = Client(NetSettings())._resolving
        dialler = Dialler(NetSettings().allow, lambda host, port: ["192.0.2.1"], queue, Watch(1000))
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", no_thread)
            with pytest.raises(FetchError) as failed:
                await dialler._look_up("a.example", 80, 20)
        assert failed.value.failure.code == "busy"
        assert is_empty(queue)

    anyio.run(scenario)
