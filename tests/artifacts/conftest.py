import os
import time

import pytest
from bursar.artifacts import Limits, Store


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "data" / "bursar", Limits())
    yield store
    store.close()


@pytest.fixture
def session(store):
    session = store.create("local:me")
    yield session
    session.close()


@pytest.fixture
def stored(session):
    """Stores bytes and returns their artifact."""

    def keep(data, label="x.log"):
        with session.writer(tool="test", did="stored bytes", label=label) as writer:
            for start in range(0, len(data), 100_000):
                writer.write(data[start : start + 100_000])
        return writer.commit()

    return keep


@pytest.fixture
def age():
    """Has a session look as if nobody had used it for so many seconds, under limits that were promised then."""

    def made(session, idle_s, promised=Limits()):  # noqa: B008 - it is frozen
        noted = [f"{time.time() - idle_s:014.3f}", f"{promised.idle_s:014.0f}", f"{promised.total_bytes:019d}"]
        (session.directory / "lock").write_text(" ".join(noted) + "\n")

    return made


@pytest.fixture
def opener():
    return lambda path: os.open(path, os.O_RDONLY)
