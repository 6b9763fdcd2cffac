"""Whose a session is: a file in it with the hash of its handle, which itself stands nowhere, and its owner's name."""

import hashlib
import hmac
import json
import os
import sys
import time
from dataclasses import dataclass
from typing import Any, cast

from .folder import Folder

OWNER = "owner.json"


@dataclass(frozen=True, slots=True)
class Owner:
    """What the file says; both empty where it is damaged."""

    handle_sha256: str = ""
    name: str = ""

    def is_for(self, handle: str, owner: str) -> bool:
        """Tell whether a handle and an owner are those of the session."""
        same_handle = hmac.compare_digest(_bytes(self.handle_sha256), _bytes(_sha256(handle)))
        same_owner = hmac.compare_digest(_bytes(self.name), _bytes(owner))
        return same_handle and same_owner


def write(folder: Folder, handle: str, owner: str, *, fsync: bool) -> None:
    """Enter whom a session belongs to: from then on it exists.

    Raises:
        OSError: it does not.
    """
    given = {"handle_sha256": _sha256(handle), "owner": owner, "created": time.time()}
    folder.replace(OWNER, json.dumps(given).encode(), sync=fsync)


def read(folder: Folder) -> Owner:
    """Return whom a session belongs to.

    Raises:
        OSError: it cannot be read, or it belongs to nobody.
    """
    data = folder.contents(OWNER)
    try:
        given = cast("dict[str, Any]", json.loads(data))
        return Owner(str(given["handle_sha256"]), str(given["owner"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return Owner()


def _sha256(handle: str) -> str:
    return hashlib.sha256(handle.encode()).hexdigest()


def _bytes(text: str) -> bytes:
    """Encode any text: one that was damaged may have no encoding, and a comparison takes nothing beyond ASCII."""
    return text.encode("utf-8", "replace")


def local_owner() -> str:
    """Name the principal of a process on this machine: its user."""
    if sys.platform == "win32":
        import getpass

        return f"local:{getpass.getuser()}"
    return f"local:{os.getuid()}"
