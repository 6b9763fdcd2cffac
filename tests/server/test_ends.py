"""However a client or the server ends, nothing that a call started goes on."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from wire import Client, module

GONE_S = 8
"""A server is gone in two seconds; a busy machine gets more, and what is stuck here is so for ten minutes."""


def alive(marker):
    """Return the processes whose command line carries the marker."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as line:
                if marker.encode() in line.read():
                    found.append(int(name))
        except OSError:
            continue
    return found


def wait_until(condition):
    for _ in range(400):
        if condition():
            return True
        time.sleep(0.025)
    return False


@pytest.fixture
def busy(options, marker):
    """A server with a running command that has children of every kind, its own session included."""
    client = Client(module(*options))
    client.handshake()
    sleeper = f"python3 -c 'import time; time.sleep(600)' {marker}"
    client.send(
        "tools/call",
        {"name": "terminal", "arguments": {"command": f"setsid {sleeper} & nohup {sleeper} & {sleeper}"}},
    )
    assert wait_until(lambda: len(alive(marker)) >= 3)
    yield client
    client.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_to_the_server_ends_its_commands(busy, marker, number):
    busy.process.send_signal(number)
    busy.process.wait(10)
    assert wait_until(lambda: not alive(marker))


def test_a_client_that_closes_its_end_ends_the_commands(busy, marker):
    busy.process.stdin.close()
    busy.process.wait(10)
    assert wait_until(lambda: not alive(marker))


def test_a_cancelled_call_ends_its_commands_and_the_server_goes_on(busy, marker):
    busy.send("notifications/cancelled", {"requestId": busy.last_id, "reason": "enough"}, notify=True)
    assert wait_until(lambda: not alive(marker))
    assert not busy.call("terminal", command="echo on")[1]


def test_a_client_that_stops_reading_and_leaves_does_not_keep_the_server(options, folder):
    (folder / "big.txt").write_text("line of text\n" * 500)
    client = Client(module(*options))
    client.handshake()
    for number in range(60):
        lines = f"{number + 1}-{number + 400}"
        client.send("tools/call", {"name": "read_file", "arguments": {"path": "big.txt", "lines": lines}})
    time.sleep(1)
    client.process.stdin.close()
    client.process.wait(10)
    client.process.stdout.close()


@pytest.mark.parametrize("end", ["SIGTERM", "end of input"])
def test_a_thread_that_nothing_ends_does_not_keep_the_server(options, folder, end):
    client = Client([sys.executable, str(Path(__file__).with_name("stuck.py")), *options])
    client.handshake()
    client.send("tools/call", {"name": "read_file", "arguments": {"path": str(folder / "begun")}})
    assert wait_until((folder / "begun").exists)
    if end == "SIGTERM":
        client.process.terminate()
    else:
        client.process.stdin.close()
    assert client.process.wait(GONE_S) == 0
    client.process.stdin.close()
    client.process.stdout.close()
