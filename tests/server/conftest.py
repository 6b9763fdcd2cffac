import uuid

import pytest
from wire import server as running


@pytest.fixture
def folder(tmp_path):
    """A workspace of its own."""
    place = tmp_path / "workspace"
    place.mkdir()
    return place


@pytest.fixture
def options(tmp_path, folder):
    return ["--root", str(folder), "--data-dir", str(tmp_path / "data")]


@pytest.fixture
def marker():
    """A word that only the command lines of one test carry."""
    return f"marker-{uuid.uuid4().hex}"


@pytest.fixture
def client(options):
    """A real server process, past its handshake."""
    with running(*options) as client:
        yield client
