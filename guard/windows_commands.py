"""Commands on Windows: each in a job object, which ends every process in it, also when the server dies."""

import asyncio
import ctypes
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import anyio

from ..errors import BursarError
from .command import Command, CommandSpec, End, Exit, Limits, input_closed

if TYPE_CHECKING:
    from .sandbox.sandbox import Sandbox

if sys.platform != "win32":
    raise ImportError("job objects are a thing of Windows")

import msvcrt
from ctypes import wintypes

from anyio import to_thread

_CREATE_SUSPENDED = 0x4
_EXTENDED_LIMITS = 9
_ACCOUNTING = 1
_KILL_ON_CLOSE = 0x2000
_DIE_ON_UNHANDLED_EXCEPTION = 0x400
_LINGER_S = 0.2
_LOOK_S = 0.05
_KILLED = 0xC000013A
"""Exit status of what was ended: the one of a Ctrl-C."""


class _ExtendedLimits(ctypes.Structure):
    _fields_: ClassVar = [
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", wintypes.DWORD),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", wintypes.DWORD),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", wintypes.DWORD),
        ("SchedulingClass", wintypes.DWORD),
        ("IoCounters", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    ]


class _Accounting(ctypes.Structure):
    _fields_: ClassVar = [
        ("TotalUserTime", ctypes.c_int64),
        ("TotalKernelTime", ctypes.c_int64),
        ("ThisPeriodTotalUserTime", ctypes.c_int64),
        ("ThisPeriodTotalKernelTime", ctypes.c_int64),
        ("TotalPageFaultCount", wintypes.DWORD),
        ("TotalProcesses", wintypes.DWORD),
        ("ActiveProcesses", wintypes.DWORD),
        ("TotalTerminatedProcesses", wintypes.DWORD),
    ]


class _Job:
    """A job object that dies with its handle."""

    def __init__(self) -> None:
        self._kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        self._kernel.CreateJobObjectW.restype = wintypes.HANDLE
        self._handle = wintypes.HANDLE(self._kernel.CreateJobObjectW(None, None))
        limits = _ExtendedLimits()
        limits.LimitFlags = _KILL_ON_CLOSE | _DIE_ON_UNHANDLED_EXCEPTION
        self._must(
            self._kernel.SetInformationJobObject(
                self._handle, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
            )
        )

    def admit(self, process: int) -> None:
        """Put a suspended process into the job, and let it run."""
        self._must(self._kernel.AssignProcessToJobObject(self._handle, wintypes.HANDLE(process)))
        ctypes.WinDLL("ntdll").NtResumeProcess(wintypes.HANDLE(process))

    def running(self) -> int:
        """Return how many processes run in it."""
        account = _Accounting()
        self._must(
            self._kernel.QueryInformationJobObject(
                self._handle, _ACCOUNTING, ctypes.byref(account), ctypes.sizeof(account), None
            )
        )
        return account.ActiveProcesses

    def end(self) -> None:
        """End every process in it."""
        self._kernel.TerminateJobObject(self._handle, _KILLED)

    def close(self) -> None:
        """Let go of it; whatever still runs in it ends."""
        self._kernel.CloseHandle(self._handle)

    @staticmethod
    def _must(succeeded: int) -> None:
        if not succeeded:
            raise ctypes.WinError(ctypes.get_last_error())


