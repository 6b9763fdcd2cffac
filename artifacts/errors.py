"""The store's errors, each worded once."""

import errno
from collections.abc import Generator
from contextlib import contextmanager

from ..errors import BursarError

FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG}
"""Numbers of the system's errors that mean there is no room."""


def unknown_session() -> BursarError:
    """Refuse a handle; one wording for malformed, unknown, expired and somebody else's."""
    return BursarError(
        "unknown_session", "there is no such session, or it has expired", "Leave the session out to start a new one"
    )


def session_locked() -> BursarError:
    """Refuse a session whose lock another program holds; one that sweeps does so for an instant."""
    return BursarError(
        "session_locked", "another program holds the lock of the session", "Try again, or end that program"
    )


def unknown_artifact() -> BursarError:
    """Refuse a reference; one wording for malformed, unknown, expired and somebody else's."""
    return BursarError(
        "unknown_artifact",
        "there is no such artifact in this session, or it has expired",
        "List the artifacts with read_artifact(); one of another session needs its handle before it, as in ses_…/a7",
    )


def damaged(reference: str) -> BursarError:
    """Refuse a content that is not what was stored."""
    return BursarError(
        "damaged", f"the content of {reference} is no longer what was stored", "Run the call that made it again"
    )


def unreadable(what: str, error: OSError) -> BursarError:
    """Refuse what is there but could not be read."""
    return BursarError(
        "read_failed",
        f"{what} could not be read ({error.strerror or type(error).__name__})",
        "Try again; if that does not help, check the disk that it lies on",
    )


def source_changed(path: str, what: str) -> BursarError:
    """Refuse a reference whose file is another one by now."""
    return BursarError(
        "source_changed",
        f"{path} is no longer the file that was read ({what})",
        "Read it again with read_file for a new reference",
    )


def quota(limit_bytes: int) -> BursarError:
    """Refuse to store more in a session."""
    return BursarError(
        "quota",
        f"this session's artifacts, with those still being written, would exceed {limit_bytes:,} bytes",
        "Work on in a new session, or have the server started with a higher --session-quota-bytes",
    )


def from_os(error: OSError, doing: str, *, in_session: bool = True) -> BursarError:
    """Tell a failure of the disk: whether it is full, the session was deleted, or what else could not be done.

    Args:
        error: as the system told it.
        doing: what was to be stored.
        in_session: it was to be in a session's directory: if that is missing, the session is.
    """
    reason = error.strerror or type(error).__name__
    if error.errno in FULL:
        return BursarError(
            "disk_full",
            f"no room to store {doing} ({reason})",
            "Free some space on the disk of the data directory; what was stored before is untouched",
        )
    if in_session and error.errno == errno.ENOENT:
        return unknown_session()
    fix = "Check that the data directory exists and can be written"
    return BursarError("store_failed", f"could not store {doing} ({reason})", fix)


@contextmanager
def storing(doing: str, *, in_session: bool = True) -> Generator[None]:
    """Tell a failure of the disk in the block, as `from_os` does.

    Raises:
        BursarError: unknown_session, disk_full or store_failed.
    """
    try:
        yield
    except OSError as error:
        raise from_os(error, doing, in_session=in_session) from error
