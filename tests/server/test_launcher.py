"""Promises of server/launcher.py that a whole server shows only now and then."""

import os
import signal
import sys

import pytest
from bursar.server import launcher

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only there does a process stand in front")


def test_a_signal_for_a_server_that_has_just_ended_is_no_error():
    """It comes between the server's end and the one of the process in front, which ends as the server did."""
    front = os.fork()
    if front == 0:
        server = os.fork()
        if server == 0:
            os._exit(7)
        waitpid = os.waitpid

        def interrupted(pid, options):
            found = waitpid(pid, options)
            signal.raise_signal(signal.SIGTERM)
            return found

        os.waitpid = interrupted
        released, release = os.pipe()
        os.close(release)
        try:
            launcher._stand_in_front(server, released)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(front, 0)[1]) == 7
