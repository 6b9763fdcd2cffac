"""A client that asks for progress is told once a second, in figures that rise and words that say of what."""

import asyncio
import re
import socket
import threading
import time
from contextlib import contextmanager

import anyio
import pytest
from bursar.server import progress
from bursar.server.bootstrap import open_dispatcher
from bursar.server.callers import Client
from bursar.server.config import Settings
from bursar.tools.base import Done, Tool, ToolArgs
from replies import reply_of
from transports import KINDS, connected, told

SLOW = "until [ -e enough ]; do echo a line of output; sleep 0.2; done"


class NoArgs(ToolArgs):
    pass


def tool(work):
    """Make a tool of a coroutine function that gets its call."""

    class Made(Tool[NoArgs]):
        """Made for a test."""

        name = "made"
        Args = NoArgs

        def did(self, args):
            return "made"

        async def run(self, args, call):
            await work(call)
            return Done()

    return Made()


class Listener:
    """A client that is told."""

    def __init__(self):
        self.told = []

    async def __call__(self, done, total=None, message=""):
        self.told.append((done, total, message))

    @property
    def figures(self):
        return [done for done, _, _ in self.told]

    @property
    def words(self):
        return [words for _, _, words in self.told]


@pytest.fixture
def hasty(monkeypatch):
    """Everybody reports much more often than in life, so that short works do too."""
    monkeypatch.setattr("bursar.server.progress.EVERY_S", 0.01)
    monkeypatch.setattr("bursar.tools.progress.LOOK_S", 0.003)
    monkeypatch.setattr("bursar.tools.progress._REPORT_EVERY_S", 0.003)
    monkeypatch.setattr("bursar.artifacts.engines._REPORT_EVERY_S", 0.003)


@pytest.fixture
def call(tmp_path, folder, hasty):
    """Call a tool with a dispatcher of its own; returns its answer and what the client was told meanwhile."""

    def call(tool, tell=None, allow_net=(), **arguments):
        listener = tell or Listener()
        settings = Settings(root=(folder,), data_dir=tmp_path / "data", copy_bytes=1 << 20, allow_net=allow_net)

        async def main():
            async with open_dispatcher(settings) as dispatcher:
                client = Client("test", dispatcher.client("test").ceiling, listener)
                return await dispatcher.answer(tool, arguments, client)

        return anyio.run(main), listener

    return call


