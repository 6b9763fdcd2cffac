"""Promises for when somebody outside replaces what commands see, or what they are kept from, while a session runs."""

# ruff: noqa: ASYNC110, ASYNC240
# These tests own their event loop: nothing else waits for it.

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import anyio
import pytest
from bursar.errors import BursarError
from bursar.guard.command import Command
from bursar.guard.commands import Commands
from means import kept_in_by
from sandboxed import MEANS, Ground, ground

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="these walls are made of what Linux has"),
]

VIEWS = (
    *MEANS,
    pytest.param("namespaces", marks=pytest.mark.needs("namespaces")),
)


@pytest.fixture
def place() -> Iterator[Ground]:
    with ground() as made:
        yield made


@pytest.fixture(params=VIEWS)
def means(request: pytest.FixtureRequest) -> Iterator[str]:
    with kept_in_by(request.param):
        yield request.param


async def begun(place: Ground, commands: Commands, text: str, output: Path) -> Command:
    """Start a command that goes on, once it has said that it has begun."""
    fd = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    command = await commands.start(
        ["/bin/bash", "-c", f"echo begun; {text}"], cwd=place.work, output=fd, session=place.own
    )
    os.close(fd)
    with anyio.fail_after(30):
        while "begun" not in output.read_text():
            await anyio.sleep(0.01)
    return command


@pytest.mark.parametrize("where", ["work", "beside"])
async def test_a_hidden_file_that_is_saved_anew_is_hidden_from_the_next_command(place: Ground, means: str, where: str):
    (place.base / "beside").mkdir()
    tokens = place.base / where / "tokens"
    tokens.write_text(place.secret)
    commands = place.commands(hidden=(tokens,))
    read = f"cat {tokens}; echo changed >> {tokens}; true"
    assert place.secret not in (await place.run(commands, read))[1]
    saved = tokens.with_name("tokens.new")
    saved.write_text(place.secret)
    saved.rename(tokens)
    assert place.secret not in (await place.run(commands, read))[1]
    assert tokens.read_text() == place.secret
    commands.close()


@pytest.mark.parametrize("how", ["removed", "renamed", "renamed above"])
async def test_a_running_command_does_not_see_the_store_that_another_server_makes_in_its_place(
    place: Ground, means: str, how: str
):
    store = place.work / "data" / "bursar"
    own = store / "aaaaaaaaaaaa"
    own.mkdir(parents=True)
    place.own = own
    commands = place.commands(store=store)
    output = place.base / "output"
    command = await begun(place, commands, f"while :; do cat {store}/*/*.log; sleep 0.01; done 2>/dev/null", output)
    if how == "removed":
        shutil.rmtree(store)
    else:
        moved = store if how == "renamed" else store.parent
        moved.rename(moved.with_name("moved"))
    if means != "Landlock alone":
        assert await command.wait(10) is not None
    other = store / "bbbbbbbbbbbb"
    other.mkdir(parents=True)
    (other / "a1-terminal.log").write_text(place.secret)
    own.mkdir()
    # Where there is no view, the session has lost its directory for temporary files.
    lost = pytest.raises(BursarError, match="not_isolated") if means == "Landlock alone" else nullcontext()
    with lost:
        assert place.secret not in (await place.run(commands, f"cat {store}/*/*.log"))[1]
    assert await command.kill(0) is not None
    assert place.secret not in output.read_text()
    commands.close()


@pytest.mark.parametrize("how", ["removed", "renamed"])
async def test_a_workspace_that_is_made_anew_can_be_written_and_what_runs_elsewhere_goes_on(
    place: Ground, means: str, how: str
):
    project = place.base / "project"
    project.mkdir()
    commands = place.commands(roots=(place.work, project))
    command = await begun(place, commands, "sleep 600", place.base / "output")
    assert (await place.run(commands, f"touch {project}/first"))[0].code == 0
    if how == "removed":
        shutil.rmtree(project)
    else:
        project.rename(place.base / "away")
    project.mkdir()
    done, said = await place.run(commands, f"touch {project}/second")
    assert (done.code, said, os.listdir(project)) == (0, "", ["second"])
    assert command.exit is None
    assert (await command.kill(0)).ended == "stopped"
    commands.close()


async def test_a_root_that_is_gone_is_named(place: Ground, means: str):
    commands = place.commands(roots=(place.work, place.base / "project"))
    (place.base / "project").mkdir()
    assert (await place.run(commands, "true"))[0].code == 0
    (place.base / "project").rmdir()
    with pytest.raises(BursarError) as refused:
        await place.run(commands, "true")
    assert refused.value.code == "not_isolated"
    commands.close()
