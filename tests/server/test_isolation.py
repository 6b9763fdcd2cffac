"""The level is told wherever it matters, and what was asked for is what is served."""

import json
import os
import subprocess
import sys

import anyio
import pytest
from bursar.budget import tokens
from bursar.errors import BursarError
from bursar.guard.sandbox.policy import Isolation
from bursar.guard.sandbox.sandbox import Closed
from bursar.server import confinement
from bursar.server.bootstrap import open_dispatcher
from bursar.server.config import Settings
from bursar.server.schema import INSTRUCTIONS, instructions
from replies import reply_of
from wire import Client, module

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these walls are made of what Linux has")


@pytest.fixture
def options(tmp_path):
    (tmp_path / "work").mkdir()
    return ["--root", str(tmp_path / "work"), "--data-dir", str(tmp_path / "data")]


def bursar(*words, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "bursar", *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | environment,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def told(options):
    """Run a server, and return its instructions, its tools and what it logged."""

    def start(*more):
        client = Client(module(*options, *more), stderr=subprocess.PIPE)
        hello = client.request(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
        )
        client.send("notifications/initialized", notify=True)
        names = [tool["name"] for tool in client.request("tools/list", {})["result"]["tools"]]
        reply, _, _ = client.call("terminal", command="echo here")
        client.close()
        with client.process.stderr as stream:
            events = [json.loads(line) for line in stream.read().splitlines() if line.startswith(b"{")]
        return hello["result"]["instructions"], names, reply, [e for e in events if e["event"] == "isolation"]

    return start


def test_the_level_stands_in_the_log_and_the_instructions(told):
    said, names, reply, (event,) = told()
    assert "terminal" in names
    assert "isolation: kernel" in said
    assert "isolation" not in reply_of(reply)
    assert (event["level"], "seccomp" in event["means"]) == ("kernel", True)


def test_unsafe_says_so_everywhere(told):
    said, _, reply, (event,) = told("--terminal=unsafe")
    assert "isolation: unsafe" in said
    assert reply_of(reply)["isolation"] == event["level"] == "unsafe"


def test_a_terminal_that_is_off_is_not_offered(told):
    said, names, reply, (event,) = told("--terminal=off")
    assert "terminal" not in names
    assert "isolation" not in said
    assert "unknown_tool" in reply
    assert event["level"] == "off"


def test_what_is_told_stays_short():
    for level in ("kernel", "off", "unsafe"):
        isolation = Isolation(level, "namespaces + Landlock 7 + seccomp", own_view=True)
        assert tokens.count(instructions(isolation, ["terminal"], network=False)) <= 150
    assert instructions(None, ["terminal"]) == INSTRUCTIONS


def test_a_model_is_told_where_it_may_write_and_that_there_is_no_network():
    told = instructions(
        Isolation("kernel", "namespaces + Landlock 7 + seccomp", own_view=True), ["terminal"], network=False
    )
    assert told.endswith("write only in the roots and $TMPDIR (/tmp), and have no network.")
    told = instructions(Isolation("kernel", "Landlock 7 + seccomp"), ["terminal"])
    assert told.endswith(" write only in the roots and $TMPDIR.")


def test_less_than_required_is_not_served(options, tmp_path, monkeypatch):
    code, _, err = bursar("call", "terminal", "command=true", *options, "--terminal=required")
    assert code == 0, err
    (tmp_path / "file").touch()
    code, _, err = bursar("serve", *options, "--data-dir", str(tmp_path / "file"), "--terminal=required")
    assert code == 2
    assert "--data-dir" in err

    async def start():
        async with open_dispatcher(Settings(root=(tmp_path,), data_dir=tmp_path / "data", terminal="required")):
            raise AssertionError("it serves")

    monkeypatch.setattr(confinement, "sandbox", lambda settings: Closed(Isolation("off", reason="nothing holds")))
    with pytest.raises(BursarError, match="isolation_required"):
        anyio.run(start)


def test_the_doctor_tells_what_was_tried_and_whether_all_is_well(options, tmp_path):
    code, out, _ = bursar("doctor", *options)
    assert code == 0
    assert out.count("refused") >= 16
    assert "isolation   kernel" in out
    assert out.endswith("all is well\n")
    code, out, _ = bursar("doctor", *options, "--terminal=unsafe")
    assert code == 1
    assert "wanting: " in out


def test_settings_that_contradict_the_walls_are_refused(options, tmp_path):
    for more in ("--terminal=free", "--terminal-net=maybe", "--terminal-write=/nowhere"):
        code, _, err = bursar("call", "terminal", "command=true", *options, more)
        assert (code, "bad_setting" in err) == (2, True), more
    (tmp_path / "data" / "bursar" / "work").mkdir(parents=True)
    code, _, err = bursar("serve", *options, f"--root={tmp_path / 'data' / 'bursar' / 'work'}")
    assert (code, "bad_setting" in err) == (2, True)


def test_the_servers_memory_is_hidden_from_others():
    asked = "import ctypes; print(ctypes.CDLL(None).prctl(3))"
    hidden = f"from bursar.guard.forkserver import capabilities as c; c.hide_memory(); {asked}"
    done = subprocess.run([sys.executable, "-c", hidden], check=True, capture_output=True, text=True)
    assert done.stdout == "0\n"
