"""What a sandboxed command must not be able to do, tried from inside; and what it must be able to do."""

import contextlib
import ctypes
import errno
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

if sys.platform == "win32":
    raise ImportError("there are no walls to be tried on Windows")

_PTRACE_ATTACH = 16


class Attacks:
    """Tries each way; a way that leads somewhere raises `Leak`. The first sentence of each is what the doctor shows.

    The victim is the process that started the trial: it has the secret in its memory and its environment, its working
    directory is the other session's, and it holds the secret open. Whether a signal or a connection reached it, it
    sees for itself.
    """

    def __init__(self, told: dict[str, Any]) -> None:
        self.secret = told["secret"].encode()
        self.file: str = told["file"]
        self.own: str = told["own"]
        self.private: str = told["private"]
        self.roots: list[str] = told["roots"]
        self.outside: list[str] = told["outside"]
        self.above: list[str] = told["above"]
        self.victims: list[int] = told["victims"]
        self.processes: str = told["processes"]
        self.socket: str = told["socket"]

    def run(self) -> dict[str, str]:
        """Return each way by name, and what it came to: `held`, or what went wrong."""
        ways: list[Callable[[], None]] = [
            *(
                self.read,
                self.hard_link,
                self.symbolic_link,
                self.rename,
                self.rename_above,
                self.overwrite,
                self.delete,
                self.create,
            ),
            *(self.environment, self.memory, self.root, self.descriptors, self.trace, self.signal, self.limit),
            *(self.abstract_socket, self.mount, self.namespace, self.write_outside),
            *(self.may_read_own, self.may_write_private, self.may_write_root, self.may_run, self.may_use_null),
        ]
        return {way.__name__: self._outcome(way) for way in ways}

    def _outcome(self, way: Callable[[], None]) -> str:
        try:
            way()
        except Leak as leak:
            return str(leak)
        except OSError as error:
            return f"failed: {error.strerror}" if way.__name__.startswith("may_") else "held"
        return "held"

    def read(self) -> None:
        """Read another session's file."""
        self._must_not_hold(_contents(self.file))

    def hard_link(self) -> None:
        """Give it another name."""
        place = os.path.join(self.private, "link")  # noqa: PTH118
        os.link(self.file, place)
        self._must_not_hold(_contents(place))

    def symbolic_link(self) -> None:
        """Reach it through a link."""
        place = os.path.join(self.private, "symlink")  # noqa: PTH118
        os.symlink(self.file, place)  # noqa: PTH211
        self._must_not_hold(_contents(place))

    def rename(self) -> None:
        """Move the other session."""
        os.rename(os.path.dirname(self.file), os.path.join(self.private, "moved"))  # noqa: PTH104, PTH118, PTH120
        raise Leak("a session was moved")

    def rename_above(self) -> None:
        """Move a directory around it. None is empty, so to remove one tells whether it could be."""
        for directory in self.above:
            try:
                os.rmdir(directory)  # noqa: PTH106
            except OSError as error:
                if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
                    raise Leak("a directory around the store could be moved") from None

    def overwrite(self) -> None:
        """Change its file."""
        os.close(os.open(self.file, os.O_WRONLY))
        raise Leak("it could be opened for writing")

    def delete(self) -> None:
        """Delete its file."""
        os.unlink(self.file)  # noqa: PTH108
        raise Leak("it was deleted")

    def create(self) -> None:
        """Put a file into it."""
        os.close(os.open(self.file + ".planted", os.O_CREAT | os.O_WRONLY))
        if os.path.exists(self.file):  # noqa: PTH110
            raise Leak("a file was put beside it")

    def environment(self) -> None:
        """Read the server's environment."""
        for pid in _processes():
            for what in ("environ", "cmdline"):
                self._must_not_hold(_contents(f"/proc/{pid}/{what}"))

    def memory(self) -> None:
        """Read its memory."""
        for pid in self._seen():
            with contextlib.suppress(OSError):
                os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY))
                raise Leak("its memory could be opened")

    def root(self) -> None:
        """Go through /proc/*/root and cwd."""
        for pid in _processes():
            for way in (f"/proc/{pid}/root{self.file}", f"/proc/{pid}/cwd/{os.path.basename(self.file)}"):  # noqa: PTH119
                self._must_not_hold(_contents(way))

    def descriptors(self) -> None:
        """Read what it holds open."""
        for pid in self._seen():
            for number in range(64):
                self._must_not_hold(_contents(f"/proc/{pid}/fd/{number}"))

    def trace(self) -> None:
        """Attach to it as a debugger."""
        libc = ctypes.CDLL(None, use_errno=True)
        for pid in self._seen():
            if libc.ptrace(_PTRACE_ATTACH, ctypes.c_long(pid), None, None) == 0:
                raise Leak("it could be traced")

    def signal(self) -> None:
        """Signal it. The victim will tell; of the server it is only asked."""
        os.kill(self.victims[0], signal.SIGURG)
        for pid in self._seen():
            os.kill(pid, 0)
            raise Leak("it could be signalled")

    def limit(self) -> None:
        """Set limits on it. Here they stay what they are: one of processor time would end it."""
        if sys.platform == "linux":
            for pid in self._seen():
                what = resource.RLIMIT_CPU
                resource.prlimit(pid, what, resource.prlimit(pid, what))
                raise Leak("its limits could be set")

    def abstract_socket(self) -> None:
        """Reach its abstract socket. The victim will tell."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect("\0" + self.socket)
        raise Leak("it could be reached")

    def mount(self) -> None:
        """Mount a file system."""
        if ctypes.CDLL(None, use_errno=True).mount(b"none", self.private.encode(), b"tmpfs", 0, None) == 0:
            raise Leak("a file system could be mounted")

    def namespace(self) -> None:
        """Make a user namespace. In it one has every capability."""
        if ctypes.CDLL(None, use_errno=True).unshare(0x10000000) == 0:
            raise Leak("a user namespace could be made")

    def write_outside(self) -> None:
        """Write outside the roots. A nameless file harms nobody if it works."""
        for directory in self.outside:
            with contextlib.suppress(OSError):
                _write_in(directory)
                raise Leak("a file could be made in a directory that may not be changed")

    def may_read_own(self) -> None:
        """Read the own session."""
        if not _contents(self.own):
            raise Leak("failed: the own session cannot be read")

    def may_write_private(self) -> None:
        """Write temporary files."""
        _write_in(self.private)

    def may_write_root(self) -> None:
        """Write in the roots. One that nobody can write is not ours to judge."""
        for root in self.roots:
            try:
                _write_in(root)
            except OSError as error:
                if error.errno not in {errno.EROFS, errno.EOPNOTSUPP, errno.ENOSPC, errno.EDQUOT}:
                    raise

    def may_run(self) -> None:
        """Run a program."""
        pid = os.posix_spawn("/bin/sh", ["/bin/sh", "-c", "exit 7"], {})
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 7:
            raise Leak("failed: a program did not run as it should")

    def may_use_null(self) -> None:
        """Write to /dev/null."""
        with open("/dev/null", "wb") as null:  # noqa: PTH123
            null.write(b"x")

    def _must_not_hold(self, data: bytes) -> None:
        if self.secret in data:
            raise Leak("the secret was read")

    def _seen(self) -> list[int]:
        """Return the victims that can be seen; in a namespace of process ids their numbers mean others."""
        return self.victims if namespace_of_processes() == self.processes else []


class Leak(Exception):  # noqa: N818 - it is what was found, not what went wrong
    """A way that led somewhere."""


def namespace_of_processes() -> str:
    """Name the namespace in which the ids of processes mean what they mean to this one; nothing where there is one."""
    with contextlib.suppress(OSError):
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    return ""


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208


def _contents(path: str) -> bytes:
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return os.read(fd, 1 << 20)
        finally:
            os.close(fd)
    return b""


def _write_in(directory: str) -> None:
    """Write to a nameless file in a directory.

    Raises:
        OSError: it is not allowed, or the file system has no such files.
    """
    nameless: int = os.O_TMPFILE if sys.platform == "linux" else 0
    if nameless:
        fd = os.open(directory, nameless | os.O_RDWR, 0o600)
    else:
        path = os.path.join(directory, f".bursar-{os.urandom(6).hex()}")  # noqa: PTH118
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        os.unlink(path)  # noqa: PTH108
    try:
        os.write(fd, b"x")
    finally:
        os.close(fd)


def main() -> None:
    """Confine this process as standard input says, try everything, and tell descriptor `argv[1]` what came of it."""
    told = json.load(sys.stdin)
    results = int(sys.argv[1])
    version = 0
    if told["walls"] is not None:
        from .namespaces import enter
        from .view import View
        from .walls import Prepared, Walls

        try:
            if told["walls"]["enter"]:
                enter(View.told(told["walls"]["view"]))
            prepared = Prepared(Walls(**told["walls"]["walls"]))
            prepared.enforce()
            version = prepared.version
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            os.write(results, json.dumps({"refused": why}).encode())
            return
    found = Attacks(told).run()
    os.write(results, json.dumps({"attacks": found, "landlock": version}).encode())
