"""A file in the making in the workspace: nobody sees it before it is complete, and it is gone without."""

import contextlib
import errno
import os
import secrets
import stat
import sys
from pathlib import Path
from typing import Self

from ..errors import BursarError
from .names import written
from .opened import OpenedDirectory

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_BINARY: int = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)


class CreatedFile:
    """Written under a name of its own, and given the wanted one in a single step.

    As a context manager it leaves nothing behind unless it was committed.

    Attributes:
        path: where it will lie.
        size: bytes written so far.
        status: of the file that it resembles, and is to replace; None if there is none.
    """

    def __init__(self, directory: OpenedDirectory, name: str, *, overwrite: bool) -> None:
        """Begin the file `name` in `directory`, which becomes this file's to close.

        Raises:
            BursarError: exists, is_directory, permission_denied or cannot_create.
        """
        self.path = directory.path / name
        self.size = 0
        self.status: os.stat_result | None = None
        self._directory = directory
        self._name = name
        self._overwrite = overwrite
        self._own = f".bursar-{secrets.token_hex(8)}.tmp"
        self._descriptor = -1
        try:
            self._refuse_existing()
            self._descriptor = os.open(self._at(self._own), _CREATE | _BINARY, 0o666, dir_fd=directory.by_descriptor)
        except OSError as error:
            directory.close()
            raise self._refusal(error) from error
        except BaseException:
            directory.close()
            raise

    def write(self, data: bytes) -> None:
        """Append.

        Raises:
            BursarError: disk_full or cannot_create.
        """
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
            self.size += len(data)
        except OSError as error:
            raise self._refusal(error) from error

    def resemble(self, status: os.stat_result) -> None:
        """Take over the owner and the mode of another file, without setuid, setgid and sticky.

        Raises:
            BursarError: permission_denied or cannot_create.
        """
        self.status = status
        if sys.platform == "win32":
            return
        try:
            now = os.fstat(self._descriptor)
            if (now.st_uid, now.st_gid) != (status.st_uid, status.st_gid):
                os.fchown(self._descriptor, status.st_uid, status.st_gid)
            os.fchmod(self._descriptor, stat.S_IMODE(status.st_mode) & 0o777)
        except OSError as error:
            raise self._refusal(error) from error

    def commit(self, instead_of: os.stat_result | None = None) -> None:
        """Give the file its name; what was there before is replaced only if that was asked for.

        Args:
            instead_of: what is there must still be the file that had this status.

        Raises:
            BursarError: exists, source_changed, or whatever keeps the system from doing it.
        """
        try:
            os.fsync(self._descriptor)  # a name that survives a loss of power without its content is a loss
            self._close()
            if instead_of is not None:
                self._refuse_another(instead_of)
            self._name_it()
        except OSError as error:
            raise self._refusal(error) from error
        self._own = ""

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1  # also if it fails: the number may be another's by then
        if descriptor >= 0:
            os.close(descriptor)

    def _name_it(self) -> None:
        place = self._directory.by_descriptor
        own, name = self._at(self._own), self._at(self._name)
        if self._overwrite:
            self._refuse_existing()
            os.replace(own, name, src_dir_fd=place, dst_dir_fd=place)
        elif sys.platform == "win32":
            os.rename(own, name)  # noqa: PTH104 - refuses an existing name there
        else:
            self._link(own, name, place)

    def _link(self, own: str, name: str, place: int | None) -> None:
        try:
            os.link(own, name, src_dir_fd=place, dst_dir_fd=place)
        except OSError as error:
            if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.ENOSYS}:
                raise
            # A file system without hard links: claim the name first, then put the file in its place.
            os.close(os.open(name, _CREATE, 0o666, dir_fd=place))
            os.replace(own, name, src_dir_fd=place, dst_dir_fd=place)
        else:
            os.unlink(own, dir_fd=place)

    def _refuse_existing(self) -> None:
        try:
            status = os.stat(self._at(self._name), dir_fd=self._directory.by_descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return
        if stat.S_ISDIR(status.st_mode):
            raise BursarError("is_directory", f"{self._shown} is a directory", "Name a file in it")
        if not self._overwrite:
            raise self._exists()

    def _refuse_another(self, known: os.stat_result) -> None:
        found = os.stat(self._at(self._name), dir_fd=self._directory.by_descriptor, follow_symlinks=False)
        was, now = ((s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in (known, found))
        if was != now:
            what = f"{self._shown} was changed by something else at the same time; it was left as it is"
            raise BursarError("source_changed", what, "Read it again, then repeat the call")

    def _exists(self) -> BursarError:
        return BursarError("exists", f"{self._shown} exists already", "Use another path, or overwrite=true")

    def _refusal(self, error: OSError) -> BursarError:
        match error.errno:
            case errno.EEXIST:
                return self._exists()
            case errno.EACCES | errno.EPERM | errno.EROFS:
                what = f"the server's user may not write {self._shown}"
                return BursarError("permission_denied", what, "Use a path that can be written")
            case errno.ENOSPC | errno.EDQUOT:
                return BursarError("disk_full", f"there is no room for {self._shown}", "Make room, then try again")
            case _:
                what = f"{self._shown} cannot be written: {os.strerror(error.errno or errno.EIO)}"
                return BursarError("cannot_create", what, "Use another path")

    @property
    def _shown(self) -> str:
        return f"'{written(str(self.path))}'"

    def _at(self, name: str) -> str:
        return name if self._directory.by_descriptor is not None else str(self._directory.path / name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            with contextlib.suppress(OSError):  # what was not committed is not missed
                self._close()
            if self._own:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._at(self._own), dir_fd=self._directory.by_descriptor)
                self._own = ""
        finally:
            self._directory.close()


def split(path: str) -> tuple[str, str]:
    """Split a path into its directory and the name of a file in it.

    Raises:
        BursarError: `bad_path`, if it does not end in a name that a file can have.
    """
    place, name = os.path.split(path)
    if name in {"", ".", ".."} or "\0" in name:
        raise BursarError(
            "bad_path", f"'{written(path[:200])}' does not name a file", "Name one, such as out/report.pdf"
        )
    return place or str(Path()), name
