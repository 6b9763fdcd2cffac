"""Killable processes for parsing hostile input: a call is answered in time, or its process dies."""

import contextlib
import json
import math
import re
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Any, Self, cast

import anyio
import anyio.to_thread

from ..errors import BursarError
from .environment import helper_environment

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""What JSON can say."""

_NAME = re.compile(r"(?P<package>[a-z][a-z0-9_]*)(\.[a-z_][a-z0-9_]*)+:[a-z][a-z0-9_]*", re.ASCII)
_MAX_REQUEST_BYTES = 1 << 20
_MAX_REPLY_BYTES = 4 << 20
_MAX_CALLS_PER_PROCESS = 500
_ENVIRONMENT = (
    *("HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "TMP"),
    *("SYSTEMROOT", "USERPROFILE", "LOCALAPPDATA", "PYTHONPATH", "PYTHONHOME"),
)


class Workers:
    """A few warm Python processes that run functions of this package on input nobody trusts.

    Bulk content passes through files whose paths the caller chose; arguments and results are JSON (never pickle), at
    most 1 MiB and 4 MiB. A process starts with the first call that needs it (some 50 ms), stays warm with what it has
    imported, and is killed and replaced when a call runs over its deadline, is cancelled, or crashes it.

    On Linux and macOS a process limits its own memory and processor time; on Linux it also dies with the server, even
    in the middle of a call. On macOS a call that is running when the server is killed ends with its processor time. On
    Windows only the deadline holds: there is no limit of memory.
    """

    def __init__(self, size: int = 2, *, patience_s: float = 30.0, packages: Sequence[str] = ("bursar",)) -> None:
        """Prepare, but start nothing.

        Args:
            size: calls that run at the same time; further ones wait.
            patience_s: seconds that a call waits for a free process before it is refused as `busy`.
            packages: the only packages whose functions may be named.
        """
        self._slots = anyio.CapacityLimiter(size)
        self._threads = anyio.CapacityLimiter(size + 2)
        self._patience_s = patience_s
        self._packages = tuple(packages)
        self._idle: list[_Process] = []
        self._busy: set[_Process] = set()
        self._closed = False

    async def call(
        self,
        function: str,
        args: Mapping[str, Any],
        *,
        deadline_s: float = 8.0,
        memory_bytes: int = 1_500_000_000,
        within_s: float = math.inf,
    ) -> Json:
        """Run `function(**args)` in a worker process and return its JSON result.

        Args:
            function: such as `bursar.tools.images:inspect`; a public function of this package.
            args: keyword arguments, as JSON has them.
            deadline_s: seconds of running, start of the process included, waiting for a free one not.
            memory_bytes: address space of the process (Linux, macOS).
            within_s: seconds for all of it, waiting for a free process included.

        Raises:
            BursarError: as the function raised it; else `too_slow`, `too_large` (out of memory), `worker_failed`
                (crash, or any other exception) or `busy`.
        """
        request = self._request(function, args, deadline_s, memory_bytes)
        ends_at = anyio.current_time() + within_s
        with anyio.move_on_after(max(0.0, min(self._patience_s, within_s))) as waiting:
            await self._slots.acquire()
        if waiting.cancelled_caught:
            raise BursarError("busy", "every worker process is busy with other content", "Try again in a moment")
        try:
            left_s = max(0.0, ends_at - anyio.current_time())
            return _result(await self._answer(request, function, min(deadline_s, left_s)))
        finally:
            self._slots.release()

    async def warm(self, *functions: str) -> None:
        """Start one process and import the modules of `functions` in it, ahead of the first call."""
        await self.call("bursar.guard.worker:warm", {"modules": [function.partition(":")[0] for function in functions]})

    def close(self) -> None:
        """Kill every process; a call that is running fails with `worker_failed`."""
        self._closed = True
        for process in [*self._idle, *self._busy]:
            process.kill()
        for process in self._idle:
            process.reap()
        self._idle.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _request(self, function: str, args: Mapping[str, Any], deadline_s: float, memory_bytes: int) -> bytes:
        named = _NAME.fullmatch(function)
        if named is None or named["package"] not in self._packages:
            raise ValueError(f"not a public function of {', '.join(self._packages)}: {function!r}")
        message = {"call": function, "args": dict(args), "cpu_s": deadline_s, "memory_bytes": memory_bytes}
        request = json.dumps(message).encode()
        if len(request) > _MAX_REQUEST_BYTES:
            raise ValueError("arguments of a worker are small; pass content through a file")
        return len(request).to_bytes(4, "big") + request

    async def _answer(self, request: bytes, function: str, deadline_s: float) -> dict[str, Any]:
        process = self._take()
        answer: dict[str, Any] | None = None
        try:
            with anyio.move_on_after(deadline_s) as scope:
                answer = await anyio.to_thread.run_sync(
                    process.ask, request, abandon_on_cancel=True, limiter=self._threads
                )
        finally:
            self._busy.discard(process)
            if answer is None or not self._keep(process):
                process.retire()
        if scope.cancelled_caught:
            raise BursarError(
                "too_slow",
                f"{_work(function)} took longer than {deadline_s:.3g} s and was stopped",
                "The content is kept as received; read it with read_artifact",
            )
        if answer is None:
            raise BursarError(
                "worker_failed",
                f"the process for {_work(function)} {process.epitaph()}",
                "The content is probably damaged or hostile; it is kept as received",
            )
        return answer

    def _take(self) -> "_Process":
        if self._closed:
            raise BursarError("worker_failed", "the server is shutting down", "Try again when it is back")
        while self._idle:
            process = self._idle.pop()
            if process.alive():
                break
            process.reap()
        else:
            # On the loop's own thread, and not in a passing one: Linux ends a child that asked to die with its parent
            # when the *thread* that started it ends. It costs some 3 ms, once per process.
            process = _start(self._packages)
        self._busy.add(process)
        return process

    def _keep(self, process: "_Process") -> bool:
        if self._closed or process.calls >= _MAX_CALLS_PER_PROCESS or process.spent:
            return False
        self._idle.append(process)
        return True


@dataclass(slots=True, eq=False)
class _Process:
    """One worker process and its two pipes; asked by one thread at a time, killed by any."""

    popen: "subprocess.Popen[bytes]"
    requests: IO[bytes]
    replies: IO[bytes]
    calls: int = 0
    spent: bool = False
    reaping: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, request: bytes) -> dict[str, Any] | None:
        """Send a request and wait for its answer; None when the process ended instead. Blocks."""
        self.calls += 1
        try:
            self.requests.write(request)
            self.requests.flush()
            answer = self._receive()
        except (OSError, ValueError):
            answer = None
        if answer is None:
            self.kill()
            self.reap()
        return answer

    def _receive(self) -> dict[str, Any] | None:
        head = self.replies.read(4)
        if len(head) < 4:
            return None
        length = int.from_bytes(head, "big")
        if length > _MAX_REPLY_BYTES:
            return None
        body = self.replies.read(length)
        answer: object = json.loads(body) if len(body) == length else None
        if not isinstance(answer, dict):
            return None
        told = cast("dict[str, Any]", answer)
        self.spent = bool(told.get("spent"))
        return told

    def alive(self) -> bool:
        return self.popen.poll() is None

    def kill(self) -> None:
        """End the process at once; a thread that waits for its answer sees the end of the pipe, and reaps it."""
        self.popen.kill()

    def retire(self) -> None:
        """End the process, and see it gone without waiting here."""
        self.kill()
        threading.Thread(target=self.reap, name="bursar-reap", daemon=True).start()

    def reap(self) -> None:
        """Wait for the end of the process and close the pipes. Blocks for as long as the kernel needs."""
        with self.reaping:
            self.popen.wait()
            _close(self.requests)
            _close(self.replies)

    def epitaph(self) -> str:
        """Say how the process ended, in a few words."""
        status = self.popen.returncode
        if status is None:
            return "was stopped"
        return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"


def _close(pipe: IO[bytes]) -> None:
    # A broken pipe still held a request that nobody will read.
    with contextlib.suppress(OSError):
        pipe.close()


def _start(packages: Sequence[str]) -> _Process:
    environment = helper_environment(_ENVIRONMENT)
    # Fewer heaps, each of which would count 64 MiB of address space against the limit.
    environment |= {"MALLOC_ARENA_MAX": "2", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    popen = subprocess.Popen(
        # -P: the working directory belongs to the user's project and must not be imported from.
        [sys.executable, "-P", "-m", "bursar.guard.worker", *packages],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        # The user's Ctrl-C is for the server, which ends its workers itself.
        creationflags=subprocess.CREATE_NEW_PROCESS_GROUP if sys.platform == "win32" else 0,
        start_new_session=True,
    )
    return _Process(popen, cast("IO[bytes]", popen.stdin), cast("IO[bytes]", popen.stdout))


def _work(function: str) -> str:
    return function.rpartition(":")[2].replace("_", " ")


def _result(answer: dict[str, Any]) -> Json:
    if "result" in answer:
        return answer["result"]
    told = answer.get("error")
    error = cast("dict[str, Any]", told) if isinstance(told, dict) else {}
    code, message, fix = (str(error.get(key, ""))[:500] for key in ("code", "message", "fix"))
    if not re.fullmatch(r"[a-z][a-z0-9_]{1,60}", code):
        code, message, fix = "worker_failed", "the worker process gave no proper answer", "The content is kept as is"
    raise BursarError(code, message, fix)
