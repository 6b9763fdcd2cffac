"""What is done while nobody waits ends no server."""

from types import SimpleNamespace

import anyio
import pytest
from bursar.artifacts import Limits, Store
from bursar.server.background import keep_up, sweep_if_due


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "bursar", Limits())
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
            sessions = SimpleNamespace(let_go=lambda: None)
            fitter = SimpleNamespace(wanted=anyio.Event())
            dispatcher = SimpleNamespace(
                commands=commands, workers=workers, sessions=sessions, store=store, fitter=fitter
            )
            await keep_up(dispatcher, listed)

    anyio.run(main)
    told = capfd.readouterr().err
    assert '"what":"commands.warm"' in told
    assert '"what":"workers.warm"' in told
    assert (store.root / ".swept").exists()


def test_what_replies_are_fitted_with_is_loaded_once_a_content_was_not_small(store, monkeypatch):
    loaded = []
    monkeypatch.setattr("bursar.server.background.tokens.warm", lambda: loaded.append("vocabulary"))
    monkeypatch.setattr("bursar.server.background._WARM_AFTER_S", 0)

    async def nothing(*functions):
        pass

    async def main():
        at_rest, done = anyio.Event(), anyio.Event()

        async def fitter():
            loaded.append("fitter")
            done.set()

        commands = SimpleNamespace(warm=lambda: None, tidy=lambda: None)
        sessions = SimpleNamespace(let_go=at_rest.set)
        dispatcher = SimpleNamespace(
            commands=commands,
            workers=SimpleNamespace(warm=nothing),
            fitter=SimpleNamespace(warm=fitter, wanted=anyio.Event()),
            sessions=sessions,
            store=store,
        )
        listed = anyio.Event()
        listed.set()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep_up, dispatcher, listed)
            with anyio.fail_after(30):
                await at_rest.wait()
                assert not loaded
                dispatcher.fitter.wanted.set()
                await done.wait()
            tasks.cancel_scope.cancel()

    anyio.run(main)
    assert loaded == ["vocabulary", "fitter"]


def test_a_store_that_is_never_swept_says_so_and_what_to_do(store, monkeypatch, capfd):
    monkeypatch.setattr("bursar.artifacts.folder._kind", lambda path: 0x6969)  # NFS
    sweep_if_due(store)
    assert '"event":"never_swept"' in (told := capfd.readouterr().err)
    assert "--data-dir" in told


def test_no_more_than_one_sweep_an_hour_is_made(store):
    sweep_if_due(store)
    marker = store.root / ".swept"
    before = marker.read_text()
    sweep_if_due(store)
    assert marker.read_text() == before
    marker.write_text(f"{float(before.split()[0]) - 7200:014.3f} 0 0\n")
    sweep_if_due(store)
    assert float(marker.read_text().split()[0]) >= float(before.split()[0])
