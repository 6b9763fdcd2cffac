"""The gate to the file system: opens what lies in the workspace, and nothing else.

A path is opened first, without reading it; then the kernel says what was opened and where it really lies; only that is
judged, and only through that descriptor is it read. So `..`, links, other spellings and swaps in between change
nothing.
"""

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from ..errors import BursarError
from . import handles
from .created import CreatedFile, split
from .names import readings, rewritten, written
from .opened import OpenedDirectory, OpenedFile
from .suggest import Shelf, suggestion

SHOWN_CHARACTERS = 200
"""Of a path in an error."""

LONGEST_PATH = 32_767
"""Characters; Windows takes no more, the others less."""

SEARCHED_CHARACTERS = 4096
"""Of a path that leads on from a file; Linux's PATH_MAX. Each step is looked at."""

_TEMPORARY = "/tmp"  # noqa: S108 - where models let commands write what they want to read

_TWINLESS_KEPT = 4096
"""Files with several names that are known to have none in a closed directory."""

_Twinless = dict[tuple[int, int, int, tuple[str, ...]], None]


class Workspace:
    """The directories that a caller's files may lie in, and the ones that are closed to him.

    Attributes:
        roots: real paths; relative paths start from the first.
    """

    __slots__ = ("_closed", "_opened", "_roots", "_twinless", "roots")

    def __init__(self, roots: Sequence[Path], closed: Sequence[Path] = (), opened: Sequence[Path] = ()) -> None:
        """Take the roots, the closed directories (they win over roots) and the opened ones (they win over closed)."""
        if not roots:
            raise ValueError("a workspace needs a root")
        self._roots = tuple(handles.real_path(root.expanduser()) for root in roots)
        self._closed = tuple(handles.real_path(place.expanduser()) for place in closed)
        self._opened = tuple(handles.real_path(place.expanduser()) for place in opened)
        self._twinless: _Twinless = {}
        self.roots = tuple(Path(root) for root in self._roots)

    def opening(self, session_directory: Path) -> "Workspace":
        """Return the same workspace for a caller who may also read `session_directory`, which lies in a closed one."""
        return self._with((*self._opened, handles.real_path(session_directory)))

    def _with(self, opened: tuple[str, ...]) -> "Workspace":
        other = object.__new__(Workspace)
        other.roots, other._roots, other._closed, other._opened = self.roots, self._roots, self._closed, opened
        other._twinless = self._twinless
        return other

    def open(self, path: str) -> OpenedFile:
        r"""Open a regular file for reading.

        It costs some microseconds; the first time with a file that has several names, as long as it takes to list the
        closed directories (see `is_quick`).

        Args:
            path: absolute, or relative to the first root; `~` is the home directory; a byte that is no UTF-8 is `\xff`.

        Raises:
            BursarError: path_outside_roots, not_found, is_directory, not_a_file, permission_denied, bad_path.
        """
        with self._pinned(path) as (descriptor, real, status):
            if stat.S_ISDIR(status.st_mode):
                fix = f"Call directory_tree(path={_shown(path)}) to see what it holds"
                raise BursarError("is_directory", f"{_shown(path)} is a directory", fix)
            if not stat.S_ISREG(status.st_mode):
                raise _not_a_file(path, status)
            if status.st_nlink > 1 and self._is_twin_of_closed(status):
                raise _never_existed(path)
            return OpenedFile(handles.reopen(descriptor, real, handles.READ_FILE), Path(real), status)

    def descriptor(self, real: str) -> int:
        """Open the file that lies at a real path, and return a descriptor that the caller closes.

        Raises:
            BursarError: as `open` does.
        """
        opened = self.open(written(real))
        descriptor, opened.descriptor = opened.descriptor, -1
        return descriptor

    def directory(self, path: str) -> OpenedDirectory:
        """Open a directory for listing; `path` as in `open`.

        Raises:
            BursarError: path_outside_roots, not_found, not_a_directory, permission_denied, bad_path.
        """
        with self._pinned(path) as (descriptor, real, status):
            if not stat.S_ISDIR(status.st_mode):
                fix = f"Call read_file(path={_shown(path)}) to read it, or name the directory it lies in"
                raise BursarError("not_a_directory", f"{_shown(path)} is not a directory", fix)
            opened = handles.reopen(descriptor, real, handles.READ_DIRECTORY)
            return OpenedDirectory(opened, Path(real), status, self._closed_identities())

    def create(self, path: str, *, overwrite: bool = False) -> CreatedFile:
        """Begin a file that appears at `path` whole when it is committed, or not at all.

        Args:
            path: as in `open`; its directory must exist. Artifacts are never written this way, one's own included.
            overwrite: replace a file that is there already.

        Raises:
            BursarError: path_outside_roots, not_found, not_a_directory, is_directory, exists, permission_denied,
                bad_path, cannot_create.
        """
        place, name = split(path)
        name = _meanings(path, name)[0]
        directory = self._with(()).directory(place)
        if any(_lies_in(str(directory.path / name), closed) for closed in self._closed):
            directory.close()
            what = f"{_shown(path)} belongs to the server, and no tool may write it"
            raise BursarError("permission_denied", what, "Use another path")
        return CreatedFile(directory, name, overwrite=overwrite)

    def holder(self, path: str) -> tuple[str, str] | None:
        """Return the file that a path leads on from as if it were a directory, and the way from there; None if none.

        A file that the caller may not open leads nowhere: it looks like one that never existed.
        """
        if len(path) > SEARCHED_CHARACTERS:
            return None
        steps = _meanings(path, path)[0].split("/")
        for count in range(len(steps) - 1, 0, -1):
            place = "/".join(steps[:count])
            with suppress(OSError, ValueError, BursarError):
                if place and stat.S_ISREG(os.stat(self._whole(place)).st_mode):  # noqa: PTH116
                    with self._pinned(place):
                        pass
                    return place, "/".join(filter(None, steps[count:]))
        return None

    def is_quick(self, path: str, limit_bytes: int) -> bool:
        """Guess, without opening it, whether opening and reading a file of `limit_bytes` is too short for a thread.

        It is not where nothing can be opened: for a name that does not exist, a similar one is looked for.
        """
        try:
            status = os.stat(self._whole(path))  # noqa: PTH116 - text that may not be a path
        except (OSError, ValueError):
            return False
        return status.st_size <= limit_bytes and (status.st_nlink <= 1 or not self._closed)

    def _whole(self, text: str) -> str:
        return os.path.join(self._roots[0], os.path.expanduser(text) if text.startswith("~") else text)  # noqa: PTH111, PTH118

    @contextmanager
    def _pinned(self, path: str) -> Generator[tuple[int, str, os.stat_result]]:
        """Hold `path` open without reading it; yield the descriptor, where it lies and what it is, once it is admitted.

        An error of the system in the block is told as what keeps the path from being opened.
        """
        descriptor = self._pin(path)
        try:
            try:
                real, status = handles.place(descriptor), os.fstat(descriptor)
                self._admit(path, real)
            except OSError as error:
                raise _never_existed(path) from error
            try:
                yield descriptor, real, status
            except OSError as error:
                raise self._refusal(path, real, error) from error
        finally:
            os.close(descriptor)

    def _pin(self, path: str) -> int:
        if not path or "\0" in path:
            what = "the path is empty" if not path else f"the path {_shown(path)} has a NUL character"
            raise BursarError("bad_path", what, "Name a file or directory, such as README.md")
        meanings = _meanings(path, path)
        if len(path) > LONGEST_PATH:
            raise _too_long(path)
        failure: OSError = FileNotFoundError()
        for number, meaning in enumerate(meanings):
            try:
                return handles.pin(self._whole(meaning))
            except OSError as error:
                failure = failure if number else error
                if error.errno not in {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}:
                    break
        raise self._refusal(path, self._whole(meanings[0]), failure) from failure

    def _admit(self, path: str, real: str) -> None:
        """Let a real path pass.

        Raises:
            BursarError: path_outside_roots, or not_found for what is closed, as if it had never existed.
        """
        if any(_lies_in(real, place) for place in self._opened):
            return
        if any(_lies_in(real, place) for place in self._closed):
            raise _never_existed(path)
        if not any(_lies_in(real, root) for root in self._roots):
            shown = ", ".join(written(root) for root in self._roots[:5])
            more = f" and {len(self._roots) - 5} more" if len(self._roots) > 5 else ""
            fix = "Use a path inside, or have the server started with --root DIR for the directory that is needed"
            if _lies_in(real, _TEMPORARY):
                fix += f"; what a command wrote into {_TEMPORARY} only commands see: cat it with terminal"
            message = f"{_shown(path)} is or leads outside the allowed directories ({shown}{more})"
            raise BursarError("path_outside_roots", message, fix)
        if _lies_in(real, "/proc"):
            what = "belongs to /proc, which shows the insides of processes and is closed to file tools"
            fix = "Use the terminal tool to look at processes"
            raise BursarError("permission_denied", f"{_shown(path)} {what}", fix)

    def _refusal(self, path: str, whole: str, error: OSError) -> BursarError:
        """Say why `whole` could not be opened, without telling anything of what is closed or outside."""
        try:
            real = os.path.realpath(whole)
            self._admit(path, real)
        except BursarError as refusal:
            return refusal
        except OSError:
            real = whole
        if isinstance(error, handles.NotARegularFileError):
            return _not_a_file(path, None)
        match error.errno:
            case errno.ENOENT | errno.ENOTDIR:
                message = _never_existed(path).message
                if self._is_link(path, whole):
                    message = f"{_shown(path)} is a link to '{written(real)}', which does not exist"
                fix = self._in_another_root(path) or suggestion(Shelf(real, self._list))
                return BursarError("not_found", message, fix)
            case errno.EACCES | errno.EPERM:
                fix = "Ask the user to grant the permission, or use another path"
                return BursarError("permission_denied", f"the server's user may not open {_shown(path)}", fix)
            case errno.ENAMETOOLONG:
                return _too_long(path)
            case errno.ELOOP:
                message = f"{_shown(path)} leads through links in a circle, or through the links of /proc"
                return BursarError("bad_path", message, "Name the file by its own path")
            case _:
                message = f"{_shown(path)} cannot be opened: {os.strerror(error.errno or errno.EIO)}"
                return BursarError("cannot_open", message, "Try again, or use another path")

    def _is_link(self, path: str, whole: str) -> bool:
        """Tell whether a path ends in a link that this caller may see."""
        place, name = os.path.split(whole)
        try:
            link = os.path.join(os.path.realpath(place), name)  # noqa: PTH118
            self._admit(path, link)
        except (BursarError, OSError):
            return False
        return os.path.islink(link)  # noqa: PTH114

    def _in_another_root(self, path: str) -> str:
        """Propose what a relative path names in another root than the first."""
        meant = readings(path)[0]
        if meant.startswith("~") or os.path.isabs(meant):  # noqa: PTH117
            return ""
        for root in self._roots[1:]:
            whole = os.path.join(root, meant)  # noqa: PTH118
            try:
                descriptor = handles.pin(whole)
            except OSError:
                continue
            try:
                self._admit(path, handles.place(descriptor))
            except (BursarError, OSError):
                continue
            finally:
                os.close(descriptor)
            return f"Did you mean '{written(whole)}'"
        return ""

    def _list(self, place: str, limit: int) -> list[str] | None:
        """Return up to `limit` names in a directory, None if it is none that this caller may see."""
        try:
            with self.directory(place) as directory:
                names = [entry.name for entry in islice(directory.entries(), limit)]
        except (BursarError, OSError):
            return None
        return [name for name in names if os.path.join(place, name) not in self._closed]  # noqa: PTH118

    def _closed_identities(self) -> frozenset[tuple[int, int]]:
        found: set[tuple[int, int]] = set()
        for place in (*self._closed, "/proc"):
            with suppress(OSError):
                status = os.lstat(place)
                found.add((status.st_dev, status.st_ino))
        return frozenset(found)

    def _is_twin_of_closed(self, status: os.stat_result) -> bool:
        """Tell whether a file with several names has one of them in a closed directory.

        If it has not, that is remembered for as long as its status stays unchanged, and with it its names.
        """
        known = (status.st_dev, status.st_ino, status.st_ctime_ns, self._opened)
        if known in self._twinless:
            return False
        if any(self._has_name_in(place, status) for place in self._closed):
            return True
        while len(self._twinless) >= _TWINLESS_KEPT:
            self._twinless.pop(next(iter(self._twinless)), None)
        self._twinless[known] = None
        return False

    def _has_name_in(self, place: str, status: os.stat_result) -> bool:
        try:
            if os.lstat(place).st_dev != status.st_dev:
                return False
        except OSError:
            return False
        pending = [place]
        while pending:
            try:
                found = os.scandir(pending.pop())
            except OSError:
                continue
            with found:
                is_told: bool | None = None
                for entry in found:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.path not in self._opened:
                            pending.append(entry.path)
                        continue
                    if is_told is None:
                        is_told = _tells_inode(entry)
                    if not is_told or entry.inode() == status.st_ino:
                        with suppress(OSError):
                            if os.path.samestat(entry.stat(follow_symlinks=False), status):
                                return True
        return False