@contextmanager
def dribbling(head, pieces, hung_up=None, pause_s=0.02):
    """Run a web server that answers with pieces and pauses between; sets the event when its client hangs up."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                path = peer.recv(65536).split(b" ")[1]
                if path == b"/robots.txt":
                    peer.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    continue
                peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + head + b"\r\n\r\n")
                try:
                    for piece in pieces:
                        peer.sendall(piece)
                        time.sleep(pause_s)
                except OSError:
                    hung_up.set()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


def check(listener, unit):
    """Check that figures rise, stay within their total, and that the words end with the unit."""
    assert listener.told
    assert all(before < after for before, after in zip(listener.figures, listener.figures[1:], strict=False))
    assert all(total is None or done <= total for done, total, _ in listener.told)
    of_unit = [words for words in listener.words if re.fullmatch(rf"[\d,]+( of [\d,]+)? {unit}, \d+ s", words)]
    assert of_unit, listener.words
    return of_unit


@pytest.mark.parametrize("kind", KINDS)
def test_progress_is_told_over_every_transport_and_in_every_era(kind, options, folder):
    listener = Listener()

    async def listen(done, total=None, message=""):
        await listener(done, total, message)
        if len(set(listener.words)) > 1:
            (folder / "enough").touch()

    async def main():
        async with connected(kind, options) as client:
            began = time.monotonic()
            result = await client.call_tool("terminal", {"command": SLOW}, progress_callback=listen)
            assert "exit_code" not in told(result)
            return time.monotonic() - began

    took_s = anyio.run(main)
    check(listener, "bytes of output")
    assert 2 <= len(listener.told) <= took_s / progress.EVERY_S


def test_a_client_that_does_not_ask_is_told_nothing_and_nobody_after_the_answer(client):
    meta = {"_meta": {"progressToken": "p"}}
    for asked in ({}, meta):
        arguments = {"name": "terminal", "arguments": {"command": "sleep 1.2"}}
        number = client.send("tools/call", arguments | asked)
        heard = [client.next()]
        while "id" not in heard[-1]:
            heard.append(client.next())
        assert heard[-1]["id"] == number
        assert [message["method"] for message in heard[:-1]] == ["notifications/progress"] * (len(heard) - 1)
        assert len(heard) == 1 or asked
    ping = client.send("ping")
    assert client.next()["id"] == ping


def test_a_call_that_is_answered_at_once_tells_nothing(call, folder):
    (folder / "note.txt").write_text("hello\n")
    _, listener = call("read_file", path="note.txt")
    assert len(listener.told) <= 1


def test_figures_rise_whatever_a_tool_reports(call):
    async def work(call):
        for report in [(50, 100, "apples"), (100, 100, "apples"), (3, 60, "pears"), (60, 60, "pears"), (1, None, "")]:
            await call.progress(*report)
            await asyncio.sleep(0.1)

    _, listener = call(tool(work))
    check(listener, "apples")
    check(listener, "pears")
    assert max(listener.figures) > 160
    assert re.fullmatch(r"\d+ s", listener.words[-1])


def test_a_tool_that_reports_nothing_is_known_to_be_alive(call):
    async def work(call):
        await asyncio.sleep(0.2)

    answer, listener = call(tool(work))
    assert not answer.is_error
    assert len(listener.told) > 2
    assert listener.figures == sorted(set(listener.figures))


def test_a_client_that_cannot_be_told_gets_its_answer_all_the_same(call):
    heard = []

    async def broken(done, total=None, message=""):
        heard.append(done)
        raise anyio.BrokenResourceError

    async def work(call):
        await asyncio.sleep(0.2)

    answer, _ = call(tool(work), tell=broken)
    assert not answer.is_error
    assert len(heard) == 1


def test_a_client_that_does_not_listen_holds_nothing_up(call):
    async def deaf(done, total=None, message=""):
        await anyio.sleep_forever()

    async def work(call):
        for number in range(20):
            await call.progress(number, None, "apples")
            await asyncio.sleep(0.01)

    answer, _ = call(tool(work), tell=deaf)
    assert not answer.is_error


def test_reading_a_file_counts_the_bytes(call, folder):
    (folder / "old.txt").write_bytes("ä line in an old encoding\n".encode("latin-1") * 1_000_000)
    _, listener = call("read_file", path="old.txt")
    check(listener, "bytes read")


def test_finding_a_line_counts_the_bytes(call, folder):
    with open(folder / "big.txt", "wb") as file:
        file.truncate(300 << 20)
    _, listener = call("read_file", path="big.txt", lines="2-3")
    check(listener, "bytes scanned")


def test_a_search_counts_the_bytes(call, folder):
    with open(folder / "big.txt", "wb") as file:
        file.writelines((b"x" * 99 + b"\n") * 100_000 for _ in range(20))
    artifact = reply_of(call("read_file", path="big.txt", bytes="0-10")[0].text)["artifact"]
    answer, listener = call("read_artifact", artifact=artifact, grep="needle")
    assert reply_of(answer.text)["matches"] == 0
    words = check(listener, "bytes searched")
    assert all(" of 200,000,000 " in one for one in words)


def test_a_tree_counts_the_entries(call, folder):
    for outer in range(60):
        (folder / f"{outer}").mkdir()
        for inner in range(100):
            (folder / f"{outer}" / f"{inner}").touch()
    _, listener = call("directory_tree", depth=3)
    check(listener, "entries seen")


def test_fetching_counts_the_bytes(call):
    with dribbling(b"Content-Type: text/plain", [b"word " * 100] * 10) as address:
        answer, listener = call("web_fetch", allow_net=(address,), url=f"http://{address}/page")
        assert not answer.is_error, answer.text
    words = check(listener, "bytes received")
    assert len({one.partition(" ")[0] for one in words}) > 2


def test_fetching_several_counts_the_addresses(call):
    with dribbling(b"Content-Type: text/plain", [b"word " * 100] * 4) as address:
        _, listener = call("web_fetch", allow_net=(address,), url=[f"http://{address}/{n}" for n in range(4)])
    assert all(" of 4 " in one for one in check(listener, "addresses fetched"))


def test_downloading_an_image_counts_the_bytes(call):
    pixel = (
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDAT"
        b"x\x9cc`\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB`\x82"
    )
    with dribbling(b"Content-Type: image/png", [pixel[at : at + 7] for at in range(0, len(pixel), 7)]) as address:
        answer, listener = call("download_image", allow_net=(address,), url=f"http://{address}/dot.png")
        assert reply_of(answer.text)["status"] == "ok", answer.text
    check(listener, "bytes received")


def test_writing_a_pdf_counts_the_percent(call):
    _, listener = call("write_pdf", content="text **bold** `code`\n\n" * 3000)
    assert all(" of 100 " in one for one in check(listener, "% of the PDF written"))
