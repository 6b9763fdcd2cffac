"""What a worker that was taken over by its content could try; each returns what it got, or raises."""

import ctypes
import errno
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading

_LIBC = ctypes.CDLL(None, use_errno=True)


def run(attack: str, **given) -> object:
    """Run an attack; tell what it got, or `refused` and why."""
    try:
        return {"got": globals()[attack](**given)}
    except OSError as error:
        return {"refused": errno.errorcode.get(error.errno or 0, str(error.errno)), "said": str(error)}


def read(path: str) -> str:
    with open(path, "rb") as file:
        return file.read(4096).decode("latin-1")


def list_directory(path: str) -> list[str]:
    return os.listdir(path)


def link_and_read(path: str, into: str) -> str:
    os.symlink(path, into)
    return read(into)


def hard_link(path: str, into: str) -> None:
    os.link(path, into)


def make(path: str) -> None:
    with open(path, "x") as file:
        file.write("made")


def change(path: str) -> None:
    with open(path, "r+") as file:
        file.write("changed")


def empty(path: str) -> None:
    os.truncate(path, 0)


def remove(path: str) -> None:
    os.unlink(path)


def rename(path: str, into: str) -> None:
    os.rename(path, into)


def change_mode(path: str) -> None:
    os.chmod(path, 0o777)


def change_times(path: str) -> None:
    os.utime(path, (0, 0))


def change_attribute(path: str) -> None:
    os.setxattr(path, "user.note", b"x")


def watch(path: str) -> None:
    _must(_LIBC.inotify_add_watch(_must(_LIBC.inotify_init()), path.encode(), 0xFFF))


def memory(pid: int) -> str:
    with open(f"/proc/{pid}/maps") as maps:
        start = int(maps.readline().partition("-")[0], 16)
    with open(f"/proc/{pid}/mem", "rb") as file:
        file.seek(start)
        return file.read(16).hex()


def look_into(pid: int) -> list[str]:
    """Read the memory of a process without its files."""
    local, there = ctypes.create_string_buffer(16), struct.pack("PN", id(pid), 16)
    here = struct.pack("PN", ctypes.addressof(local), 16)
    return [str(_must(_LIBC.process_vm_readv(pid, here, 1, there, 1, 0)))]


def trace(pid: int) -> None:
    _must(_LIBC.ptrace(16, pid, None, None))  # PTRACE_ATTACH


def links_of(pid: int) -> list[str]:
    return [os.readlink(f"/proc/{pid}/{name}") for name in ("cwd", "root", "exe")]


def descriptors_of(pid: int) -> list[str]:
    return os.listdir(f"/proc/{pid}/fd")


def send_signal(pid: int) -> None:
    os.kill(pid, signal.SIGUSR1)


def send_signal_to_all() -> None:
    os.kill(-1, 0)


def queue_signal(pid: int) -> None:
    _must(_LIBC.sigqueue(pid, signal.SIGUSR1, None))


def hold(pid: int) -> None:
    os.close(os.pidfd_open(pid))


def outlive() -> None:
    _must(_LIBC.prctl(1, 0, 0, 0, 0))  # PR_SET_PDEATHSIG


def connect(port: int) -> None:
    socket.create_connection(("127.0.0.1", port), timeout=2).close()


def connect_locally(path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(path if path.startswith("/") else f"\0{path}")


def make_pair() -> None:
    for end in socket.socketpair():
        end.close()


def ask_netlink() -> None:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()


def share_memory() -> None:
    _must(_LIBC.shmget(0, 4096, 0o600 | 0o1000))


def start(program: str) -> str:
    return subprocess.run([program, "hello"], capture_output=True, check=True).stdout.decode()


def become(program: str) -> None:
    os.execv(program, [program])


def spawn(program: str) -> int:
    return os.posix_spawn(program, [program], {})


def fork() -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return pid


def raise_limit() -> None:
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (10_000, 10_000))
    except ValueError as error:
        raise PermissionError(errno.EPERM, str(error)) from None


def held_descriptors() -> list[int]:
    held = []
    for number in range(256):
        try:
            os.fstat(number)
        except OSError:
            continue
        held.append(number)
    return held


def in_a_thread(path: str) -> object:
    """Try again in a thread of one's own, should only one be confined."""
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(run("read", path=path)))
    thread.start()
    thread.join()
    if "refused" in outcomes[0]:
        raise PermissionError(errno.EACCES, "refused")
    return outcomes[0]


def import_much() -> list[str]:
    import decimal
    import sqlite3
    import zoneinfo

    import fontTools.ttLib
    import PIL.Image

    modules = (decimal, sqlite3, zoneinfo, fontTools.ttLib, PIL.Image)
    return [str(zoneinfo.ZoneInfo("Europe/Berlin")), *(module.__name__ for module in modules)]


def _must(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


assert sys.platform == "linux"
