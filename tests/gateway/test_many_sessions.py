"""Over HTTP each session has servers of its own behind it, and none of them outlives it or the server."""

import json
import os
import secrets
import signal
import sys
import time

import marked
import pytest
from behind import entry
from peers import Peer
from replies import reply_of
from serving import serving


@pytest.fixture
def peers():
    """Return what makes those who call, and lets go of their connections."""
    made = []

    def make(address):
        made.append(Peer(address))
        return made[-1]

    yield make
    for peer in made:
        peer.http.close()


@pytest.fixture
def own():
    """What the entry of the server behind says besides."""
    return {}


@pytest.fixture
def served(tmp_path, own):
    """Run bursar over HTTP with a server behind it; yield its address, and a mark of that server's processes."""
    mark = secrets.token_hex(16)
    (tmp_path / "root").mkdir()
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"stub": entry(env={"MARK": mark}, bursar={"show": "compact", **own})}}))
    places = ["--root", tmp_path / "root", "--data-dir", tmp_path / "data", "--mcp", file]
    command = [sys.executable, "-m", "bursar", "serve", "--http", "127.0.0.1:0", "--no-auth", *places]
    with serving(command) as address:
        yield address, mark
    assert not held(mark, within_s=10)


def held(mark, within_s=0.0):
    """Return the processes of the server behind, once they have had so long to go."""
    until = time.monotonic() + within_s
    while (found := marked.holding(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def count(peer, **more):
    return reply_of(peer.call("call_tool", arguments={}, tool="stub.count", **more)[0])


def test_two_sessions_never_share_a_server(served, peers):
    address, mark = served
    ann, bob = peers(address).handshake(), peers(address).handshake()
    assert [count(ann)["preview"] for _ in range(3)] == ["1", "2", "3"]
    assert count(bob)["preview"] == "1"
    assert count(ann)["preview"] == "4"
    assert len(held(mark)) == 2
    new = peers(address)
    first = count(new)
    handle = first["artifact"].partition("/")[0]
    assert first["preview"] == "1"
    assert count(new, session=handle)["preview"] == "2"
    assert count(new)["preview"] == "1"


@pytest.mark.parametrize("own", [{"share": True}])
def test_sessions_of_one_owner_share_a_server_if_its_entry_says_so(served, peers):
    address, mark = served
    assert count(peers(address).handshake())["preview"] == "1"
    assert count(peers(address).handshake())["preview"] == "2"
    assert len(held(mark)) == 1


def test_a_server_behind_that_is_killed_is_started_anew(served, peers):
    address, mark = served
    ann = peers(address).handshake()
    count(ann)
    for process in held(mark):
        os.kill(process, signal.SIGKILL)
    time.sleep(0.5)
    found = count(ann)
    assert found["preview"] == "1"
    assert "what it remembered is gone" in found["note"]
