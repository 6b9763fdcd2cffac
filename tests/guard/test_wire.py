"""Promises of guard/forkserver/wire.py, over a real pair of sockets."""

import io
import json
import os
import socket
import sys

import pytest
from bursar.guard.forkserver import wire

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows passes no open files")


def test_messages_arrive_whole_however_they_are_cut():
    sent = [{"a": 1}, {}, {"text": "é" * 5000}]
    data = b"".join(map(wire.packed, sent))
    for size in (1, 3, 4096, len(data)):
        inbox = wire.Inbox()
        parts = [data[at : at + size] for at in range(0, len(data), size)]
        assert [message for part in parts for message in inbox.add(part)] == sent


def test_open_files_come_with_their_message():
    ours, theirs = socket.socketpair()
    read, write = os.pipe()
    with ours, theirs:
        wire.send(ours, {"first": 1}, [read])
        wire.send(ours, {"second": "x" * 100_000})
        message, (file,) = wire.receive(theirs)
        os.write(write, b"through")
        assert (message, os.read(file, 10), os.get_inheritable(file)) == ({"first": 1}, b"through", False)
        assert wire.receive(theirs) == ({"second": "x" * 100_000}, [])
    for fd in (read, write, file):
        os.close(fd)


@pytest.mark.parametrize("kept", [0, 2, 7])
def test_of_a_message_that_was_cut_off_no_file_stays_open(kept: int):
    ours, theirs = socket.socketpair()
    before = os.listdir("/dev/fd")
    with theirs:
        with ours:
            if kept:
                socket.send_fds(ours, [wire.packed({"fork": 1})[:kept]], [0, 1])
        with pytest.raises(EOFError):
            wire.receive(theirs)
        assert len(os.listdir("/dev/fd")) == len(before) - 1


def test_a_message_that_is_too_long_is_none():
    body = json.dumps("x" * 100).encode()
    assert wire.read(io.BytesIO(wire.framed(body)), len(body)) == body
    assert wire.read(io.BytesIO(wire.framed(body)), len(body) - 1) is None
    assert wire.read(io.BytesIO(wire.framed(body)[:-1])) is None
