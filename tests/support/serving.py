"""A server over HTTP as a process of its own: started, found at the address that it names, and ended."""

import os
import re
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

_NAMED = re.compile(r"http://\S+")
_START_MAX_S = 60


@contextmanager
def serving(command):
    """Run a command that names its address on standard error; yield the address.

    Raises:
        RuntimeError: it ended, or named none in time.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.NamedTemporaryFile("w+b", suffix=".log") as log:
        server = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
        )
        try:
            yield _address(server, Path(log.name))
        finally:
            server.terminate()
            server.wait(30)


def _address(server, log):
    deadline = time.monotonic() + _START_MAX_S
    while time.monotonic() < deadline:
        text = log.read_text("utf-8", "replace")
        if named := _NAMED.search(text):
            return named[0]
        if server.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"no server: {log.read_text('utf-8', 'replace')[-2000:]}")
