"""Clients that start a server for every call: a command that was still running goes on, and the next server has it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import Implementation
from replies import reply_of
from test_ends import alive, wait_until
from wire import Client as Raw
from wire import module

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a server is the process that was started")

PER_CALL = ["mcp", "inspector-cli", "mcporter"]
PATIENCE = ("--patience-s", "1")


@pytest.fixture
def options(options):
    """Such clients wait 4 or 25 s; less is waited here."""
    return [*options, *PATIENCE]


async def one_call(options, client, tool, **arguments):
    """Call a tool as such a client does: with a server of its own, started and ended by the SDK."""
    command, *words = module(*options)
    about = Implementation(name=client, version="1")
    async with Client(StdioServerParameters(command=command, args=words), client_info=about) as session:
        result = await session.call_tool(tool, arguments)
    return reply_of(result.content[0].text)


@pytest.fixture
def served(options):
    """Start servers and shake hands with them; whatever is left of them goes in the end."""
    started = []

    def start(client="mcp", **popen):
        raw = Raw(module(*options), **popen)
        started.append(raw)
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}
        raw.request("initialize", about)
        raw.send("notifications/initialized", notify=True)
        return raw

    yield start
    for raw in started:
        raw.process.kill()
        raw.process.wait(10)
        for pipe in filter(None, (raw.process.stdin, raw.process.stdout, raw.process.stderr)):
            pipe.close()


def tree(pid):
    """Return a process and all that it started, the server itself among them."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in tree(int(child)))]


def begun(raw, marker):
    """Have a server run a command that lasts; return the reference of its output."""
    text, is_error, _ = raw.call("terminal", command=f"echo begun; python3 -c 'import time; time.sleep(600)' {marker}")
    assert not is_error
    told = reply_of(text)
    assert told["state"] == "running"
    assert alive(marker)
    return told["artifact"]


def left(raw):
    """Close a server's input; return how long it took to end."""
    raw.process.stdin.close()
    began = time.monotonic()
    assert raw.process.wait(10) == 0
    return time.monotonic() - began


@pytest.mark.anyio
@pytest.mark.parametrize("client", PER_CALL)
async def test_a_command_goes_on_and_the_next_server_finds_it_ended_as_it_ended(options, client):
    told = await one_call(options, client, "terminal", command="echo one; sleep 3; echo two; exit 3")
    assert told["state"] == "running"
    while (found := await one_call(options, client, "read_artifact", artifact=told["artifact"], wait_s=60)).get(
        "state"
    ):
        assert found["state"] == "running"
    assert (found["preview"], found["exit_code"]) == ("one\ntwo\n", 3)
    assert "ended" not in found


def test_the_client_sees_the_server_end_while_the_command_goes_on(served, marker):
    raw = served(stderr=subprocess.PIPE)
    reference = begun(raw, marker)
    assert left(raw) < 2
    assert raw.process.stdout.read() == b""
    raw.process.stderr.read()
    assert alive(marker)
    other = served()
    text, is_error, _ = other.call("terminal", artifact=reference, stop=True)
    assert (is_error, reply_of(text)["ended"]) == (False, "stopped")
    assert wait_until(lambda: not alive(marker))


def test_nothing_is_left_when_the_command_has_ended(served, tmp_path):
    raw = served()
    text, _, _ = raw.call("terminal", command="sleep 2.5")
    assert reply_of(text)["state"] == "running"
    left(raw)
    assert alive(str(tmp_path / "data"))
    assert wait_until(lambda: not alive(str(tmp_path / "data")))


def test_of_a_server_that_was_let_go_only_what_the_command_needs_is_left(served, marker):
    raw = served()
    raw.request("tools/list")

    def parsers():
        return [pid for pid in tree(raw.process.pid) if Path(f"/proc/{pid}/comm").read_text() == "bursar-workers\n"]

    assert wait_until(lambda: len(parsers()) == 1)
    reference, started = begun(raw, marker), parsers()
    left(raw)
    assert wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started))
    assert alive(marker)
    served().call("terminal", artifact=reference, stop=True)
    assert wait_until(lambda: not alive(marker))


def test_a_command_outlives_the_end_of_the_process_group_of_its_server(served, marker):
    raw = served(start_new_session=True)
    reference = begun(raw, marker)
    left(raw)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with pytest.raises(ProcessLookupError):
            os.killpg(raw.process.pid, number)
    assert alive(marker)
    other = served()
    other.call("terminal", artifact=reference, stop=True)
    assert wait_until(lambda: not alive(marker))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_without_the_end_of_input_ends_the_command(served, marker, number):
    raw = served()
    begun(raw, marker)
    raw.process.send_signal(number)
    assert raw.process.wait(10) == (-number if number == signal.SIGKILL else 0)
    assert wait_until(lambda: not alive(marker))


@pytest.mark.parametrize(("client", "calls_before"), [("claude-code", 0), ("codex-mcp-client", 0), ("mcp", 1)])
def test_a_command_ends_with_a_server_that_was_to_stay(served, marker, client, calls_before):
    raw = served(client)
    for _ in range(calls_before):
        raw.call("read_artifact")
    reference = raw.everywhere(begun(raw, marker))
    left(raw)
    assert wait_until(lambda: not alive(marker))
    other = served()
    found = reply_of(other.call("read_artifact", artifact=reference)[0])
    assert found["ended"] == "server ended"
    assert "--patience-s" in found["fix"]
    assert found["preview"] == "begun\n"


def test_the_command_of_a_server_that_was_killed_says_so(served, marker):
    raw = served("claude-code")
    reference = begun(raw, marker)
    raw.process.kill()
    raw.process.wait(10)
    assert wait_until(lambda: not alive(marker))
    other = served()
    found = reply_of(other.call("read_artifact", artifact=reference)[0])
    assert (found["state"], found["ended"]) == ("partial", "server ended")


def test_a_running_command_of_another_server_takes_no_input_and_is_stopped(served, marker):
    staying, other = served("claude-code"), served()
    reference = begun(staying, marker)
    text, is_error, _ = other.call("terminal", artifact=reference, input="x\n")
    assert is_error
    assert text.startswith("input_closed: ")
    text, is_error, _ = other.call("terminal", artifact=reference, stop=True)
    assert (is_error, reply_of(text)["ended"]) == (False, "stopped")
    assert wait_until(lambda: not alive(marker))


def test_a_stop_that_the_other_server_does_not_hear_says_so(served, marker):
    staying, other = served("claude-code"), served()
    reference = begun(staying, marker)
    deaf = tree(staying.process.pid)
    for pid in deaf:
        os.kill(pid, signal.SIGSTOP)
    try:
        text, is_error, _ = other.call("terminal", artifact=reference, stop=True)
    finally:
        for pid in deaf:
            os.kill(pid, signal.SIGCONT)
    assert is_error
    assert text.startswith("not_running: ")
    assert alive(marker)
