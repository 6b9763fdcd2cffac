"""What is done while nobody waits ends no server."""

import os
from types import SimpleNamespace

import anyio
import pytest
from bursar.artifacts import Store
from bursar.server.upkeep import keep_up, sweep_if_due


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "bursar")
    store.create("local:test").close()
    yield store
    store.close()


def test_a_fault_in_it_is_logged_and_the_rest_goes_on(store, capfd):
    def broken():
        raise ValueError("unforeseen")

    async def unreachable(*functions):
        raise OSError("no process can be started")

    async def main():
        listed = anyio.Event()
        listed.set()
        with anyio.move_on_after(4):
            commands = SimpleNamespace(warm=broken, tidy=lambda: None)
            workers = SimpleNamespace(warm=unreachable)
            await keep_up(SimpleNamespace(commands=commands, workers=workers, store=store), listed)

    anyio.run(main)
    told = capfd.readouterr().err
    assert '"what":"commands.warm"' in told
    assert '"what":"workers.warm"' in told
    assert (store.root / ".swept").exists()


def test_no_more_than_one_sweep_an_hour_is_made(store):
    sweep_if_due(store)
    marker = store.root / ".swept"
    os.utime(marker, (marker.stat().st_atime, marker.stat().st_mtime - 60))
    before = marker.stat().st_mtime
    sweep_if_due(store)
    assert marker.stat().st_mtime == before
    os.utime(marker, (before, before - 7200))
    sweep_if_due(store)
    assert marker.stat().st_mtime > before