def _tells_inode(entry: os.DirEntry[str]) -> bool:
    """Tell whether the listing of a directory has the true inodes, which saves a system call for each entry.

    Some file systems in user space list any number.
    """
    try:
        return entry.inode() == entry.stat(follow_symlinks=False).st_ino
    except OSError:
        return False


def _lies_in(real: str, place: str) -> bool:
    real, place = os.path.normcase(real), os.path.normcase(place)
    return real == place or real.startswith(place if place.endswith(os.sep) else place + os.sep)


def _meanings(path: str, part: str) -> list[str]:
    """Return what `part` of `path` may mean, most likely first.

    Raises:
        BursarError: bad_path; it holds a character that no path can hold.
    """
    try:
        return readings(part)
    except UnicodeEncodeError as error:
        fix = r"Write each byte of the name that is not UTF-8 as \xff, as directory_tree shows it"
        raise BursarError("bad_path", f"the path {_shown(path)} has a character no path can have", fix) from error


def _shown(path: str) -> str:
    text = rewritten(path[: SHOWN_CHARACTERS + 1])
    return f"'{text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + '…'}'"


def _never_existed(path: str) -> BursarError:
    return BursarError("not_found", f"{_shown(path)} does not exist", "Check the path with directory_tree")


def _too_long(path: str) -> BursarError:
    message = f"the path {_shown(path)} is too long for this system ({len(path):,} characters)"
    return BursarError("bad_path", message, "Use a shorter path")


def _not_a_file(path: str, status: os.stat_result | None) -> BursarError:
    kinds = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    kind = kinds.get(stat.S_IFMT(status.st_mode), "no regular file") if status else "a device, FIFO or socket"
    fix = "Name a regular file; the terminal tool can read from it with a time limit"
    return BursarError("not_a_file", f"{_shown(path)} is {kind}", fix)
