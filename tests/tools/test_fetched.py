"""What a session fetched before is known again, without keeping other calls waiting while it is read."""

import threading

import anyio
import pytest
from bursar.artifacts import Limits, Session, Store
from bursar.guard.net.cache import Entry
from bursar.tools.fetched import cache_of


@pytest.fixture
def session(tmp_path):
    store = Store(tmp_path / "store", Limits())
    made = store.create("local:1")
    with made.writer(tool="web_fetch", did="GET", label="page.html") as writer:
        writer.write(b"a page")
        writer.commit(facts=Entry("http://a.test/", "http://a.test/").facts())
    yield store.attach(made.handle, "local:1")
    store.close()


def test_the_records_of_a_session_are_never_read_on_the_event_loop(session, monkeypatch):
    readers = []
    listed = Session.artifacts

    def artifacts(self):
        readers.append(threading.current_thread())
        return listed(self)

    monkeypatch.setattr(Session, "artifacts", artifacts)

    async def fetch():
        async with anyio.create_task_group() as group:
            found = []

            async def one():
                found.append(await cache_of(session))

            for _ in range(3):
                group.start_soon(one)
        return [*found, await cache_of(session)]

    caches = anyio.run(fetch)
    assert len({id(cache) for cache in caches}) == 1
    assert caches[0].get("http://a.test/").artifact.endswith("/a1")
    assert threading.main_thread() not in readers
