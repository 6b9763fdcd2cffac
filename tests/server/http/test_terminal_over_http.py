"""The terminal over HTTP: only where its commands are kept away from the sessions of others."""

import anyio
import pytest
from bursar.guard.sandbox.policy import Isolation
from bursar.guard.sandbox.sandbox import Closed
from bursar.server import confinement
from bursar.server.bootstrap import open_dispatcher
from bursar.server.config import Settings
from bursar.server.session_resolver import HttpSessions
from over_http import served, told


@pytest.mark.parametrize("mode", ["off", "unsafe"])
def test_it_is_switched_off_and_forced_on_for_every_client(root, tmp_path, mode):
    with served("--no-auth", "--terminal", mode, root=root, data=tmp_path) as running:
        assert f'"event":"isolation","level":"{mode}"' in running.notes
        users = [running.user().modern, running.user().handshake().request]
        offered = [{tool["name"] for tool in told(user("tools/list"))["result"]["tools"]} for user in users]
        assert ["terminal" in names for names in offered] == [mode == "unsafe"] * 2


def test_it_is_not_offered_where_nothing_keeps_commands_in(root, tmp_path, monkeypatch, capsys):
    async def start(sessions):
        async with open_dispatcher(Settings(root=(root,), data_dir=tmp_path), sessions) as dispatcher:
            return set(dispatcher.tools)

    assert "terminal" in anyio.run(start, HttpSessions)
    broken = Isolation("off", reason="no kernel keeps them in", fix="Get another kernel")
    monkeypatch.setattr(confinement, "sandbox", lambda settings: Closed(broken))
    assert "terminal" in anyio.run(start, None)
    offered = anyio.run(start, HttpSessions)
    assert "not offered: no kernel keeps them in. Get another kernel" in capsys.readouterr().err
    assert "terminal" not in offered
    assert "read_artifact" in offered


def test_its_commands_reach_neither_the_servers_secrets_nor_the_session_of_another(two):
    running, ann, bob = two
    owner, other = running.user(ann), running.user(bob)
    before = set(running.data.rglob("a1-note.txt"))
    reply = owner.done("read_file", path="note.txt")
    (content,) = set(running.data.rglob("a1-note.txt")) - before
    for place in (content, running.data / "bursar" / ".server" / "key", content.parent / "owner.json"):
        seen = other.done("terminal", command=f"cat {place}; head -c 100 /proc/$PPID/environ")
        assert "the note" not in seen["preview"]
        assert seen["exit_code"] != 0
    assert "isolation" not in seen
    read = owner.done("terminal", session=reply["artifact"].partition("/")[0], command=f"cat {content}")
    assert read["preview"] == "the note\n"
