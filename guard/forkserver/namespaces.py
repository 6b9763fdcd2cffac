"""Namespaces: a process with a view of its own of files, processes and shared memory, and what it starts in them.

See mount_namespaces(7), user_namespaces(7), pid_namespaces(7) and pivot_root(2); the care is bubblewrap's.
"""

import contextlib
import os
import signal
import stat
import struct
import sys

if sys.platform == "win32":
    raise ImportError("namespaces are a thing of Linux")

from .capabilities import drop_all, gain_nothing
from .kernel import call, libc
from .view import Mount, View

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
"""What a fresh `/dev` has, beside terminals of one's own: no disks, not as root either."""

_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}

INOTIFY_INSTANCES = 32
"""For each session, of the 128 that a user has by default, where commands are in a user namespace."""

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 1 << 14, 1 << 18
_MNT_DETACH = 2
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE = 1
_MOVE_BOTH_OPENED = 0x04 | 0x40
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_RESOLVE_NO_SYMLINKS, _RESOLVE_IN_ROOT = 0x04, 0x10
_PR_SET_PDEATHSIG = 1

# The same numbers on every architecture.
_OPEN_TREE, _MOVE_MOUNT, _OPENAT2, _MOUNT_SETATTR = 428, 429, 437, 442


def enter(view: View) -> None:
    """Return in a child process that has this view for ever, is the first in it, and ends with this one.

    This process, which must have one thread only, ends as the child does, and never returns from here. In the child no
    capability is left, and no program gains one.

    Raises:
        OSError: the kernel refused. The process may be in some of the namespaces: it should end.
    """
    gain_nothing()
    ids = _leave(_NEWNS | _NEWUTS | _NEWIPC | _NEWPID | (0 if view.network else _NEWNET))
    child = os.fork()
    if child:
        end_with_parent()
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    with contextlib.ExitStack() as opened:
        # What stayed open of the files outside would lead there.
        _Tree(opened).furnish(view.mounts)
    if ids:
        libc("unshare", _NEWUSER)
        _call_ids(*ids)
    drop_all()
    end_with_parent()


def end_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends."""
    libc("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _leave(namespaces: int) -> "tuple[str, str] | None":
    """Leave the namespaces outside; where that takes one of users, return how its ids are to be called in the end.

    Until then this user is root in it, as file systems of terminals need one.
    """
    uid, gid = os.getuid(), os.getgid()
    try:
        libc("unshare", namespaces)
    except PermissionError:
        libc("unshare", namespaces | _NEWUSER)
        _call_ids(f"0 {uid} 1", f"0 {gid} 1")
        with contextlib.suppress(OSError):
            _write("/proc/sys/user/max_inotify_instances", str(INOTIFY_INSTANCES))
        return f"{uid} 0 1", f"{gid} 0 1"
    return None


def _call_ids(users: str, groups: str) -> None:
    _write("/proc/self/uid_map", users)
    # Else one could leave a group that some file is closed to.
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/gid_map", groups)


def _write(path: str, text: str) -> None:
    with open(path, "wb", buffering=0) as file:  # noqa: PTH123
        file.write(text.encode())


class _Tree:
    """The new tree of files, built beside the one outside.

    No link is followed: what was named without links and has one now was changed meanwhile.
    """

    def __init__(self, opened: contextlib.ExitStack) -> None:
        self._opened = opened
        self._root = -1

    def furnish(self, mounts: "tuple[Mount, ...]") -> None:
        """Mount everything, and leave the tree outside for ever."""
        libc("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
        whole, *others = mounts
        self._root = self._cloned(whole.source or whole.at, _attributes(whole))
        self._attach(self._root, self._open("/"))
        devices = [self._mount(mount) for mount in others]
        for directory in filter(None, devices):
            _change(directory, _ATTR_RDONLY)
        os.fchdir(self._root)
        libc("pivot_root", b".", b".")
        # The tree outside now lies on the new one.
        libc("umount2", b".", _MNT_DETACH)
        os.chdir("/")

    def _mount(self, mount: Mount) -> "int | None":
        """Mount one thing; return the directory of devices, which is to be closed when all are mounted."""
        if mount.kind in ("read", "write"):
            tree = self._cloned(mount.source or mount.at, _attributes(mount))
            self._attach(tree, self._place(mount.at, is_directory=_is_directory(tree)))
        elif mount.kind == "processes":
            self._mount_new("proc", mount.at, _MS_NOEXEC | _MS_NODEV)
        else:
            self._mount_new("tmpfs", mount.at, _MS_NODEV, f"size={mount.size_bytes},mode={mount.mode:o}")
            if mount.kind == "devices":
                return self._fill_devices(mount.at)
        return None

    def _fill_devices(self, at: str) -> int:
        directory = self._open(at, self._root)
        for name in DEVICES:
            with contextlib.suppress(FileNotFoundError):  # not every container has each of them
                device = self._cloned(f"/dev/{name}", _ATTR_NOSUID)
                self._attach(device, self._place(f"{at}/{name}", is_directory=False))
        for name, target in _LINKS.items():
            os.symlink(target, name, dir_fd=directory)
        self._mount_new("devpts", f"{at}/pts", _MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
        return directory

    def _mount_new(self, kind: str, at: str, flags: int, options: str = "") -> None:
        place = f"/proc/self/fd/{self._place(at)}".encode()
        libc("mount", kind.encode(), place, kind.encode(), _MS_NOSUID | flags, options.encode())

    def _place(self, at: str, *, is_directory: bool = True) -> int:
        """Open where something is to be mounted; make it where there is nothing."""
        try:
            return self._open(at, self._root)
        except FileNotFoundError:
            above, name = os.path.split(at)
            parent = self._place(above)
            if is_directory:
                os.mkdir(name, 0o755, dir_fd=parent)
            else:
                os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=parent))
            return self._open(at, self._root)

    def _cloned(self, path: str, attributes: int) -> int:
        """Return what lies at a path outside, with all that is mounted in it, to be mounted elsewhere."""
        clone = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_EMPTY_PATH | _AT_RECURSIVE
        tree = self._held(call(_OPEN_TREE, self._open(path), b"", clone))
        _change(tree, attributes, _AT_RECURSIVE)
        return tree

    def _attach(self, tree: int, place: int) -> None:
        call(_MOVE_MOUNT, tree, b"", place, b"", _MOVE_BOTH_OPENED)

    def _open(self, path: str, root: int = _AT_FDCWD) -> int:
        resolve = _RESOLVE_NO_SYMLINKS | (0 if root == _AT_FDCWD else _RESOLVE_IN_ROOT)
        how = struct.pack("=QQQ", os.O_PATH | os.O_CLOEXEC, 0, resolve)
        return self._held(call(_OPENAT2, root, os.fsencode(path), how, len(how)))

    def _held(self, fd: int) -> int:
        self._opened.callback(os.close, fd)
        return fd


def _attributes(mount: Mount) -> int:
    return _ATTR_NOSUID | _ATTR_NODEV | (_ATTR_RDONLY if mount.kind == "read" else 0)


def _change(tree: int, attributes: int, flags: int = 0) -> None:
    what = struct.pack("=QQQQ", attributes, 0, 0, 0)
    call(_MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH | flags, what, len(what))


def _is_directory(fd: int) -> bool:
    return stat.S_ISDIR(os.fstat(fd).st_mode)
