"""A raw JSON-RPC client over pipes, so that what is measured is the server and not a client library."""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Client:
    """One server process and the requests sent to it."""

    def __init__(self, command, stderr=subprocess.DEVNULL, **options):
        # Otherwise the server would be compiled anew at every start, and only its libraries not.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        options = {"env": environment} | options
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, **options
        )
        self.last_id = 0
        self.session = self.directory = ""

    def send(self, method, params=None, notify=False):
        message = {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})
        if not notify:
            self.last_id += 1
            message["id"] = self.last_id
        self.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
        return self.last_id

    def write(self, frame):
        self.process.stdin.write(frame)
        self.process.stdin.flush()

    def next(self):
        line = self.process.stdout.readline()
        if not line:
            raise EOFError("the server is gone")
        return json.loads(line)

    def receive(self, wanted):
        while (message := self.next()).get("id") != wanted:
            pass
        return message

    def request(self, method, params=None):
        return self.receive(self.send(method, params))

    def handshake(self):
        """Begin, without a request for the tools: after that a server warms up for calls that may come."""
        self.request("initialize", INITIALIZE)
        self.send("notifications/initialized", notify=True)

    def tools(self):
        return self.request("tools/list", {})["result"]["tools"]

    def call(self, tool, /, **arguments):
        """Return (reply text, is_error, seconds)."""
        started = time.perf_counter()
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        took = time.perf_counter() - started
        if "error" in answer:
            return answer["error"]["message"], True, took
        text = answer["result"]["content"][0]["text"]
        if not self.session and (found := re.search(r"ses_\w{22}", text)):
            self.session = found[0]
        if not self.directory and (found := re.search(r'"dir":"([^"]+)"', text)):
            self.directory = found[1]
        return text, answer["result"].get("isError", False), took

    def artifact_of(self, text):
        """Return the name of what a call stored last; a short content that is shown whole is not named in the reply."""
        found = re.search(r'^{"artifact":"([^"]+)"', text)
        return found[1] if found else re.search(r"^a\d+", self.call("read_artifact", lines="1")[0], re.MULTILINE)[0]

    def everywhere(self, artifact):
        """Return the name by which any process of the user can read an artifact: the handle is told once."""
        return artifact if "/" in artifact else f"{self.session}/{artifact}"

    @property
    def server(self):
        """Process id of the server itself: on Linux bursar runs behind the process that was started."""
        pid = self.process.pid
        with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/task/{pid}/children") as children:
            words, below = line.read(), children.read().split()
        if b"bursar" not in words or b"--http" in words:
            return pid
        return int(below[0])

    def memory(self, field="VmRSS"):
        """Return a figure of /proc/PID/status in MiB."""
        with open(f"/proc/{self.server}/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith(field))

    def cpu_s(self):
        """Return the seconds of processor time that the server itself has used."""
        with open(f"/proc/{self.server}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def forget_peak(self):
        """Make the peak (VmHWM) start anew from the present size, and return that in MiB."""
        with open(f"/proc/{self.server}/clear_refs", "w") as control:
            control.write("5")
        return self.memory()

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()

    def kill(self):
        self.process.kill()
        self.close()


def module(*options):
    """Return the command that runs bursar from this interpreter's environment."""
    return [sys.executable, "-m", "bursar", *options]


@contextmanager
def server(*options, **popen):
    """Run bursar past its handshake."""
    client = Client(module(*options), **popen)
    try:
        client.handshake()
        yield client
    finally:
        client.close()
