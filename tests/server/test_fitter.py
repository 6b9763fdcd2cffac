"""A reply is made in its time and says the same wherever it is made; without the time for a preview it goes without."""

import json
import os
import sys
import threading

import anyio
import pytest
from bursar.artifacts import Limits, Store
from bursar.budget.ceilings import Ceiling
from bursar.budget.cut import Allowance
from bursar.budget.previews.preview import CaptureFacts, ContentView, Hint, Pointer
from bursar.budget.reply import Draft
from bursar.errors import BursarError
from bursar.guard.fair import shared_by
from bursar.guard.workers import Workers
from bursar.server.fitter import Fitter
from bursar.server.render import view_of

pytestmark = pytest.mark.anyio

ROWS = json.dumps([{"id": n, "state": "ok", "key": f"name{n}"} for n in range(4000)]).encode()
ERRORS = b'{"level":"ERROR","text":"it failed"}\n' * 9000
TABLE = b"id,name,state\n" + b"".join(b"%d,name %d,ok\n" % (n, n) for n in range(9000))
PAGE = b"# Title\n\n" + b"## Part\n\nSome text with [a link](http://a.b/c).\n\n" * 3000
SECRET = b"ghp_" + b"aB3" * 12


@pytest.fixture
async def workers(anyio_backend):
    async with Workers(1) as started:
        yield started


@pytest.fixture
def keep(tmp_path):
    session = (store := Store(tmp_path / "store", Limits())).create("local:me")

    def kept(content, name):
        with session.writer(tool="test", did="kept", label=name) as writer:
            writer.write(content)
        return writer.commit()

    yield kept
    session.close()
    store.close()


def draft(artifact, view):
    size = {"bytes": artifact.size, "lines": artifact.lines}
    return Draft({"artifact": artifact.ref, "path": artifact.path}, artifact.ref, size, view, Allowance(900, 4000))


def drafted(artifact, name):
    return draft(artifact, view_of(artifact, Hint(name)))


@pytest.mark.parametrize("redacts", [False, True])
@pytest.mark.parametrize(("content", "name"), [(ROWS, "x.json"), (ERRORS, "x.jsonl"), (TABLE, "x.csv"), (PAGE, "x.md")])
async def test_a_worker_fits_a_reply_as_the_server_would(workers, keep, content, name, redacts):
    fitter = Fitter(workers, redacts=redacts)
    one = drafted(keep(content, name), name)
    text = (await fitter.fit(one, Ceiling(), 60)).text
    assert workers._processes._forker is not None
    assert "no preview" not in text
    assert text == fitter.at_once(one, Ceiling()).text


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
async def test_what_contents_are_taken_apart_with_is_loaded_ahead_of_the_first(workers):
    await Fitter(workers, redacts=False).warm()
    loaded = await anyio.Path(f"/proc/{workers._processes._forker._process.pid}/maps").read_text()
    assert "/re2/" in loaded


async def test_parts_of_a_reply_are_fitted_together(workers, keep):
    fitter = Fitter(workers, redacts=False)
    both = Draft({"n": 2}, parts=[drafted(keep(ROWS, "x.json"), "x.json"), drafted(keep(b"small\n", "x"), "x")])
    text = (await fitter.fit(both, Ceiling(), 60)).text
    assert text == fitter.at_once(both, Ceiling()).text


async def test_a_worker_shows_no_credential(workers, keep):
    rows = ROWS.replace(b"name7", SECRET)
    text = (await Fitter(workers, redacts=True).fit(drafted(keep(rows, "x.json"), "x.json"), Ceiling(), 60)).text
    assert SECRET.decode() not in text


@pytest.mark.parametrize("name", ["x.json", "x.log"])
async def test_without_the_time_for_a_preview_the_reply_says_so_and_where_everything_is(workers, keep, name):
    artifact = keep(b"[" + b"[1]\n" * 300_000, name)
    reply = (await Fitter(workers, redacts=False).fit(drafted(artifact, name), Ceiling(), 0.0)).value
    assert reply["artifact"] == artifact.ref
    assert reply["path"] == artifact.path
    assert reply["size"]["bytes"] == artifact.size
    assert "no preview: showing it took longer" in reply["note"]
    assert 'bytes="0-4095"' in reply["incomplete"]


async def test_a_worker_that_fails_costs_the_preview_and_not_the_reply(workers, keep, monkeypatch):
    monkeypatch.setattr("bursar.server.fitter._RUN", "bursar.guard.workers.attacks:nothing")
    artifact = keep(ROWS, "x.json")
    reply = (await Fitter(workers, redacts=False).fit(drafted(artifact, "x.json"), Ceiling(), 60)).value
    assert reply["artifact"] == artifact.ref
    assert reply["note"].startswith("no preview: ")


async def test_another_file_under_the_name_of_a_content_is_not_shown(workers, keep, tmp_path, monkeypatch):
    artifact = keep(ROWS, "x.json")
    other = tmp_path / "other"
    other.write_bytes(ROWS.replace(b"name", b"else"))
    call = workers.call

    async def swapped(*arguments, **named):
        os.replace(other, artifact.path)
        return await call(*arguments, **named)

    monkeypatch.setattr(workers, "call", swapped)
    text = (await Fitter(workers, redacts=False).fit(drafted(artifact, "x.json"), Ceiling(), 60)).text
    assert "another file has its name" in text
    assert "else" not in text


async def test_a_content_that_is_gone_is_an_error(workers, keep):
    artifact = keep(ROWS, "x.json")
    os.remove(artifact.path)
    with pytest.raises(BursarError) as refused:
        await Fitter(workers, redacts=False).fit(drafted(artifact, "x.json"), Ceiling(), 60)
    assert refused.value.code == "unknown_artifact"


async def test_contents_that_are_slow_to_read_hold_up_their_own_sharer_until_they_end_and_nobody_else(workers, keep):
    released = threading.Event()

    class Slow:
        size = 5000

        def read(self, offset, length):
            released.wait(30)
            return b"x" * length

    fitter = Fitter(workers, redacts=False)
    slow = Draft({"n": 1}, "ses_x/a1", {"bytes": 5000}, ContentView(Slow(), CaptureFacts(), Hint()))
    with shared_by("ann"):
        for _ in range(3):
            assert "no preview" in (await fitter.fit(slow, Ceiling(), 0.1)).text
    assert fitter._threads.held == 2
    with shared_by("bob"):
        assert (
            "no preview"
            not in (await fitter.fit(drafted(keep(b"small\n" * 999, "x.log"), "x.log"), Ceiling(), 20)).text
        )
    released.set()
    with anyio.fail_after(20):
        while fitter._threads.held:  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def test_a_reply_without_its_preview_keeps_the_note_of_its_tool(workers, keep):
    one = drafted(keep(ROWS, "x.json"), "x.json")
    noted = Draft({**one.entries, "note": "the tool's own words"}, one.reference, one.size, one.view)
    note = (await Fitter(workers, redacts=False).fit(noted, Ceiling(), 0.0)).value["note"]
    assert note.startswith("the tool's own words; no preview: showing it took longer")


async def test_a_heavy_content_goes_to_a_worker_also_beside_what_is_only_pointed_at(workers, keep):
    fitter = Fitter(workers, redacts=False)
    pointer = Draft({"kind": "image"}, "ses_x/a9", {"bytes": 9}, Pointer("look at it"))
    both = Draft({"n": 2}, parts=[drafted(keep(ROWS, "x.json"), "x.json"), pointer])
    text = (await fitter.fit(both, Ceiling(), 60)).text
    assert workers._processes._forker is not None
    assert text == fitter.at_once(both, Ceiling()).text
