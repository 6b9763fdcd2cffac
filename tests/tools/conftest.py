from pathlib import Path

import pytest
from bursar.guard.workers import Workers
from tool_place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="module")
async def workers(anyio_backend):
    async with Workers(1) as started:
        yield started
