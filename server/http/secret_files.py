"""The server's own secrets on disk: files that nobody but its user can have read or written."""

import os
import stat
import sys
from pathlib import Path

from ...artifacts.folder import open_up
from ...errors import BursarError
from .. import log

DIRECTORY = ".server"
"""The directory in the store that holds them; tools and commands are kept out of the whole store."""

_KEY_BYTES = 32
_TEXT_MAX_BYTES = 1024


def secret(place: Path) -> bytes:
    """Return the random bytes that a file keeps as hexadecimal digits; made if missing, the same ever after.

    Raises:
        BursarError: unsafe_secret, if others could have read or written it, or it holds something else.
    """
    try:
        _make(place)
        text = _text(place).strip()
        if len(text) != 2 * _KEY_BYTES:
            raise _unsafe(place, "it does not hold what this server wrote")
        return bytes.fromhex(text)
    except ValueError:
        raise _unsafe(place, "it does not hold what this server wrote") from None
    except OSError as error:
        raise _unsafe(place, error.strerror or str(error)) from error


def keep(place: Path, text: str) -> None:
    """Write a file that only its owner can read, in one step, in the place of the one that is there.

    Raises:
        OSError: it cannot be written.
    """
    _temporary(place, text).replace(place)


def _text(place: Path) -> str:
    """Return the text of a file that only its owner can read or write; its mode is mended if others can not get there.

    Raises:
        BursarError: unsafe_secret.
        OSError: it cannot be read.
    """
    try:
        descriptor = _opened(place)
    except PermissionError:
        if not (_is_private(place.parent) and open_up(str(place))):
            raise
        log.event("mode_mended", file=place.name)
        descriptor = _opened(place)
    with os.fdopen(descriptor, "rb") as file:
        _check(descriptor, place)
        return file.read(_TEXT_MAX_BYTES).decode("utf-8", "replace")


def _opened(place: Path) -> int:
    return os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _make(place: Path) -> None:
    """Create a secret in one step: whoever comes at the same time finds none or all of it."""
    if os.path.lexists(place):
        return
    temporary = _temporary(place, os.urandom(_KEY_BYTES).hex() + "\n")
    try:
        if sys.platform == "win32":
            temporary.rename(place)
        else:
            os.link(temporary, place)
    except FileExistsError:
        pass
    finally:
        temporary.unlink(missing_ok=True)


def _temporary(place: Path, text: str) -> Path:
    temporary = place.with_name(f".{place.name}-{os.urandom(6).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _check(descriptor: int, place: Path) -> None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise _unsafe(place, "it is something else")
    if sys.platform == "win32":
        return  # private there by the permissions of the user's directory
    if found.st_uid != os.geteuid():
        raise _unsafe(place, "it belongs to another user")
    if not found.st_mode & 0o077:
        return
    if _is_private(place.parent):
        # Nobody else came by: a command may have changed the mode, which the sandbox cannot always prevent.
        os.fchmod(descriptor, 0o600)
        log.event("mode_mended", file=place.name, mode=f"{stat.S_IMODE(found.st_mode):04o}")
    else:
        raise _unsafe(place, f"its mode is {stat.S_IMODE(found.st_mode):04o}, so others may read or write it")


def _is_private(directory: Path) -> bool:
    found = directory.stat()
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _unsafe(place: Path, why: str) -> BursarError:
    return BursarError("unsafe_secret", f"{place} cannot be relied on: {why}", "Remove it, or make it yours: chmod go=")
