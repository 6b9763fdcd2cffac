"""Killable, confined processes for parsing hostile input: a call is answered in time, or its process dies."""

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, cast

import anyio

from ...errors import BursarError
from ..fair import FairQueue
from ..forkserver.wire import framed
from .answers import EndedError

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""What JSON can say."""

_NAME = re.compile(r"(?P<package>[a-z][a-z0-9_]*)(\.[a-z_][a-z0-9_]*)+:[a-z][a-z0-9_]*", re.ASCII)
_TRIAL = "bursar.guard.workers.attacks:attack"
_MAX_REQUEST_BYTES = 1 << 20
_START_S = 10.0
"""A process may take so long to start: on a machine that is busy that is no fault of the content."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """How well workers are kept in.

    Attributes:
        attacks: each that a worker tried on the server and on a file it was not given, and what came of it: `held`,
            or what went wrong. Empty where nothing confines them.
    """

    attacks: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def holds(self) -> bool:
        """Whether every attack failed."""
        return bool(self.attacks) and set(self.attacks.values()) == {"held"}

    def line(self) -> str:
        """Say it in one line."""
        if self.holds:
            return "confined by the kernel, a process for each call"
        if not self.attacks:
            return "not confined: this system has no means for it that bursar knows; deadlines hold"
        broken = ", ".join(name for name, outcome in self.attacks.items() if outcome != "held")
        return f"not confined well: these attacks succeed: {broken}; deadlines and limits hold"


class _Processes(Protocol):
    async def warm(self, module: str) -> None: ...

    async def ask(self, module: str, request: bytes, begun: Callable[[], None]) -> dict[str, Any]: ...

    def close(self) -> None: ...


class Workers:
    """Runs functions of this package in processes that hold nothing, on input nobody trusts.

    Bulk content passes through files whose paths the caller chose; arguments and results are JSON (never pickle), at
    most 1 MiB and 4 MiB.

    Linux, macOS: each call has a process of its own, forked from one that has imported what is needed and has seen no
    content, so that nothing of a call is left for the next. It limits its memory, processor time and files. On Linux it
    then confines itself: it can read Python, the system's libraries and fonts, and the files of its call; write the
    files it was given to write; and has no sockets, no programs, no further processes and no signals. Where the kernel
    lacks the means it runs all the same, with what there is; `confinement` tells.

    Windows: processes go on from call to call, and only the deadline holds.
    """

    def __init__(
        self,
        size: int = 0,
        *,
        patience_s: float = 30.0,
        packages: Sequence[str] = ("bursar",),
        hidden: Iterable[Path] = (),
    ) -> None:
        """Prepare, but start nothing.

        Args:
            size: calls of one sharer that run at the same time; further ones wait for their turn, and one process more
                is kept for the others. Default: one per processor, 2 to 4.
            patience_s: seconds that a call waits for its turn before it is refused as `busy`.
            packages: the only packages whose functions may be named.
            hidden: directories that no worker may read but for the files it is given, even if Python lies in them.
        """
        size = size or max(2, min(4, os.cpu_count() or 2))
        self._slots = FairQueue(all=size + 1, each=size)
        self._patience_s = patience_s
        self._packages = tuple(packages)
        self._processes = _processes(self._packages, size + 1, tuple(hidden))

    @property
    def running(self) -> int:
        """How many calls are running."""
        return self._slots.held

    async def call(
        self,
        function: str,
        args: Mapping[str, Any],
        *,
        reads: Iterable[Path | str] = (),
        writes: Iterable[Path | str] = (),
        deadline_s: float = 8.0,
        memory_bytes: int = 1_500_000_000,
        within_s: float = math.inf,
        threads: int = 1,
    ) -> Json:
        """Run `function(**args)` in a worker process and return its JSON result.

        Args:
            function: such as `bursar.content.pictures:inspect`; a public function of this package.
            args: keyword arguments, as JSON has them.
            reads: files and directories that it may read.
            writes: files, which exist, that it may read and change, and directories in which it may make some.
            deadline_s: seconds from when the process begins with it; the process may take its time to start.
            memory_bytes: address space of the process (Linux, macOS).
            within_s: seconds for all of it, waiting for a turn included.
            threads: that compute at the same time, each of which may take so much processor time.

        Raises:
            BursarError: as the function raised it; `bad_argument` for arguments that are too long; else `too_slow`,
                `too_large` (out of memory), `worker_failed` (crash, or any other exception) or `busy`.
        """
        named = _NAME.fullmatch(function)
        if named is None or named["package"] not in self._packages:
            raise ValueError(f"not a public function of {', '.join(self._packages)}: {function!r}")
        request = _request(function, args, reads, writes, deadline_s * threads, memory_bytes)
        ends_at = anyio.current_time() + within_s
        try:
            with anyio.fail_after(max(0.0, min(self._patience_s, within_s))):
                sharer = await self._slots.acquire()
        except TimeoutError:
            what = "every worker process is busy with other content"
            raise BursarError("busy", what, "Try again in a moment") from None
        try:
            left_s = max(0.0, ends_at - anyio.current_time())
            return _result(await self._answer(request, function, min(deadline_s, left_s), left_s))
        finally:
            self._slots.release(sharer)

    async def warm(self, *functions: str) -> None:
        """Load what `functions` need, ahead of the first call."""
        for function in functions:
            await self._processes.warm(function.partition(":")[0])

    async def confinement(self) -> Confinement:
        """Have a worker attack this process, and a file that it was not given; some 10 ms once workers are warm.

        Raises:
            BursarError: as `call`.
        """
        if sys.platform == "win32":
            return Confinement()
        from tempfile import TemporaryDirectory

        with TemporaryDirectory(prefix="bursar-") as decoy:
            path = Path(decoy, "decoy")
            path.write_bytes(b"secret")  # noqa: ASYNC240 - six bytes
            request = _request(_TRIAL, {"server": os.getpid(), "decoy": str(path)}, (), (), 8.0, 1_500_000_000)
            found = _result(await self._answer(request, _TRIAL, 8.0, math.inf))
        return Confinement({str(name): str(outcome) for name, outcome in cast("dict[str, Json]", found).items()})

    def close(self) -> None:
        """Kill every process; a call that is running fails with `worker_failed`."""
        self._processes.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _answer(self, request: bytes, function: str, deadline_s: float, left_s: float) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        try:
            with anyio.move_on_after(min(_START_S + deadline_s, left_s)) as scope:

                def begun() -> None:
                    scope.deadline = min(scope.deadline, anyio.current_time() + deadline_s)

                answer = await self._processes.ask(function.partition(":")[0], request, begun)
        except EndedError as ended:
            raise BursarError(
                "worker_failed",
                f"the process for {_work(function)} {ended}",
                ended.fix,
            ) from None
        if scope.cancelled_caught:
            raise BursarError(
                "too_slow",
                f"{_work(function)} took longer than {deadline_s:.3g} s and was stopped",
                "The content is kept as received; read it with read_artifact",
            )
        return answer


def _processes(packages: Sequence[str], size: int, hidden: Sequence[Path]) -> _Processes:
    if sys.platform == "win32":
        from .pool import Pool

        return Pool(packages, size)
    from .forks import Forks

    return Forks(packages, hidden)


def _request(
    function: str,
    args: Mapping[str, Any],
    reads: Iterable[Path | str],
    writes: Iterable[Path | str],
    cpu_s: float,
    memory_bytes: int,
) -> bytes:
    message = {
        "call": function,
        "args": dict(args),
        "reads": [str(path) for path in reads],
        "writes": [str(path) for path in writes],
        "cpu_s": cpu_s,
        "memory_bytes": memory_bytes,
    }
    request = json.dumps(message).encode()
    if len(request) > _MAX_REQUEST_BYTES:
        most = f"{len(request):,} bytes, more than the {_MAX_REQUEST_BYTES:,} that"
        raise BursarError("bad_argument", f"the arguments have {most} {_work(function)} takes", "Give shorter ones")
    return framed(request)


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