class _JobCommand(Command):
    """A command and the thread that watches it."""

    def __init__(self, order: CommandSpec, output: int, gone: Callable[[Any], None]) -> None:
        super().__init__()
        self._output = output
        self._limits: Limits = order.limits
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._ending: End = "exited"
        self._begun = time.monotonic()
        self._job = _Job()
        try:
            self._process = subprocess.Popen(
                [os.fsdecode(argument) for argument in order.argv],
                cwd=order.cwd,
                env=dict(order.env),
                stdin=subprocess.DEVNULL if order.stdin == "null" else subprocess.PIPE,
                stdout=output,
                stderr=output,
                creationflags=_CREATE_SUSPENDED | subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW,
            )
        except BaseException:
            self._job.close()
            raise
        self._admit(int(self._process._handle))  # type: ignore[attr-defined]  # noqa: SLF001 - there is no other way
        self.pid = self._process.pid
        if isinstance(order.stdin, bytes):
            threading.Thread(target=self._feed, args=[order.stdin], daemon=True).start()
        threading.Thread(target=self._watch, name="bursar-command", daemon=True).start()

    def _admit(self, process: int) -> None:
        try:
            self._job.admit(process)
        except OSError:
            self._process.kill()
            self._job.close()
            raise

    async def kill(self, grace_s: float = 0.5) -> Exit:
        # Whatever the grace: nothing can be asked to tidy up here.
        self._ending = "stopped"
        return await self.ended()

    def cut_off(self) -> None:
        self._ending = "output limit"

    async def send(self, data: bytes, timeout_s: float = 5.0) -> int:
        stdin = self._process.stdin
        if stdin is None or stdin.closed or self.exit is not None:
            raise input_closed()

        def write() -> int:
            stdin.write(data)
            stdin.flush()
            return len(data)

        try:
            with anyio.move_on_after(timeout_s):
                return await to_thread.run_sync(write, abandon_on_cancel=True)
        except (OSError, ValueError):
            raise input_closed() from None
        return 0

    def close_stdin(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()

    def abandon(self) -> None:
        """End it at once."""
        self._ending = "server ended"
        self._job.end()

    def _feed(self, data: bytes) -> None:
        try:
            with self._process.stdin or open(os.devnull, "wb") as stdin:  # noqa: PTH123
                stdin.write(data)
        except OSError:
            return  # it did not want to read it

    def _watch(self) -> None:
        reason = self._await_end()
        took_s = time.monotonic() - self._begun
        if reason == "exited":
            until = time.monotonic() + _LINGER_S
            while self._job.running() and time.monotonic() < until:
                time.sleep(0.01)
        killed = max(0, self._job.running() - (self._process.poll() is None))
        self._job.end()
        code = self._process.wait()
        left = self._job.running()
        self._job.close()
        os.close(self._output)
        ended = Exit(reason, code if reason == "exited" else None, "", killed, left, took_s)
        try:
            self._loop.call_soon_threadsafe(self._finish, ended)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    def _await_end(self) -> End:
        deadline = self._begun + self._limits.timeout_s
        before = os.fstat(self._output).st_size
        while True:
            try:
                self._process.wait(min(_LOOK_S, max(0.0, deadline - time.monotonic())))
            except subprocess.TimeoutExpired:
                grown = os.fstat(self._output).st_size - before
            else:
                return self._ending
            if self._ending != "exited":
                return self._ending
            if time.monotonic() >= deadline:
                return "timeout"
            if grown >= self._limits.output_bytes:
                return "output limit"
            if grown > 1024**2 and shutil.disk_usage(self._output_path()).free < self._limits.free_bytes:
                return "disk full"

    def _output_path(self) -> str:
        """Return where the output lies; Windows tells the room of a path, not of a descriptor."""
        name = ctypes.create_unicode_buffer(32768)
        handle = wintypes.HANDLE(msvcrt.get_osfhandle(self._output))
        ctypes.WinDLL("kernel32").GetFinalPathNameByHandleW(handle, name, len(name), 0)
        return os.path.dirname(name.value) or "."  # noqa: PTH120 - the \\?\ form is not for pathlib

    def _finish(self, ended: Exit) -> None:
        self.exit = ended
        self.close_stdin()
        self._ended.set()
        self._gone(self)


class WindowsCommands:
    """Starts commands and knows those that run."""

    def __init__(self, sandbox: "Sandbox | None", _processes: int) -> None:
        self._sandbox = sandbox
        self._running: set[_JobCommand] = set()

    @property
    def running(self) -> int:
        """How many commands are running."""
        return len(self._running)

    def warm(self) -> None:
        """Do nothing: there is no helper process here."""

    def leave(self, session: Path) -> None:
        """Do nothing: no process here belongs to one session."""

    async def start(self, order: CommandSpec) -> _JobCommand:
        """Start a command; see `Commands.start`."""
        if self._sandbox is not None:
            await self._sandbox.admit()
        if order.stdin == "tty":
            raise BursarError("no_tty", "commands have no terminals on Windows", "Leave tty out; send input to stdin")
        if order.script is not None:
            raise BursarError(
                "command_too_long", "Windows cannot be given a script this way", "Write it to a file and run that"
            )
        output = os.dup(order.output)
        try:
            command = _JobCommand(order, output, self._running.discard)
        except (OSError, ValueError) as error:
            os.close(output)
            raise _failure(error, order) from None
        self._running.add(command)
        return command

    def close(self) -> None:
        """End everything; see `Commands.close`."""
        for command in list(self._running):
            command.abandon()


def _failure(error: OSError | ValueError, order: CommandSpec) -> BursarError:
    if isinstance(error, ValueError):
        return BursarError("bad_command", f"the command cannot be passed on: {error}", "Leave NUL characters out")
    if not order.cwd.is_dir():
        return BursarError("bad_directory", f"{order.cwd} is no directory", "Check `cwd`")
    if isinstance(error, FileNotFoundError):
        return BursarError("no_such_program", "the program to run does not exist", "Check its path")
    return BursarError("command_not_started", f"the system did not start the command: {error}", "Check the command")
